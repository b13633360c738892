//! Finds the thread that a person means, for the commands that order an organism. It reads the log
//! and changes nothing.

use std::path::Path;

use super::exit::CommandExit;
use super::local_organism;
use super::looking::describe_absent;
use super::screen::Screen;
use super::unfound::report_not_found;
use systole_core::types::ids::ThreadId;
use systole_log::sqlite;
use systole_queries::finding;

/// The thread for a text: a whole id, the beginning of one, or `@last`.
pub(super) fn find(screen: Screen, log: &Path, text: &str) -> Result<ThreadId, CommandExit> {
    if !log.exists() {
        return Err(screen.fail(CommandExit::Unavailable, describe_absent(log)));
    }
    let reader =
        sqlite::open_reading(log).map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    finding::find(&reader, text).map_err(|why| report_not_found(screen, &why))
}
