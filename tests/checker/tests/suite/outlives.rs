//! Faults of attempts that were out when a pump ended.

use crate::book::SealedBook;
use crate::good::{A, attempt, script};
use crate::script::{Line, Script, line};

const BOOT: &str = r#"<boot xmlns="https://xml-pipeline.org/ns/core/v1"/>"#;

fn shutdown(words: &str) -> String {
    format!(r#"<shutdown xmlns="https://xml-pipeline.org/ns/core/v1" {words}/>"#)
}

/// The pump ends so, and starts again, after the line of that name.
fn starts_again(script: &mut Script, after: &str, end: Option<&str>) {
    script.after(after, line("second boot", "sys", "message", "told").says(BOOT));
    if let Some(words) = end {
        script.after(after, line("shutdown", "sys", "message", "told").says(&shutdown(words)));
    }
}

/// The attempt of the good log that failed, as one that died with its pump.
fn dies_with_pump(script: &mut Script) {
    script.line("attempt").body = attempt(2).replace(" due", " with_pump=\"true\" due");
}

fn found(script: &Script) -> Vec<&'static str> {
    SealedBook::of(script).check().found.into_keys().collect()
}

#[test]
fn an_attempt_may_outlive_its_pump() {
    for end in [None, Some(r#"mode="drain""#), Some(r#"mode="drained" out="1""#), Some(r#"mode="drained""#)] {
        let mut script = script();
        // The turn that the note answers was due before.
        starts_again(&mut script, "ask", end);
        assert!(found(&script).is_empty(), "{end:?}: {}", SealedBook::of(&script).check());
    }
}

#[test]
fn an_attempt_may_be_lost_with_its_pump() {
    for end in [None, Some(r#"mode="drain""#), Some(r#"mode="drained" out="1""#)] {
        let mut script = script();
        starts_again(&mut script, "spawned", end);
        dies_with_pump(&mut script);
        assert!(found(&script).is_empty(), "{end:?}: {}", SealedBook::of(&script).check());
    }
}

#[test]
fn an_attempt_that_is_answered_and_lost_is_found() {
    let mut script = script();
    starts_again(&mut script, "ask", Some(r#"mode="drained" out="1""#));
    let lost = attempt(2).replace(" due", " with_pump=\"true\" due");
    let attempt = script.line("attempt").again("lost");
    let attempt = Line { call: Some("1"), to: Some("planner"), turn: Some(1), cause: Some("ask"), ..attempt };
    script.after("spawned", Line { body: lost, ..attempt });
    assert_eq!(found(&script), ["outlives", "turn-due"]);
}

#[test]
fn a_second_reply_to_an_attempt_that_outlived_its_pump_is_found() {
    let mut script = script();
    starts_again(&mut script, "ask", None);
    script.repeat("note", "spawned");
    let late = script.line("again");
    (late.ordinal, late.time_ms) = (Some(7), late.time_ms + 1);
    assert_eq!(found(&script), ["outlives", "turn-due"]);
}

#[test]
fn an_attempt_that_began_with_this_pump_is_not_lost_with_an_earlier_one() {
    let mut script = script();
    starts_again(&mut script, "ask", None);
    dies_with_pump(&mut script);
    assert_eq!(found(&script), ["outlives"]);
}

#[test]
fn an_attempt_that_is_lost_though_nothing_was_out_is_found() {
    let mut script = script();
    starts_again(&mut script, "spawned", Some(r#"mode="drained""#));
    dies_with_pump(&mut script);
    assert_eq!(found(&script), ["outlives"]);
    // A record between says that the statement no longer holds.
    script.after("shutdown", line("told", "sys", "message", "told"));
    assert!(found(&script).is_empty());
}

#[test]
fn an_end_that_says_more_than_can_be_is_found() {
    for (out, wrong) in [("1", false), ("2", true), ("0", true), ("-1", true), ("some", true)] {
        let mut script = script();
        let words = format!(r#"mode="drained" out="{out}""#);
        starts_again(&mut script, "ask", Some(&words));
        let expected: &[&str] = if wrong { &["outlives"] } else { &[] };
        assert_eq!(found(&script), expected, "{out}: only one call is open in {A}");
    }
}
