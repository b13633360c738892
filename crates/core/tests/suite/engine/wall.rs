//! The time budget of an outside message, counted by ticks while the organism runs and by the wall clock
//! across a restart.

use super::*;
use crate::decide_stage::{call, composition, set_timer, wait};
use systole_core::types::budget::Budgets;

/// An organism in which a message may take a hundred seconds.
fn timed() -> Composition {
    let mut composition = composition();
    composition.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
    composition
}

/// An agent at work in it.
fn rig() -> Rig {
    let mut rig = Rig::with(timed());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.seen();
    rig
}

/// Messages about time and budgets, by their element.
fn told(rig: &Rig) -> Vec<String> {
    let bodies = rig.records().into_iter().map(|r| String::from_utf8_lossy(&r.body).into_owned());
    let about = bodies.filter(|body| body.starts_with("<budget"));
    about.map(|body| body.replacen(" xmlns=\"https://xml-pipeline.org/ns/core/v1\"", "", 1)).collect()
}

#[test]
fn it_is_told_and_ended_at_its_marks_and_not_before() {
    let mut rig = rig();
    rig.passes(79_999);
    rig.settle();
    // The delivery passed its own deadline long ago; its further attempts are at work.
    assert!(!told(&rig).iter().any(|body| body.starts_with("<budget-warning")), "{:?}", told(&rig));
    rig.passes(1);
    rig.settle();
    assert_eq!(
        told(&rig),
        [
            "<budget-warning what=\"time\" used=\"80s\" limit=\"100s\"/>",
            "<budget-time runs=\"true\" used=\"80s\" limit=\"100s\"/>"
        ]
    );
    rig.passes(20_000);
    rig.settle();
    assert_eq!(
        told(&rig)[2..],
        [
            "<budget-time runs=\"false\" used=\"100s\" limit=\"100s\"/>",
            "<budget-exceeded what=\"time\" used=\"100s\" limit=\"100s\"/>"
        ]
    );
}

#[test]
fn a_clock_that_is_set_takes_no_time_and_gives_none() {
    for set in [|wall: u64| wall + 10 * 365 * 86_400_000, |_| 0] {
        let mut rig = rig();
        rig.passes(5_000);
        let wall = rig.outside.wall.load(Ordering::Relaxed);
        rig.outside.wall.store(set(wall), Ordering::Relaxed);
        rig.passes(5_000);
        rig.replies("1 t1 a1", vec![set_timer("after=\"1d\"", ""), wait("all", &[])]);
        rig.settle();
        assert_eq!(told(&rig), ["<budget-time runs=\"false\" used=\"10s\" limit=\"100s\"/>"]);
    }
}

#[test]
fn nothing_is_waited_for_while_it_stands_still() {
    let mut rig = rig();
    rig.replies("1 t1 a1", vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    rig.settle();
    assert_eq!(rig.engine.next_moment(), Some(Millis(3_600_000)), "the timer alone");
    rig.passes(3_600_000);
    rig.settle();
    assert_eq!(told(&rig).len(), 2, "it stood still, and runs");
}

#[test]
fn over_a_restart_what_was_used_stays_used_and_downtime_counts() {
    let mut rig = rig();
    rig.replies("1 t1 a1", vec![call("other")]);
    rig.settle();
    rig.passes(10_000);
    rig.outside.wall.fetch_add(60_000, Ordering::Relaxed);
    let mut rig = rig.killed_into(timed(), vec![]);
    // The kill took a millisecond too.
    rig.passes(9_998);
    rig.settle();
    assert!(told(&rig).is_empty(), "{:?}", told(&rig));
    rig.passes(1);
    rig.settle();
    assert_eq!(told(&rig)[1], "<budget-time runs=\"true\" used=\"80s\" limit=\"100s\"/>");
}

#[test]
fn a_start_that_comes_too_late_ends_it_at_once() {
    let rig = rig();
    rig.outside.wall.fetch_add(600_000, Ordering::Relaxed);
    let mut rig = rig.killed_into(timed(), vec![]);
    rig.passes(0);
    rig.settle();
    assert_eq!(told(&rig)[0], "<budget-time runs=\"false\" used=\"100s\" limit=\"100s\"/>");
    assert!(told(&rig)[1].starts_with("<budget-exceeded"));
}

#[test]
fn it_stands_still_over_a_restart_too() {
    let mut rig = rig();
    rig.replies("1 t1 a1", vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    rig.settle();
    let before = told(&rig);
    rig.outside.wall.fetch_add(1_800_000, Ordering::Relaxed);
    let mut rig = rig.killed_into(timed(), vec![]);
    rig.passes(1_000);
    rig.settle();
    assert_eq!(told(&rig), before);
}
