//! The cache of the log: every row of `fold` is compared with the fold of its thread's records.
//!
//! The cache is not evidence, so nothing is lost with it; but a wrong bit in it suggests that the disk is failing.

use std::path::Path;

use super::Finding;
use crate::cli::exit::CommandExit;
use crate::edges::log::sqlite::{self, SqliteReader};
use systole_core::pump::state::Thread;
use systole_core::pump::wake::fold_next;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{FoldRow, LogFault, LogReader as _};

/// Most rows to name.
const NAMED: usize = 10;
/// Records per read.
const PAGE: usize = 512;

/// What to do about a corrupt row.
const FIX: &str = "systole run: a start folds these threads again from their records. Nothing is lost, \
                   but something changed bytes of the file: check the disk";

/// Compares every row. Only for a log whose records verify.
pub(super) fn examine(log: &Path) -> Vec<Finding> {
    found(log).unwrap_or_else(|fault| {
        vec![Finding::problem("cache", fault.to_string(), "systole doctor again", CommandExit::Log)]
    })
}

fn found(log: &Path) -> Result<Vec<Finding>, LogFault> {
    let reader = sqlite::open_reading(log)?;
    let cache = reader.cache()?;
    let mut wrong: Vec<String> =
        cache.corrupt.iter().map(|row| format!("the row of thread {row} has a wrong checksum")).collect();
    if !cache.is_complete {
        wrong.push("its marks are corrupt, or a thread at work has no row".to_owned());
    }
    for id in reader.threads(usize::MAX)?.into_iter().chain([ThreadId::sys()]) {
        if let Some(row) = reader.row(&id)?
            && differs(&reader, &row)?
        {
            wrong.push(format!("the row of thread {id} does not match its records"));
        }
    }
    if wrong.is_empty() {
        let words = format!("{} rows, each matches its thread's records", cache.rows);
        return Ok(vec![Finding::fine("cache", words)]);
    }
    let more = wrong.len().saturating_sub(NAMED);
    let mut found: Vec<Finding> = wrong
        .into_iter()
        .take(NAMED)
        .map(|words| Finding::problem("cache", words, FIX, CommandExit::Log))
        .collect();
    if more > 0 {
        found.push(Finding::problem("cache", format!("{more} more rows are corrupt"), FIX, CommandExit::Log));
    }
    Ok(found)
}

/// Whether the records up to that of the row give a different row. Rows written by another version are skipped.
fn differs(reader: &SqliteReader, row: &FoldRow) -> Result<bool, LogFault> {
    if !Thread::is_row_readable(row) {
        return Ok(false);
    }
    let mut thread = Thread::blank(row.thread.clone());
    while thread.seq < row.seq {
        let left = usize::try_from(row.seq - thread.seq).unwrap_or(PAGE);
        let page = reader.of_thread(&row.thread, thread.seq + 1, left.min(PAGE))?;
        if page.is_empty() {
            return Ok(true);
        }
        for (position, record) in &page {
            fold_next(&mut thread, record, *position)?;
        }
    }
    Ok(thread.to_row() != *row)
}
