//! The times without a checkpoint: how long records were in the log before the next checkpoint that counts was signed.
//! Until then, who can write the log and its tip can have written them anew.
//!
//! A witness says when it cosigned; without one, a checkpoint is no earlier than its last record.

use std::collections::BTreeMap;

use super::{CheckpointFinding, LogExamination, RootFit};
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;

/// Records that were without a checkpoint for long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointGap {
    /// The first of them.
    pub first: Position,
    /// The last of them.
    pub last: Position,
    /// When the first one was written, as it says.
    pub from: Millis,
    /// When a checkpoint was there; of the newest records, when the last one was written.
    pub to: Millis,
}

impl LogExamination {
    /// The long times without a checkpoint that counts, in their order. Of a log without any such checkpoint it is all
    /// of its time, and nothing is listed.
    pub fn gaps(&self) -> Vec<CheckpointGap> {
        let counts =
            |found: &&CheckpointFinding| found.fit == RootFit::Same && found.size > 0 && found.counts();
        let mut ends: BTreeMap<u64, Option<Millis>> = BTreeMap::new();
        for found in self.checkpoints.iter().filter(counts) {
            let cosigned =
                found.policy_verdict().and_then(|known| known.cosigned.iter().map(|by| by.seconds).min());
            let cosigned = cosigned.map(|seconds| Millis(seconds.saturating_mul(1_000)));
            let end = ends.entry(found.size).or_default();
            *end = [*end, cosigned].into_iter().flatten().min();
        }
        if ends.is_empty() {
            return Vec::new();
        }
        ends.entry(self.records).or_default();
        let mut before = 0;
        let mut gaps = Vec::new();
        for (size, cosigned) in ends {
            let first = std::mem::replace(&mut before, size) + 1;
            let moment = |position| self.log.moments.get(&position).copied();
            let (Some(from), Some(to)) = (moment(first), cosigned.or_else(|| moment(size))) else { continue };
            if to.count_since(from) > crate::limits::USUAL_GAP_MS {
                gaps.push(CheckpointGap { first: Position(first), last: Position(size), from, to });
            }
        }
        gaps
    }
}
