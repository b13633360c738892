//! The running time budgets, and the tick at which each reaches its next mark. Live data outside the
//! fold. It uses ticks, which no one can set, so setting the wall clock while the organism runs neither
//! takes time from a message nor gives it any. Pure: every tick is an argument. Each running budget
//! costs one entry; only the first is ever looked at.

use crate::pump::wheel::TimerWheel;
use crate::types::fast_maps::FastMap;
use crate::types::ids::ThreadId;
use crate::types::time::Millis;

/// A message from outside whose time runs: the root, and one of its budget uses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RunningBudget {
    /// The root.
    pub thread: ThreadId,
    /// The budget use.
    pub budget_use: u32,
}

/// The time since the last record, and the time that is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLeft {
    /// How long it has run since the last record.
    pub ran_ms: u64,
    /// How long it may still run until the next mark.
    pub until_ms: u64,
}

/// The running time budgets.
#[derive(Default, Debug)]
pub struct RunningBudgets {
    entries: FastMap<RunningBudget, RunningEntry>,
    wheel: TimerWheel<RunningBudget>,
}

#[derive(Debug)]
struct RunningEntry {
    /// The tick at which it was put here.
    from: Millis,
    /// How long it had run before that tick.
    before_ms: u64,
    /// The tick of its next mark.
    until: Millis,
}

impl RunningBudgets {
    /// Starts to measure a budget from this tick on, or stops.
    pub fn put(&mut self, runs: RunningBudget, left: Option<TimeLeft>, tick: Millis) {
        if let Some(known) = self.entries.remove(&runs) {
            self.wheel.remove(known.until, runs.clone());
        }
        let Some(TimeLeft { ran_ms, until_ms }) = left else { return };
        let until = tick.add_ms(until_ms);
        self.wheel.put(until, runs.clone());
        self.entries.insert(runs, RunningEntry { from: tick, before_ms: ran_ms, until });
    }

    /// How long it has run since the last record; `None` if ticks did not measure it.
    pub fn ran_ms(&self, runs: &RunningBudget, tick: Millis) -> Option<u64> {
        let entry = self.entries.get(runs)?;
        Some(entry.before_ms.saturating_add(tick.count_since(entry.from)))
    }

    /// The next budget that has reached its mark. Each is returned once, until it is put here again.
    pub fn take_due(&mut self, tick: Millis) -> Option<RunningBudget> {
        self.wheel.take_due(tick).map(|(_, runs)| runs)
    }

    /// The tick at which the first budget reaches its mark.
    pub fn next_moment(&self) -> Option<Millis> {
        self.wheel.next_moment()
    }
}
