//! What a reader elsewhere needs to begin: the states of the threads that are at work, instead of the records since the
//! last checkpoint. A reader comes in; an opening without records goes out.

use systole_core::pump::state::Thread;
use systole_core::pump::wake;
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader};

/// The last position, and the states of the threads at work and of `sys`.
pub fn working_threads(reader: &dyn LogReader) -> Result<LogOpening, LogFault> {
    // Read before the states, so that no state is older than it.
    let last = reader.read_last()?;
    let threads = wake::threads_at_work(reader)?;
    let is_shown = |thread: &&Thread| thread.id.is_sys() || thread.is_at_work();
    let mut rows: Vec<FoldRow> = threads.values().filter(is_shown).map(Thread::to_row).collect();
    rows.sort_unstable_by(|a, b| a.thread.cmp(&b.thread));
    Ok(LogOpening { last, rows, ..LogOpening::default() })
}
