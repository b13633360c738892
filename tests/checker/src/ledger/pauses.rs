//! What the ledger keeps of pauses, and of when each call was moved last: a call that was moved after
//! everything was halted cannot have been handed out before.

use super::Ledger;
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
