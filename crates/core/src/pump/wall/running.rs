//! Whose time runs, and until which tick. Live knowledge beside the fold: ticks count here, which nobody
//! sets, so a clock set back or forward while the organism runs neither takes time from a message nor
//! gives it any. Pure: every tick is given. What runs costs an entry; only the first is ever looked at.

use std::collections::HashMap;

use crate::pump::wheel::Wheel;
use crate::types::ids::ThreadId;
use crate::types::time::Millis;

/// A message from outside whose time runs: the root, and which of its purses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Runs {
    /// The root.
    pub thread: ThreadId,
    /// The purse.
    pub purse: u32,
}

/// How much of a stretch is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// How long it has run since the last word on record.
    pub ran_ms: u64,
    /// How long it runs on until the next mark.
    pub until_ms: u64,
}

/// Those that run.
#[derive(Default, Debug)]
pub struct Running {
    entries: HashMap<Runs, Entry>,
    wheel: Wheel<Runs>,
}

#[derive(Debug)]
struct Entry {
    /// Since which tick it has been known here.
    from: Millis,
    /// How long it had run before that.
    before_ms: u64,
    /// The tick of its next mark.
    until: Millis,
}

impl Running {
    /// From this tick on it runs so long, or no more.
    pub fn put(&mut self, runs: Runs, left: Option<Left>, tick: Millis) {
        if let Some(known) = self.entries.remove(&runs) {
            self.wheel.remove(known.until, runs.clone());
        }
        let Some(Left { ran_ms, until_ms }) = left else { return };
        let until = tick.plus(until_ms);
        self.wheel.put(until, runs.clone());
        self.entries.insert(runs, Entry { from: tick, before_ms: ran_ms, until });
    }

    /// How long it has run since the last word on record; none where that is not known by ticks.
    pub fn ran_ms(&self, runs: &Runs, tick: Millis) -> Option<u64> {
        let entry = self.entries.get(runs)?;
        Some(entry.before_ms.saturating_add(tick.since(entry.from)))
    }

    /// The next that has reached its mark; each is given once, until it is put here again.
    pub fn due(&mut self, tick: Millis) -> Option<Runs> {
        self.wheel.due(tick).map(|(_, runs)| runs)
    }

    /// The tick at which the first reaches its mark.
    pub fn next_moment(&self) -> Option<Millis> {
        self.wheel.next_moment()
    }
}
