//! A thread with two items that went to several takers, and faults planted in it.

use crate::planted;
use crate::script::{Line, line};

const H: &str = "sess-000000000002";

/// Item 0 waits for both answers, one of which is a failure; item 1 for the first, which cancels the other.
pub(crate) fn thread_h() -> Vec<Line> {
    let h = |name, kind, code| line(name, H, kind, code);
    let sent = |name, code, to, call| {
        let sent = h(name, "message", code).between("planner", to).on(call).because("h-ask");
        sent.says("<q xmlns=\"urn:e\">which way</q>")
    };
    let answer = |name, from, call, cause| {
        h(name, "message", "final").between(from, "planner").on(call).at(1, 0).because(cause)
    };
    let gone =
        |name, code, call, cause| h(name, "outcome", code).between("core", "planner").on(call).because(cause);
    vec![
        h("h-ask", "message", "request").between("hal", "planner").on("1").key("k-h"),
        sent("h-north", "to-all", "north", "1/1.0:0"),
        sent("h-south", "to-all", "south", "1/1.0:1"),
        sent("h-slow", "to-first", "north", "1/1.1:0"),
        sent("h-quick", "to-first", "south", "1/1.1:1"),
        gone("h-north-failed", "listener.failed", "1/1.0:0", "h-north"),
        answer("h-south-said", "south", "1/1.0:1", "h-south"),
        gone("h-slow-gone", "thread.cancelled", "1/1.1:0", "h-slow"),
        answer("h-quick-said", "south", "1/1.1:1", "h-quick"),
        h("h-final", "message", "final").between("planner", "hal").on("1").at(2, 0).because("h-quick-said"),
    ]
}

planted! {
    a_taker_that_comes_without_those_before_it finds ["takers"] by |script| {
        script.remove("h-north");
        script.remove("h-north-failed");
    };

    a_taker_that_comes_twice finds ["takers"] by |script| script.repeat("h-south", "h-south");

    an_item_that_goes_to_one_twice finds ["takers"] by |script| {
        script.line("h-south").to = Some("north");
        script.line("h-south-said").from = "north";
    };

    other_bytes_for_another_taker finds ["takers"] by |script| {
        script.line("h-south").body = "<q xmlns=\"urn:e\">this way</q>".into();
    };

    other_terms_for_another_taker finds ["takers"] by |script| script.line("h-south").code = Some("to-first");

    an_item_that_is_something_else_as_well finds ["answer-once", "takers"] by |script| {
        let mut note = script.line("h-north").again("h-note");
        (note.code, note.to, note.call) = (Some("note"), None, Some("1"));
        (note.turn, note.ordinal) = (Some(1), Some(0));
        script.after("h-ask", note);
    };

    an_answer_that_is_enough_beside_one_that_still_answers finds ["takers"] by |script| {
        let gone = script.remove("h-slow-gone");
        script.after("h-quick-said", gone);
    };

    one_that_handled_it_beside_one_that_still_answers finds ["takers"] by |script| {
        let gone = script.remove("h-slow-gone");
        script.after("h-quick-said", gone);
        let said = script.line("h-quick-said");
        (said.kind, said.code, said.turn, said.ordinal) = ("outcome", Some("handled"), None, None);
    };

    a_turn_before_all_have_answered finds ["closed-below", "turn-due"] by |script| {
        script.remove("h-south-said");
    };

    an_answer_of_a_taker_that_comes_twice finds ["item-once", "outcome-once"] by |script| {
        script.repeat("h-south-said", "h-south-said");
    };

    a_call_to_several_that_another_sends finds ["party"] by |script| {
        script.line("h-south").from = "north";
        script.line("h-south-said").to = Some("north");
    };

    a_call_to_several_that_comes_after_its_reply finds ["turn-due"] by |script| {
        script.line("h-south").cause = Some("h-north");
    };
}
