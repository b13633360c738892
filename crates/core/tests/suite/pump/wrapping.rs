//! The last turn or a budget is used up: one more turn, in which only a final is accepted.

use super::budgets::messages;
use super::*;

/// An agent that has used its four turns; the fifth is its wrap-up turn.
fn used_up() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![note()]);
    }
    assert_eq!(
        stage.replies("1", 4, vec![note()]),
        [
            "root 5 message/note agent -> - 1 t4.0",
            "root 6 message/wrap-up core -> agent 1 t4",
            "=> agent 1 t5 a1",
        ]
    );
    stage
}

#[test]
fn b3_a_last_turn_without_a_final_gets_one_wrap_up_turn() {
    let mut stage = used_up();
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert!(call.is_wrapping_up() && call.shown_inbox().eq([6]), "the turn says so itself");
    assert_eq!(
        stage.replies("1", 5, vec![note(), final_()]),
        ["root 7 message/note agent -> - 1 t5.0", "root 8 message/final agent -> operator 1 t5.1"]
    );
}

#[test]
fn b3_everything_else_is_refused_in_the_wrap_up_turn_and_a_report_of_the_core_closes_the_call() {
    let mut stage = used_up();
    assert_eq!(
        stage.replies("1", 5, vec![call("tool"), note(), spawn(None, "tool"), wait("all", &[])]),
        [
            "root 7 refusal/budget.messages core -> agent 1 t5.0",
            "root 8 message/note agent -> - 1 t5.1",
            "root 9 refusal/budget.messages core -> agent 1 t5.2",
            "root 10 refusal/budget.messages core -> agent 1 t5.3",
            "root 11 outcome/budget.messages core -> operator 1 t5",
        ]
    );
    let bodies = bodies(&stage);
    assert!(bodies[&7].contains("only one final is taken now"), "{}", bodies[&7]);
    assert!(bodies[&7].contains("one of: done, final-report"), "{}", bodies[&7]);
    let report = &bodies[&11];
    for words in ["source=\"synthetic\"", "reason=\"budget.messages\"", "its last note is record 8"] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn b3_a_final_beside_other_items_is_taken_in_the_wrap_up_turn() {
    let mut stage = used_up();
    assert_eq!(
        stage.replies("1", 5, vec![call("tool"), final_()]),
        [
            "root 7 refusal/budget.messages core -> agent 1 t5.0",
            "root 8 message/final agent -> operator 1 t5.1"
        ]
    );
}

#[test]
fn last_turn_used_cancels_the_open_items_of_that_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![note()]);
    }
    assert_eq!(
        stage.replies("1", 4, vec![call("tool"), note()]),
        [
            "root 5 message/call agent -> tool 1 t4.0",
            "root 6 message/note agent -> - 1 t4.1",
            "root 7 message/wrap-up core -> agent 1 t4",
            "root 8 outcome/thread.cancelled core -> agent 1/4.0",
            "=> call back 1/4.0",
            "=> agent 1 t5 a1",
        ]
    );
}

#[test]
fn last_turn_used_leaves_children_running_until_the_call_closes() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.replies("1", 2, vec![note()]);
    stage.replies("1", 3, vec![note()]);
    let told = stage.replies("1", 4, vec![wait("all", &[])]);
    assert_eq!(
        told[1..],
        [
            "root 7 message/wrap-up core -> agent 1 t4",
            "root 8 message/answer core -> agent 1/4.0",
            "=> agent 1 t5 a1"
        ]
    );
    assert!(bodies(&stage)[&8].contains("reason=\"budget\""));
    let told = stage.replies("1", 5, vec![final_()]);
    assert!(told[0].contains("heat 2 terminal/thread.cancelled"), "no word on children any more: {told:?}");
}

#[test]
fn a_wrap_up_turn_that_fails_for_good_ends_with_the_report_too() {
    let mut stage = used_up();
    for attempt in 1..3 {
        stage.loses("1", 5, attempt, Code::ListenerLost);
    }
    assert_eq!(
        stage.loses("1", 5, 3, Code::ListenerLost),
        [
            "root 9 outcome/dead-letter core -> agent 1 t5",
            "root 10 outcome/budget.messages core -> operator 1 t5"
        ]
    );
}

#[test]
fn an_empty_or_unusable_reply_ends_the_wrap_up_turn() {
    let mut stage = used_up();
    assert_eq!(stage.replies("1", 5, vec![]), ["root 7 outcome/budget.messages core -> operator 1 t5"]);
    let mut stage = used_up();
    let again = JudgedContent::Again { code: "agent.prose-only".to_owned(), words: "no action".to_owned() };
    let told = stage.says(&root(), "1", 5, again);
    assert_eq!(told.last().unwrap(), "root 8 outcome/budget.messages core -> operator 1 t5");
}

#[test]
fn a_refused_reservation_cancels_what_the_same_reply_began() {
    let mut stage = messages(2);
    assert_eq!(
        stage.replies("1", 1, vec![refused(), call("tool"), call("other")]),
        [
            "root 2 refusal/payload.invalid core -> agent 1 t1.0",
            "root 3 message/call agent -> tool 1 t1.1",
            "root 4 message/inbox core -> agent 1",
            "root 5 refusal/budget.messages core -> agent 1 t1.2",
            "root 6 message/wrap-up core -> agent 1 t1",
            "root 7 outcome/thread.cancelled core -> agent 1/1.1",
            "=> call back 1/1.1",
            "=> agent 1 t2 a1",
        ]
    );
}

#[test]
fn the_parent_of_a_child_that_used_its_budget_up_is_told() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    for turn in 1..=5 {
        stage.says(&heat, "1", turn, JudgedContent::Items(vec![note()]));
    }
    let last = stage.records.last().unwrap();
    let told = String::from_utf8_lossy(&last.body);
    assert!(told.contains("outcome=\"budget\"") && told.contains("<final-report"), "{told}");
}
