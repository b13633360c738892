//! Faults against the rules on once, and in order.

use systole_checker::RunSettings;

use crate::book::SealedBook;
use crate::good::{attempt, dead_letter, script};
use crate::planted;
use crate::script::{Line, Script};

planted! {
    a_final_that_is_turned_away_twice finds ["nudge-once"] by |script| {
        script.line("refused").code = Some("children-open");
        script.line("note-3").code = Some("todo-open");
        let note = script.line("note-3");
        (note.kind, note.from, note.to) = ("refusal", "core", Some("planner"));
        let last = script.line("final");
        (last.turn, last.ordinal, last.cause) = (Some(4), Some(0), Some("note-3"));
    };

    a_doubled_effect_two_finals finds ["outcome-once"] by |script| {
        script.repeat("b-final", "b-final");
        script.line("again").ordinal = Some(1);
    };

    two_finals_of_a_nested_call finds ["outcome-once"] by |script| {
        script.repeat("found", "found");
        script.line("again").ordinal = Some(1);
    };

    an_outcome_after_a_final finds ["outcome-once"] by |script| {
        let failed = script.line("failed").again("again");
        script.after("b-final", Line { thread: crate::good::B, call: Some("1"), to: Some("bob"), cause: Some("b-ask"), ..failed });
    };

    an_item_twice finds ["item-once"] by |script| script.repeat("note", "note");

    an_answer_twice finds ["answer-once"] by |script| script.repeat("spawned", "spawned");

    an_answer_before_the_outcome_of_the_call finds ["answer-once"] by |script| {
        let answer = script.line("spawned").again("again");
        script.after("attempt", Line { call: Some("1/1.0"), body: "<e xmlns=\"urn:e\"/>".into(), ..answer });
    };

    a_missing_answer finds ["closed-below", "turn-due"] by |script| {
        script.remove("found");
        script.line("refused").cause = Some("finished");
    };

    a_missing_outcome finds ["rest"] by |script| {
        script.remove("b-final");
    };

    a_turn_left_out finds ["turn-due"] by |script| {
        script.line("note-3").turn = Some(4);
        script.line("final").turn = Some(4);
    };

    an_item_behind_the_reply_it_claims finds ["turn-due"] by |script| {
        script.repeat("note", "found");
        let late = script.line("again");
        (late.ordinal, late.cause) = (Some(7), Some("found"));
    };

    a_second_reply_to_a_turn finds ["turn-due"] by |script| {
        script.repeat("note", "spawned");
        let late = script.line("again");
        (late.ordinal, late.time_ms) = (Some(7), late.time_ms + 1);
    };

    a_turn_before_all_answers finds ["turn-due"] by |script| {
        let refused = script.remove("refused");
        script.after("spawned", Line { cause: Some("spawned"), ..refused });
    };

    a_final_beside_another_item finds ["final-alone"] by |script| {
        script.remove("note-3");
        let last = script.line("final");
        (last.turn, last.ordinal, last.cause) = (Some(2), Some(1), Some("found"));
    };

    a_key_twice_in_a_thread finds ["key-once"] by |script| script.line("ask-3").key = Some("k-a2");

    a_key_that_opens_two_roots finds ["key-once"] by |script| {
        script.line("d-ask").from = "bob";
        script.line("d-ask").key = Some("k-b");
    };

    an_attempt_skipped finds ["attempt"] by |script| script.line("attempt").body = attempt(3);

    an_attempt_twice finds ["attempt"] by |script| script.repeat("attempt", "attempt");

    an_attempt_without_its_number finds ["attempt"] by |script| script.line("attempt").body = "<attempt/>".into();

    an_attempt_after_the_dead_letter finds ["attempt"] by |script| {
        let attempt = script.line("attempt").again("again");
        script.after("letter", Line { call: Some("3"), to: Some("planner"), cause: Some("handled"), ..attempt });
    };

    a_dead_letter_that_counts_wrong finds ["attempt"] by |script| script.line("letter").body = dead_letter(2);
}

#[test]
fn attempts_over_the_most_allowed_are_found() {
    let book = SealedBook::of(&script());
    let under = |attempts| book.check_under(RunSettings { attempts, ..RunSettings::default() }).found;
    assert_eq!(under(1).into_keys().collect::<Vec<_>>(), ["attempt"]);
    assert!(under(2).is_empty());
}

#[test]
fn attempts_that_died_with_the_pump_are_counted_apart() {
    let mut script = script();
    let lost = |number| attempt(number).replace(" due", " with_pump=\"true\" due");
    script.line("attempt").body = lost(2);
    let of_run = |script: &Script, is_local| {
        let terms = RunSettings { attempts: 1, is_local, ..RunSettings::default() };
        SealedBook::of(script).check_under(terms).found
    };
    let under = |script: &Script| of_run(script, true);
    assert!(under(&script).is_empty(), "it is still the listener's first");
    for (name, number) in [("seventh", 7), ("sixth", 6), ("fifth", 5), ("fourth", 4), ("third", 3)] {
        let more = Line { body: lost(number), ..script.line("attempt").again(name) };
        script.after("attempt", more);
    }
    assert_eq!(
        under(&script).into_keys().collect::<Vec<_>>(),
        ["attempt"],
        "the fifth death on record is the last"
    );
    assert!(of_run(&script, false).is_empty(), "over NATS there is no last one");
    script.remove("seventh");
    assert!(under(&script).is_empty());
}

#[test]
fn a_first_attempt_may_stand_in_the_log_or_not() {
    let mut script = script();
    script.repeat("attempt", "attempt");
    script.line("attempt").body = attempt(1);
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "\n{report}");
}

#[test]
fn a_key_may_open_one_root_and_stand_in_another_thread() {
    let mut script = script();
    let (ask, answer) = (script.remove("b-ask"), script.remove("b-final"));
    script.after("boot", Line { to: Some("alice"), ..answer });
    script.after("boot", Line { from: "alice", key: Some("k-a2"), ..ask });
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "\n{report}");
}

#[test]
fn attempts_are_counted_anew_in_every_turn() {
    let mut script = script();
    let attempt = Line { call: Some("1"), to: Some("planner"), ..script.line("attempt").clone() };
    script.after("finished", Line { turn: Some(2), cause: Some("found"), ..attempt.again("in turn 2") });
    script.after("refused", Line { turn: Some(3), cause: Some("refused"), ..attempt.again("in turn 3") });
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "\n{report}");
}
