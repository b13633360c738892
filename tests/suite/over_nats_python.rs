//! The Python listener over NATS, with work that takes long, fails, hangs, or is too large, with deliveries that are
//! called back, and with a broker that goes away.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::broker::python;
use crate::over_nats::without_waits;
use crate::program::Events;
use crate::workers::{Process, WorkerHouse};

/// The work of the listener in these tests, by what it is asked.
const WORK: &str = r#"    if text == "fail":
        raise ValueError("no idea \x01")
    if text == "exit":
        sys.exit(3)
    if text == "hang":
        threading.Event().wait()
    if text == "much":
        return "x" * 2_000_000
    if text.startswith("wait"):
        print("at", text, file=sys.stderr, flush=True)
        while wanted() and not os.path.exists("go"):
            threading.Event().wait(0.05)
        print("over", text, wanted(), file=sys.stderr, flush=True)
    return "You said: " + text
"#;

fn source(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The listener with that work, in the folder of the house.
fn worker(house: &WorkerHouse) -> Process {
    Process::of(changed_worker(house, &[]))
}

/// The command of the listener with that work and with these texts replaced.
fn changed_worker(house: &WorkerHouse, changes: &[(&str, &str)]) -> Command {
    let work = [("    return \"You said: \" + text\n", WORK)];
    std::fs::write(house.path().join("worker.py"), changed_listener(&[&work, changes].concat())).unwrap();
    let mut python = python();
    python.current_dir(house.path()).arg("worker.py");
    python.args([&house.server.url(), "shop", "echo"]).arg(house.key("echo"));
    python
}

/// The text of the listener with these texts replaced.
pub(crate) fn changed_listener(changes: &[(&str, &str)]) -> String {
    let mut text = source("listeners/echo-python/echo.py");
    for (own, new) in changes {
        assert_eq!(text.matches(own).count(), 1, "{own}: {text}");
        text = text.replace(own, new);
    }
    text
}

/// The message of the next failure on a stream of events.
fn failure_of(events: &mut Events) -> String {
    loop {
        let (_, _, record) = events.next().expect("more records");
        if record["kind"] == "outcome" && record["code"] == "listener.failed" {
            return record["body"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_python_worker_renews_its_deliveries_survives_its_work_and_hears_a_cancel() {
    let mut house = WorkerHouse::open(", idle: 4s, in_flight: 8");
    let worker = worker(&house);
    let mut events = house.events();
    for (words, why) in [
        ("fail", "worker.exception: ValueError("),
        ("exit", "worker.exception: SystemExit(3)"),
        ("much", "worker.too-large: the answer has 2000"),
    ] {
        house.sends(words);
        let body = failure_of(&mut events);
        assert!(body.contains(why), "{words}: {body}");
    }
    // Several at once, for longer than a silent worker may have them.
    let (first, second) = (house.sends("wait 1"), house.sends("wait 2"));
    for words in ["at wait", "at wait"] {
        worker.says(words);
    }
    house.idles().await;
    assert_eq!(house.systole(&["cancel", &second]).code, Some(0));
    worker.says("over wait 2 False");
    std::fs::write(house.path().join("go"), "").unwrap();
    assert!(final_of_thread(&mut events, &first).contains(">You said: wait 1<"));
    assert_eq!(house.told_of(&first), ["message/request", "message/final"], "no attempt is lost");
    // Without its broker and with work it says what is lost; without work it ends at once.
    std::fs::remove_file(house.path().join("go")).unwrap();
    house.sends("wait 3");
    worker.says("at wait 3");
    let idle = self::worker(&house);
    house.server.kill();
    idle.says("nats: ");
    idle.stops();
    worker.signal(rustix::process::Signal::TERM);
    worker.says("open deliveries are not answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_python_worker_whose_answer_no_organism_takes_ends_when_it_is_told_to() {
    let mut house = WorkerHouse::open("");
    let worker = worker(&house);
    house.sends("wait");
    worker.says("at wait");
    house.kills_organism();
    std::fs::write(house.path().join("go"), "").unwrap();
    worker.says("over wait True");
    worker.signal(rustix::process::Signal::TERM);
    worker.says("NoRespondersError");
    worker.says("open deliveries are not answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_python_worker_answers_while_other_work_hangs_and_ends_if_too_much_does() {
    let house = WorkerHouse::open(", timeout: 3s, in_flight: 8");
    let mut events = house.events();
    let worker = worker(&house);
    for _ in 0..6 {
        house.sends("hang");
    }
    let mut open = 6;
    while open > 0 {
        let (_, _, record) = events.next().expect("more records");
        open -= usize::from(record["code"] == "listener.timeout" && record["kind"] == "outcome");
    }
    // Each attempt left a thread that hangs: more than all that it works on at a time.
    let sound = house.sends("hi");
    assert!(final_of_thread(&mut events, &sound).contains(">You said: hi<"));
    worker.stops();
    // With a limit that a few attempts reach it says so and ends, so that its supervisor starts it again.
    let mut limited = changed_worker(&house, &[("HANGING = 20 ", "HANGING = 1 ")]);
    for _ in 0..4 {
        house.sends("hang");
    }
    let ended = limited.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("5 threads hang in work that was called back"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_python_worker_leaves_a_delivery_whose_cancel_overtook_it() {
    let house = WorkerHouse::open(", in_flight: 8");
    let took = "        delivery, stopped = ";
    let takes_late = format!(
        "        print('took', file=sys.stderr, flush=True)\n        while not os.path.exists('late'):\n            await asyncio.sleep(0.05)\n{took}"
    );
    let noted = "        called_back.append(delivery)\n";
    let notes = format!("{noted}        print('cancelled', file=sys.stderr, flush=True)\n");
    let worker = Process::of(changed_worker(&house, &[(took, takes_late.as_str()), (noted, notes.as_str())]));
    let thread = house.sends("wait");
    worker.says("took");
    assert_eq!(house.systole(&["cancel", &thread]).code, Some(0));
    worker.says("cancelled");
    std::fs::write(house.path().join("late"), "").unwrap();
    // Work that is no longer wanted would hold it up for ever.
    worker.stops();
}

/// The worker that the page of that day called the shortest complete one, word for word: `listeners/echo-python/echo.py`
/// beside `docs/listeners-over-nats.md` of 24 November 2026 (63dd3155), before attempts outlived the pump.
#[test]
fn b20_a_worker_from_before_attempts_outlived_the_pump_works_unchanged() {
    let mut house = WorkerHouse::open(", in_flight: 2, timeout: 60s, on_unknown: fail");
    let starts = |house: &WorkerHouse| {
        let mut worker = python();
        worker.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/over_nats_python/before.py"));
        worker.args([&house.server.url(), "shop", "echo"]).arg(house.key("echo"));
        Process::of(worker)
    };
    let untaken = |house: &WorkerHouse, words: &str| {
        let (thread, mut events) = (house.sends(words), house.events());
        // It is at the broker, and no worker takes it.
        while events.next().expect("more records").2["code"] != "waits" {}
        thread
    };
    let first = untaken(&house, "one");
    house.kills_organism();
    let worker = starts(&house);
    house.starts();
    let mut events = house.events();
    assert!(final_of_thread(&mut events, &first).contains(">You said: one<"));
    let second = house.sends("two");
    assert!(final_of_thread(&mut events, &second).contains(">You said: two<"));
    for thread in [&first, &second] {
        let told = without_waits(house.told_of(thread));
        assert_eq!(told, ["message/request", "attempt/", "message/final"], "{thread}");
    }
    drop(worker);
}

/// The text of the final of a thread.
fn final_of_thread(events: &mut Events, thread: &str) -> String {
    loop {
        let (_, _, record) = events.next().expect("more records");
        if record["code"] == "final" && record["thread"] == *thread {
            return record["body"].as_str().unwrap().to_owned();
        }
    }
}
