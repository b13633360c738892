//! The JSON of the routes that show the log itself: states of threads, ids, and records with everything that their
//! hashes cover. Both ends use these types.

use serde::{Deserialize, Serialize};

use systole_export::record_line::ExportedRecord;

/// What a command elsewhere reads first.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApiLogOpening {
    /// The log's last position.
    pub last: u64,
    /// The states of the threads that are at work, and that of `sys`.
    pub rows: Vec<ApiThreadRow>,
}

/// The state of a thread.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApiThreadRow {
    /// The thread.
    pub thread: String,
    /// The last record that is in the state.
    pub seq: u64,
    /// The state in hex, in the form of the version that wrote it.
    pub state: String,
}

/// Ids of threads.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApiThreadIds {
    /// The ids.
    pub threads: Vec<String>,
}

/// Records, each with its salts.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApiStoredRecords {
    /// The records.
    pub records: Vec<ExportedRecord>,
    /// What the next page is asked with: `after`, or `from` for a thread. Null if there were no more.
    pub next: Option<u64>,
}
