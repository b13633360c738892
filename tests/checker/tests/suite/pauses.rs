//! Faults against pauses: paused threads that go on, and pauses and resumes that do not alternate.

use crate::good::{A, B, HEAT, attempt};
use crate::planted;
use crate::script::{Line, line};

/// An order from outside about a thread.
fn word(name: &'static str, thread: &'static str, code: &'static str) -> Line {
    line(name, thread, "steer", code).between("core", "wes")
}

planted! {
    a_turn_that_became_due_after_its_thread_was_paused finds ["paused"] by |script| {
        // The call was made before; its caller's next turn is due when it is answered.
        script.after("call", word("halt", A, "paused"));
        script.after("refused", word("go", A, "resumed"));
    };

    a_child_that_begins_to_answer_while_its_parent_is_paused finds ["paused"] by |script| {
        script.after("ask", word("halt", A, "paused"));
        script.after("warm", word("go", A, "resumed"));
        // The other call from that time is answered after everything resumes.
        let found = script.remove("found");
        script.after("go", found);
    };

    an_answer_to_what_came_while_everything_was_paused finds ["paused"] by |script| {
        script.after("stray", word("halt", "sys", "paused"));
        script.after("b-final", word("go", "sys", "resumed"));
        script.0.retain(|line| line.thread == "sys" || line.thread == B);
    };

    an_attempt_that_failed_and_was_made_again_while_it_was_paused finds ["paused"] by |script| {
        script.after("spawned", word("halt", HEAT, "paused"));
        let again = Line { turn: Some(1), ..line("again", HEAT, "attempt", "listener.failed") };
        script.after("halt", again.between("core", "helper").on("1").because("begin").says(&attempt(2)));
    };

    a_first_attempt_of_a_thread_that_is_paused finds ["paused"] by |script| {
        script.after("b-ask", word("halt", B, "paused"));
        let first = Line { turn: Some(1), code: None, ..line("first", B, "attempt", "") };
        script.after("halt", first.between("core", "planner").on("1").because("b-ask").says(&attempt(1)));
        script.after("first", word("go", B, "resumed"));
    };

    a_thread_that_is_paused_twice finds ["paused"] by |script| {
        script.after("b-final", word("halt", B, "paused"));
        script.repeat("halt", "halt");
    };

    a_thread_that_goes_on_and_was_never_paused finds ["paused"] by |script| {
        script.after("b-final", word("go", B, "resumed"));
    };
}

#[test]
fn what_was_out_may_land_in_a_pause() {
    let mut script = crate::good::script();
    script.after("b-ask", word("halt", B, "paused"));
    script.after("b-final", word("go", B, "resumed"));
    let report = crate::book::SealedBook::of(&script).check();
    assert!(report.found.is_empty(), "{report}");
}
