//! An organism of an older build with a thousand open threads is taken over by this one, and ends as it would have there.
//! Each fixture is a whole organism (file, programs, log), killed by the build of its format while a quarter of its threads
//! waited in the queue of a program, a quarter for an approval, a quarter for a timer, and a quarter in a workflow for a
//! person. What each thread came to in the build of format 6 stands in `open-finals.txt`. That of format 7 has deliveries
//! over NATS too, and its finals. `write_open.py` writes such an organism.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_system::clock::WallClock;

use crate::broker::{self, python};
use crate::log_records::fixtures;
use crate::organism::copy_house;
use crate::program::{Running, ask, run_file, systole};
use crate::workers::Process;

/// The last one is over NATS, and only in the organism of format 7: its deliveries lie at the organism's own broker.
const LISTENERS: [&str; 5] = ["desk", "guard", "sleeper", "walk", "far"];

/// Its calls have waited then as long as their file allows: 365 days after 28 November 2026, the day of that build.
const FAR_WAITS_UNTIL: Millis = Millis(1_827_388_800_000);

/// What a message comes to that is sent again under its key.
fn read_final(folder: &Path, number: usize, listeners: &[&str]) -> String {
    let (key, to) = (format!("k{number}"), listeners[number % listeners.len()]);
    let headers = [("Idempotency-Key", &*key), ("Systole-Wait", "240")];
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">question {number}</ask>");
    let answer = ask(&run_file(folder), "POST", &format!("/v1/messages?to={to}"), &headers, &body);
    assert_eq!((answer.status, &answer.json["repeated"]), (200, &true.into()), "{answer:?}");
    let text = |field: &str| answer.json["result"][field].as_str().unwrap_or("-").to_owned();
    [key, text("outcome"), text("code"), text("payload")].join(" ")
}

/// The worker of the listener over NATS.
fn start_far(folder: &Path) -> Process {
    let address = fs::read_to_string(folder.join("hello.db.nats/address")).unwrap();
    let mut worker = python();
    worker.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py"));
    worker.args([address.trim(), "upgrade", "far"]).arg(folder.join("hello.db.nats/keys/far.nk"));
    Process::of(worker)
}

fn goes_on(house: &str, finals: &str, listeners: &[&str]) {
    let copy = copy_house(house);
    let folder = copy.path();
    fs::write(folder.join("go"), "").unwrap();
    let finals = fs::read_to_string(fixtures().join(finals)).unwrap();
    let start = || {
        let organism = Running::organism_with(folder, &[("PATH", &broker::path())]);
        (organism, listeners.contains(&"far").then(|| start_far(folder)))
    };
    let (mut organism, mut far) = start();
    for (number, expected) in finals.lines().enumerate() {
        if number == 300 {
            organism.signal(Signal::KILL);
            organism.end();
            far.into_iter().for_each(Process::kill);
            (organism, far) = start();
        }
        let found = read_final(folder, number, listeners);
        if listeners[number % listeners.len()] == "far" && WallClock.now() > FAR_WAITS_UNTIL {
            let waited = format!("k{number} failed listener.timeout ");
            assert!(found.starts_with(&waited) && found.contains("for 365 d"), "{house}: {found}");
        } else {
            assert_eq!(found, expected, "{house}");
        }
    }
    organism.interrupt();
    far.into_iter().for_each(Process::kill);
    // A program may get a turn again that it had when the pump was killed, with the same key.
    let done = fs::read_to_string(folder.join("done")).unwrap();
    let mut by_listener: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in done.lines() {
        let mut words = line.split(' ');
        by_listener.entry(words.next().unwrap()).or_default().extend(words.next());
    }
    for (listener, mut keys) in by_listener {
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 250, "{listener} of {house}: a turn that was over goes out no more");
    }
    let ran = systole(folder, &["verify", "--state"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn h7_a_thousand_open_threads_of_format_6_end_as_in_the_build_of_their_time() {
    goes_on("open-v6", "open-finals.txt", &LISTENERS[..4]);
}

#[test]
fn h7_a_thousand_open_threads_of_format_7_and_its_deliveries_over_nats_end_as_in_the_build_of_their_time() {
    goes_on("open-v7", "open-v7/finals.txt", &LISTENERS);
}

#[test]
fn h7_a_thousand_open_threads_of_format_8_end_as_in_the_build_of_their_time() {
    goes_on("open-v8", "open-finals.txt", &LISTENERS[..4]);
}
