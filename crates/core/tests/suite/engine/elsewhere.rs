//! Deliveries that workers on other machines have while the pump is started again: their attempts go on, whatever is
//! read of the log in between.

use systole_core::types::composition::Reach;

use super::viewing::clear;
use super::*;
use crate::decide_stage::call;

/// The same organism; its agent runs on other machines.
fn elsewhere() -> Composition {
    let mut composition = Composition { hash: Digest([8; 32]), ..composition() };
    composition.listeners.get_mut("agent").unwrap().reach = Reach::Nats;
    composition
}

/// The pump was killed while a worker had this delivery. Its carrier has found it, and the log is not read yet.
fn found_again(current: Composition, older: Vec<Composition>, rig: Rig, delivery: &str) -> Rig {
    let mut rig = rig.killed_into(current, older);
    rig.seen();
    let found = vec![LeaseToken(format!("{} {delivery}", root()).into())];
    rig.input(PumpInput::Adopted { listener: name("agent"), found, lost: None });
    rig
}

/// A worker has the first turn of a call.
fn out() -> Rig {
    let mut rig = Rig::with(elsewhere());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    assert_eq!(rig.seen().last().unwrap(), "agent 1 t1 a1");
    rig
}

#[test]
fn b20_a_delivery_that_is_found_is_taken_up_in_its_attempt() {
    let mut rig = found_again(elsewhere(), vec![], out(), "1 t1 a1");
    rig.settle();
    assert_eq!(rig.seen(), ["agent 1 t1 a1"]);
    assert!(rig.lines().iter().all(|line| !line.contains("attempt")), "{:?}", rig.lines());
}

#[test]
fn b20_a_reply_that_waits_for_its_view_ends_a_delivery_that_was_found() {
    let mut rig = found_again(elsewhere(), vec![], out(), "1 t1 a1");
    rig.replies("1 t1 a1", vec![clear(0), call("other")]);
    rig.settle();
    assert_eq!(rig.seen(), ["other 1/1.1 t1 a1"], "the answered delivery is not handed over");
    rig.replies("1/1.1 t1 a1", vec![crate::decide_stage::final_()]);
    rig.settle();
    assert_eq!(rig.seen(), ["agent 1 t2 a1"]);
    assert_eq!(rig.engine.out_count(), 1);
}

#[test]
fn b20_a_pause_does_not_stop_the_time_of_a_delivery_that_is_found() {
    let mut rig = out();
    rig.pauses(2, Some(&root()), true);
    rig.settle();
    let mut rig = found_again(elsewhere(), vec![], rig, "1 t1 a1");
    rig.settle();
    assert_eq!(rig.seen(), ["agent 1 t1 a1"], "it is out, so it is taken up");
}

/// The pump is killed, and started with a configuration in which the agent runs on other machines. Nothing is found
/// there.
fn moved(rig: Rig) -> Rig {
    let mut rig = rig.killed_into(elsewhere(), vec![composition()]);
    rig.input(PumpInput::Adopted { listener: name("agent"), found: vec![], lost: None });
    rig.settle();
    rig
}

/// The configuration in force says how a listener is reached, not the one that a call began with.
#[test]
fn b20_a_listener_that_moved_elsewhere_is_found_there() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let rig = moved(rig);
    assert_eq!(rig.seen().last().unwrap(), "agent 1 t1 a2", "a program had the first");
    let mut rig = found_again(elsewhere(), vec![composition()], rig, "1 t1 a2");
    rig.settle();
    assert_eq!(rig.seen(), ["agent 1 t1 a2"]);
    assert!(rig.lines().iter().all(|line| !line.contains("attempt")), "{:?}", rig.lines());
}

/// If it is not found, the program that had it may have died with the pump.
#[test]
fn b20_what_is_not_found_of_a_listener_that_moved_is_lost() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let rig = moved(rig);
    assert_eq!(rig.seen().last().unwrap(), "agent 1 t1 a2");
    assert_eq!(rig.lines().iter().filter(|line| line.contains("attempt")).count(), 1, "{:?}", rig.lines());
}

/// A worker elsewhere may still have it, and the program that is the listener now does not know.
#[test]
fn b20_what_a_worker_may_have_is_lost_when_its_listener_comes_home() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let mut rig = moved(rig);
    rig.input(PumpInput::Stop);
    rig.input(PumpInput::Farewell);
    rig.settle();
    rig.seen();
    let rig = rig.killed_into(composition(), vec![elsewhere()]);
    assert_eq!(rig.seen(), ["agent 1 t1 a3"], "under a new number");
}

/// The pump does not say that a delivery is out whose call is over.
#[test]
fn b20_what_is_over_before_it_is_looked_for_is_not_out() {
    let mut rig = out().killed_into(elsewhere(), vec![]);
    rig.cancels(2, &root());
    rig.settle();
    rig.input(PumpInput::Adopted { listener: name("agent"), found: vec![], lost: None });
    rig.input(PumpInput::Stop);
    rig.input(PumpInput::Farewell);
    rig.settle();
    let last = rig.records().pop().unwrap();
    assert!(last.body.ends_with(br#"mode="drained"/>"#), "{}", String::from_utf8_lossy(&last.body));
}
