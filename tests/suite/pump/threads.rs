//! Children: spawned, confirmed, finished, and items for threads that are not the sender's.

use super::*;

fn child(label: &str) -> ThreadId {
    root().child(label).unwrap()
}

#[test]
fn b4_spawn_is_always_confirmed_before_the_childs_first_delivery() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]),
        [
            "root 2 message/spawn agent -> - 1 t1.0",
            "heat 1 message/begin agent -> tool 1",
            "root 3 message/answer core -> agent 1/1.0",
            "=> agent 1 t2 a1",
            "=> tool heat:1 t1 a1",
        ]
    );
    let (spawned, begun) = (&stage.records[1], &stage.records[2]);
    assert_eq!(begun.header.origin, Some(spawned.leaf));
    assert_eq!(begun.header.cause, Some(spawned.header.id));
    assert!(bodies(&stage)[&3].contains(&format!("head=\"{}\"", begun.head)));
}

#[test]
fn b4_labels_collide_into_suffixes_and_a_missing_one_is_made() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("a"), "tool"), spawn(Some("a"), "tool"), spawn(None, "tool")]);
    let ids: Vec<&str> =
        stage.state.threads.keys().filter_map(|t| t.as_str().split_once('.')).map(|(_, l)| l).collect();
    for label in ["a", "a-1", "c3"] {
        assert!(ids.contains(&label), "{ids:?}");
    }
}

#[test]
fn b5_the_result_of_a_child_reaches_its_parents_inbox_with_its_final_head() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool"), call("other")]);
    assert_eq!(
        stage.says(&child("heat"), "1", 1, Said::Items(vec![final_()])),
        ["heat 2 message/final tool -> agent 1 t1.0", "root 5 message/inbox core -> agent 1"]
    );
    let head = stage.state.thread(&child("heat")).unwrap().head;
    let body = &bodies(&stage)[&5];
    assert!(
        body.contains(&head.to_string()) && body.contains("outcome=\"answered\"") && body.contains("<done"),
        "{body}"
    );
    assert!(stage.state.thread(&child("heat")).unwrap().ended);
    assert_eq!(stage.replies("1/1.1", 1, vec![final_()])[1], "=> agent 1 t2 a1");
    let call = &stage.state.thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [5]);
}

#[test]
fn what_reaches_a_call_while_its_turn_is_out_is_shown_at_the_next_one() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, Said::Items(vec![final_()]));
    let shown =
        |stage: &Stage| stage.state.thread(&root()).unwrap().calls["1"].shown_inbox().collect::<Vec<_>>();
    assert!(shown(&stage).is_empty(), "turn 2 was ready before the child had finished");
    stage.replies("1", 2, vec![note()]);
    assert_eq!(shown(&stage), [4]);
    stage.replies("1", 3, vec![note()]);
    assert!(shown(&stage).is_empty(), "and it is shown once");
}

#[test]
fn a_failed_child_tells_its_parent_why() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, Said::Items(vec![]));
    let body = &bodies(&stage)[&4];
    assert!(body.contains("outcome=\"failed\"") && body.contains("listener.silent"), "{body}");
}

#[test]
fn a_first_final_with_running_children_is_nudged_and_the_next_cancels_them() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    assert_eq!(
        stage.replies("1", 2, vec![final_()]),
        ["root 4 refusal/children-open core -> agent 1 t2.0", "=> agent 1 t3 a1"]
    );
    assert_eq!(
        stage.replies("1", 3, vec![final_()]),
        [
            "heat 2 terminal/thread.cancelled core -> core",
            "root 5 message/inbox core -> agent 1",
            "root 6 message/final agent -> operator 1 t3.0",
            "=> call back 1",
        ]
    );
}

#[test]
fn b6_an_item_for_a_thread_that_is_not_its_own_child_creates_nothing() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    let before = stage.state.threads.len();
    let item = for_thread("sess-000000000000", What::For(name("tool")), "tool");
    assert_eq!(
        stage.replies("1", 1, vec![item]),
        ["root 2 refusal/thread.unknown core -> agent 1 t1.0", "=> agent 1 t2 a1"]
    );
    let body = &bodies(&stage)[&2];
    assert!(
        body.contains("unknown_id=\"sess-000000000000\"") && body.contains("code=\"unknown_thread\""),
        "{body}"
    );
    assert!(body.contains("Unknown thread; emit &lt;spawn-thread/&gt; to create."), "{body}");
    assert_eq!(stage.state.threads.len(), before);
}

#[test]
fn b6_an_item_for_an_own_child_that_has_ended_says_so() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, Said::Items(vec![final_()]));
    let item = for_thread(child("heat").as_str(), What::For(name("tool")), "tool");
    assert_eq!(stage.replies("1", 2, vec![item])[0], "root 5 refusal/thread.ended core -> agent 1 t2.0");
    assert!(bodies(&stage)[&5].contains("code=\"thread_ended\""));
}

#[test]
fn no_more_children_of_a_call_are_open_than_the_limit() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, (0..33).map(|_| spawn(None, "tool")).collect());
    assert_eq!(told.iter().filter(|l| l.contains("message/begin")).count(), 32);
    assert_eq!(told.iter().filter(|l| l.contains("refusal/budget.children")).count(), 1);
}

#[test]
fn a_final_on_the_last_turn_is_taken_though_children_run() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![spawn(None, "tool")]);
    }
    let told = stage.replies("1", 4, vec![final_()]);
    assert!(told.contains(&"root 11 message/final agent -> operator 1 t4.0".to_owned()), "{told:?}");
    assert!(stage.state.threads.values().filter(|t| t.id != root()).all(|t| t.ended));
}
