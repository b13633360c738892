//! Requests to a person that hold up one thread, by the log: those in it and in the running threads below it.
//!
//! It reads folds, not the whole log, so it may be asked again and again while a caller waits.

use systole_core::pump::wake;
use systole_core::types::ids::ThreadId;
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader};

/// The unanswered requests, in order.
pub fn list_held(reader: &dyn LogReader, thread: &ThreadId) -> Result<Vec<PersonRequestId>, LogFault> {
    let (mut left, mut found, mut looked_at) = (vec![thread.clone()], Vec::new(), 0);
    while let Some(id) = left.pop().filter(|_| looked_at < crate::limits::PART_THREADS) {
        looked_at += 1;
        let Some(thread) = wake::wake_thread(reader, &id)? else { continue };
        found.extend(thread.person_requests().map(|(_, request)| request.id()));
        left.extend(thread.calls.values().flat_map(|call| call.running().cloned()));
    }
    found.sort();
    Ok(found)
}
