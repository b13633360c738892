//! Faults against approvals: payloads that go out unasked, twice, early, or with other bytes than
//! approved.

use crate::book::SealedBook;
use crate::good::{G, MILD, WILD, decided, requested, script};
use crate::planted;
use crate::script::{Script, line};

planted! {
    a_held_call_that_is_answered_before_it_is_approved finds ["approval", "cause"] by |script| {
        script.remove("g-yes");
    };

    a_held_call_that_is_answered_though_it_was_rejected finds ["approval"] by |script| {
        let no = script.line("g-yes");
        (no.code, no.body) = (Some("rejected"), decided("a1", "rejected", None));
    };

    a_held_call_that_closes_for_want_of_time_that_is_left finds ["approval"] by |script| {
        out_of_time(script, "29s");
    };

    an_approval_that_is_decided_twice finds ["approval"] by |script| script.repeat("g-yes", "g-yes");

    an_approval_of_other_bytes_than_wait finds ["approval"] by |script| {
        script.line("g-yes").body = decided("a1", "approved", Some(MILD));
    };

    an_amendment_that_is_not_what_goes_out finds ["approval"] by |script| {
        script.line("g-other").body = decided("a2", "amended", Some(WILD));
    };

    an_amended_call_without_an_amendment finds ["approval"] by |script| {
        script.remove("g-mild");
    };

    an_amendment_by_the_core finds ["approval"] by |script| script.line("g-mild").from = "core";

    a_request_of_other_bytes finds ["approval"] by |script| {
        script.line("g-asks-3").body = requested("a3", MILD);
    };

    a_request_under_an_id_that_was_used finds ["approval"] by |script| {
        script.line("g-asks-3").body = requested("a1", WILD);
        script.line("g-no").body = decided("a1", "rejected", None);
    };

    a_decision_about_another_request finds ["approval"] by |script| {
        script.line("g-no").body = decided("a2", "rejected", None);
    };

    a_decision_without_a_request finds ["approval"] by |script| {
        script.remove("g-asks-3");
    };

    a_request_that_expires_early finds ["approval"] by |script| {
        let no = script.line("g-no");
        (no.code, no.body) = (Some("expired"), decided("a3", "expired", None));
        script.line("g-rejected").code = Some("approval.expired");
    };

    a_call_that_closes_as_rejected_and_was_not finds ["approval"] by |script| {
        script.remove("g-no");
    };

    a_call_that_tells_of_nothing finds ["approval"] by |script| {
        script.line("g-tell").call = Some("1/1.0");
        script.line("g-told").call = Some("1/1.0");
    };
}

/// Call 3 of thread G, which waits for a person, closes at the end of its message's time.
fn out_of_time(script: &mut Script, used: &str) {
    let core = "https://xml-pipeline.org/ns/core/v1";
    let body = format!(r#"<budget-time xmlns="{core}" runs="false" used="{used}" limit="30s"/>"#);
    script.remove("g-no");
    script.after("g-final-2", line("g-clocked", G, "timer", "wall").between("core", "").on("3").says(&body));
    script.line("g-rejected").code = Some("budget.time");
}

#[test]
fn a_held_call_may_close_at_the_end_of_its_time() {
    let mut script = script();
    out_of_time(&mut script, "30s");
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "{report}");
}
