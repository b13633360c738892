//! What the ledger keeps of pauses, and of when each call was moved last: a call that was moved after
//! everything was halted cannot have been handed out before.

use super::{Call, Ledger, Thread};
use crate::path;

impl Ledger {
    /// The first pause that holds for a thread: its own, that of one above it, or that of everything.
    pub(crate) fn halted(&self, thread: &str) -> Option<u64> {
        let above = path::line(thread).chain(["sys"]);
        above.filter_map(|id| self.thread(id)?.paused).min()
    }

    pub(super) fn pauses(&mut self, thread: &str, position: Option<u64>) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.paused = position;
        }
    }

    /// Notes that a call is not what it was: a turn of it may have become due.
    pub(super) fn moved(&mut self, thread: &str, call: &str) {
        let position = self.position;
        self.with_call(thread, call, |call| call.moved = position);
    }
}

impl Thread {
    /// The position of the last record that may have made a turn of this call due.
    pub(crate) fn moved(&self, path: &str, call: &Call) -> u64 {
        // A top call is due when the one before it is over.
        if path::is_top(path) { call.moved.max(self.top_closed) } else { call.moved }
    }
}
