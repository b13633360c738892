//! An organism of an older build with a thousand open threads is taken over by this one, and ends as it would have there.
//! Each fixture is a whole organism (file, programs, log), killed by the build of its format while a quarter of its threads
//! waited in the queue of a program, a quarter for an approval, a quarter for a timer, and a quarter in a workflow for a
//! person. What each thread came to in the build of format 6 stands in `open-finals.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::log_records::fixtures;
use crate::organism::copy_house;
use crate::program::{Running, ask, run_file, systole};

const LISTENERS: [&str; 4] = ["desk", "guard", "sleeper", "walk"];

/// What a message comes to that is sent again under its key.
fn read_final(folder: &Path, number: usize) -> String {
    let (key, to) = (format!("k{number}"), LISTENERS[number % LISTENERS.len()]);
    let headers = [("Idempotency-Key", &*key), ("Systole-Wait", "240")];
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">question {number}</ask>");
    let answer = ask(&run_file(folder), "POST", &format!("/v1/messages?to={to}"), &headers, &body);
    assert_eq!((answer.status, &answer.json["repeated"]), (200, &true.into()), "{answer:?}");
    let text = |field: &str| answer.json["result"][field].as_str().unwrap_or("-").to_owned();
    [key, text("outcome"), text("code"), text("payload")].join(" ")
}

fn goes_on(house: &str) {
    let copy = copy_house(house);
    let folder = copy.path();
    fs::write(folder.join("go"), "").unwrap();
    let finals = fs::read_to_string(fixtures().join("open-finals.txt")).unwrap();
    let mut organism = Running::organism(folder);
    for (number, expected) in finals.lines().enumerate() {
        if number == 300 {
            organism.signal(Signal::KILL);
            organism.end();
            organism = Running::organism(folder);
        }
        assert_eq!(read_final(folder, number), expected, "{house}");
    }
    organism.interrupt();
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
    goes_on("open-v6");
}

#[test]
fn h7_a_thousand_open_threads_of_format_8_end_as_in_the_build_of_their_time() {
    goes_on("open-v8");
}
