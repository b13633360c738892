//! Pauses in the ledger, and when each call last moved: a call that moved after the pause of
//! everything cannot have been handed out before.

use super::CheckLedger;
use crate::path;

impl CheckLedger {
    /// The first pause that applies to a thread: its own, that of a thread above it, or that of
    /// everything.
    pub(crate) fn find_halt(&self, thread: &str) -> Option<u64> {
        let above = path::list_line(thread).chain(["sys"]);
        above.filter_map(|id| self.find_thread(id)?.paused).min()
    }

    pub(super) fn set_pause(&mut self, thread: &str, position: Option<u64>) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.paused = position;
        }
    }

    /// Notes that a call has changed: a turn of it may have become due.
    pub(super) fn note_move(&mut self, thread: &str, call: &str) {
        let position = self.position;
        self.with_call(thread, call, |call| call.moved = position);
    }
}
