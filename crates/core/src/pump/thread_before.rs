//! What is kept of a thread while a decision folds facts into it: as much as its effects depend on.

use smallvec::SmallVec;

use super::state::{CallState, Thread};
use super::wheel::TimerDue;
use crate::types::ids::{CallPath, Digest, ThreadId, TimerId};
use crate::types::time::Millis;

/// A budget use whose time runs: since when, how long it ran before, and its configuration.
pub(super) type RunningSince = (Millis, u64, Digest);

/// A thread before the first fact of a decision.
pub(super) struct ThreadBefore {
    pub(super) id: ThreadId,
    pub(super) was_paused: bool,
    /// Its open calls: the state of each, and how many attempts were recorded.
    calls: SmallVec<[(CallPath, CallState, u32); 2]>,
    pub(super) timers: Vec<(TimerId, TimerDue)>,
    pub(super) running: SmallVec<[(u32, RunningSince); 1]>,
}

impl ThreadBefore {
    pub(super) fn from_thread(thread: &Thread) -> ThreadBefore {
        let calls = thread.calls.iter().map(|(path, call)| (path.clone(), call.stand(), call.attempts));
        let timers = thread.timers.iter().map(|(id, timer)| (id.clone(), thread.timer_due(timer)));
        ThreadBefore {
            id: thread.id.clone(),
            was_paused: thread.paused.is_some(),
            calls: calls.collect(),
            timers: timers.collect(),
            running: list_running(thread).collect(),
        }
    }

    /// The state of a call and its recorded attempts. `None` if it was not open.
    pub(super) fn find_call(&self, path: &CallPath) -> Option<(CallState, u32)> {
        let found = self.calls.binary_search_by(|(other, ..)| other.cmp(path)).ok()?;
        self.calls.get(found).map(|(_, state, attempts)| (*state, *attempts))
    }
}

/// The budget uses of a thread whose time runs, by number.
pub(super) fn list_running(thread: &Thread) -> impl Iterator<Item = (u32, RunningSince)> {
    let budget_uses = thread.budget_uses.iter().filter(|_| !thread.ended);
    budget_uses.filter_map(|(number, of)| Some((*number, (of.runs?, of.ran_ms, of.config))))
}
