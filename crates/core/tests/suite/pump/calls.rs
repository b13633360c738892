//! Calls, turns and items: ready, out, joining, closed.

use super::*;

#[test]
fn out_final_taken_closes_the_call_as_answered() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(stage.replies("1", 1, vec![final_()]), ["root 2 message/final tool -> operator 1 t1.0"]);
    assert!(stage.state.find_thread(&root()).unwrap().calls.is_empty());
}

#[test]
fn b12_out_reply_with_items_joins_and_the_last_answer_opens_the_next_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![call("tool"), note(), call("other")]),
        [
            "root 2 message/call agent -> tool 1 t1.0",
            "root 3 message/note agent -> - 1 t1.1",
            "root 4 message/call agent -> other 1 t1.2",
            "=> tool 1/1.0 t1 a1",
            "=> other 1/1.2 t1 a1",
        ]
    );
    assert_eq!(stage.replies("1/1.2", 1, vec![final_()]), ["root 5 message/final other -> agent 1/1.2 t1.0"]);
    assert_eq!(
        stage.replies("1/1.0", 1, vec![final_()]),
        ["root 6 message/final tool -> agent 1/1.0 t1.0", "=> agent 1 t2 a1"]
    );
}

#[test]
fn b1_a_note_alone_wakes_the_same_call_again() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![note()]),
        ["root 2 message/note agent -> - 1 t1.0", "=> agent 1 t2 a1"]
    );
}

#[test]
fn a_refused_item_does_not_touch_the_others() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![refused(), call("tool")]),
        [
            "root 2 refusal/payload.invalid core -> agent 1 t1.0",
            "root 3 message/call agent -> tool 1 t1.1",
            "=> tool 1/1.1 t1 a1",
        ]
    );
}

#[test]
fn a_reply_that_is_refused_whole_opens_the_next_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![refused()]),
        ["root 2 refusal/payload.invalid core -> agent 1 t1.0", "=> agent 1 t2 a1"]
    );
}

#[test]
fn a_final_beside_other_items_is_refused_and_they_go_on() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![final_(), call("tool")]),
        [
            "root 2 refusal/reply.final-not-alone core -> agent 1 t1.0",
            "root 3 message/call agent -> tool 1 t1.1",
            "=> tool 1/1.1 t1 a1",
        ]
    );
}

#[test]
fn notes_beside_a_final_are_folded_first() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![final_(), note()]),
        ["root 2 message/note agent -> - 1 t1.1", "root 3 message/final agent -> operator 1 t1.0"]
    );
}

#[test]
fn an_empty_reply_is_handled_where_nothing_is_owed() {
    let mut stage = DecideStage::new();
    stage.asks("k", "quiet", None);
    assert_eq!(stage.replies("1", 1, vec![]), ["root 2 outcome/handled quiet -> operator 1 t1"]);
}

#[test]
fn an_empty_reply_is_silence_where_an_answer_is_owed() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(stage.replies("1", 1, vec![]), ["root 2 outcome/listener.silent core -> operator 1"]);
}

#[test]
fn turns_1_a_refused_answer_closes_the_call_and_its_listener_is_blamed_for_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("tool")]);
    assert_eq!(
        stage.replies("1/1.0", 1, vec![refused()]),
        [
            "root 3 refusal/payload.invalid core -> tool 1/1.0 t1.0",
            "root 4 outcome/listener.failed core -> agent 1/1.0",
            "=> agent 1 t2 a1",
        ]
    );
}

#[test]
fn turns_1_means_no_calls() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.replies("1", 1, vec![call("other")]),
        [
            "root 2 refusal/budget.messages core -> tool 1 t1.0",
            "root 3 outcome/budget.messages core -> operator 1",
        ]
    );
}

#[test]
fn row_34_too_many_items_are_refused_as_one() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let items = (0..100_000).map(|_| refused()).collect();
    assert_eq!(
        stage.replies("1", 1, items),
        ["root 2 refusal/reply.too-many-items core -> agent 1 t1.0", "=> agent 1 t2 a1"]
    );
}

#[test]
fn calls_nest_no_deeper_than_the_limit() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let mut path = "1".to_owned();
    let told = loop {
        let told = stage.replies(&path, 1, vec![call("agent")]);
        if told[0].contains("refusal") {
            break told;
        }
        path += "/1.0";
    };
    assert!(told[0].contains("refusal/budget.depth"), "{told:?}");
    assert_eq!(path.matches('/').count(), 15);
}

#[test]
fn again_opens_the_next_turn_with_its_feedback() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let again = JudgedContent::Again { code: "agent.prose-only".into(), words: "no action".into() };
    assert_eq!(
        stage.says(&root(), "1", 1, again),
        ["root 2 refusal/listener.failed core -> agent 1 t1.0", "=> agent 1 t2 a1"]
    );
    assert!(bodies(&stage)[&2].contains("code=\"agent.prose-only\""));
}

#[test]
fn again_of_a_listener_with_one_turn_closes_the_call() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let again = JudgedContent::Again { code: "agent.prose-only".into(), words: "no action".into() };
    assert_eq!(stage.says(&root(), "1", 1, again)[1], "root 3 outcome/listener.failed core -> operator 1");
    // Its caller gets the reason in the same form as for a failure: the code is the listener's own.
    assert!(bodies(&stage)[&3].contains("message=\"agent.prose-only: no action\""), "{:?}", bodies(&stage));
}

#[test]
fn again_takes_one_turn_as_any_other_reply_does() {
    let turns = |reply: &dyn Fn() -> JudgedContent| {
        let mut stage = DecideStage::new();
        stage.asks("k", "agent", None);
        (1..=4).map(|turn| stage.says(&root(), "1", turn, reply()).pop().unwrap()).collect::<Vec<_>>()
    };
    let again = || JudgedContent::Again { code: "agent.prose-only".into(), words: "no action".into() };
    // Four turns, and the wrap-up turn after them.
    let expected = ["=> agent 1 t2 a1", "=> agent 1 t3 a1", "=> agent 1 t4 a1", "=> agent 1 t5 a1"];
    assert_eq!(turns(&again), expected);
    assert_eq!(turns(&|| JudgedContent::Items(vec![note()])), expected);
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    (1..=3).for_each(|turn| assert_eq!(stage.says(&root(), "1", turn, again()).len(), 2, "{turn}"));
    let last = stage.says(&root(), "1", 4, again());
    assert!(last.iter().any(|line| line.contains("message/wrap-up")), "{last:?}");
    assert!(stage.state.find_thread(&root()).unwrap().calls["1"].is_wrapping_up());
}

#[test]
fn a_notice_waits_in_the_inbox_for_the_next_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let notice = JudgedContent::Notice { code: "agent.second-action".into(), words: "one at a time".into() };
    assert_eq!(stage.says(&root(), "1", 1, notice), ["root 2 message/inbox core -> agent 1"]);
    stage.replies("1", 1, vec![note()]);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_false_sender_is_reported_once_in_the_answering_turn_and_its_items_go_on() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.lies("1", 1, "core", vec![call("tool"), note()]),
        [
            "root 2 message/inbox core -> agent 1",
            "root 3 message/call agent -> tool 1 t1.0",
            "root 4 message/note agent -> - 1 t1.1",
            "=> tool 1/1.0 t1 a1",
        ]
    );
    let told = &bodies(&stage)[&2];
    assert!(told.contains("reply.false-sender") && told.contains("from core"), "{told}");
    stage.replies("1/1.0", 1, vec![final_()]);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [2], "shown beside the answers");
    // It is not an item, so a reply of only notes with a false sender still opens the next turn
    // with it.
    stage.lies("1", 2, "core", vec![note()]);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().count(), 1);
}

#[test]
fn a_false_sender_in_the_only_turn_is_recorded_and_the_call_closes() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.lies("1", 1, "agent", vec![final_()]),
        ["root 2 message/inbox core -> tool 1", "root 3 message/final tool -> operator 1 t1.0"]
    );
}

#[test]
fn row_33_a_reply_for_a_turn_that_is_over_is_stale_and_recorded() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![note()]);
    assert_eq!(stage.replies("1", 1, vec![final_()]), ["root 3 refusal/reply.stale-lease core -> agent"]);
    assert!(stage.state.find_thread(&root()).unwrap().calls["1"].is_due(2, 1), "the live turn is untouched");
}

#[test]
fn b10_a_late_reply_for_an_ended_thread_is_recorded_outside_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let lease = stage.lease(&root(), "1", 1, 1);
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    let told = stage.happens(EventKind::Replied(JudgedDocument {
        lease,
        said: JudgedContent::Items(vec![final_()]),
        claimed: None,
        ticket: None,
    }));
    assert_eq!(told, ["sys 1 refusal/reply.stale-lease core -> tool"]);
}
