//! Faults in calls: opening, order, closing, senders and receivers.

use crate::book::SealedBook;
use crate::good::{B, D1, script};
use crate::planted;
use crate::script::{Line, Script};

planted! {
    a_record_of_a_call_that_was_never_opened finds ["call-open"] by |script| {
        script.line("attempt").call = Some("1/1.7");
    };

    a_record_of_a_call_that_is_over finds ["call-open"] by |script| {
        let attempt = script.remove("attempt");
        script.after("found", attempt);
    };

    an_answer_to_an_item_that_is_not_there finds ["call-open"] by |script| {
        let answer = script.line("spawned").again("again");
        script.after("found", Line { call: Some("1/1.7"), body: "<e xmlns=\"urn:e\"/>".into(), ..answer });
    };

    a_final_for_a_call_of_another_thread finds ["call-open", "rest"] by |script| script.line("b-final").call = Some("2");

    a_later_top_call_before_its_turn finds ["top-order"] by |script| {
        script.remove("letter");
        let failed = script.remove("failed");
        script.after("ask-3", Line { cause: Some("ask-3"), ..failed });
    };

    a_top_call_number_left_out finds ["top-order"] by |script| {
        for name in ["ask-3", "letter", "failed"] {
            script.line(name).call = Some("4");
        }
    };

    a_child_asked_from_outside finds ["top-order"] by |script| {
        let ask = script.line("b-ask").again("again");
        script.after("begin", Line { thread: crate::good::HEAT, call: Some("2"), ..ask });
        // It closes with the child, before any other fault in it.
        let confirmed = script.remove("spawned");
        script.after("begin", confirmed);
    };

    a_root_that_begins_as_a_child finds ["spawn", "top-order"] by |script| {
        let ask = script.line("b-ask");
        (ask.code, ask.key, ask.cause) = (Some("begin"), None, Some("boot"));
    };

    a_record_after_the_end_of_a_child finds ["ended"] by |script| {
        let stray = script.line("stray").again("again");
        script.after("d-finished", Line { thread: D1, ..stray });
    };

    a_record_after_the_end_of_a_root finds ["ended"] by |script| {
        let stray = script.line("stray").again("again");
        script.after("d-end", Line { thread: crate::good::D, ..stray });
    };

    an_attempt_after_the_end_of_a_thread finds ["ended"] by |script| {
        let attempt = script.line("attempt").again("again");
        script.after("d-end", Line { thread: crate::good::D, cause: Some("d-call"), ..attempt });
    };

    a_nested_call_left_open finds ["closed-below"] by |script| {
        let call = script.line("call").again("again");
        let call = Line { thread: B, call: Some("1"), cause: Some("b-ask"), ..call };
        script.after("b-ask", call);
        let last = script.line("b-final");
        (last.code, last.kind, last.from) = (Some("listener.lost"), "outcome", "core");
        (last.turn, last.ordinal) = (None, None);
    };

    a_child_left_running_by_a_call finds ["closed-below", "rest"] by |script| {
        script.remove("warm");
        script.remove("finished");
    };

    a_child_left_running_by_the_end_of_a_thread finds ["closed-below", "rest"] by |script| {
        script.remove("d-child-end");
        script.remove("d-finished");
    };

    an_answer_from_another_listener finds ["party"] by |script| script.line("found").from = "helper";

    an_answer_to_the_wrong_addressee finds ["party"] by |script| script.line("b-final").to = Some("alice");

    a_forged_word_of_the_core finds ["party"] by |script| script.line("failed").from = "planner";

    a_note_from_another_listener finds ["party"] by |script| script.line("note").from = "search";

    a_child_that_another_listener_begins finds ["party"] by |script| {
        script.line("begin").from = "search";
        script.line("warm").to = Some("search");
    };
}

#[test]
fn only_a_client_stops_a_call_that_waits_for_its_turn() {
    for (message, wrong) in
        [("cancelled by alice", &[][..]), ("cancelled, because the call is over", &["top-order"])]
    {
        let mut script: Script = script();
        script.remove("letter");
        let failed = script.remove("failed");
        let body = format!(
            "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"thread.cancelled\" message=\"{message}\"/>"
        );
        let code = Some("thread.cancelled");
        script.after("ask-3", Line { cause: Some("ask-3"), code, body, ..failed });
        let report = SealedBook::of(&script).check();
        assert_eq!(report.found.keys().copied().collect::<Vec<_>>(), wrong, "{message}: {report}");
    }
}
