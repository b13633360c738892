//! Models that are away for a while: the calls that need them wait, which costs nothing, and go on by themselves.

use std::time::Duration;

use tokio::time::Instant;

use super::house::{AgentHouse, AgentPlan};
use crate::export::unpack;
use crate::program::{PATIENCE, Ran};

/// Sends a question and does not wait; returns its thread.
fn sends(house: &AgentHouse, question: &str) -> String {
    let sent = house.systole(&["send", "ask", question, "--to", "helper", "--no-wait", "--json"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.json_lines()[0]["receipt"]["thread"].as_str().unwrap().to_owned()
}

/// Waits until the log has so many records of a kind.
fn until(house: &AgentHouse, kind: &str, count: usize) {
    let end = Instant::now() + PATIENCE;
    let log = || house.systole(&["log", "--json"]).kinds();
    while log().iter().filter(|one| *one == kind).count() < count {
        assert!(Instant::now() < end, "{kind}: {:?}", log());
    }
}

fn why(house: &AgentHouse, thread: &str) -> String {
    let Ran { stdout, .. } = house.systole(&["why", thread]);
    stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn b21_a_model_that_is_away_is_waited_for_and_the_wait_costs_nothing() {
    let plan = AgentPlan {
        replies: "[{error: {status: 503, body: strawberry}, times: 3}, {say: I am back.}]",
        rest: "budgets: {wall: 4s}",
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let running = house.run();
    let thread = sends(&house, "Where were you?");
    until(&house, "attempt/waits", 1);
    let told = why(&house, &thread);
    assert!(told.contains("waiting (outage): model main is away: 1 call"), "{told}");
    let ps = house.systole(&["ps"]).stdout;
    assert!(ps.contains("waiting (outage)"), "{ps}");
    until(&house, "message/final", 1);
    let all = house.systole(&["log", "--json"]).kinds();
    let attempts: Vec<_> = all.iter().filter(|kind| kind.starts_with("attempt/")).collect();
    assert_eq!(attempts, ["attempt/waits", "attempt/goes-on"], "{all:?}");
    assert_eq!(house.asked().len(), 4, "three before the wait, and one to see whether it is back");
    running.interrupt();
    house.judged();
    let replay = house.systole(&["replay", &thread]);
    assert_eq!(replay.code, Some(0), "{replay:?}");
    // The words of the failure may quote anything, so a redacted export leaves them out.
    for (redact, file, is_there) in [(&[][..], "W", true), (&["--redact", "sensitive"], "T", false)] {
        let zip = format!("{file}.zip");
        let exported = house.systole(&[&["export", "@last", "-o", &zip], redact].concat());
        assert_eq!(exported.code, Some(0), "{exported:?}");
        unpack(house.path(), &zip, file);
        let records = std::fs::read_to_string(house.path().join(file).join("records.jsonl")).unwrap();
        assert_eq!(records.contains("strawberry"), is_there, "{records}");
    }
}

#[test]
fn b21_when_calls_of_two_roots_fail_the_others_wait_without_asking() {
    let plan = AgentPlan {
        replies: "[{error: {status: 429}, times: 6}, {say: I am back., times: always}]",
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let running = house.run();
    let first = sends(&house, "one");
    until(&house, "attempt/waits", 1);
    sends(&house, "two");
    until(&house, "attempt/waits", 2);
    let last = sends(&house, "three");
    until(&house, "attempt/waits", 3);
    assert_eq!(house.asked().len(), 6, "no one asked for the third");
    let told = why(&house, &last);
    assert!(told.contains("waiting (outage): model main is away: 3 calls"), "{told}");
    until(&house, "message/final", 3);
    assert_eq!(house.asked().len(), 9, "one to see whether it is back, and then the others");
    running.interrupt();
    house.judged();
    for thread in [&first, &last] {
        let replay = house.systole(&["replay", thread]);
        assert_eq!(replay.code, Some(0), "{replay:?}");
    }
}

#[test]
fn why_says_when_a_model_is_asked_again() {
    let plan = AgentPlan {
        replies: "[{error: {status: 503, retry_after: 100s}}, {say: I am back.}]",
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let running = house.run();
    let thread = sends(&house, "Where were you?");
    until(&house, "journal/model-result", 1);
    let told = why(&house, &thread);
    let has_it = told.contains("model main is asked again in ") && told.contains(" (2 of 3)");
    assert!(has_it, "{told}");
    running.signal(rustix::process::Signal::KILL);
    running.end();
}

#[test]
fn b21_a_call_waits_over_restarts() {
    let plan = AgentPlan {
        replies: "[{error: {status: 503}, times: 4}, {say: I am back.}]",
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let running = house.run();
    let thread = sends(&house, "Where were you?");
    until(&house, "attempt/waits", 1);
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let running = house.run();
    until(&house, "message/final", 1);
    let all = house.systole(&["log", "--json"]).kinds();
    let attempts: Vec<_> = all.iter().filter(|kind| kind.starts_with("attempt/")).collect();
    let twice = ["attempt/waits", "attempt/goes-on", "attempt/waits", "attempt/goes-on"];
    assert_eq!(attempts, twice, "{all:?}");
    assert_eq!(house.asked().len(), 5, "three before the wait, and one each time to see whether it is back");
    running.interrupt();
    house.judged();
    let replay = house.systole(&["replay", &thread]);
    assert_eq!(replay.code, Some(0), "{replay:?}");
}

#[test]
fn b21_a_wait_ends_with_its_limit_and_without_one_there_is_none() {
    let refused = "[{error: {status: 503}, times: always}]";
    let house = |rest| AgentHouse::build(&AgentPlan { replies: refused, rest, ..AgentPlan::default() });
    let patient = house("limits: {outage: 1s}");
    let running = patient.run();
    let asked = patient.ask("Where are you?");
    assert_eq!(asked.code, Some(1), "{asked:?}");
    let words = "model main is away for 1.0 s, as long as `limits.outage` allows";
    assert!(asked.stderr.contains(words), "{asked:?}");
    running.interrupt();
    patient.judged();

    let hasty = house("limits: {outage: 0s}");
    let asked = hasty.ask("Where are you?");
    assert!(asked.code == Some(1) && asked.stderr.contains("model.unavailable"), "{asked:?}");
    assert_eq!(hasty.codes("waits"), [""; 0]);
}

#[test]
fn b21_who_asks_is_told_that_a_model_is_away() {
    let plan = AgentPlan { replies: "[{error: {status: 503}, times: always}]", ..AgentPlan::default() };
    let house = AgentHouse::build(&plan);
    let began = Instant::now();
    let asked = house.ask("Where are you?");
    assert_eq!(asked.code, Some(5), "{asked:?}");
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert!(asked.stderr.contains("waits: model main is away: model.unavailable: "), "{asked:?}");
    assert!(asked.stderr.contains("systole run goes on with it"), "{asked:?}");
    let json = house.systole(&["ask", "--json", "Where are you?"]);
    let told = &json.json_lines()[0];
    assert_eq!((json.code, told["outcome"].as_str()), (Some(5), Some("outage")), "{json:?}");
    assert_eq!(told["record"]["code"], "waits", "{json:?}");
    let running = house.run();
    let doctor = house.systole(&["doctor"]).stdout;
    assert!(doctor.contains("model main is away: 2 calls wait, longest "), "{doctor}");
    let still = house.systole(&["send", "ask", "And now?", "--to", "helper", "--timeout", "6s"]);
    assert!(still.stderr.contains("waits: model main is away"), "{still:?}");
    running.interrupt();
}
