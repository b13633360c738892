//! Waits for children: when they end, what they count, and what is refused.

use super::*;

fn child(label: &str) -> ThreadId {
    root().make_child(label).unwrap()
}

/// Children `a`, `b` and `c` at work, and turn 2 of their parent due.
fn three() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, ["a", "b", "c"].map(|label| spawn(Some(label), "tool")).into());
    stage
}

fn ends(stage: &mut DecideStage, label: &str) -> Vec<String> {
    stage.says(&child(label), "1", 1, JudgedContent::Items(vec![final_()]))
}

/// The body of the core's last answer.
fn over(stage: &DecideStage) -> String {
    let last = stage.records.last().unwrap();
    assert_eq!(last.header.code.map(RecordCode::as_str), Some("answer"));
    String::from_utf8_lossy(&last.body).into_owned()
}

#[test]
fn all_joins_until_the_last_has_finished() {
    let mut stage = three();
    assert_eq!(
        stage.replies("1", 2, vec![wait("all", &[])]),
        ["root 8 message/await agent -> - 1 t2.0"],
        "nothing goes out"
    );
    for label in ["b", "a"] {
        assert!(!ends(&mut stage, label).iter().any(|told| told.contains("=>")));
    }
    assert_eq!(
        ends(&mut stage, "c"),
        [
            "c 2 message/final tool -> agent 1 t1.0",
            "root 11 message/inbox core -> agent 1",
            "root 12 message/answer core -> agent 1/2.0",
            "=> agent 1 t3 a1",
        ]
    );
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    assert_eq!(over(&stage), format!("<await-over {core} reason=\"done\" finished=\"3\" open=\"0\"/>"));
    let (inbox, answer) = (&stage.records[stage.records.len() - 2], stage.records.last().unwrap());
    assert_eq!(answer.header.cause, Some(inbox.header.id), "the last end is what ended the wait");
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().count(), 3, "and all results are shown with it");
}

#[test]
fn any_is_over_with_the_first_and_counts_what_is_open() {
    let mut stage = three();
    stage.replies("1", 2, vec![wait("any", &[])]);
    assert_eq!(ends(&mut stage, "b").last().unwrap(), "=> agent 1 t3 a1");
    assert!(over(&stage).contains("reason=\"done\" finished=\"1\" open=\"2\""), "{}", over(&stage));
    assert_eq!(
        ends(&mut stage, "a"),
        ["a 2 message/final tool -> agent 1 t1.0", "root 11 message/inbox core -> agent 1"],
        "the wait is over once"
    );
}

#[test]
fn a_number_is_over_with_so_many_or_with_all_there_are() {
    let mut stage = three();
    stage.replies("1", 2, vec![wait("2", &[])]);
    ends(&mut stage, "c");
    assert_eq!(ends(&mut stage, "a").last().unwrap(), "=> agent 1 t3 a1");
    stage.replies("1", 3, vec![wait("9", &["b"])]);
    assert_eq!(ends(&mut stage, "b").last().unwrap(), "=> agent 1 t4 a1");
    assert!(over(&stage).contains("finished=\"1\" open=\"0\""), "{}", over(&stage));
}

#[test]
fn only_the_named_count() {
    let mut stage = three();
    stage.replies("1", 2, vec![wait("all", &["b", "b"])]);
    ends(&mut stage, "a");
    assert_eq!(ends(&mut stage, "b").last().unwrap(), "=> agent 1 t3 a1");
    assert!(over(&stage).contains("finished=\"1\" open=\"0\""), "named twice is named once");
}

#[test]
fn without_an_open_child_it_is_answered_at_once() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![wait("all", &[])]),
        [
            "root 2 message/await agent -> - 1 t1.0",
            "root 3 message/answer core -> agent 1/1.0",
            "=> agent 1 t2 a1",
        ]
    );
    assert!(over(&stage).contains("reason=\"done\" finished=\"0\" open=\"0\""), "{}", over(&stage));
}

#[test]
fn a_child_that_ended_before_has_finished() {
    let mut stage = three();
    ends(&mut stage, "a");
    assert_eq!(stage.replies("1", 2, vec![wait("any", &["a", "b"])]).last().unwrap(), "=> agent 1 t3 a1");
    assert!(over(&stage).contains("finished=\"1\" open=\"1\""), "{}", over(&stage));
}

#[test]
fn an_end_that_was_not_shown_yet_counts_where_none_is_named() {
    let mut stage = three();
    ends(&mut stage, "a");
    assert_eq!(stage.replies("1", 2, vec![wait("any", &[])]).last().unwrap(), "=> agent 1 t3 a1");
    // Turn 3 has shown that end, so the next wait is for the others.
    stage.replies("1", 3, vec![wait("any", &[])]);
    assert_eq!(ends(&mut stage, "c").last().unwrap(), "=> agent 1 t4 a1");
    assert!(over(&stage).contains("finished=\"1\" open=\"1\""), "{}", over(&stage));
}

#[test]
fn a_wait_sees_the_children_of_its_own_reply_wherever_it_stands() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![wait("all", &[]), spawn(Some("a"), "tool")]),
        [
            "root 2 message/spawn agent -> - 1 t1.1",
            "a 1 message/begin agent -> tool 1",
            "root 3 message/answer core -> agent 1/1.1",
            "root 4 message/await agent -> - 1 t1.0",
            "=> tool a:1 t1 a1",
        ]
    );
    assert_eq!(ends(&mut stage, "a").last().unwrap(), "=> agent 1 t2 a1");
}

#[test]
fn a_wait_beside_calls_is_joined_with_them() {
    let mut stage = three();
    stage.replies("1", 2, vec![wait("any", &[]), call("other")]);
    assert_eq!(ends(&mut stage, "a").last().unwrap(), "root 11 message/answer core -> agent 1/2.0");
    assert_eq!(stage.replies("1/2.1", 1, vec![final_()]).last().unwrap(), "=> agent 1 t3 a1");
}

#[test]
fn a_failed_or_cancelled_child_has_finished_too() {
    let mut stage = three();
    stage.replies("1", 2, vec![wait("2", &[])]);
    stage.says(&child("a"), "1", 1, JudgedContent::Items(vec![]));
    let told = stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: child("b"),
    }));
    assert!(told.contains(&"=> agent 1 t3 a1".to_owned()), "{told:?}");
}

#[test]
fn a_thread_that_is_no_child_of_the_call_refuses_the_wait() {
    let mut stage = three();
    assert_eq!(
        stage.replies("1", 2, vec![wait("all", &["a", "stranger"])]),
        ["root 8 refusal/thread.unknown core -> agent 1 t2.0", "=> agent 1 t3 a1"]
    );
    let body = &bodies(&stage)[&8];
    let unknown = format!("unknown_id=\"{}\" code=\"unknown_thread\"", child("stranger"));
    assert!(body.contains("<system-thread-error") && body.contains(&unknown), "{body}");
}

#[test]
fn children_of_another_call_are_strangers() {
    let mut stage = three();
    stage.replies("1", 2, vec![call("agent")]);
    let told = stage.replies("1/2.0", 1, vec![wait("any", &["a"])]);
    assert_eq!(told[0], "root 9 refusal/thread.unknown core -> agent 1/2.0 t1.0");
    // Without ids it waits for its own children, and it has none.
    let told = stage.replies("1/2.0", 2, vec![wait("all", &[])]);
    assert_eq!(told.last().unwrap(), "=> agent 1/2.0 t3 a1");
}

#[test]
fn turns_1_cannot_wait() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.replies("1", 1, vec![wait("all", &[])])[0],
        "root 2 refusal/budget.messages core -> tool 1 t1.0"
    );
}

#[test]
fn a_final_beside_a_wait_is_not_alone() {
    let mut stage = three();
    let told = stage.replies("1", 2, vec![final_(), wait("any", &["a"])]);
    assert_eq!(
        told,
        [
            "root 8 refusal/reply.final-not-alone core -> agent 1 t2.0",
            "root 9 message/await agent -> - 1 t2.1"
        ]
    );
}

#[test]
fn a_wait_is_cancelled_with_its_call() {
    let mut stage = three();
    stage.replies("1", 2, vec![call("agent")]);
    stage.replies("1/2.0", 1, vec![spawn(Some("deep"), "tool"), wait("all", &[])]);
    let told = stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert!(told.iter().all(|line| !line.starts_with("=> agent")), "{told:?}");
    assert!(stage.state.threads.values().all(|t| t.ended));
}
