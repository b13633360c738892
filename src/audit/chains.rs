//! Each thread's chain by itself: which hold and which do not, once something is known to be wrong.
//!
//! `edges::log::sqlite::verify_all` says whether a log is whole and where it breaks first; this says
//! how far the damage goes, so that somebody can tell what may still be trusted. It changes nothing, and
//! takes a reader of the file as it is: one that verifies ends at the first page with damage.

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::head_zero;

/// Records read at once.
const PAGE: usize = 512;

/// A chain that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// The thread.
    pub thread: ThreadId,
    /// Its last record that verifies.
    pub sound: u64,
    /// Where the first bad record stands in the log; none where it could not even be read.
    pub position: Option<Position>,
    /// What does not fit.
    pub why: String,
}

/// Verifies one thread's chain from its first record.
pub fn verify(reader: &dyn LogReader, thread: &ThreadId) -> Option<Break> {
    let mut head = head_zero(thread);
    let mut seq = 0;
    let broken = |sound, position, why: String| Some(Break { thread: thread.clone(), sound, position, why });
    loop {
        let page = match reader.of_thread(thread, seq + 1, PAGE) {
            Ok(page) => page,
            Err(LogFault::Damaged { position, why, .. }) => return broken(seq, Some(position), why),
            Err(fault) => return broken(seq, None, fault.to_string()),
        };
        for (position, record) in &page {
            if record.header.seq != seq + 1 {
                let why = format!("record {} is missing", (seq + 1));
                return broken(seq, Some(*position), why);
            }
            if !record.verifies(head) {
                let why = "its hash is not that of its bytes after the record before it".to_owned();
                return broken(seq, Some(*position), why);
            }
            (seq, head) = (record.header.seq, record.head);
        }
        if page.len() < PAGE {
            return None;
        }
    }
}
