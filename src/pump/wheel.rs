//! The wheel: timers that wait, in order of the tick at which they are due. Live knowledge, not state:
//! after a start it is filled again from the state. Pure but for what its caller tells it. A timer that
//! waits costs an entry and no work; only the first is ever looked at.
//!
//! A due moment is of the wall clock, which people set. When a timer is put here the time that is left
//! is worked out once, and from then on ticks count, which nobody sets: a clock set back or forward
//! while the organism runs neither holds a timer back nor hurries it. Across a restart only the wall
//! clock is left: what is due by it fires at once, and what is not waits no longer than its whole span.

use std::collections::{BTreeSet, HashMap};

use super::event::Until;
use crate::words::ids::{ThreadId, TimerId};
use crate::words::time::Millis;

/// A timer whose time has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ripe {
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
struct Entry {
    until: Until,
    /// When it is due, by ticks.
    tick: Millis,
    /// How late it was already when it came here.
    late_ms: u64,
}

/// Timers that wait.
#[derive(Debug, Default)]
pub struct Wheel {
    entries: HashMap<(ThreadId, TimerId), Entry>,
    /// Those that may fire, by tick.
    order: BTreeSet<(Millis, ThreadId, TimerId)>,
}

impl Wheel {
    /// Waits for a timer from now on, or no more. One that only may fire again keeps its tick.
    pub fn put(&mut self, thread: ThreadId, timer: TimerId, until: Option<Until>, wall: Millis, now: Millis) {
        let key = (thread, timer);
        let known = self.entries.remove(&key);
        if let Some(known) = &known {
            self.order.remove(&(known.tick, key.0.clone(), key.1.clone()));
        }
        let Some(until) = until else { return };
        let (tick, late_ms) = match known {
            Some(known) if (known.until.set, known.until.due) == (until.set, until.due) => {
                (known.tick, known.late_ms)
            }
            _ => (now.plus(until.due.since(wall).min(until.most_ms)), wall.since(until.due)),
        };
        if until.may_fire {
            self.order.insert((tick, key.0.clone(), key.1.clone()));
        }
        self.entries.insert(key, Entry { until, tick, late_ms });
    }

    /// The next timer whose time has come; each is given once, until it is put here again.
    pub fn ripe(&mut self, now: Millis) -> Option<Ripe> {
        let (tick, thread, timer) = self.order.first().filter(|(tick, ..)| *tick <= now)?.clone();
        self.order.pop_first();
        let entry = self.entries.get(&(thread.clone(), timer.clone()))?;
        let late_ms = entry.late_ms.saturating_add(now.since(tick));
        Some(Ripe { thread, timer, set: entry.until.set, late_ms })
    }

    /// Tries a timer that was given, and could not fire, again at that tick.
    pub fn again(&mut self, thread: ThreadId, timer: TimerId, at: Millis) {
        let Some(entry) = self.entries.get_mut(&(thread.clone(), timer.clone())) else { return };
        entry.late_ms = entry.late_ms.saturating_add(at.since(entry.tick));
        entry.tick = at;
        self.order.insert((at, thread, timer));
    }

    /// The tick at which the first is due.
    pub fn next_moment(&self) -> Option<Millis> {
        self.order.first().map(|(tick, ..)| *tick)
    }
}
