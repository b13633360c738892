//! Effects and the writer: nothing goes out before its records are on disk, however the commit
//! ends.

use systole_core::types::codes::Code;
use systole_core::types::flow::{Refused, UnmatchedDocument};
use systole_log::memory::CommitFailure;

use super::*;
use crate::decide_stage::final_;

#[test]
fn nothing_moves_before_it_is_on_disk() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.read();
    rig.hand_over();
    assert!(rig.seen().is_empty());
    rig.write();
    assert_eq!(rig.seen(), ["1: receipt #1 at 2", "tool 1 t1 a1"]);
}

#[test]
fn a_refusal_waits_for_the_state_it_was_decided_from() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.read();
    rig.hand_over();
    rig.asks(2, "k", "other", None);
    rig.asks(3, "k", "tool", None);
    rig.read();
    assert!(rig.seen().is_empty());
    rig.write();
    assert_eq!(
        rig.seen(),
        ["1: receipt #1 at 2", "tool 1 t1 a1", "2: refused payload.id-conflict", "3: receipt #1 again"]
    );
}

#[test]
fn an_unknown_commit_has_its_effects_once_whether_it_was_stored_or_not() {
    for ending in [CommitFailure::UnknownStored, CommitFailure::UnknownAbsent] {
        let mut rig = Rig::new();
        rig.asks(1, "k", "tool", None);
        rig.read();
        rig.log.next_commits([ending]);
        rig.settle();
        assert_eq!(rig.seen(), ["1: receipt #1 at 2", "tool 1 t1 a1"]);
        assert_eq!(rig.lines(), ["root 1 message/request operator -> tool 1"]);
    }
}

#[test]
fn without_room_askers_are_told_and_what_was_decided_is_kept() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.read();
    rig.hand_over();
    rig.input(PumpInput::Written(WriteReport::Stalled("no space".into())));
    rig.asks(2, "other", "tool", None);
    rig.cancels(3, &root());
    let unavailable = |n: u64| format!("{n}: refused ingress.unavailable");
    assert_eq!(rig.seen(), [unavailable(1), unavailable(2), unavailable(3)]);
    rig.settle();
    assert_eq!(rig.seen(), ["tool 1 t1 a1"], "there is room again");
    rig.asks(4, "k", "tool", None);
    rig.settle();
    assert_eq!(rig.seen(), ["4: receipt #1 again"]);
}

#[test]
fn an_order_in_hand_when_the_room_ran_out_is_told_so_too() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.seen();
    rig.cancels(2, &root());
    rig.hand_over();
    rig.input(PumpInput::Written(WriteReport::Stalled("no space".into())));
    assert_eq!(rig.seen(), ["2: refused ingress.unavailable"]);
    rig.write();
    assert_eq!(rig.seen(), ["call back 1 t1 a1 Cancelled"]);
}

#[test]
fn once_the_log_is_broken_nothing_more_goes_out() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.asks(2, "other", "tool", None);
    rig.settle();
    assert_eq!(rig.seen().pop().unwrap(), "tool 1 t1 a1", "the second waits for the one slot");
    rig.input(PumpInput::Written(WriteReport::Broken("gone".to_owned().into())));
    rig.replies("1 t1 a1", vec![final_()]);
    assert!(rig.seen().is_empty());
    assert_eq!(rig.engine.find_stop(), Some(&"gone".to_owned().into()));
}

#[test]
fn nothing_is_recorded_after_the_last_word() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.seen();
    rig.input(PumpInput::Stop);
    rig.input(PumpInput::Farewell);
    let refused = Refused { refusal: Refusal::new(Code::StaleLease, "late"), kept: None };
    rig.input(PumpInput::Stray(UnmatchedDocument {
        listener: name("tool"),
        refused,
        waits: None,
        replies_to: None,
        ticket: None,
    }));
    rig.replies("1 t1 a1", vec![final_()]);
    rig.asks(2, "k2", "tool", None);
    rig.cancels(3, &root());
    rig.settle();
    assert_eq!(rig.lines().pop().unwrap(), "sys 2 message/told core -> -");
    assert_eq!(rig.seen(), ["2: refused ingress.unavailable", "3: refused ingress.unavailable"]);
    let mut rig = rig.killed();
    rig.settle();
    assert_eq!(rig.seen(), ["tool 1 t1 a2"], "what was not taken counts as lost");
}
