//! A cancel ends a subtree, children before parents, and everyone affected is notified.

use super::*;

fn cancel(stage: &mut DecideStage, thread: &ThreadId) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: thread.clone(),
    }))
}

#[test]
fn b10_cancelling_a_root_ends_its_whole_tree() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("tool")]);
    let heat = root().make_child("heat").unwrap();
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![spawn(Some("deep"), "tool")]));
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
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let told = cancel(&mut stage, &root().make_child("heat").unwrap());
    assert_eq!(told[1], "root 4 message/inbox core -> agent 1");
    assert!(bodies(&stage)[&4].contains("outcome=\"cancelled\""));
    assert!(!stage.state.find_thread(&root()).unwrap().ended);
}

#[test]
fn a_resting_root_can_be_cancelled_and_an_ended_one_cannot() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![final_()]);
    assert_eq!(cancel(&mut stage, &root()), ["root 3 terminal/thread.cancelled core -> operator", "=> done"]);
    assert_eq!(cancel(&mut stage, &root())[1], "=> refused thread.ended");
}

#[test]
fn an_unknown_thread_cannot_be_cancelled() {
    let mut stage = DecideStage::new();
    assert_eq!(cancel(&mut stage, &root())[1], "=> refused thread.unknown");
    assert_eq!(cancel(&mut stage, &ThreadId::new_sys())[1], "=> refused thread.unknown");
}

fn cancel_item(label: &str) -> JudgedItem {
    let body = format!("<cancel-thread id=\"{}\"/>", root().make_child(label).unwrap());
    primitive(&body)
}

#[test]
fn b10_a_call_cancels_a_child_of_its_own_and_is_told_how_many_ended() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![spawn(Some("deep"), "tool"), call("tool")]));
    assert_eq!(
        stage.replies("1", 2, vec![cancel_item("heat")]),
        [
            "root 4 message/cancel-thread agent -> - 1 t2.0",
            "heat.deep 2 terminal/thread.cancelled core -> agent",
            "heat 5 message/inbox core -> agent 1",
            "heat 6 terminal/thread.cancelled core -> agent",
            "root 5 message/inbox core -> agent 1",
            "root 6 message/answer core -> agent 1/2.0",
            "=> call back 1",
            "=> call back 1",
            "=> call back 1/1.1",
            "=> agent 1 t3 a1",
        ]
    );
    let body = String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned();
    assert!(body.contains("<thread-cancelled") && body.contains("threads=\"2\""), "{body}");
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [5], "its end is shown with the answer");
}

#[test]
fn a_wait_beside_a_cancelling_is_over_with_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let told = stage.replies("1", 2, vec![wait("all", &["heat"]), cancel_item("heat")]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t3 a1", "{told:?}");
}

#[test]
fn what_is_no_running_child_of_the_call_is_not_cancelled() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool"), call("agent")]);
    let told = stage.replies("1/1.1", 1, vec![cancel_item("heat")]);
    assert_eq!(told[0], "root 5 refusal/thread.unknown core -> agent 1/1.1 t1.0", "a child of another call");
    stage.replies("1/1.1", 2, vec![final_()]);
    let told = stage.replies("1", 2, vec![cancel_item("heat"), cancel_item("heat"), cancel_item("none")]);
    let refused: Vec<&String> = told.iter().filter(|line| line.contains("refusal/")).collect();
    assert!(refused[0].contains("thread.ended") && refused[1].contains("thread.unknown"), "{told:?}");
}

fn stop_run(stage: &mut DecideStage, by: &str, call: u32) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::StopRun {
        ticket: Ticket(2),
        by: name(by),
        thread: root(),
        call,
    }))
}

#[test]
fn b10_a_stopped_run_ends_with_all_below_it_and_the_next_request_begins() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.asks("k2", "tool", Some(&root()));
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("tool")]);
    assert_eq!(
        stop_run(&mut stage, "operator", 1),
        [
            "root 6 outcome/thread.cancelled core -> agent 1/1.1",
            "heat 2 terminal/thread.cancelled core -> core",
            "root 7 message/inbox core -> agent 1",
            "root 8 outcome/thread.cancelled core -> operator 1",
            "=> call back 1",
            "=> call back 1/1.1",
            "=> call back 1",
            "=> done",
            "=> tool 2 t1 a1",
        ]
    );
    assert!(bodies(&stage)[&8].contains("cancelled by operator"));
    assert!(!stage.state.find_thread(&root()).unwrap().ended);
    assert_eq!(stage.replies("2", 1, vec![final_()]), ["root 9 message/final tool -> operator 2 t1.0"]);
}

#[test]
fn b10_a_queued_run_is_stopped_and_never_begins() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.asks("k2", "tool", Some(&root()));
    let told = stop_run(&mut stage, "operator", 2);
    assert_eq!(told[0], "root 3 outcome/thread.cancelled core -> operator 2");
    assert_eq!(stage.replies("1", 1, vec![final_()]), ["root 4 message/final agent -> operator 1 t1.0"]);
    assert!(stage.state.find_thread(&root()).unwrap().calls.is_empty());
}

#[test]
fn b10_only_an_open_run_of_a_thread_of_its_own_is_stopped() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(stop_run(&mut stage, "operator", 2)[1], "=> refused thread.call-over");
    assert_eq!(stop_run(&mut stage, "alice", 1)[1], "=> refused thread.unknown");
    stage.replies("1", 1, vec![final_()]);
    assert_eq!(stop_run(&mut stage, "operator", 1)[1], "=> refused thread.call-over");
    cancel(&mut stage, &root());
    assert_eq!(stop_run(&mut stage, "operator", 1)[1], "=> refused thread.ended");
}

#[test]
fn b10_the_call_of_a_child_is_no_run() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let child = root().make_child("heat").unwrap();
    let (ticket, by) = (Ticket(2), name("operator"));
    let order = ClientOrder::StopRun { ticket, by, thread: child.clone(), call: 1 };
    assert_eq!(stage.happens(EventKind::Ordered(order))[1], "=> refused thread.call-over");
    assert!(!stage.state.find_thread(&child).unwrap().ended);
}
