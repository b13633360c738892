//! The writer of the log, as its thread works: one batch at a time, settled before the next. It has no
//! clock; the world says when it tries.

use systole_core::types::ports::{Commit, LogBatch, Position, ReadBack};
use systole_soak::dice::SeededDice;

use crate::disk::Disk;
use crate::plant::Plant;
use crate::weather::Weather;

/// The first pause after a batch that found no room.
const FIRST_PAUSE_MS: u64 = 100;
/// The longest such pause.
const LONGEST_PAUSE_MS: u64 = 2_000;
/// Consecutive unknown commits of one batch after which the log is given up.
const UNKNOWN_IN_A_ROW: u32 = 3;

/// The result of a try.
pub(crate) enum Tried {
    Stored(Position),
    /// It is tried again after a pause; the message goes to the engine once.
    Again {
        after_ms: u64,
        stalled: Option<String>,
    },
    /// The log accepts nothing more. `is_breach` if the batch broke a rule of the log.
    Broken {
        words: String,
        is_breach: bool,
    },
}

/// The batch that is being written.
pub(crate) struct Scribe {
    batch: LogBatch,
    pause_ms: u64,
    unknown: u32,
}

impl Scribe {
    pub(crate) fn new(batch: LogBatch) -> Scribe {
        Scribe { batch, pause_ms: FIRST_PAUSE_MS, unknown: 0 }
    }

    pub(crate) fn batch(&self) -> &LogBatch {
        &self.batch
    }

    pub(crate) fn tries(
        &mut self,
        disk: &mut Disk,
        weather: &Weather,
        dice: &mut SeededDice,
        plant: Option<Plant>,
    ) -> Tried {
        match disk.commit(&self.batch, weather, dice) {
            Commit::Committed(position) => Tried::Stored(position),
            Commit::Conflict(words) => Tried::Broken { words, is_breach: true },
            Commit::NotNow(words) => {
                let stalled = (self.pause_ms == FIRST_PAUSE_MS).then_some(words);
                let after_ms = self.pause_ms;
                self.pause_ms = (self.pause_ms * 2).min(LONGEST_PAUSE_MS);
                Tried::Again { after_ms, stalled }
            }
            Commit::Unknown(words) => {
                self.unknown += 1;
                match disk.read_back(&self.batch) {
                    ReadBack::Stored(position) => Tried::Stored(position),
                    ReadBack::Absent if plant == Some(Plant::UnknownIsStored) => {
                        let last = disk.last().0 + self.batch.records.len() as u64;
                        Tried::Stored(Position(last))
                    }
                    ReadBack::Absent if self.unknown < UNKNOWN_IN_A_ROW => {
                        Tried::Again { after_ms: 0, stalled: None }
                    }
                    ReadBack::Absent | ReadBack::Broken(_) => Tried::Broken { words, is_breach: false },
                }
            }
        }
    }
}
