//! Requests to a person that hold up one run, by the log: those of a top call and of the running threads below it.
//!
//! It reads folds, not the whole log, so it may be asked again and again while a caller waits.

use systole_core::pump::wake;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader};

/// The unanswered requests of a top call, in order.
pub fn list_held(
    reader: &dyn LogReader,
    root: &ThreadId,
    call: u32,
) -> Result<Vec<PersonRequestId>, LogFault> {
    let (mut left, mut found, mut looked_at) = (vec![root.clone()], Vec::new(), 0);
    while let Some(id) = left.pop().filter(|_| looked_at < crate::limits::PART_THREADS) {
        looked_at += 1;
        let Some(thread) = wake::wake_thread(reader, &id)? else { continue };
        let is_own = |path: &CallPath| id != *root || path.top_number() == call;
        let requests = thread.person_requests().filter(|(path, _)| is_own(path));
        found.extend(requests.map(|(_, request)| request.id()));
        let calls = thread.calls.iter().filter(|(path, _)| is_own(path));
        left.extend(calls.flat_map(|(_, call)| call.running().cloned()));
    }
    found.sort();
    Ok(found)
}
