//! Why an index cannot be used, and up to where one was made.

use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, Position};

use crate::side_file;

/// Why an index cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexFault {
    /// The log cannot be read.
    Log(LogFault),
    /// The file is damaged, or does not fit the log: it must be made again.
    Stale(String),
    /// Another process holds the file.
    Held,
    /// The file cannot be written, in words.
    Unwritable(String),
}

impl From<LogFault> for IndexFault {
    fn from(fault: LogFault) -> IndexFault {
        IndexFault::Log(fault)
    }
}

impl From<rusqlite::Error> for IndexFault {
    fn from(error: rusqlite::Error) -> IndexFault {
        if side_file::is_held(&error) {
            IndexFault::Held
        } else if side_file::is_of_file(&error) {
            IndexFault::Stale(error.to_string())
        } else {
            IndexFault::Unwritable(error.to_string())
        }
    }
}

/// Up to which record an index was made: its position, and its leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexEnd {
    /// The position.
    pub position: Position,
    /// The leaf of the record there.
    pub leaf: Digest,
}

/// A number as the file keeps it.
pub(super) fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
