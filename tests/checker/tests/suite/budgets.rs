//! Faults in what is told of budgets, and in what follows when one is used up.

use crate::good::{B, HEAT, WARM, finished};
use crate::planted;
use crate::script::{Line, line};

/// A word on a budget for the open call of thread B.
fn told(name: &'static str, code: &'static str, element: &str) -> Line {
    let body = [
        "<",
        element,
        r#" xmlns="https://xml-pipeline.org/ns/core/v1" what="messages" used="8" limit="10"/>"#,
    ];
    line(name, B, "message", code).between("core", "planner").on("1").because("b-ask").says(&body.concat())
}

planted! {
    a_child_that_used_less_than_is_told finds ["used"] by |script| {
        let body = finished(HEAT, "answered", "warm", WARM);
        script.line("finished").body = body.replacen(" head=", " messages=\"3\" head=", 1);
    };

    a_call_that_is_warned_of_a_limit_twice finds ["warned-once"] by |script| {
        script.after("b-ask", told("warned", "inbox", "budget-warning"));
        script.after("warned", told("again", "inbox", "budget-warning"));
    };

    a_call_that_wraps_up_twice finds ["wrap-up"] by |script| {
        script.after("b-ask", told("wraps", "wrap-up", "budget-exceeded"));
        script.after("wraps", told("again", "wrap-up", "budget-exceeded"));
    };

    something_begun_by_a_call_that_may_only_answer finds ["closed-below", "final-alone", "wrap-up"] by |script| {
        script.after("b-ask", told("wraps", "wrap-up", "budget-exceeded"));
        let call = line("late", B, "message", "call").between("planner", "search").on("1").at(1, 0);
        script.after("wraps", call.because("b-ask").says("<s/>"));
        script.line("b-final").ordinal = Some(1);
    };
}

#[test]
fn a_warning_and_a_wrap_up_turn_are_no_faults() {
    let mut script = crate::good::script();
    script.after("b-ask", told("warned", "inbox", "budget-warning"));
    script.after("warned", told("wraps", "wrap-up", "budget-exceeded"));
    let refused = line("late", B, "refusal", "budget.messages").between("core", "planner").on("1").at(1, 0);
    script.after("wraps", refused.because("b-ask"));
    script.line("b-final").ordinal = Some(1);
    let report = crate::book::Book::of(&script).check();
    assert!(report.found.is_empty(), "{report}");
}
