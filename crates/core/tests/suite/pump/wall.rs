//! The time budget of an outside message: when it runs, when it stops, and what happens at its marks.

use super::*;
use systole_core::pump::event::PauseOrder;
use systole_core::pump::state::CallState;
use systole_core::pump::wall::RunningBudget;
use systole_core::types::budget::Budgets;
use systole_core::types::person::PersonDecision;

/// An agent at work whose message may take a hundred seconds. Every event takes ten milliseconds.
fn stage() -> DecideStage {
    let mut composition = composition();
    composition.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    stage
}

fn elapses(stage: &mut DecideStage) -> Vec<String> {
    stage.happens(EventKind::Elapsed(RunningBudget { thread: root(), budget_use: 1 }))
}

fn pause(stage: &mut DecideStage, thread: Option<ThreadId>, halts: bool) -> Vec<String> {
    let by = Name::new_operator();
    stage.happens(EventKind::Ordered(ClientOrder::Pause(PauseOrder {
        ticket: Ticket(6),
        by,
        thread,
        halts,
        note: None,
    })))
}

/// What the records say about time: `true 90ms`.
fn said(stage: &DecideStage) -> Vec<String> {
    let attribute = |body: &str, name: &str| {
        body.split_once(&format!("{name}=\"")).unwrap().1.split_once('"').unwrap().0.to_owned()
    };
    let bodies = stage.records.iter().map(|r| String::from_utf8_lossy(&r.body).into_owned());
    let times = bodies.filter(|body| body.starts_with("<budget-time"));
    times.map(|body| format!("{} {}", attribute(&body, "runs"), attribute(&body, "used"))).collect()
}

#[test]
fn it_runs_from_the_request_on_without_a_word() {
    let mut stage = DecideStage::under(stage().state.book.current().map(|page| (**page).clone()).unwrap());
    let told = stage.asks("k", "agent", None);
    assert_eq!(told[1..], ["=> receipt #1", "=> agent 1 t1 a1", "=> time runs, next mark in 80000"]);
    stage.replies("1", 1, vec![call("tool"), note()]);
    stage.replies("1/1.0", 1, vec![final_()]);
    let told = stage.replies("1", 2, vec![final_()]);
    assert_eq!(told, ["root 5 message/final agent -> operator 1 t2.0", "=> time stands"]);
    assert!(said(&stage).is_empty());
}

#[test]
fn it_stands_still_while_only_a_timer_is_waited_for() {
    let mut stage = stage();
    stage.passes(20_000);
    let told = stage.replies("1", 1, vec![set_timer("id=\"tea\" after=\"1h\"", ""), wait("all", &[])]);
    assert!(told.contains(&"root 5 timer/wall core -> - 1".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "=> time stands");
    stage.passes(3_600_000);
    let told = stage.fires("tea", 0);
    assert!(told.contains(&"=> time runs, next mark in 59990".to_owned()), "{told:?}");
    assert_eq!(said(&stage), ["false 20010ms", "true 20010ms"]);
}

#[test]
fn it_stands_still_while_only_a_person_is_waited_for() {
    let mut stage = stage();
    let told = stage.replies("1", 1, vec![call("guarded"), call("tool")]);
    assert!(!told.contains(&"=> time stands".to_owned()), "the tool is at work: {told:?}");
    stage.passes(10_000);
    let told = stage.replies("1/1.1", 1, vec![final_()]);
    assert!(told.contains(&"=> time stands".to_owned()), "{told:?}");
    stage.passes(500_000);
    stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(said(&stage), ["false 10020ms", "true 10020ms"]);
}

#[test]
fn a_paused_thread_and_a_pause_of_everything_wait_for_a_person() {
    let mut stage = stage();
    stage.happens(EventKind::Booted { listeners: vec![name("agent")], program: None });
    stage.passes(1_000);
    assert_eq!(
        pause(&mut stage, Some(root()), true),
        [
            "root 2 steer/paused core -> operator",
            "root 3 timer/wall core -> - 1",
            "=> done",
            "=> time stands"
        ]
    );
    stage.passes(1_000_000);
    // A subtree below another pause stays paused.
    assert!(pause(&mut stage, None, true).contains(&"=> done".to_owned()));
    pause(&mut stage, Some(root()), false);
    assert_eq!(said(&stage), ["false 1020ms"]);
    let told = pause(&mut stage, None, false);
    assert!(told.contains(&"root 5 timer/wall core -> - 1".to_owned()), "{told:?}");
    assert_eq!(said(&stage), ["false 1020ms", "true 1020ms"]);
}

#[test]
fn it_runs_while_any_thread_of_the_tree_works() {
    let mut stage = stage();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), spawn(Some("cold"), "agent")]);
    stage.replies("1", 2, vec![wait("all", &[])]);
    let (heat, cold) = (root().make_child("heat").unwrap(), root().make_child("cold").unwrap());
    let sleeps = || JudgedContent::Items(vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    let told = stage.says(&heat, "1", 1, sleeps());
    assert!(!told.contains(&"=> time stands".to_owned()), "{told:?}");
    let told = stage.says(&cold, "1", 1, JudgedContent::Items(vec![call("guarded")]));
    assert!(told.contains(&"=> time stands".to_owned()), "{told:?}");
    assert_eq!(said(&stage), ["false 40ms"]);
}

#[test]
fn a_message_that_waits_behind_another_has_all_its_time_left() {
    let mut stage = stage();
    stage.asks("k2", "agent", Some(&root()));
    stage.passes(50_000);
    let told = stage.replies("1", 1, vec![final_()]);
    assert!(told.contains(&"=> time runs, next mark in 80000".to_owned()), "{told:?}");
    assert_eq!(said(&stage), ["true 0ms"]);
}

#[test]
fn when_most_of_it_is_used_every_open_call_with_a_further_turn_is_told_once() {
    let mut stage = stage();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    stage.replies("1", 2, vec![wait("all", &[])]);
    stage.passes(80_000);
    let told = elapses(&mut stage);
    assert_eq!(
        told,
        [
            "root 5 message/inbox core -> agent 1",
            "root 6 message/answer core -> agent 1/2.0",
            "heat 2 message/inbox core -> agent 1",
            "root 7 timer/wall core -> - 1",
            "=> agent 1 t3 a1",
            "=> time runs, next mark in 19970",
        ]
    );
    assert!(bodies(&stage)[&5].contains("what=\"time\" used=\"80030ms\" limit=\"100s\""));
    assert!(bodies(&stage)[&6].contains("reason=\"budget\""));
    let told = elapses(&mut stage);
    assert!(!told.iter().any(|line| line.contains("inbox")), "{told:?}");
}

/// The agent has a call out, and a child that has one; then the time is over.
pub(crate) fn over() -> (DecideStage, Vec<String>) {
    let mut stage = stage();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), spawn(Some("led"), "tool")]);
    stage.replies("1", 2, vec![call("tool")]);
    stage.says(&root().make_child("heat").unwrap(), "1", 1, JudgedContent::Items(vec![call("other")]));
    stage.passes(100_000);
    let told = elapses(&mut stage);
    (stage, told)
}

#[test]
fn when_it_is_over_every_call_that_can_may_only_answer_and_the_rest_closes() {
    let (stage, told) = over();
    assert_eq!(
        told,
        [
            "root 7 timer/wall core -> - 1",
            "root 8 message/wrap-up core -> agent 1",
            "root 9 outcome/thread.cancelled core -> agent 1/2.0",
            "heat 3 message/wrap-up core -> agent 1",
            "heat 4 outcome/thread.cancelled core -> agent 1/1.0",
            "led 2 message/wrap-up core -> tool 1",
            "led 3 outcome/budget.time core -> agent 1 t1",
            "root 10 message/inbox core -> agent 1",
            "=> call back 1/2.0",
            "=> call back 1/1.0",
            "=> call back 1",
            "=> agent 1 t3 a1",
            "=> agent heat:1 t2 a1",
            "=> time stands",
        ]
    );
    assert!(bodies(&stage)[&8].contains("<budget-exceeded"), "{}", bodies(&stage)[&8]);
    assert!(bodies(&stage)[&10].contains("tool had not answered when its time was used up"));
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert!(call.is_wrapping_up());
}

#[test]
fn after_its_end_a_final_is_taken_and_nothing_else() {
    let (mut stage, _) = over();
    let told = stage.replies("1", 3, vec![call("tool"), final_()]);
    assert_eq!(told[0], "root 11 refusal/budget.time core -> agent 1 t3.0");
    assert_eq!(told[1], "heat 5 terminal/thread.cancelled core -> core");
    assert!(told.contains(&"root 13 message/final agent -> operator 1 t3.1".to_owned()), "{told:?}");
    let (mut stage, _) = over();
    let told = stage.replies("1", 3, vec![note()]);
    assert!(told.contains(&"root 13 outcome/budget.time core -> operator 1 t3".to_owned()), "{told:?}");
    let report = bodies(&stage)[&13].clone();
    assert!(
        report.contains("agent gave no final in its last turn, 3, after its time was used up"),
        "{report}"
    );
}

#[test]
fn a_listener_with_one_turn_is_over_at_once() {
    let mut composition = composition();
    composition.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "tool", None);
    stage.passes(100_000);
    assert_eq!(
        elapses(&mut stage),
        [
            "root 2 timer/wall core -> - 1",
            "root 3 message/wrap-up core -> tool 1",
            "root 4 outcome/budget.time core -> operator 1 t1",
            "=> call back 1",
            "=> time stands",
        ]
    );
    let told = stage.replies("1", 1, vec![final_()]);
    assert!(told[0].contains("refusal/reply.stale-lease"), "{told:?}");
}

#[test]
fn a_call_that_waits_for_approval_of_a_retry_has_begun_and_still_waits() {
    let mut composition = super::unknown::asking();
    composition.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "careful", None);
    stage.happens(EventKind::Sending { thread: root(), call: CallPath::new_top(1), turn: 1 });
    stage.passes(100_000);
    let told = super::unknown::loses(&mut stage, 1, 1, Code::ListenerLost);
    assert!(told.contains(&"root 6 message/wrap-up core -> careful 1".to_owned()), "{told:?}");
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"].stand(), CallState::Asking, "{told:?}");
    let told = stage.rules(1, None, PersonDecision::Approve);
    assert!(told.contains(&"=> careful 1 t1 a2".to_owned()), "{told:?}");
    let told = stage.replies("1", 1, vec![note()]);
    assert_eq!(told.last().unwrap(), "=> careful 1 t2 a1", "the next is its last");
}

#[test]
fn a_turn_that_is_out_is_left_to_its_reply_and_the_next_is_the_last() {
    let mut stage = stage();
    stage.passes(100_000);
    let told = elapses(&mut stage);
    assert_eq!(told[1], "root 3 message/wrap-up core -> agent 1");
    assert!(!told.iter().any(|line| line.starts_with("=> agent")), "{told:?}");
    let told = stage.replies("1", 1, vec![call("tool")]);
    assert_eq!(told, ["root 4 refusal/budget.time core -> agent 1 t1.0", "=> agent 1 t2 a1"]);
    let told = stage.replies("1", 2, vec![]);
    assert_eq!(told[0], "root 5 outcome/budget.time core -> operator 1 t2");
}

#[test]
fn a_message_whose_time_is_over_leaves_no_timers_behind() {
    let mut stage = stage();
    stage.replies("1", 1, vec![set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.passes(100_000);
    elapses(&mut stage);
    stage.replies("1", 2, vec![note()]);
    let told = stage.replies("1", 3, vec![final_()]);
    assert_eq!(told[0], "root 7 timer/cancelled core -> - 1");
    assert!(stage.state.find_thread(&root()).unwrap().timers.is_empty());
}

#[test]
fn a_timer_that_an_earlier_call_left_ends_with_the_time_of_its_message() {
    let mut stage = stage();
    stage.replies("1", 1, vec![set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    stage.passes(3_600_000);
    stage.fires("tick", 0);
    stage.passes(100_000);
    let told = elapses(&mut stage);
    assert_eq!(
        told,
        [
            "root 8 timer/wall core -> - 1",
            "root 9 message/wrap-up core -> agent 2",
            "root 10 timer/cancelled core -> - 1",
            "=> wait no more for tick",
            "=> time stands",
        ]
    );
    assert!(stage.state.find_thread(&root()).unwrap().timers.is_empty());
    assert_eq!(stage.replies("2", 1, vec![final_()])[0], "root 11 message/final agent -> core 2 t1.0");
}

#[test]
fn a_call_that_closes_after_the_end_and_before_the_word_on_it_leaves_no_timers() {
    let mut stage = stage();
    stage.replies("1", 1, vec![set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.passes(100_000);
    let told = stage.replies("1", 2, vec![final_()]);
    assert_eq!(
        told,
        [
            "root 4 message/final agent -> operator 1 t2.0",
            "root 5 timer/wall core -> - 1",
            "root 6 timer/cancelled core -> - 1",
            "=> wait no more for tick",
            "=> time stands",
        ]
    );
    assert!(stage.state.find_thread(&root()).unwrap().timers.is_empty(), "one would work without end");
}

#[test]
fn a_timer_that_opens_a_call_goes_on_with_the_time_of_its_message() {
    let mut stage = stage();
    stage.passes(30_000);
    stage.replies("1", 1, vec![set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    assert_eq!(said(&stage), ["false 30020ms"]);
    stage.passes(3_600_000);
    let told = stage.fires("tick", 0);
    assert!(told.contains(&"=> time runs, next mark in 49980".to_owned()), "{told:?}");
}

/// An agent that sleeps until a timer, after this much work and before the mark was reported.
fn sleeps_after(ms: u64) -> (DecideStage, Vec<String>) {
    let mut stage = stage();
    stage.passes(ms);
    let told = stage.replies("1", 1, vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    (stage, told)
}

#[test]
fn a_reply_that_comes_after_the_end_and_before_the_word_on_it_is_followed_by_the_end() {
    let (stage, told) = sleeps_after(100_000);
    assert!(told.contains(&"root 6 message/wrap-up core -> agent 1".to_owned()), "{told:?}");
    assert!(told.contains(&"=> agent 1 t2 a1".to_owned()), "it is woken for its last turn: {told:?}");
    assert_eq!(said(&stage), ["false 100s"]);
    assert!(stage.state.find_thread(&root()).unwrap().calls["1"].is_wrapping_up());
}

#[test]
fn a_reply_that_comes_after_the_warning_was_due_is_warned_and_goes_on() {
    let (mut stage, told) = sleeps_after(85_000);
    let warned = told.iter().any(|line| line.contains("message/inbox core -> agent 1"));
    assert!(warned && told.contains(&"=> agent 1 t2 a1".to_owned()), "{told:?}");
    assert_eq!(said(&stage), ["true 85010ms"], "a warning ends a wait");
    stage.passes(5_000);
    let told = stage.replies("1", 2, vec![wait("all", &[])]);
    assert!(!told.iter().any(|line| line.contains("inbox")), "once: {told:?}");
    assert_eq!(said(&stage), ["true 85010ms", "false 90020ms"]);
}

#[test]
fn an_early_time_check_ends_nothing_and_a_late_one_does_nothing() {
    let mut stage = stage();
    stage.passes(10_000);
    let told = elapses(&mut stage);
    assert_eq!(told, ["root 2 timer/wall core -> - 1", "=> time runs, next mark in 69990"]);
    stage.replies("1", 1, vec![final_()]);
    assert!(elapses(&mut stage).is_empty());
}
