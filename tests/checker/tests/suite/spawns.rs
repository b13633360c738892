//! Faults in the beginning and end of children.

use systole_checker::RunSettings;

use crate::book::SealedBook;
use crate::good::{A, D1, HEAT, WARM, finished, script, spawned};
use crate::planted;
use crate::script::Line;

planted! {
    a_spawn_unconfirmed finds ["spawn", "turn-due"] by |script| {
        script.remove("spawned");
    };

    a_spawn_without_a_child finds ["call-open", "finished", "spawn"] by |script| {
        script.remove("begin");
        script.remove("warm");
        script.line("finished").cause = Some("found");
        script.line("finished").call = Some("1/1.2");
    };

    a_child_confirmed_before_it_begins finds ["spawn"] by |script| {
        let confirmed = script.remove("spawned");
        script.after("spawn", confirmed);
    };

    a_child_that_moves_before_it_is_confirmed finds ["spawn"] by |script| {
        let confirmed = script.remove("spawned");
        script.after("warm", confirmed);
    };

    a_confirmation_with_another_cause finds ["spawn"] by |script| script.line("spawned").cause = Some("call");

    a_child_of_another_parent finds ["spawn"] by |script| {
        const STRAY: &str = "sess-bbbbbbbbbbbb.heat";
        script.line("begin").thread = STRAY;
        script.line("warm").thread = STRAY;
        script.line("spawned").body = spawned(STRAY, A, "begin");
        script.line("finished").body = finished(STRAY, "answered", "warm", WARM);
    };

    a_second_child_of_one_spawn finds ["rest", "spawn"] by |script| {
        let twin = script.line("begin").again("again");
        script.after("begin", Line { thread: "sess-aaaaaaaaaaaa.twin", ..twin });
    };

    a_child_that_begins_twice finds ["spawn", "top-order"] by |script| {
        let twice = script.line("begin").again("again");
        script.after("spawned", Line { call: Some("2"), ..twice });
    };

    a_child_whose_first_record_does_not_begin_it finds ["spawn"] by |script| {
        let stray = script.line("stray").again("again");
        script.after("stray", Line { thread: "sess-bbbbbbbbbbbb.lost", ..stray });
    };

    a_child_of_another_spawn finds ["spawn"] by |script| {
        script.line("begin").origin = Some("call");
    };

    a_child_without_an_origin finds ["spawn"] by |script| script.line("begin").origin = None;

    a_confirmation_with_another_head finds ["spawn"] by |script| {
        script.line("spawned").body = spawned(HEAT, A, "spawn");
    };

    a_confirmation_of_another_child finds ["spawn"] by |script| {
        script.line("spawned").body = spawned(D1, A, "begin");
    };

    a_confirmation_without_a_request finds ["closed-below", "spawn", "turn-due"] by |script| {
        // It answers the open call to the peer instead of the spawn.
        let confirmed = script.line("spawned");
        confirmed.call = Some("1/1.0");
        script.remove("found");
        script.remove("attempt");
        script.line("refused").cause = Some("finished");
    };

    a_child_finished_twice finds ["finished"] by |script| script.repeat("finished", "finished");

    a_child_finished_that_still_runs finds ["finished"] by |script| {
        let told = script.remove("finished");
        script.after("spawned", Line { cause: Some("begin"), ..told });
    };

    a_child_whose_end_is_not_told finds ["finished"] by |script| {
        script.remove("finished");
    };

    a_child_finished_with_another_head finds ["finished"] by |script| {
        script.line("finished").body = finished(HEAT, "answered", "begin", WARM);
    };

    a_child_finished_with_another_outcome finds ["finished"] by |script| {
        script.line("d-finished").body = finished(D1, "failed", "d-child-end", "");
    };

    a_child_finished_with_another_answer finds ["finished"] by |script| {
        script.line("finished").body = finished(HEAT, "answered", "warm", "<warm xmlns=\"urn:e\">22</warm>");
    };

    a_child_finished_to_another_call finds ["finished"] by |script| {
        let told = script.line("finished");
        (told.call, told.to) = (Some("2"), Some("planner"));
    };
}

#[test]
fn a_spawn_whose_commit_was_cut_apart_is_found() {
    for last in ["spawn", "begin"] {
        let mut cut = script();
        while cut.0.last().is_some_and(|line| line.name != last) {
            cut.0.pop();
        }
        let report =
            SealedBook::of(&cut).check_under(RunSettings { running: true, ..RunSettings::default() });
        assert_eq!(report.found.into_iter().collect::<Vec<_>>(), [("spawn", 1)], "cut after {last}");
    }
}

/// The good log with another end of the child, reported with this word.
fn ended(code: &'static str, body: &str, told: &str, payload: &str) -> Vec<&'static str> {
    let mut script = script();
    let last = script.line("warm");
    (last.kind, last.code, last.body) = ("outcome", Some(code), body.into());
    (last.ordinal, last.from) = (None, if code == "handled" { "helper" } else { "core" });
    script.line("finished").body = finished(HEAT, told, "warm", payload);
    SealedBook::of(&script).check().found.into_keys().collect()
}

#[test]
fn a_parent_is_told_how_its_child_ended() {
    const REPORT: &str =
        r#"<final-report xmlns="https://xml-pipeline.org/ns/core/v1" source="synthetic">x</final-report>"#;
    const ERROR: &str =
        r#"<system-error xmlns="https://xml-pipeline.org/ns/core/v1" code="budget.messages"/>"#;
    for (code, body, word, payload) in [
        ("budget.messages", REPORT, "budget", REPORT),
        ("budget.messages", ERROR, "failed", ERROR),
        ("listener.lost", ERROR, "failed", ERROR),
        ("handled", ERROR, "handled", ""),
        ("thread.cancelled", ERROR, "cancelled", ERROR),
        ("approval.rejected", ERROR, "rejected", ERROR),
        ("approval.expired", ERROR, "expired", ERROR),
    ] {
        assert_eq!(ended(code, body, word, payload), [""; 0], "{code} told as {word}");
        assert_eq!(ended(code, body, "answered", payload), ["finished"], "{code} told as answered");
    }
    assert_eq!(ended("listener.lost", ERROR, "failed", ""), ["finished"], "a failure keeps its words");
    assert_eq!(ended("handled", ERROR, "handled", ERROR), ["finished"], "handled has no words");
}
