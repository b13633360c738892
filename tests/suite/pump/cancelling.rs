//! Cancelling ends a subtree, children before parents, and everybody is told.

use super::*;

fn cancel(stage: &mut Stage, thread: &ThreadId) -> Vec<String> {
    stage.happens(Happening::Cancel { ticket: Ticket(2), by: Name::operator(), thread: thread.clone() })
}

#[test]
fn b10_cancelling_a_root_ends_its_whole_tree() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("tool")]);
    let heat = root().child("heat").unwrap();
    stage.says(&heat, "1", 1, Said::Items(vec![spawn(Some("deep"), "tool")]));
    let told = cancel(&mut stage, &root());
    assert_eq!(
        told,
        [
            "heat.deep 2 terminal/thread.cancelled core -> operator",
            "heat 4 message/inbox core -> agent 1",
            "heat 5 terminal/thread.cancelled core -> operator",
            "root 5 message/inbox core -> agent 1",
            "root 6 terminal/thread.cancelled core -> operator",
            "=> call back 1",
            "=> call back 1",
            "=> call back 1",
            "=> call back 1/1.1",
            "=> done",
        ]
    );
    assert!(stage.state.threads.values().all(|t| t.ended));
}

#[test]
fn cancelling_a_child_tells_its_parent_and_leaves_it_alive() {
    let mut stage = Stage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let told = cancel(&mut stage, &root().child("heat").unwrap());
    assert_eq!(told[1], "root 4 message/inbox core -> agent 1");
    assert!(bodies(&stage)[&4].contains("outcome=\"cancelled\""));
    assert!(!stage.state.thread(&root()).unwrap().ended);
}

#[test]
fn a_resting_root_can_be_cancelled_and_an_ended_one_cannot() {
    let mut stage = Stage::new();
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![final_()]);
    assert_eq!(cancel(&mut stage, &root()), ["root 3 terminal/thread.cancelled core -> operator", "=> done"]);
    assert_eq!(cancel(&mut stage, &root())[1], "=> refused thread.ended");
}

#[test]
fn an_unknown_thread_cannot_be_cancelled() {
    let mut stage = Stage::new();
    assert_eq!(cancel(&mut stage, &root())[1], "=> refused thread.unknown");
    assert_eq!(cancel(&mut stage, &ThreadId::sys())[1], "=> refused thread.unknown");
}
