//! A checkpoint under way: the threads whose rows are still to be written, and the position that counts when all are.

use std::vec::IntoIter;

use crate::types::fast_maps::FastSet;
use crate::types::ids::ThreadId;
use crate::types::limits::{CHECKPOINT_COMMITS, CHECKPOINT_ROWS};
use crate::types::ports::Position;

/// The threads of a checkpoint. They were touched up to its position; a later state of them covers it too.
#[derive(Default)]
pub(super) struct CheckpointSweep {
    due: IntoIter<ThreadId>,
    at: Option<Position>,
    /// The fewest rows of a commit.
    rows: usize,
    /// Whether there was one in this run. The first is one commit: pumps that die again and again would not end it.
    is_later: bool,
}

impl CheckpointSweep {
    pub(super) fn begin(&mut self, threads: FastSet<ThreadId>, at: Position) {
        let mut due: Vec<ThreadId> = threads.into_iter().collect();
        // A set has no order, and the written bytes must not depend on how it stores its elements.
        due.sort_unstable();
        let few = CHECKPOINT_ROWS.max(due.len().div_ceil(CHECKPOINT_COMMITS));
        self.rows = if self.is_later { few } else { due.len() };
        (self.due, self.at, self.is_later) = (due.into_iter(), Some(at), true);
    }

    /// Whether there is nothing to be written for it.
    pub(super) fn is_over(&self) -> bool {
        self.at.is_none()
    }

    /// The next threads, for a commit with that many records. More rows than records, so that it ends however much comes
    /// meanwhile.
    pub(super) fn take_next(&mut self, records: usize, takes_all: bool) -> Vec<ThreadId> {
        let most = if takes_all { usize::MAX } else { self.rows.max(2 * records) };
        self.due.by_ref().take(most).collect()
    }

    /// The position of the checkpoint, if all its threads were taken; once.
    pub(super) fn take_end(&mut self) -> Option<Position> {
        if self.due.len() == 0 { self.at.take() } else { None }
    }
}
