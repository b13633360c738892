//! Faults in setting, firing and ending timers: too early, too often, for the wrong call.

use systole_checker::RunSettings;

use crate::book::SealedBook;
use crate::good::{E, F, fired, over, script, set, unset};
use crate::planted;
use crate::script::{Line, Script, line};

planted! {
    a_timer_that_fires_early finds ["timer"] by |script| script.line("f-fired").time_ms -= 1;

    a_second_firing_that_is_early finds ["timer"] by |script| {
        script.line("f-opens").time_ms -= 3 * 60_000 + 1;
    };

    an_early_firing_that_blames_no_clock_wrongly finds ["timer"] by |script| {
        script.line("f-fired").body = fired("id=\"tick\" clock=\"set-back\"");
    };

    a_timer_that_fires_and_was_never_set finds ["timer", "wait"] by |script| {
        script.line("f-fired").body = fired("id=\"tock\"");
    };

    a_timer_that_fires_after_it_was_cancelled finds ["timer"] by |script| {
        script.line("f-opens").body = fired("id=\"brief\"");
    };

    a_firing_that_is_none finds ["timer"] by |script| script.line("f-opens").body = unset("tick");

    a_timer_that_fires_again_before_it_was_shown finds ["timer"] by |script| {
        let mut again = script.line("f-fired").again("again");
        again.time_ms += 60_000;
        script.after("f-over", again);
    };

    a_timer_that_opens_a_call_beside_its_own finds ["timer"] by |script| {
        let opens = script.remove("f-opens");
        script.after("f-over", opens);
        script.line("f-cancel").cause = Some("f-over");
    };

    a_timer_that_fires_in_another_call finds ["timer"] by |script| {
        script.line("f-inner-gone").body = unset("tick");
    };

    a_timer_that_opens_a_call_though_the_time_of_its_message_is_over finds ["timer"] by |script| {
        script.after("f-final", clocked("30s"));
    };

    a_timer_that_is_cancelled_after_its_call finds ["call-open", "timer"] by |script| {
        script.after("f-final", clocked("29s"));
        script.after("f-clocked", left_over());
    };

    a_timer_that_opens_a_call_of_another_listener finds ["timer"] by |script| {
        for line in script.0.iter_mut().skip_while(|line| line.name != "f-opens") {
            line.from = if line.from == "planner" { "helper" } else { line.from };
            line.to = line.to.map(|to| if to == "planner" { "helper" } else { to });
        }
    };

    a_timer_that_opens_a_thread finds ["rest", "timer"] by |script| {
        let opens = script.line("f-opens").again("again");
        script.after("f-done", Line { thread: "sess-cccccccccccc", call: Some("1"), ..opens });
    };

    a_timer_left_by_its_call finds ["timer"] by |script| {
        script.remove("f-inner-gone");
    };

    a_timer_set_twice finds ["timer"] by |script| script.line("f-brief-set").body = set("tick", "09:00:00");

    a_timer_due_at_once finds ["timer"] by |script| script.line("f-brief-set").body = set("brief", "07:00:00");

    a_setting_that_is_answered_otherwise finds ["timer"] by |script| {
        script.line("f-brief-set").body = unset("tick");
    };

    a_cancelling_of_what_was_never_set finds ["timer"] by |script| {
        script.line("f-cancelled").body = unset("tock");
    };

    a_wait_ended_by_a_timer_that_never_fired finds ["wait"] by |script| {
        script.line("e-over").body = over("timer", 1, 0);
        assert_eq!(script.line("e-over").thread, E);
    };
}

/// A record about the time of the first message of thread F.
fn clocked(used: &str) -> Line {
    let core = "https://xml-pipeline.org/ns/core/v1";
    let body = format!(r#"<budget-time xmlns="{core}" runs="false" used="{used}" limit="30s"/>"#);
    line("f-clocked", F, "timer", "wall").between("core", "").on("1").says(&body)
}

/// Cancels the timer that the first call of thread F has left.
fn left_over() -> Line {
    line("f-left", F, "timer", "cancelled")
        .between("core", "")
        .on("1")
        .because("f-clocked")
        .says(&unset("tick"))
}

#[test]
fn a_timer_that_its_call_has_left_goes_with_the_time_of_its_message() {
    let mut script: Script = script();
    script.after("f-final", clocked("30s"));
    script.after("f-clocked", left_over());
    let end = script.0.iter().position(|line| line.name == "f-left").unwrap();
    script.0.truncate(end + 1);
    let report = SealedBook::of(&script).check();
    assert!(report.is_clean(), "{report}");
}

/// Both timers of thread F open calls, and the time of their message ends before the second call begins.
#[test]
fn a_call_that_waits_for_its_turn_ends_with_the_time_of_its_message() {
    for (used, wrong) in [("30s", &[][..]), ("29s", &["top-order"])] {
        let mut script: Script = script();
        let end = script.0.iter().position(|line| line.name == "f-opens").unwrap();
        script.0.truncate(end + 1);
        for name in ["f-cancel", "f-cancelled"] {
            script.remove(name);
        }
        let last = script.line("f-final");
        (last.turn, last.cause) = (Some(2), Some("f-over"));
        let f = |name, kind, code| line(name, F, kind, code).on("3").because("f-opens-3");
        let opens = f("f-opens-3", "timer", "opens").between("core", "planner").because("f-brief");
        let opens = Line { time_ms: opens.time_ms + 120 * 60_000, ..opens };
        script.0.extend([
            opens.says(&fired("id=\"brief\"")),
            clocked(used),
            f("f-wraps", "message", "wrap-up").between("core", "planner"),
            f("f-gone", "outcome", "budget.time").between("core", "core"),
        ]);
        let report =
            SealedBook::of(&script).check_under(RunSettings { running: true, ..RunSettings::default() });
        assert_eq!(report.found.keys().copied().collect::<Vec<_>>(), wrong, "{used}: {report}");
    }
}
