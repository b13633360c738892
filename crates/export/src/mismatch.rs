//! A record that does not agree with what other records say.

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::Position;

/// A mismatch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordMismatch {
    /// The position of the record that shows it.
    pub position: Position,
    /// The thread of that record.
    pub thread: ThreadId,
    /// Its number.
    pub seq: u64,
    /// The mismatch in words.
    pub why: String,
}

impl RecordMismatch {
    /// The mismatch in words, with the record that shows it, if one does.
    pub fn words(&self) -> String {
        match self.position {
            Position(0) => self.why.clone(),
            _ => format!("record {} of {}: {}", self.seq, self.thread, self.why),
        }
    }
}
