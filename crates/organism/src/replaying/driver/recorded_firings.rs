//! Which timers fired in the record. A timer that was due when something else came first, and ended its thread or
//! cancelled it, did not fire: only its absence in the record shows that.

use std::collections::{BTreeMap, HashSet};

use systole_core::rules::core_payload;
use systole_core::types::ids::{ThreadId, TimerId};
use systole_core::types::ports::Position;
use systole_core::types::record::{Record, RecordCode, TimerEffect};

use crate::replaying::tree_records::RecordedTree;

/// The recorded firings of each timer, and how often it has fired in the replay.
#[derive(Debug, Default)]
pub(super) struct RecordedFirings {
    of: BTreeMap<(ThreadId, TimerId), (Vec<Position>, usize)>,
}

impl RecordedFirings {
    pub(super) fn from_tree(tree: &RecordedTree) -> RecordedFirings {
        let mut firings = RecordedFirings::default();
        for (position, record) in &tree.records {
            if let Some(timer) = find_timer(record) {
                firings.of.entry(timer).or_default().0.push(*position);
            }
        }
        firings
    }

    /// Counts a firing of the replay.
    pub(super) fn count_made(&mut self, record: &Record) {
        if let Some(timer) = find_timer(record) {
            self.of.entry(timer).or_default().1 += 1;
        }
    }

    /// The timers that have fired more often in the record, up to this position, than in the replay.
    pub(super) fn list_missing(&self, at: Position) -> HashSet<(ThreadId, TimerId)> {
        let missing = self
            .of
            .iter()
            .filter(|(_, (recorded, made))| recorded.partition_point(|position| *position <= at) > *made);
        missing.map(|(timer, _)| timer.clone()).collect()
    }
}

fn find_timer(record: &Record) -> Option<(ThreadId, TimerId)> {
    let Some(RecordCode::Timing(TimerEffect::Fired | TimerEffect::Opens)) = &record.header.code else {
        return None;
    };
    let (id, _) = core_payload::read_timer_fired(&record.body)?;
    Some((record.header.thread.clone(), id))
}
