//! The cache of the log: every row of `fold` is compared with the fold of its thread's records.

use std::path::Path;

use super::Finding;
use crate::cli::exit::CommandExit;
use crate::limits;
use systole_core::types::ports::LogFault;
use systole_log::sqlite;
use systole_queries::fold_rows::{self, FoldRowsFound};

/// What to do about a corrupt row.
const FIX: &str = "systole run: a start folds these threads again from their records. Nothing is lost, \
                   but something changed bytes of the file: check the disk";

/// Compares every row. Only for a log whose records verify.
pub(super) fn examine_folds(log: &Path) -> Vec<Finding> {
    compare_rows(log).unwrap_or_else(|fault| {
        vec![Finding::new_problem("cache", fault.to_string(), "systole doctor again", CommandExit::Log)]
    })
}

fn compare_rows(log: &Path) -> Result<Vec<Finding>, LogFault> {
    let FoldRowsFound { rows, wrong } = fold_rows::compare(&sqlite::open_reading(log)?)?;
    if wrong.is_empty() {
        let words = format!("{rows} rows, each matches its thread's records");
        return Ok(vec![Finding::new_good("cache", words)]);
    }
    let more = wrong.len().saturating_sub(limits::LISTED_FAULTS);
    let mut found: Vec<Finding> = wrong
        .into_iter()
        .take(limits::LISTED_FAULTS)
        .map(|words| Finding::new_problem("cache", words, FIX, CommandExit::Log))
        .collect();
    if more > 0 {
        found.push(Finding::new_problem(
            "cache",
            format!("{more} more rows are corrupt"),
            FIX,
            CommandExit::Log,
        ));
    }
    Ok(found)
}
