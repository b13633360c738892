//! Requests for approval in order of the tick at which they expire. Live knowledge, not state: after a
//! start it is filled again from the state. One that waits costs an entry and no work; only the first is
//! ever looked at, and one that was decided meanwhile falls away when its time comes.
//!
//! A moment on record is of the wall clock, which people set. When a request is put here the time that is
//! left is worked out once, never more than it had at first, and from then on ticks count.

use std::collections::BTreeMap;

use crate::words::approval::ApprovalId;
use crate::words::ids::{CallPath, ThreadId};
use crate::words::time::Millis;

/// A request whose time has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overdue {
    /// The thread.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The request.
    pub approval: ApprovalId,
}

/// Requests that wait.
#[derive(Debug, Default)]
pub struct Expiries(BTreeMap<(Millis, ApprovalId), Overdue>);

impl Expiries {
    /// Waits for a request that has so much time left.
    pub fn put(&mut self, overdue: Overdue, left_ms: u64, now: Millis) {
        self.0.insert((now.plus(left_ms), overdue.approval), overdue);
    }

    /// The next request whose time has come; each is given once.
    pub fn due(&mut self, now: Millis) -> Option<Overdue> {
        let first = self.0.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// The tick at which the first expires.
    pub fn next_moment(&self) -> Option<Millis> {
        self.0.keys().next().map(|(tick, _)| *tick)
    }
}
