//! Pauses of a thread or of everything: recorded once, folded, and lifted only by an order.

use super::*;
use systole_core::pump::event::PauseOrder;

fn pause(stage: &mut DecideStage, thread: Option<&ThreadId>, halts: bool) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::Pause(PauseOrder {
        ticket: Ticket(6),
        by: Name::new_operator(),
        thread: thread.cloned(),
        halts,
        note: Some("lunch".to_owned()),
    })))
}

#[test]
fn a_thread_is_paused_and_resumed_each_recorded_once() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(pause(&mut stage, Some(&root()), true), ["root 2 steer/paused core -> operator", "=> done"]);
    assert_eq!(pause(&mut stage, Some(&root()), true), ["=> done"]);
    assert!(stage.state.find_thread(&root()).unwrap().paused.is_some());
    assert_eq!(stage.replies("1", 1, vec![final_()])[0], "root 3 message/final tool -> operator 1 t1.0");
    assert_eq!(
        pause(&mut stage, Some(&root()), false),
        ["root 4 steer/resumed core -> operator", "=> resumed", "=> done"]
    );
}

#[test]
fn f4_a_resume_of_what_is_not_paused_is_refused() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    stage.asks("k", "tool", None);
    assert_eq!(
        pause(&mut stage, Some(&root()), false),
        ["root 2 refusal/thread.not-paused core -> operator", "=> refused thread.not-paused"]
    );
    assert_eq!(
        pause(&mut stage, None, false),
        ["sys 2 refusal/thread.not-paused core -> operator", "=> refused thread.not-paused"]
    );
    pause(&mut stage, None, true);
    assert_eq!(
        pause(&mut stage, Some(&root()), false),
        ["=> done"],
        "another pause holds it, which is reported"
    );
}

#[test]
fn everything_is_paused_in_sys() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    assert_eq!(pause(&mut stage, None, true), ["sys 2 steer/paused core -> operator", "=> done"]);
    assert_eq!(
        pause(&mut stage, None, false),
        ["sys 3 steer/resumed core -> operator", "=> resumed", "=> done"]
    );
}

#[test]
fn what_is_not_or_has_ended_cannot_be_paused() {
    let mut stage = DecideStage::new();
    assert_eq!(
        pause(&mut stage, Some(&root()), true),
        ["sys 1 refusal/thread.unknown core -> operator", "=> refused thread.unknown"]
    );
    stage.asks("k", "tool", None);
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert_eq!(pause(&mut stage, Some(&root()), true)[1], "=> refused thread.ended");
    assert_eq!(pause(&mut stage, Some(&ThreadId::new_sys()), true)[1], "=> refused thread.unknown");
}
