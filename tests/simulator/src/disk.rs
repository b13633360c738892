//! The disk under the log in memory: synced data stays, other data may be lost in a power failure. The
//! log itself is the real one. The input is batches; dice decide how their commits end.

use systole_core::types::ports::{Commit, LogBatch, LogReader as _, LogWriter as _, Position, ReadBack};
use systole_log::memory::{CommitFailure, MemoryLog};
use systole_soak::dice::SeededDice;

use crate::plant::Plant;
use crate::weather::Weather;

/// A log and the behaviour of the disk under it.
pub(crate) struct Disk {
    log: MemoryLog,
    plant: Option<Plant>,
    /// The synced batches, from which the log can be made again without the rest; stored for a disk that
    /// lies.
    synced: Vec<LogBatch>,
    /// Whether the disk has begun to lose its syncs.
    lies: bool,
}

impl Disk {
    pub(crate) fn new(plant: Option<Plant>) -> Disk {
        Disk { log: MemoryLog::new(), plant, synced: Vec::new(), lies: false }
    }

    /// The log as readers see it.
    pub(crate) fn log(&self) -> &MemoryLog {
        &self.log
    }

    /// The last position in it.
    pub(crate) fn last(&self) -> Position {
        // Reading memory cannot fail.
        self.log.read_last().unwrap_or_default()
    }

    /// Whether the log has a batch, up to its last record.
    pub(crate) fn has(&self, batch: &LogBatch) -> bool {
        batch.records.last().is_some_and(|last| {
            let found = self.log.of_thread(&last.header.thread, last.header.seq, 1).unwrap_or_default();
            found.first().is_some_and(|(_, record)| record.header.id == last.header.id)
        })
    }

    /// Writes and syncs a batch.
    pub(crate) fn commit(&mut self, batch: &LogBatch, weather: &Weather, dice: &mut SeededDice) -> Commit {
        let ending = match () {
            () if dice.permille(weather.full) => Some(CommitFailure::NotNow),
            () if dice.permille(weather.unknown) && dice.permille(500) => Some(CommitFailure::UnknownAbsent),
            () if dice.permille(weather.unknown) => Some(CommitFailure::UnknownStored),
            () => None,
        };
        self.log.next_commits(ending);
        let commit = self.log.commit_batch(batch);
        if self.plant == Some(Plant::LostSync) && matches!(commit, Commit::Committed(_)) {
            self.lies = self.lies || dice.permille(200);
            if !self.lies {
                self.synced.push(batch.clone());
            }
        }
        commit
    }

    /// Reopens the log after an unknown commit.
    pub(crate) fn read_back(&mut self, batch: &LogBatch) -> ReadBack {
        self.log.read_back(batch)
    }

    /// The power fails during the write of a batch: the batch is on disk as a whole, or not at all.
    pub(crate) fn power_fails(&mut self, writing: Option<&LogBatch>, dice: &mut SeededDice) {
        if self.lies {
            self.lies = false;
            self.log = MemoryLog::new();
            for batch in &self.synced {
                let _stored_before = self.log.commit_batch(batch);
            }
        }
        let Some(batch) = writing.filter(|_| dice.permille(400)) else { return };
        if self.plant == Some(Plant::TornBatch) {
            let kept = dice.between(0, batch.records.len() as u64);
            let mut torn = LogBatch { rows: Vec::new(), checkpoint: None, ..batch.clone() };
            torn.records.truncate(usize::try_from(kept).unwrap_or(0));
            let _torn = self.log.commit_batch(&torn);
            return;
        }
        // A batch that breaks a rule of the log is never written.
        if let Commit::Committed(_) = self.log.commit_batch(batch)
            && self.plant == Some(Plant::LostSync)
        {
            self.synced.push(batch.clone());
        }
    }
}
