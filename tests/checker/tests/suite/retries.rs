//! Faults against retries: calls that are opened again although something else became of them.

use crate::good::B;
use crate::planted;
use crate::script::{Line, Script, line};

/// B, whose call failed, and is opened again and answered.
fn again() -> Script {
    let mut script = crate::good::script();
    let failed = line("b-failed", B, "outcome", "listener.failed");
    let failed = failed.between("core", "bob").on("1").because("b-ask");
    script.after("b-ask", failed.says("<system-error code=\"listener.failed\" message=\"no\"/>"));
    script.after("b-failed", write_reopening("b-again", "1"));
    script
}

fn write_reopening(name: &'static str, retry: &'static str) -> Line {
    let line = Line { turn: Some(1), ..line(name, B, "steer", "reopened") };
    line.between("core", "planner").on("1").because("b-failed").says(&body(retry))
}

fn body(retry: &str) -> String {
    format!("<reopened xmlns=\"https://xml-pipeline.org/ns/core/v1\" by=\"wes\" retry=\"{retry}\"/>")
}

#[test]
fn a_failed_call_may_be_opened_again_and_answered() {
    let report = crate::book::SealedBook::of(&again()).check();
    assert!(report.found.is_empty(), "{report}");
}

planted! {
    a_call_that_was_answered_is_opened_again finds ["reopened"] by |script| {
        script.after("b-final", Line { cause: Some("b-final"), ..write_reopening("b-again", "1") });
    };

    a_call_that_is_open_is_opened_again finds ["reopened"] by |script| {
        script.after("b-ask", Line { cause: Some("b-ask"), ..write_reopening("b-again", "1") });
    };

    a_call_that_ended_at_a_budget_is_opened_again finds ["reopened"] by |script| {
        *script = again();
        script.line("b-failed").code = Some("budget.messages");
    };

    retries_do_not_count_from_one finds ["reopened"] by |script| {
        *script = again();
        script.line("b-again").body = body("2");
    };

    another_turn_goes_out_again finds ["reopened"] by |script| {
        *script = again();
        script.line("b-again").turn = Some(2);
    };

    an_answer_after_a_failure_that_no_one_had_tried_again finds ["outcome-once"] by |script| {
        *script = again();
        script.remove("b-again");
    };
}
