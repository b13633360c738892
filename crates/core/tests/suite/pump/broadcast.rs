//! B13: an item for every peer that accepts it: one call for each, and one answer, made of all of them
//! or of the first that is not a failure.

use super::approvals::amendment;
use super::budgets::{messages, stage};
use super::*;
use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::person::PersonDecision;

const TAKERS: [&str; 2] = ["tool", "other"];

fn asked(gather: GatherRule) -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![note(), to_each(gather, &TAKERS)]);
    stage
}

/// What the due turn of call 1 shows of the items of its last reply, in order.
fn shown(stage: &DecideStage, turn: u32) -> Vec<String> {
    let (thread, path) = (stage.state.find_thread(&root()).unwrap(), CallPath::new_top(1));
    let found = |seq| {
        let own = |r: &&Record| r.header.thread == root() && r.header.seq == seq;
        stage.records.iter().find(own).cloned().map(Arc::new)
    };
    let lease = stage.lease(&root(), "1", turn, 1);
    let sent = delivered(&thread.calls[&path], lease, found);
    let text = String::from_utf8(sent.payload.bytes().to_vec()).unwrap();
    text.split("<item ").skip(1).map(|item| item.split("</item>").next().unwrap().to_owned()).collect()
}

fn fails(stage: &mut DecideStage, path: &str) -> Vec<String> {
    stage.loses(path, 1, 1, Code::ListenerLost);
    stage.loses(path, 1, 2, Code::ListenerLost);
    stage.loses(path, 1, 3, Code::ListenerLost)
}

#[test]
fn b13_each_taker_has_a_call_of_its_own_and_all_begin_at_once() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![note(), to_each(GatherRule::All, &TAKERS), call("tool")]),
        [
            "root 2 message/note agent -> - 1 t1.0",
            "root 3 message/to-all agent -> tool 1/1.1:0",
            "root 4 message/to-all agent -> other 1/1.1:1",
            "root 5 message/call agent -> tool 1 t1.2",
            "=> tool 1/1.1:0 t1 a1",
            "=> other 1/1.1:1 t1 a1",
            "=> tool 1/1.2 t1 a1",
        ]
    );
    let sent = &stage.records[2..4];
    assert!(sent.iter().all(|r| r.body == *payload("question").bytes()), "each the bytes that were judged");
    assert_eq!(sent[0].header.cause, stage.records[4].header.cause, "of one reply");
}

#[test]
fn b13_all_is_answered_with_the_last_and_shown_in_order_of_the_takers() {
    let mut stage = asked(GatherRule::All);
    assert_eq!(
        stage.replies("1/1.1:1", 1, vec![final_()]),
        ["root 5 message/final other -> agent 1/1.1:1 t1.0"]
    );
    assert_eq!(
        stage.replies("1/1.1:0", 1, vec![final_()]),
        ["root 6 message/final tool -> agent 1/1.1:0 t1.0", "=> agent 1 t2 a1"]
    );
    let items = shown(&stage, 2);
    let heads: Vec<&str> = items.iter().map(|item| item.split('>').next().unwrap()).collect();
    assert_eq!(
        heads,
        [
            r#"ordinal="0" from="core" seq="2"/"#,
            r#"ordinal="1" from="tool" seq="6""#,
            r#"ordinal="1" from="other" seq="5""#
        ]
    );
}

#[test]
fn b13_all_shows_failures_beside_answers() {
    let mut stage = asked(GatherRule::All);
    fails(&mut stage, "1/1.1:0");
    stage.replies("1/1.1:1", 1, vec![final_()]);
    let items = shown(&stage, 2);
    assert!(items[1].contains("code=\"listener.lost\""), "{items:?}");
    assert!(items[2].starts_with("ordinal=\"1\" from=\"other\""), "{items:?}");
}

#[test]
fn b13_the_first_answer_is_enough_and_the_other_calls_are_cancelled() {
    let mut stage = asked(GatherRule::First);
    assert_eq!(record_line(&stage.records[2]), "root 3 message/to-first agent -> tool 1/1.1:0");
    assert_eq!(
        stage.replies("1/1.1:1", 1, vec![final_()]),
        [
            "root 5 outcome/thread.cancelled core -> agent 1/1.1:0",
            "root 6 message/final other -> agent 1/1.1:1 t1.0",
            "=> call back 1/1.1:0",
            "=> agent 1 t2 a1",
        ]
    );
    assert!(bodies(&stage)[&5].contains("other answered first"), "{}", bodies(&stage)[&5]);
    let items = shown(&stage, 2);
    assert_eq!(items.len(), 2, "{items:?}");
    assert!(items[1].starts_with("ordinal=\"1\" from=\"other\" seq=\"6\""), "{items:?}");
    let late = stage.replies("1/1.1:0", 1, vec![final_()]);
    assert_eq!(late, ["root 7 refusal/reply.stale-lease core -> tool"]);
}

#[test]
fn b13_what_the_others_had_begun_ends_with_them() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![to_each(GatherRule::First, &["agent", "tool"])]);
    stage.replies("1/1.0:0", 1, vec![call("other"), spawn(Some("heat"), "tool")]);
    let told = stage.replies("1/1.0:1", 1, vec![final_()]);
    let ends = [
        "outcome/thread.cancelled core -> agent 1/1.0:0/1.0",
        "heat 2 terminal/thread.cancelled",
        "outcome/thread.cancelled core -> agent 1/1.0:0",
        "message/final tool -> agent 1/1.0:1",
    ];
    for end in ends {
        assert!(told.iter().any(|line| line.contains(end)), "{end}: {told:?}");
    }
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls.len(), 1);
}

#[test]
fn b13_a_failure_is_not_the_first_answer() {
    let mut stage = asked(GatherRule::First);
    let told = fails(&mut stage, "1/1.1:0");
    assert!(!told.iter().any(|line| line.starts_with("=> agent")), "{told:?}");
    let told = stage.replies("1/1.1:1", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1");
    assert_eq!(shown(&stage, 2).len(), 2, "the failure is not shown");
}

#[test]
fn b13_a_report_that_calls_itself_a_failure_is_none_either_and_one_that_was_handled_is_an_answer() {
    let report = |outcome: &str| {
        let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
        let text = format!("<final-report {core} source=\"model\" outcome=\"{outcome}\">so</final-report>");
        let payload = Payload::parse(text.as_bytes(), &DocumentLimits::default()).unwrap();
        JudgedItem::Admitted(Admitted::new(PayloadKind::Final, Verdict::from_valid(payload)))
    };
    for (outcome, is_enough) in [("failure", false), ("partial", true), ("success", true)] {
        let mut stage = asked(GatherRule::First);
        let told = stage.replies("1/1.1:0", 1, vec![report(outcome)]);
        assert_eq!(told.last().unwrap() == "=> agent 1 t2 a1", is_enough, "{outcome}: {told:?}");
    }
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![to_each(GatherRule::First, &["quiet", "tool"])]);
    let told = stage.replies("1/1.0:0", 1, vec![]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1", "{told:?}");
}

#[test]
fn b13_where_all_fail_the_failures_are_shown_as_for_all() {
    let mut stage = asked(GatherRule::First);
    fails(&mut stage, "1/1.1:1");
    let told = stage.replies("1/1.1:0", 1, vec![]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1");
    let items = shown(&stage, 2);
    assert!(items[1].contains("code=\"listener.silent\""), "{items:?}");
    assert!(items[2].contains("code=\"listener.lost\""), "{items:?}");
}

#[test]
fn b13_each_call_waits_for_a_person_by_itself() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, vec![to_each(GatherRule::All, &["guarded", "tool"])]);
    assert!(told.contains(&"root 4 approval/requested core -> person 1/1.0:0".to_owned()), "{told:?}");
    assert!(told.contains(&"=> tool 1/1.0:1 t1 a1".to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("=> guarded")), "{told:?}");
    stage.replies("1/1.0:1", 1, vec![final_()]);
    let told = stage.rules(1, None, amendment("guarded", payload("guarded")));
    assert_eq!(told.last().unwrap(), "=> guarded 1/1.0:0 t1 a1");
    let told = stage.replies("1/1.0:0", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1");
}

#[test]
fn b13_an_approval_closes_when_another_taker_has_answered() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![to_each(GatherRule::First, &["guarded", "tool"])]);
    let told = stage.replies("1/1.0:1", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1");
    let told = stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(told.last().unwrap(), "=> refused approval.decided");
}

#[test]
fn b13_only_what_the_schema_of_a_taker_calls_dangerous_waits() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let verdict = |dangerous| Verdict::from_valid(payload("question")).of_dangerous_element(dangerous);
    let takers = vec![(name("tool"), verdict(true)), (name("other"), verdict(false))];
    let item = Admitted::for_each(GatherRule::All, takers).unwrap();
    assert!(item.is_dangerous());
    let told = stage.replies("1", 1, vec![JudgedItem::Admitted(item)]);
    let asks: Vec<&String> = told.iter().filter(|line| line.contains("approval/requested")).collect();
    assert_eq!(asks.len(), 2, "one, and its count in sys: {told:?}");
    assert!(told.contains(&"=> other 1/1.0:1 t1 a1".to_owned()), "{told:?}");
}

#[test]
fn a_refused_broadcast_leaves_the_last_message_to_the_item_beside_it() {
    let mut stage = messages(1);
    let told = stage.replies("1", 1, vec![to_each(GatherRule::All, &TAKERS), call("tool")]);
    assert_eq!(
        told,
        [
            "root 2 refusal/budget.messages core -> agent 1 t1.0",
            "root 3 message/call agent -> tool 1 t1.1",
            "root 4 message/inbox core -> agent 1",
            "=> tool 1/1.1 t1 a1",
        ]
    );
    let told = stage.replies("1/1.1", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1", "and its answer is shown");
}

#[test]
fn b13_each_call_is_a_message_and_all_of_them_have_room_or_none() {
    let mut stage = messages(5);
    let told =
        stage.replies("1", 1, vec![call("tool"), to_each(GatherRule::All, &["tool", "other", "careful"])]);
    assert!(told.iter().any(|line| line.contains("message/inbox")), "four of five are used: {told:?}");
    for path in ["1/1.0", "1/1.1:0", "1/1.1:1", "1/1.1:2"] {
        stage.replies(path, 1, vec![final_()]);
    }
    let told = stage.replies("1", 2, vec![to_each(GatherRule::First, &TAKERS)]);
    assert!(told[0].contains("refusal/budget.messages core -> agent 1 t2.0"), "{told:?}");
    assert_eq!(told.last().unwrap(), "=> agent 1 t3 a1");
    let refusal = bodies(&stage).pop_last().unwrap().1;
    assert!(refusal.contains("4 of 5 messages are used, and this takes 2"), "{refusal}");
    let told = stage.replies("1", 3, vec![call("tool")]);
    assert!(told[0].contains("message/call"), "there is room for one: {told:?}");
}

#[test]
fn b13_a_listener_with_one_turn_or_a_wrap_up_turn_cannot_broadcast() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let told = stage.replies("1", 1, vec![to_each(GatherRule::All, &TAKERS)]);
    assert!(told[0].contains("refusal/budget.messages"), "{told:?}");
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![note()]);
    }
    let told = stage.replies("1", 4, vec![to_each(GatherRule::First, &TAKERS)]);
    for path in ["1/4.0:0", "1/4.0:1"] {
        let line = format!("outcome/thread.cancelled core -> agent {path}");
        assert!(told.iter().any(|told| told.contains(&line)), "{told:?}");
    }
    assert_eq!(told.last().unwrap(), "=> agent 1 t5 a1", "its last turn");
    let told = stage.replies("1", 5, vec![to_each(GatherRule::All, &TAKERS)]);
    assert!(told[0].contains("refusal/budget.messages"), "{told:?}");
}

#[test]
fn b13_a_caller_that_is_cancelled_takes_all_with_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("agent")]);
    stage.replies("1/1.0", 1, vec![to_each(GatherRule::First, &TAKERS)]);
    let told = stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    for path in ["1/1.0/1.0:0", "1/1.0/1.0:1"] {
        assert!(told.contains(&format!("=> call back {path}")), "{told:?}");
    }
    // In a thread that goes on: the caller fails for good.
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![to_each(GatherRule::First, &["agent", "tool"])]);
    stage.replies("1/1.0:0", 1, vec![to_each(GatherRule::All, &TAKERS)]);
    let told = stage.replies("1/1.0:1", 1, vec![final_()]);
    for path in ["1/1.0:0/1.0:0", "1/1.0:0/1.0:1", "1/1.0:0"] {
        assert!(told.contains(&format!("=> call back {path}")), "{told:?}");
    }
}

#[test]
fn b13_the_same_question_to_the_same_takers_is_a_repeated_call() {
    let mut composition = composition();
    composition.loops = Some(LoopLimits { told: 2, refused: 3, ping_pong: 6 });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    for turn in 1..=2 {
        let told = stage.replies("1", turn, vec![to_each(GatherRule::All, &TAKERS)]);
        let words = told.iter().filter(|line| line.contains("message/inbox")).count();
        assert_eq!(words, if turn == 2 { 2 } else { 0 }, "the second is told, of each: {told:?}");
        for path in [format!("1/{turn}.0:0"), format!("1/{turn}.0:1")] {
            stage.replies(&path, 1, vec![final_()]);
        }
    }
    let told = stage.replies("1", 3, vec![to_each(GatherRule::All, &TAKERS)]);
    assert!(told[0].contains("refusal/loop.repeated-call"), "{told:?}");
}

#[test]
fn b13_many_takers_are_counted_as_numbers() {
    let mut stage = stage(Budgets::default());
    stage.asks("k", "agent", None);
    let takers: Vec<&str> = std::iter::repeat_n("tool", 12).collect();
    stage.replies("1", 1, vec![to_each(GatherRule::First, &takers)]);
    stage.replies("1/1.0:10", 1, vec![final_()]);
    let thread = stage.state.find_thread(&root()).unwrap();
    assert_eq!(thread.calls.len(), 1, "1/1.0:1 and 1/1.0:10 are two");
    assert_eq!(shown(&stage, 2).len(), 1);
}
