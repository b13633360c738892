//! When the organism was started and paused while exported threads lived: a line of `starts.jsonl` for each. The records
//! that say so are in the log's own thread, which an export does not have; so the sender says it, and nothing proves it.

use serde::{Deserialize, Serialize};

/// A start, or a pause of everything.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "what", rename_all = "lowercase")]
pub enum ExportedStart {
    /// It started.
    Start {
        /// The position in the log.
        position: u64,
        /// When.
        time: String,
        /// The hash of the configuration.
        config: String,
        /// The version of the program.
        version: Option<String>,
        /// Whether it had stopped before with nothing out.
        drained: bool,
    },
    /// A person paused everything, or let it continue.
    Pause {
        /// The position in the log.
        position: u64,
        /// When.
        time: String,
        /// The person.
        by: String,
        /// Whether it is paused.
        halts: bool,
        /// The person's note.
        note: Option<String>,
    },
}
