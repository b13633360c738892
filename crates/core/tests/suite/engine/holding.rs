//! Held payloads and pauses: a payload waits for a person at no cost, and expires once and never early,
//! also across restarts. A paused thread sends nothing new, but deliveries that are out may land.

use super::*;
use crate::decide_stage::{call, final_};
use systole_core::pump::event::PauseOrder;
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};

/// The setting of `guarded` in the composition.
const EXPIRES_MS: u64 = 60_000;

impl Rig {
    fn approves(&mut self, ticket: u64, id: u64) {
        self.input(PumpInput::Ordered(ClientOrder::Ruled(Ruling {
            ticket: Ticket(ticket),
            by: Name::new_operator(),
            request: PersonRequestId(id),
            hash: None,
            note: None,
            says: PersonDecision::Approve,
        })));
    }

    /// The writer settles its current batch, and no other.
    fn writes_what_it_has(&mut self) {
        let batch = self.writing.pop_front().unwrap();
        let written = self.commit(&batch);
        self.input(PumpInput::Written(written));
    }

    pub(super) fn pauses(&mut self, ticket: u64, thread: Option<&ThreadId>, halts: bool) {
        let (ticket, by, thread) = (Ticket(ticket), Name::new_operator(), thread.cloned());
        self.input(PumpInput::Ordered(ClientOrder::Pause(PauseOrder {
            ticket,
            by,
            thread,
            halts,
            note: None,
        })));
    }
}

/// A guarded listener is asked from outside, and the notified listener is done with its call.
fn held() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "guarded", None);
    rig.settle();
    assert_eq!(rig.seen()[1..], ["watch 1/0.0 t1 a1"], "only the notified listener gets it");
    rig.replies("1/0.0 t1 a1", vec![]);
    rig.settle();
    rig.seen();
    rig
}

fn expired(rig: &Rig) -> usize {
    rig.lines().iter().filter(|line| line.contains("outcome/approval.expired")).count()
}

#[test]
fn g4_held_it_goes_out_only_when_the_approval_is_on_disk() {
    let mut rig = held();
    rig.approves(2, 1);
    assert!(rig.seen().is_empty(), "not before it is on disk");
    rig.settle();
    let mut seen = rig.seen();
    seen.sort();
    assert_eq!(seen, ["2: done", "guarded 1 t1 a1"]);
    rig.passes(EXPIRES_MS);
    rig.settle();
    assert_eq!(expired(&rig), 0, "what was decided does not expire");
}

#[test]
fn g4_held_it_expires_when_its_time_has_come_and_not_before() {
    let mut rig = held();
    assert_eq!(rig.engine.next_moment(), Some(Millis(EXPIRES_MS)), "nothing is looked at until then");
    rig.passes(EXPIRES_MS - 1);
    rig.settle();
    assert_eq!(expired(&rig), 0);
    rig.clock_set_forward(EXPIRES_MS);
    rig.settle();
    assert_eq!(expired(&rig), 0, "a clock that is set forward expires nothing");
    rig.passes(1);
    rig.settle();
    assert_eq!(expired(&rig), 1);
    assert_eq!(rig.engine.next_moment(), None);
}

#[test]
fn g4_after_a_restart_open_approvals_wait_on_and_overdue_ones_are_closed() {
    let mut rig = held();
    rig.passes(EXPIRES_MS / 2);
    let mut rig = rig.killed();
    assert!(rig.seen().is_empty(), "a request that waits for a person is not out");
    rig.passes(EXPIRES_MS / 2 - 2);
    rig.settle();
    assert_eq!(expired(&rig), 0, "the kill itself took a millisecond");
    rig.passes(1);
    rig.settle();
    assert_eq!(expired(&rig), 1);

    let rig = held();
    rig.outside.wall.fetch_add(10 * EXPIRES_MS, Ordering::Relaxed);
    let mut rig = rig.killed();
    rig.passes(0);
    rig.settle();
    assert_eq!(expired(&rig), 1, "what was due while nothing ran is closed at once");
}

#[test]
fn g4_recovery_held_an_approval_after_a_kill_lets_it_go() {
    let mut rig = held().killed();
    rig.approves(2, 1);
    rig.settle();
    assert!(rig.seen().contains(&"guarded 1 t1 a1".to_owned()));
}

#[test]
fn g4_recovery_approved_and_killed_before_it_was_on_disk_it_still_waits() {
    let mut rig = held();
    rig.approves(2, 1);
    let mut rig = rig.killed();
    assert!(rig.seen().is_empty());
    rig.approves(3, 1);
    rig.settle();
    assert!(rig.seen().contains(&"guarded 1 t1 a1".to_owned()));
}

#[test]
fn ten_thousand_held_calls_are_one_moment() {
    let mut rig = Rig::new();
    for n in 0..10_000 {
        rig.asks(n, &format!("k{n}"), "guarded", None);
    }
    rig.settle();
    let told = rig.engine.next_moment();
    assert!(told.is_some_and(|at| at <= Millis(EXPIRES_MS)), "{told:?}");
    rig.passes(EXPIRES_MS);
    rig.settle();
    assert_eq!(expired(&rig), 10_000);
}

#[test]
fn paused_a_thread_sends_nothing_new_and_what_is_out_may_land() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.seen();
    rig.pauses(2, Some(&root()), true);
    rig.settle();
    assert_eq!(rig.seen(), ["2: done"]);
    rig.replies("1 t1 a1", vec![call("tool"), call("other")]);
    rig.settle();
    assert!(rig.seen().is_empty(), "the reply landed, its calls wait");
    rig.asks(3, "elsewhere", "tool", None);
    rig.settle();
    assert!(rig.seen().iter().any(|line| line.starts_with("tool ")), "another thread goes on");
    let mut rig = rig.killed();
    rig.settle();
    rig.passes(EXPIRES_MS);
    assert!(!rig.seen().iter().any(|line| line.contains("1/1.")), "also after a restart");
    rig.pauses(4, Some(&root()), false);
    rig.settle();
    let seen = rig.seen();
    assert!(seen.iter().any(|line| line.starts_with("other 1/1.1")), "{seen:?}");
}

#[test]
fn paused_everything_waits_and_each_piece_of_work_goes_out_once() {
    let mut rig = Rig::new();
    rig.pauses(1, None, true);
    rig.asks(2, "k", "tool", None);
    rig.asks(3, "k2", "other", None);
    rig.settle();
    assert_eq!(rig.seen().len(), 3, "two receipts and the order's word");
    rig.pauses(4, Some(&root()), true);
    rig.pauses(5, None, false);
    rig.settle();
    let seen = rig.seen();
    assert!(seen.iter().any(|l| l.starts_with("other ")) && !seen.iter().any(|l| l.starts_with("tool ")));
    rig.pauses(6, Some(&root()), false);
    rig.pauses(7, Some(&root()), false);
    rig.settle();
    let sent = rig.seen().iter().filter(|line| line.starts_with("tool ")).count();
    assert_eq!(sent, 1);
    rig.replies("1 t1 a1", vec![final_()]);
    rig.settle();
    assert!(rig.seen().is_empty());
}

/// A resume that is not yet on disk lets nothing continue: a crash would leave the thread paused, and
/// the message sent.
#[test]
fn paused_it_goes_on_only_when_that_is_on_disk() {
    for (id, thread) in [(None, "everything"), (Some(root()), "one thread")] {
        let mut rig = Rig::new();
        rig.asks(1, "k", "agent", None);
        rig.settle();
        rig.pauses(2, id.as_ref(), true);
        rig.settle();
        rig.seen();
        rig.replies("1 t1 a1", vec![call("tool")]);
        rig.hand_over();
        rig.pauses(3, id.as_ref(), false);
        rig.writes_what_it_has();
        assert!(rig.seen().is_empty(), "{thread}: the call is on disk, that it may go out is not");
        rig.settle();
        assert_eq!(rig.seen(), ["3: done", "tool 1/1.0 t1 a1"], "{thread}");
    }
}

#[test]
fn paused_a_thread_at_rest_is_woken_for_the_order() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![final_()]);
    rig.idles();
    assert!(!rig.is_awake(&root()));
    rig.pauses(2, Some(&root()), true);
    rig.settle();
    rig.asks(3, "k2", "tool", Some(&root()));
    rig.settle();
    let seen = rig.seen();
    assert!(!seen.iter().any(|line| line.starts_with("tool 2")), "{seen:?}");
}

#[test]
fn still_it_takes_orders_and_sends_nothing() {
    let mut rig = held();
    let engine = std::mem::replace(&mut rig.engine, Rig::new().engine);
    rig.engine = engine.hold_deliveries(true);
    rig.approves(2, 1);
    rig.settle();
    assert_eq!(rig.seen(), ["2: done"]);
    let mut rig = rig.killed();
    rig.passes(EXPIRES_MS);
    rig.settle();
    assert!(rig.seen().iter().any(|line| line.starts_with("guarded 1 t1")), "the next start sends it");
}
