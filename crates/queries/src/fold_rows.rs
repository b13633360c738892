//! The stored states of a log, compared with its records: every row of `fold` with the fold of its thread's records.
//!
//! The rows are a cache and no evidence, so nothing is lost with them; but a wrong bit suggests that something changed
//! the file.

use systole_core::pump::state::Thread;
use systole_core::pump::wake::fold_next;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{FoldRow, LogFault, LogReader};
use systole_log::sqlite::SqliteReader;

/// What was found about the stored states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldRowsFound {
    /// The rows.
    pub rows: usize,
    /// What is wrong with rows, a sentence for each.
    pub wrong: Vec<String>,
}

/// Compares every row. Only for a log whose records verify.
pub fn compare(reader: &SqliteReader) -> Result<FoldRowsFound, LogFault> {
    let cache = reader.read_cache()?;
    let mut wrong: Vec<String> =
        cache.corrupt.iter().map(|row| format!("the row of thread {row} has a wrong checksum")).collect();
    if !cache.is_complete {
        wrong.push("its marks are corrupt, or a thread at work has no row".to_owned());
    }
    for id in reader.list_threads(usize::MAX)?.into_iter().chain([ThreadId::new_sys()]) {
        if let Some(row) = reader.read_row(&id)?
            && differs(reader, &row)?
        {
            wrong.push(format!("the row of thread {id} does not match its records"));
        }
    }
    Ok(FoldRowsFound { rows: cache.rows, wrong })
}

/// Whether the records up to that of the row give a different row. Rows written by another version are skipped.
fn differs(reader: &dyn LogReader, row: &FoldRow) -> Result<bool, LogFault> {
    if !Thread::is_row_readable(row) {
        return Ok(false);
    }
    let mut thread = Thread::new_blank(row.thread.clone());
    for placed in reader.records_of(&row.thread, 1).take(usize::try_from(row.seq).unwrap_or(usize::MAX)) {
        let (position, record) = placed?;
        fold_next(&mut thread, &record, position)?;
    }
    Ok(thread.to_row() != *row)
}
