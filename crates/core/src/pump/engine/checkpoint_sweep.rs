//! A checkpoint under way: the threads whose rows are still to be written, and the position that counts when all are.

use std::vec::IntoIter;

use crate::types::fast_maps::FastSet;
use crate::types::ids::ThreadId;
use crate::types::ports::Position;

/// The threads of a checkpoint. They were touched up to its position; a later state of them covers it too.
#[derive(Default)]
pub(super) struct CheckpointSweep {
    due: IntoIter<ThreadId>,
    at: Option<Position>,
}

impl CheckpointSweep {
    pub(super) fn begin(threads: FastSet<ThreadId>, at: Position) -> CheckpointSweep {
        let mut due: Vec<ThreadId> = threads.into_iter().collect();
        // A set has no order, and the written bytes must not depend on how it stores its elements.
        due.sort_unstable();
        CheckpointSweep { due: due.into_iter(), at: Some(at) }
    }

    /// Whether there is nothing to be written for it.
    pub(super) fn is_over(&self) -> bool {
        self.at.is_none()
    }

    /// The next threads.
    pub(super) fn take_next(&mut self, most: usize) -> Vec<ThreadId> {
        self.due.by_ref().take(most).collect()
    }

    /// The position of the checkpoint, if all its threads were taken; once.
    pub(super) fn take_end(&mut self) -> Option<Position> {
        if self.due.len() == 0 { self.at.take() } else { None }
    }
}
