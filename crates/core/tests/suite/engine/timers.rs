//! Timers on the wheel: never early, once after downtime, at any wall-clock time, and no work while
//! they wait.

use super::*;
use crate::decide_stage::{call, cancel_timer, final_, set_timer, wait};

/// An agent that sleeps until its one-hour timer.
fn sleeper() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("id=\"tea\" after=\"1h\"", "drink it"), wait("all", &[])]);
    rig.settle();
    rig.seen();
    rig
}

/// A root at rest with a repeating one-hour timer.
fn resting() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("id=\"tick\" every=\"1h\"", "look again")]);
    rig.settle();
    rig.replies("1 t2 a1", vec![final_()]);
    rig.settle();
    rig.seen();
    rig
}

const HOUR: u64 = 3_600_000;

fn fired(rig: &Rig) -> Vec<String> {
    let records = rig.records();
    let fired =
        records.iter().filter(|r| r.header.code.is_some_and(|c| matches!(c.as_str(), "fired" | "opens")));
    fired.map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect()
}

#[test]
fn it_fires_when_its_time_has_come_and_not_before() {
    let mut rig = sleeper();
    assert_eq!(rig.engine.next_moment(), Some(Millis(HOUR)), "nothing is looked at until then");
    rig.passes(HOUR - 1);
    rig.settle();
    assert!(fired(&rig).is_empty() && rig.seen().is_empty());
    rig.passes(1);
    assert!(rig.seen().is_empty(), "not before it is on disk");
    rig.settle();
    assert_eq!(rig.seen(), ["agent 1 t2 a1"]);
    assert!(fired(&rig)[0].contains(">drink it<"));
    assert!(rig.documents().last().unwrap().contains("<inbox><timer-fired"));
    assert_eq!(rig.engine.next_moment(), Some(Millis(HOUR + 30_000)), "the delivery's deadline is left");
}

#[test]
fn it_is_waited_for_only_once_it_is_on_disk() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    assert_eq!(rig.engine.next_moment(), None);
    rig.settle();
    assert_eq!(rig.engine.next_moment(), Some(Millis(HOUR)));
}

#[test]
fn a_restart_waits_for_what_is_left() {
    let mut rig = sleeper();
    rig.passes(HOUR / 2);
    let mut rig = rig.killed();
    rig.passes(HOUR / 2 - 2);
    rig.settle();
    assert!(fired(&rig).is_empty(), "the kill itself took a millisecond");
    rig.passes(1);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1);
    assert_eq!(rig.seen(), ["agent 1 t2 a1"]);
}

#[test]
fn b8_after_downtime_it_fires_once_and_says_what_was_missed() {
    let rig = resting();
    rig.outside.wall.fetch_add(3 * HOUR + 5, Ordering::Relaxed);
    let mut rig = rig.killed();
    rig.passes(0);
    rig.settle();
    let bodies = fired(&rig);
    assert!(bodies.len() == 1 && bodies[0].contains("id=\"tick\" missed=\"2\""), "{bodies:?}");
    assert_eq!(rig.seen(), ["agent 2 t1 a1"]);
    let mut rig = rig.killed();
    rig.passes(1);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1, "the firing is on record");
}

#[test]
fn a_resting_thread_leaves_memory_and_is_woken_for_its_timer() {
    let mut rig = resting();
    rig.idles();
    assert!(!rig.is_awake(&root()));
    rig.passes(HOUR);
    assert!(fired(&rig).is_empty(), "the log is asked first");
    rig.settle();
    assert!(fired(&rig)[0].contains(">look again<"));
    assert_eq!(rig.seen(), ["agent 2 t1 a1"]);
}

#[test]
fn a_start_finds_the_timers_of_resting_threads_in_their_rows() {
    let mut rig = resting();
    rig.idles();
    let mut rig = rig.killed();
    rig.idles();
    assert!(!rig.is_awake(&root()), "its timer waits without it");
    rig.passes(HOUR);
    rig.settle();
    assert_eq!(rig.seen(), ["agent 2 t1 a1"]);
}

#[test]
fn a_clock_set_forward_hurries_no_timer() {
    let mut rig = sleeper();
    rig.clock_set_forward(10 * 365 * 24 * HOUR);
    rig.passes(HOUR - 1);
    rig.settle();
    assert!(fired(&rig).is_empty());
    rig.passes(1);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1);
}

#[test]
fn a_clock_set_back_holds_no_timer_back() {
    let mut rig = Rig::new();
    rig.passes(24 * HOUR);
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("every=\"1h\"", ""), wait("all", &[])]);
    rig.settle();
    rig.outside.wall.fetch_sub(12 * HOUR, Ordering::Relaxed);
    for _ in 0..3 {
        rig.passes(HOUR);
        rig.settle();
        let records = rig.records();
        let turn = rig.engine.state().find_thread(&root()).unwrap().calls["1"].settled + 1;
        assert!(records.last().unwrap().header.code.is_some());
        if turn < 4 {
            rig.replies(&format!("1 t{turn} a1"), vec![wait("all", &[])]);
            rig.settle();
        }
    }
    let bodies = fired(&rig);
    assert!(bodies.len() == 3 && bodies.iter().all(|body| !body.contains("missed")), "{bodies:?}");
}

#[test]
fn a_clock_set_back_before_a_start_holds_a_timer_no_longer_than_its_span() {
    let rig = Rig::new();
    rig.outside.wall.fetch_add(24 * HOUR, Ordering::Relaxed);
    let mut rig = rig;
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    rig.settle();
    rig.outside.wall.fetch_sub(12 * HOUR, Ordering::Relaxed);
    let mut rig = rig.killed();
    rig.passes(HOUR - 1);
    rig.settle();
    assert!(fired(&rig).is_empty());
    rig.passes(1);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1);
}

#[test]
fn a_cancelled_timer_leaves_the_wheel() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![set_timer("id=\"tea\" after=\"1s\"", "")]);
    rig.settle();
    rig.replies("1 t2 a1", vec![cancel_timer("tea"), call("tool")]);
    rig.settle();
    rig.passes(HOUR);
    rig.settle();
    assert!(fired(&rig).is_empty());
}

#[test]
fn a_timer_whose_record_cannot_be_read_now_is_tried_again() {
    let mut rig = resting();
    rig.idles();
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.passes(HOUR);
    rig.settle();
    assert!(fired(&rig).is_empty());
    assert!(rig.lines().last().unwrap().contains("refusal/ingress.unavailable"), "{:?}", rig.lines());
    rig.passes(10_000);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1);
}

#[test]
fn nothing_fires_while_the_organism_stops_and_all_of_it_afterwards() {
    let mut rig = sleeper();
    rig.input(PumpInput::Stop);
    assert_eq!(rig.engine.next_moment(), None);
    rig.passes(HOUR);
    rig.settle();
    assert!(fired(&rig).is_empty());
    let mut rig = rig.killed();
    rig.passes(0);
    rig.settle();
    assert_eq!(fired(&rig).len(), 1);
}

#[test]
fn ten_thousand_timers_wait_without_a_thread_in_memory_and_fire_in_order() {
    const MANY: u64 = 10_000;
    let mut wide = composition();
    wide.listeners.get_mut("quiet").unwrap().in_flight = usize::MAX;
    let mut rig = Rig::with(wide);
    let root_of = |n: u64| {
        ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse(&n.to_string()).unwrap(), 12)
    };
    (0..MANY).for_each(|n| rig.asks(n, &n.to_string(), "quiet", None));
    rig.settle();
    for n in 0..MANY {
        let item = set_timer(&format!("after=\"{}s\"", 10 + n), &n.to_string());
        rig.says_in(&root_of(n), "1 t1 a1", JudgedContent::Items(vec![item]));
    }
    rig.settle();
    rig.idles();
    assert!((0..MANY).all(|n| !rig.is_awake(&root_of(n))));
    for n in 0..3 {
        rig.passes(if n == 0 { 10_000 } else { 1_000 });
        rig.settle();
        let bodies = fired(&rig);
        assert_eq!(bodies.len() as u64, n + 1, "only those whose time has come");
        assert!(bodies.last().unwrap().contains(&format!(">{n}<")));
    }
}
