//! Faults in reports about budgets, and in what follows when a budget is used up.

use crate::good::{B, HEAT, WARM, finished};
use crate::planted;
use crate::script::{Line, line};
use systole_checker::RunSettings;

/// A record about a budget for the open call of thread B.
fn told(name: &'static str, code: &'static str, element: &str) -> Line {
    let body = [
        "<",
        element,
        r#" xmlns="https://xml-pipeline.org/ns/core/v1" what="messages" used="8" limit="10"/>"#,
    ];
    line(name, B, "message", code).between("core", "planner").on("1").because("b-ask").says(&body.concat())
}

/// A record about the time of thread B.
fn clocked(name: &'static str, runs: bool, used: &str) -> Line {
    let body = format!(
        r#"<budget-time xmlns="https://xml-pipeline.org/ns/core/v1" runs="{runs}" used="{used}" limit="30s"/>"#
    );
    line(name, B, "timer", "wall").between("core", "").on("1").says(&body)
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

    time_that_runs_while_it_stands_still finds ["time"] by |script| {
        script.after("b-ask", clocked("stands", false, "9s"));
        script.after("stands", clocked("runs", true, "10s"));
    };

    time_that_stands_still_twice finds ["time"] by |script| {
        script.after("b-ask", clocked("stands", false, "9s"));
        script.after("stands", clocked("again", false, "9s"));
    };

    time_that_is_given_back finds ["time"] by |script| {
        script.after("b-ask", clocked("mostly", true, "24s"));
        script.after("mostly", clocked("less", false, "23999ms"));
    };

    time_beyond_its_limit finds ["time"] by |script| script.after("b-ask", clocked("over", false, "31s"));

    time_that_runs_on_at_its_limit finds ["time"] by |script| {
        script.after("b-ask", clocked("over", true, "30s"));
    };

    time_that_goes_on_after_its_end finds ["time"] by |script| {
        script.after("b-ask", clocked("over", false, "30s"));
        script.after("over", clocked("more", true, "30s"));
    };

    time_kept_in_a_child finds ["spawn", "time"] by |script| {
        script.after("begin", Line { thread: HEAT, ..clocked("child", false, "9s") });
    };

    a_word_on_time_that_says_nothing finds ["time"] by |script| {
        script.after("b-ask", clocked("odd", false, "nine"));
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
    let report = crate::book::SealedBook::of(&script).check();
    assert!(report.found.is_empty(), "{report}");
}

/// A message from outside causes no more than its terms allow, anywhere in its tree, and no deeper.
#[test]
fn what_is_begun_beyond_a_budget_is_found() {
    let book = crate::book::SealedBook::of(&crate::good::script());
    let under = |terms: RunSettings| book.check_under(terms).found.into_iter().collect::<Vec<_>>();
    // The largest message: the calls to both takers of both items in thread H. Threads A and D, and
    // the second message of thread F, have a call and a spawn each.
    let none = RunSettings { messages: Some(4), children: Some(1), depth: Some(2), ..RunSettings::default() };
    assert_eq!(under(none), []);
    assert_eq!(under(RunSettings { messages: Some(3), ..none }), [("budget", 1)]);
    assert_eq!(under(RunSettings { messages: Some(1), ..none }), [("budget", 6)]);
    assert_eq!(under(RunSettings { children: Some(0), ..none }), [("budget", 4)]);
    assert_eq!(under(RunSettings { depth: Some(1), ..none }), [("budget", 11)]);
}

planted! {
    a_child_that_used_more_than_it_might finds ["used"] by |script| {
        let spawned = script.line("spawned");
        spawned.body = spawned.body.replacen(" head=", " messages=\"0\" head=", 1);
        let call = line("more", HEAT, "message", "call").between("helper", "search").on("1").at(1, 0);
        script.after("spawned", call.because("begin").says("<s/>"));
        let found = line("found-more", HEAT, "message", "final").between("search", "helper").on("1/1.0").at(1, 0);
        script.after("more", found.because("more").says("<f/>"));
        script.line("warm").turn = Some(2);
        script.line("warm").cause = Some("found-more");
        let body = finished(HEAT, "answered", "warm", WARM);
        script.line("finished").body = body.replacen(" head=", " messages=\"1\" head=", 1);
    };
}
