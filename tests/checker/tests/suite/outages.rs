//! Faults of calls that wait for someone who is away.

use systole_checker::RunSettings;

use crate::book::SealedBook;
use crate::good::{A, attempt, dead_letter, script};
use crate::script::{Line, Script, line};

/// What happens to an attempt of the peer's call.
fn mark(name: &'static str, code: &'static str, number: u32, words: &str) -> Line {
    let body = attempt(number).replace(" due", &format!(" {words} due"));
    let mark = line(name, A, "attempt", code).between("core", "search").on("1/1.0");
    mark.turn(1).because("call").says(&body)
}

/// The peer's attempt finds that its model is away, waits and goes on. Then it fails, and the next one answers.
fn waiting() -> Script {
    let mut script = script();
    let failed = r#"outage="model.main" code="listener.failed""#;
    script.after("spawned", mark("goes-on", "goes-on", 2, r#"outage="model.main" over="true""#));
    script.after("spawned", mark("waits", "waits", 2, failed));
    script.line("attempt").body = attempt(3);
    script
}

fn found(script: &Script, outage_ms: Option<u64>) -> Vec<&'static str> {
    let terms = RunSettings { attempts: 2, outage_ms, ..RunSettings::default() };
    SealedBook::of(script).check_under(terms).found.into_keys().collect()
}

#[test]
fn a_wait_that_ends_costs_no_attempt() {
    assert!(found(&waiting(), Some(0)).is_empty(), "{}", SealedBook::of(&waiting()).check());
}

#[test]
fn a_wait_has_one_record_when_it_begins_and_one_when_it_ends() {
    let mut twice = waiting();
    twice.after("waits", mark("again", "waits", 2, r#"outage="model.main""#));
    assert_eq!(found(&twice, None), ["outage"]);
    let mut silent = waiting();
    silent.remove("goes-on");
    assert_eq!(found(&silent, None), ["outage"]);
    let mut other = waiting();
    other.line("goes-on").body = other.line("goes-on").body.replace("main", "small");
    assert_eq!(found(&other, None), ["outage"]);
    let mut never = waiting();
    never.remove("waits");
    never.line("attempt").body = attempt(2);
    never.line("goes-on").body = attempt(1).replace(" due", r#" outage="model.main" over="true" due"#);
    assert_eq!(found(&never, None), ["outage"]);
}

#[test]
fn a_call_that_waits_says_nothing_unless_its_delivery_is_with_the_broker() {
    for (outage, wrong) in [("program", &["outage"][..]), ("worker", &[])] {
        let mut script = script();
        script.after("attempt", mark("waits", "waits", 2, &format!("outage=\"{outage}\"")));
        assert_eq!(found(&script, None), wrong, "{outage}");
    }
}

#[test]
fn a_wait_lasts_as_long_as_it_may() {
    let mut script = waiting();
    script.line("goes-on").time_ms += 5_000;
    assert!(found(&script, Some(5_000)).is_empty());
    assert_eq!(found(&script, Some(4_999)), ["outage"], "too long");
    // Another pump has begun since, so no one could end it in time.
    let boot = r#"<boot xmlns="https://xml-pipeline.org/ns/core/v1"/>"#;
    let late = script.line("goes-on").time_ms;
    script.after("waits", Line { time_ms: late, ..line("boot-2", "sys", "message", "told").says(boot) });
    assert!(found(&script, Some(4_999)).is_empty());
}

#[test]
fn a_wait_that_ends_a_call_too_early_is_found() {
    let mut script = script();
    let begun = script.line("ask-3").time_ms;
    let waits = mark("waits", "waits", 1, r#"outage="program""#);
    script.after("handled", Line { to: Some("planner"), call: Some("3"), cause: Some("handled"), ..waits });
    script.line("letter").body = dead_letter(1);
    for name in ["letter", "failed"] {
        script.line(name).time_ms = begun + 5_000;
    }
    assert!(found(&script, Some(5_000)).is_empty());
    assert_eq!(found(&script, Some(5_001)), ["outage"]);
}

#[test]
fn an_attempt_that_goes_on_in_a_pause_is_found() {
    let mut script = waiting();
    script.after("waits", line("halt", A, "steer", "paused"));
    script.after("goes-on", line("go", A, "steer", "resumed"));
    assert_eq!(found(&script, None), ["outage"]);
}
