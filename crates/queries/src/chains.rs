//! Checks each thread's chain by itself, once a log is known to be damaged.
//!
//! `systole_log::sqlite::verify_all` reports whether a log is intact and where it breaks first. This
//! module reports how far the damage goes, so that a person can see what is still trustworthy. It
//! changes nothing, and needs a reader without verification: a verifying reader ends at the first
//! damaged record.

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::head_zero;

/// A broken chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenChain {
    /// The thread.
    pub thread: ThreadId,
    /// Its last record that verifies.
    pub sound: u64,
    /// The position of the first bad record in the log; `None` if it could not even be read.
    pub position: Option<Position>,
    /// The mismatch.
    pub why: String,
}

/// Verifies one thread's chain from its first record.
pub fn verify(reader: &dyn LogReader, thread: &ThreadId) -> Option<BrokenChain> {
    let mut head = head_zero(thread);
    let mut seq = 0;
    let broken =
        |sound, position, why: String| Some(BrokenChain { thread: thread.clone(), sound, position, why });
    for placed in reader.records_of(thread, 1) {
        let (position, record) = match placed {
            Ok(placed) => placed,
            Err(LogFault::Damaged { position, why, .. }) => return broken(seq, Some(position), why),
            Err(fault) => return broken(seq, None, fault.to_string()),
        };
        if record.header.seq != seq + 1 {
            let why = format!("record {} is missing", (seq + 1));
            return broken(seq, Some(position), why);
        }
        if !record.is_valid_after(head) {
            let why = "its hash does not match its bytes and the record before it".to_owned();
            return broken(seq, Some(position), why);
        }
        (seq, head) = (record.header.seq, record.head);
    }
    None
}
