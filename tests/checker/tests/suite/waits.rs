//! Faults in the end of waits for children, and in the report of it.

use crate::book::SealedBook;
use crate::good::{E, E1, ended, over, script, spawned, unset};
use crate::planted;
use crate::script::Line;

planted! {
    a_wait_that_ends_twice finds ["answer-once"] by |script| script.repeat("e-over", "e-over");

    a_wait_that_never_ends finds ["turn-due"] by |script| {
        script.remove("e-over");
        script.line("e-final").cause = Some("e-finished");
    };

    a_wait_that_is_done_too_early finds ["wait"] by |script| {
        let early = script.remove("e-over");
        script.after("e-wait", early);
        script.line("e-over").cause = Some("e-wait");
        script.line("e-over").body = over("done", 0, 1);
    };

    a_wait_that_counts_a_child_too_many finds ["wait"] by |script| {
        script.line("e-over").body = over("done", 2, 0);
    };

    a_wait_that_counts_an_ended_child_as_open finds ["wait"] by |script| {
        script.line("e-over").body = over("done", 1, 1);
    };

    a_wait_that_ends_for_no_reason finds ["wait"] by |script| script.line("e-over").body = over("whim", 1, 0);

    a_wait_that_is_answered_otherwise finds ["spawn", "wait"] by |script| {
        script.line("e-over").body = spawned(E1, E, "e-begin");
    };

    a_wait_that_ends_and_was_never_begun finds ["closed-below", "wait"] by |script| {
        let item = script.line("e-wait");
        (item.code, item.to) = (Some("call"), Some("search"));
    };

    a_wait_ended_by_a_message_that_never_came finds ["wait"] by |script| {
        script.line("e-over").body = over("message", 1, 0);
    };

    a_child_told_to_be_cancelled_that_still_runs finds ["end"] by |script| {
        let told = script.remove("f-ended");
        script.after("f-end", told);
        script.line("f-done").cause = Some("f-finished");
    };

    a_cancelled_child_of_another_call finds ["end"] by |script| script.line("f-ended").body = ended(E1);

    a_cancelling_that_is_answered_otherwise finds ["end", "steer"] by |script| {
        script.line("f-ended").body = "<handled xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>".into();
    };

    a_cancellation_without_a_request finds ["closed-below", "end"] by |script| {
        let item = script.line("f-end");
        (item.code, item.to) = (Some("call"), Some("helper"));
    };
}

/// The timer fires while turn 2 is out. The reply to that turn cancels it and waits, and the firing ends the wait.
#[test]
fn a_wait_may_be_ended_by_a_timer_that_its_own_reply_cancels() {
    let mut script = script();
    let end = script.0.iter().position(|line| line.name == "f-opens").unwrap();
    script.0.truncate(end);
    script.line("f-over").body = over("done", 0, 0);
    let fired = script.remove("f-fired");
    script.line("f-over").cause = Some("f-wait");
    script.after("f-over", fired);
    script.line("f-cancelled").body = unset("tick");
    let time_ms = script.line("f-cancel").time_ms;
    let wait = Line {
        turn: Some(2),
        ordinal: Some(1),
        cause: Some("f-over"),
        time_ms,
        ..script.line("f-wait").again("wait")
    };
    let ends = Line { call: Some("1/2.1"), cause: Some("wait"), ..script.line("f-over").again("ends") };
    script.after("f-cancelled", Line { body: over("timer", 0, 0), ..ends });
    script.after("f-cancelled", wait);
    script.line("f-final").cause = Some("ends");
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "{report}");
    script.remove("f-fired");
    assert_eq!(SealedBook::of(&script).check().found.into_keys().collect::<Vec<_>>(), ["wait"]);
}
