//! How programs that stay running end: by themselves, by our signal, and with the organism.

use std::collections::BTreeMap;
use std::time::Duration;

use systole_carriers::CarrierWaits;
use systole_core::types::composition::Reach;
use systole_core::types::ports::{CallBack, CarrierReport};
use tokio::time::Instant;

use crate::script::{LOOP, each, pong, said};
use crate::stage::{CarrierStage, QUICK, alive, cast, folder, program, shell, until};

#[tokio::test]
async fn b11_a_crash_is_reported_with_last_words_and_the_program_restarts() {
    let case = r#"case $d in d1) echo "KeyError: 'SEARCH_ROOT'" >&2; exit 1;; *) answer $d;; esac"#;
    let mut stage = each(case).start().joined().await;
    stage.hand("d1");
    let gone = stage.expect("gone d1 listener.lost: exited 1 after ", "").await;
    assert!(gone.ends_with("; last words on stderr: KeyError: 'SEARCH_ROOT'"), "{gone}");
    stage.expect("left: exited 1", "KeyError").await;
    stage.expect("joined", "").await;
    stage.hand("d2");
    assert_eq!(stage.report().await, pong("d2"));
}

#[tokio::test]
async fn a_reply_written_right_before_the_death_counts() {
    let mut stage = each("answer $d; exit 7").start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, pong("d1"));
    stage.expect("left: exited 7", "no words on stderr").await;
}

#[tokio::test]
async fn row_23_a_reply_that_breaks_off_with_the_program_is_a_loss() {
    for (tail, counts) in [("</reply>", true), ("</reply", false), ("", false)] {
        let script = LOOP.replace(
            "CASE",
            "printf '%s' \"<reply xmlns='urn:systole:listener:v1' delivery='$d'>TAIL\"; exit 1",
        );
        let mut stage = shell(&script.replace("TAIL", tail)).start().joined().await;
        stage.hand("d1");
        let begins = if counts { "said <reply" } else { "gone d1 listener.lost: exited 1 after" };
        stage.expect(begins, "<reply").await;
    }
}

#[tokio::test]
async fn exit_0_without_an_answer_is_a_loss_even_with_stdin_unread() {
    let mut stage = shell("read -r first; exit 0").start().joined().await;
    stage.hand_words("d1", &"x".repeat(900_000));
    stage.expect("gone d1 listener.lost: exited 0 without answering after", "").await;
}

#[tokio::test]
async fn a_signal_is_named() {
    let mut stage = each("kill -SEGV $$").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: killed by signal 11 (SEGV) after", "").await;
}

#[tokio::test]
async fn a_program_that_closes_its_stdout_and_goes_on_is_stopped() {
    let mut stage = shell("read -r line; exec 1>&-; read -r line; sleep 1000").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: stopped after", "closed its stdin or stdout and kept running").await;
}

#[tokio::test]
async fn after_five_deaths_in_a_row_a_listener_is_down_until_it_stays_up() {
    let folder = folder("down_after_five");
    let script = "echo try >> tries; test -e here || { echo no here >&2; exit 3; }\n".to_owned()
        + &LOOP.replace("CASE", "answer $d");
    let reach = Reach::Process(program(&["/bin/sh", "-c", &script], folder.clone()));
    let mut stage = cast(reach).start();
    for _ in 0..4 {
        stage.expect("joined", "").await;
        stage.expect("left: exited 3", "last words on stderr: no here").await;
    }
    stage.expect("joined", "").await;
    stage.expect("left: exited 3", "last words on stderr: no here").await;
    stage.hand("d1");
    stage.expect("gone d1 listener.down: exited 3", "no here").await;
    // Two more failed tries change nothing for the pump, so they are not reported.
    let tries =
        || std::fs::read_to_string(folder.join("tries")).is_ok_and(|tries| tries.lines().count() >= 8);
    until("it was tried again", tries).await;
    std::fs::write(folder.join("here"), "").unwrap();
    stage.expect("joined", "").await;
    stage.hand("d2");
    assert_eq!(stage.report().await, pong("d2"));
}

#[tokio::test]
async fn an_answer_breaks_the_row_of_deaths() {
    let mut stage = each("answer $d; exit 1").start().joined().await;
    for _ in 0..7 {
        stage.hand("d1");
        assert_eq!(stage.report().await, pong("d1"));
        stage.expect("left: exited 1", "").await;
        stage.expect("joined", "").await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_down_at_once() {
    let none = " from /: there is no such program";
    for (run, tried, why) in [
        ("no-such-program", "cannot start no-such-program, looked for in /", none),
        ("./missing.sh", "cannot start ./missing.sh", none),
        ("./etc", "cannot start ./etc", " from /: this user may not run it"),
    ] {
        let mut stage = cast(Reach::Process(program(&[run], "/".into()))).start();
        stage.expect(&format!("left: {tried}"), why).await;
        stage.hand("d1");
        stage.expect(&format!("away d1: {tried}"), "").await;
    }
}

#[tokio::test]
async fn row_13_a_stream_without_a_line_break_is_ended_with_reason() {
    let mut stage = shell("read -r line; tr '\\0' x < /dev/zero").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: stopped after", "a line has more than 8388608 bytes").await;
    stage.expect("left: stopped after", "").await;
}

#[tokio::test]
async fn a_grandchild_dies_with_the_program() {
    let mut stage = each("sleep 1000 & say progress $d $!; exec 1>&-; kill -9 $$").start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    let pid = progress.split(['>', '<']).nth(2).unwrap().to_owned();
    stage.expect("gone d1 listener.lost: killed by signal 9 (KILL)", "").await;
    until("the grandchild is gone", || !alive(&pid)).await;
}

#[tokio::test]
async fn b22_a_grandchild_in_another_session_dies_with_the_program_and_delays_nothing() {
    let folder = folder("left_the_group");
    let case = "case $d in d1) setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' & ;; *) exit 1;; esac";
    let reach = program(&["/bin/sh", "-c", &LOOP.replace("CASE", case)], folder.clone());
    let mut stage = cast(Reach::Process(reach)).in_flight(2).start().joined().await;
    stage.hand("d1");
    until("it has left", || folder.join("pid").exists()).await;
    stage.hand("d2");
    for _ in 0..2 {
        stage.expect("gone d", "listener.lost: exited 1").await;
    }
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    until("the grandchild is gone", || !alive(pid.trim())).await;
}

#[tokio::test]
async fn b22_a_program_whose_warden_is_killed_ends_and_is_started_again() {
    let mut stage = each("say progress $d \"$PPID $$\"; exec sleep 1000").start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    let (warden, program) = progress.split(['>', '<']).nth(2).unwrap().split_once(' ').unwrap();
    assert_eq!(std::fs::read_to_string(format!("/proc/{warden}/comm")).unwrap(), "program-warden\n");
    let warden = rustix::process::Pid::from_raw(warden.parse().unwrap()).unwrap();
    // A system that shuts down sends TERM to every process. The program is not ended by that.
    rustix::process::kill_process(warden, rustix::process::Signal::TERM).unwrap();
    rustix::process::kill_process(warden, rustix::process::Signal::KILL).unwrap();
    stage.expect("gone d1 listener.lost: killed by signal 9 (KILL)", "").await;
    until("the program is gone", || !alive(program)).await;
}

#[tokio::test]
async fn b22_a_program_inherits_its_three_files_and_nothing_of_its_warden() {
    // What this process itself was started with goes on to its programs, in these tests.
    let of = |path: &std::path::Path| std::fs::read_link(path).unwrap_or_default().display().to_string();
    let is_handed_on = |number: &str| {
        let flags = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags =
            flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("0").trim().to_owned();
        u64::from_str_radix(&flags, 8).unwrap() & 0o2_000_000 == 0
    };
    let own = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let own = own.filter(|entry| is_handed_on(entry.file_name().to_str().unwrap()));
    let own: Vec<String> = own.map(|entry| of(&entry.path())).collect();
    let mut stage = shell("exec ls -l /proc/self/fd >&2").start().joined().await;
    let left = stage.expect("left: exited 0", "").await;
    let seen: Vec<(&str, &str)> = left
        .lines()
        .filter_map(|line| line.split_once(" -> "))
        .map(|(line, file)| (line.rsplit(' ').next().unwrap(), file))
        // The folder that is listed is open too.
        .filter(|(_, file)| !file.starts_with("/proc/"))
        .collect();
    let is_known =
        |number: &str, file: &str| ["0", "1", "2"].contains(&number) || own.iter().any(|known| known == file);
    assert!(seen.iter().all(|(number, file)| is_known(number, file)), "{seen:?} beside {own:?}");
    assert!(seen.iter().filter(|(_, file)| file.starts_with("pipe:")).count() >= 3, "{seen:?}");
}

#[tokio::test]
async fn a_stopped_program_that_holds_a_called_back_delivery_is_killed() {
    let case =
        "case $d in d3) answer $d;; d1) say progress $d got;; d2) say progress $d got; kill -STOP $$;; esac";
    let mut stage = each(case).in_flight(2).start().joined().await;
    for delivery in ["d1", "d2"] {
        stage.hand(delivery);
        assert_eq!(stage.report().await, said("progress", delivery, "got"));
    }
    stage.call_back("d1", CallBack::TimedOut);
    let mut gone = [stage.report().await, stage.report().await];
    gone.sort_unstable();
    for (gone, begins) in
        gone.iter().zip(["gone d1 listener.timeout: stopped", "gone d2 listener.lost: stopped"])
    {
        assert!(gone.starts_with(begins) && gone.contains("kept a delivery that was called back"), "{gone}");
    }
    stage.expect("left: stopped after", "").await;
    stage.expect("joined", "").await;
    stage.hand("d3");
    assert_eq!(stage.report().await, pong("d3"));
}

#[tokio::test]
async fn a_program_that_once_left_a_cancel_unanswered_is_killed_as_soon_as_it_is_called_back() {
    let at = folder("left_a_cancel");
    let script = |case: &str| std::fs::write(at.join("work.sh"), LOOP.replace("CASE", case)).unwrap();
    script("case $line in '<cancel '*) ;; *) say progress $d got;; esac");
    let grace = Duration::from_secs(4);
    let patient = CarrierWaits { called_back_ms: 4_000, ..QUICK };
    let mut stage = cast(Reach::Process(program(&["/bin/sh", "work.sh"], at.clone()))).paced(patient).start();
    stage.expect("joined", "").await;
    let lives = [
        ("d1", "it kept a delivery that was called back", true),
        ("d2", "a delivery was called back, and it left an earlier cancel unanswered", false),
    ];
    for (delivery, because, has_grace) in lives {
        stage.hand(delivery);
        assert_eq!(stage.report().await, said("progress", delivery, "got"));
        if !has_grace {
            // The life after this one begins with another file.
            script("case $line in '<cancel '*) answer $d;; *) say progress $d got;; esac");
        }
        let began = Instant::now();
        stage.call_back(delivery, CallBack::TimedOut);
        let gone = stage.report().await;
        let begins = format!("gone {delivery} listener.timeout: stopped");
        assert!(gone.starts_with(&begins) && gone.contains(because), "{gone}");
        assert_eq!(began.elapsed() >= grace, has_grace, "{delivery}: {:?}", began.elapsed());
        stage.expect("left: stopped after", "").await;
        stage.expect("joined", "").await;
    }
    stage.hand("d3");
    assert_eq!(stage.report().await, said("progress", "d3", "got"));
    stage.call_back("d3", CallBack::Cancelled);
    assert_eq!(stage.report().await, pong("d3"), "another file may be another program");
    stage.stop().await;
}

#[tokio::test]
async fn a_stop_ends_the_program_that_ignores_it_and_all_it_started() {
    let case =
        "trap '' TERM; sleep 1000 & say progress $d \"$$ $!\"; trap '' TERM; while :; do sleep 1000; done";
    let mut stage = each(case).start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    let pids = progress.split(['>', '<']).nth(2).unwrap().to_owned();
    let rest = stage.stop().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0].starts_with("gone d1 listener.lost: stopped with the organism after"), "{rest:?}");
    for pid in pids.split(' ') {
        until("a process is gone", || !alive(pid)).await;
    }
}

#[tokio::test]
async fn a_reply_within_the_grace_of_a_stop_lands() {
    let script = LOOP.replace("CASE", "held=$d; say progress $d held") + "answer $held";
    let patient = CarrierWaits { eof_ms: 60_000, ..QUICK };
    let mut stage = shell(&script).paced(patient).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, said("progress", "d1", "held"));
    assert_eq!(stage.stop().await, [pong("d1")]);
}

/// The delivery that a report settles, if any.
fn settled(report: &CarrierReport) -> Option<String> {
    match report {
        CarrierReport::Gone { token, .. } => Some(token.0.to_string()),
        CarrierReport::Said { speech, .. } => {
            let document = speech.document();
            let text = String::from_utf8_lossy(&document);
            Some(text.split('"').nth(3).unwrap().to_owned())
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_delivery_has_one_report_whatever_happens() {
    const ALL: usize = 400;
    const OUT: usize = 4;
    // It dies on every seventh delivery, keeps every eleventh forever, and answers the rest, but no
    // cancel.
    let case = "n=${d#d}
        case $line in '<cancel '*) continue;; esac
        if [ $((n % 7)) = 3 ]; then exit 1; elif [ $((n % 11)) != 5 ]; then answer $d; fi";
    let restless = CarrierWaits { called_back_ms: 1, deaths: 1_000, longest_pause_ms: 2, ..QUICK };
    let mut stage = each(case).in_flight(OUT).paced(restless).start();
    let mut reports = BTreeMap::<String, usize>::new();
    let mut handed = 0;
    while reports.len() < ALL {
        while handed < ALL && handed - reports.len() < OUT {
            let delivery = format!("d{handed}");
            stage.hand(&delivery);
            if handed % 11 == 5 || handed % 5 == 0 {
                stage.call_back(&delivery, CallBack::TimedOut);
            }
            handed += 1;
        }
        if let Some(delivery) = settled(&stage.next().await) {
            *reports.entry(delivery).or_default() += 1;
        }
    }
    assert_eq!(stage.stop().await.iter().filter(|rest| !rest.starts_with("left")).count(), 0);
    reports.retain(|_, times| *times != 1);
    assert!(reports.is_empty(), "{reports:?}");
}

/// A program that works on `d1` and ends only by a signal, and its process id.
async fn at_work() -> (CarrierStage, String) {
    let mut stage = each("say progress $d $$; exec sleep 1000").start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    (stage, progress.split(['>', '<']).nth(2).unwrap().to_owned())
}

#[tokio::test]
async fn carriers_that_are_dropped_leave_no_process() {
    let (stage, pid) = at_work().await;
    drop(stage);
    until("the program is gone", || !alive(&pid)).await;
}

#[test]
fn a_runtime_that_is_dropped_leaves_no_process() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dropped = runtime();
    let (_stage, pid) = dropped.block_on(at_work());
    drop(dropped);
    runtime().block_on(until("the program is gone", || !alive(&pid)));
}

/// The folder of the organism that is to be killed; set only by the test that kills it.
const VICTIM: &str = "SUITE_VICTIM_FOLDER";

#[tokio::test]
#[ignore = "the organism that the next test kills"]
async fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let script = "echo $$ > pid.new; mv pid.new pid; while read -r line; do :; done; touch saw_the_end";
    let reach = Reach::Process(program(&["/bin/sh", "-c", script], folder.into()));
    let _stage = cast(reach).start().joined().await;
    std::future::pending().await
}

#[tokio::test]
async fn a_killed_organism_ends_its_programs_by_the_end_of_their_stdin() {
    let folder = folder("killed_organism");
    let mut organism = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "delivery_ends::victim"])
        .env(VICTIM, &folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the program runs", || folder.join("pid").exists()).await;
    organism.kill().unwrap();
    organism.wait().unwrap();
    until("the program saw the end", || folder.join("saw_the_end").exists()).await;
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    until("the program is gone", || !alive(pid.trim())).await;
}
