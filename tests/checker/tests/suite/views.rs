//! Faults in what a call sees of its own view.

use crate::good::{cleared, over, recalled};
use crate::planted;

planted! {
    a_clear_that_is_answered_otherwise finds ["view", "wait"] by |script| {
        script.line("f-cleared").body = over("done", 0, 0);
    };

    a_clear_without_a_request finds ["end", "view"] by |script| {
        script.line("f-ended").body = cleared(1, 2, 3);
    };

    a_clear_that_keeps_nothing finds ["view"] by |script| script.line("f-cleared").body = cleared(0, 2, 3);

    a_clear_that_goes_backwards finds ["view"] by |script| script.line("f-cleared").body = cleared(1, 3, 2);

    a_clear_without_a_digest finds ["view"] by |script| {
        script.line("f-cleared").body = cleared(1, 2, 3).replace("digest", "hash");
    };

    a_message_that_is_cleared_twice finds ["view"] by |script| {
        script.line("f-recall").code = Some("clear");
        script.line("f-recalled").body = cleared(1, 3, 4);
    };

    a_clear_that_counts_nothing finds ["view"] by |script| {
        script.line("f-cleared").body = cleared(1, 2, 3).replace("kept_messages", "kept");
    };

    a_refused_question_from_another_listener finds ["party"] by |script| {
        script.line("f-asks").from = "planner";
    };

    a_refused_question_to_a_call_that_is_over finds ["call-open"] by |script| {
        let asks = script.remove("f-asks");
        script.after("f-done", asks);
    };

    a_recall_that_is_answered_otherwise finds ["view", "wait"] by |script| {
        script.line("f-recalled").body = over("done", 0, 0);
    };

    a_recall_without_a_request finds ["end", "view"] by |script| {
        script.line("f-ended").body = recalled(1, 2, "total=\"9\" offset=\"0\"");
    };

    a_recall_of_no_range finds ["view"] by |script| {
        script.line("f-recalled").body = recalled(3, 2, "total=\"9\" offset=\"0\"");
    };

    a_recall_from_behind_the_end finds ["view"] by |script| {
        script.line("f-recalled").body = recalled(2, 3, "total=\"9\" offset=\"9\"");
    };

    a_recall_that_goes_on_behind_the_end finds ["view"] by |script| {
        script.line("f-recalled").body = recalled(2, 3, "total=\"9\" offset=\"0\" next=\"10\"");
    };
}
