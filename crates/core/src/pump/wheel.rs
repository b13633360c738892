//! The wheel: what waits for a tick, in order of ticks. Live data, not state: after a start it is filled
//! again from the state. Pure except for what its caller passes in. Each waiting thing costs one entry and
//! no work; only the first is ever looked at.
//!
//! A recorded moment is on the wall clock, which people can set. When something is put here, the time that
//! is left is computed once. From then on ticks count, which no one can set, so setting the wall clock while
//! the organism runs neither delays anything nor hurries it. Across a restart only the wall clock is left:
//! what is due by it is due at once, and nothing waits longer than its whole span.

use std::collections::{BTreeSet, HashMap};

use crate::types::ids::{ThreadId, TimerId};
use crate::types::time::Millis;

/// When a timer is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerDue {
    /// The record of the item that set it.
    pub set: u64,
    /// The moment, on the wall clock.
    pub due: Millis,
    /// The longest time that can be left, even if the clock was set.
    pub most_ms: u64,
    /// Whether the timer may fire. It may not before a turn has shown its last firing.
    pub may_fire: bool,
}

/// Things that wait. An entry that is no longer wanted may stay here: when its tick comes, it is ignored.
#[derive(Debug)]
pub struct TimerWheel<T>(BTreeSet<(Millis, T)>);

impl<T> Default for TimerWheel<T> {
    fn default() -> TimerWheel<T> {
        TimerWheel(BTreeSet::new())
    }
}

impl<T: Ord> TimerWheel<T> {
    /// Lets something wait for a tick.
    pub fn put(&mut self, tick: Millis, what: T) {
        self.0.insert((tick, what));
    }

    /// Ends the wait.
    pub fn remove(&mut self, tick: Millis, what: T) {
        self.0.remove(&(tick, what));
    }

    /// The next thing whose tick has come, with that tick. Each is returned once.
    pub fn take_due(&mut self, now: Millis) -> Option<(Millis, T)> {
        self.0.first().filter(|(tick, _)| *tick <= now)?;
        self.0.pop_first()
    }

    /// The tick of the first entry.
    pub fn next_moment(&self) -> Option<Millis> {
        self.0.first().map(|(tick, _)| *tick)
    }
}

/// A timer that is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueTimer {
    /// Its thread.
    pub thread: ThreadId,
    /// Its id.
    pub timer: TimerId,
    /// The record of the item that set it.
    pub set: u64,
    /// How long ago it was due.
    pub late_ms: u64,
}

#[derive(Debug)]
struct WheelEntry {
    until: TimerDue,
    /// The tick at which it is due.
    tick: Millis,
    /// How late it already was when it was put here.
    late_ms: u64,
}

/// Timers that wait, including those that may not fire yet.
#[derive(Debug, Default)]
pub struct WaitingTimers {
    entries: HashMap<(ThreadId, TimerId), WheelEntry>,
    /// Those that may fire.
    wheel: TimerWheel<(ThreadId, TimerId)>,
}

impl WaitingTimers {
    /// Starts to wait for a timer, or stops. If only its permission to fire changed, the timer keeps its
    /// tick.
    pub fn put(
        &mut self,
        thread: ThreadId,
        timer: TimerId,
        until: Option<TimerDue>,
        wall: Millis,
        now: Millis,
    ) {
        let key = (thread, timer);
        let known = self.entries.remove(&key);
        if let Some(known) = &known {
            self.wheel.remove(known.tick, key.clone());
        }
        let Some(until) = until else { return };
        let (tick, late_ms) = match known {
            Some(known) if (known.until.set, known.until.due) == (until.set, until.due) => {
                (known.tick, known.late_ms)
            }
            _ => (now.add_ms(until.due.count_since(wall).min(until.most_ms)), wall.count_since(until.due)),
        };
        if until.may_fire {
            self.wheel.put(tick, key.clone());
        }
        self.entries.insert(key, WheelEntry { until, tick, late_ms });
    }

    /// The next timer that is due. Each is returned once, until it is put here again.
    pub fn take_ripe(&mut self, now: Millis) -> Option<DueTimer> {
        let (tick, key) = self.wheel.take_due(now)?;
        let entry = self.entries.get(&key)?;
        let late_ms = entry.late_ms.saturating_add(now.count_since(tick));
        let (thread, timer) = key;
        Some(DueTimer { thread, timer, set: entry.until.set, late_ms })
    }

    /// Tries a timer again at that tick, after it was returned and could not fire.
    pub fn put_again(&mut self, thread: ThreadId, timer: TimerId, at: Millis) {
        let key = (thread, timer);
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.late_ms = entry.late_ms.saturating_add(at.count_since(entry.tick));
        entry.tick = at;
        self.wheel.put(at, key);
    }

    /// The tick at which the first timer is due.
    pub fn next_moment(&self) -> Option<Millis> {
        self.wheel.next_moment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer of one second, set at wall clock 1,000 and tick 0.
    struct Tea(WaitingTimers);

    impl Tea {
        fn set() -> Tea {
            let mut tea = Tea(WaitingTimers::default());
            tea.put(Some(Tea::until(7, 2_000, true)), 1_000, 0);
            tea
        }

        fn until(set: u64, due: u64, may_fire: bool) -> TimerDue {
            TimerDue { set, due: Millis(due), most_ms: 1_000, may_fire }
        }

        fn id() -> (ThreadId, TimerId) {
            (ThreadId::parse("sess-1f0c9a2b77d1").unwrap(), TimerId::parse("tea").unwrap())
        }

        fn put(&mut self, until: Option<TimerDue>, wall: u64, now: u64) {
            let (thread, timer) = Tea::id();
            self.0.put(thread, timer, until, Millis(wall), Millis(now));
        }

        /// The record that set it, and how late it is.
        fn ripe(&mut self, now: u64) -> Option<(u64, u64)> {
            self.0.take_ripe(Millis(now)).map(|ripe| (ripe.set, ripe.late_ms))
        }
    }

    #[test]
    fn it_is_given_once_and_not_before_its_tick() {
        let mut tea = Tea::set();
        assert_eq!((tea.0.next_moment(), tea.ripe(999)), (Some(Millis(1_000)), None));
        assert_eq!((tea.ripe(1_300), tea.ripe(1_300)), (Some((7, 300)), None));
    }

    #[test]
    fn one_that_could_not_fire_is_tried_again_and_as_late_as_it_then_is() {
        let mut tea = Tea::set();
        let (thread, timer) = Tea::id();
        assert_eq!(tea.ripe(1_300), Some((7, 300)));
        tea.0.put_again(thread, timer, Millis(11_300));
        assert_eq!((tea.ripe(11_299), tea.ripe(11_400)), (None, Some((7, 10_400))));
    }

    #[test]
    fn one_that_may_fire_again_keeps_its_tick_though_the_clock_was_set() {
        let mut tea = Tea::set();
        tea.put(Some(Tea::until(7, 2_000, false)), 1_000, 0);
        assert_eq!(tea.0.next_moment(), None, "it may not fire");
        tea.put(Some(Tea::until(7, 2_000, true)), 0, 500);
        assert_eq!((tea.ripe(999), tea.ripe(1_000)), (None, Some((7, 0))));
    }

    #[test]
    fn one_that_is_set_anew_or_cancelled_leaves_nothing_behind() {
        let mut tea = Tea::set();
        tea.put(Some(Tea::until(9, 2_600, true)), 1_600, 600);
        assert_eq!((tea.ripe(1_599), tea.ripe(1_600)), (None, Some((9, 0))));
        let mut tea = Tea::set();
        tea.put(None, 1_000, 0);
        assert_eq!(tea.0.next_moment(), None);
    }
}
