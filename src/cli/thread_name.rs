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
use systole_queries::finding::{self, NameOwner};

/// The thread that a message is for: a name as it was typed, which the message may open, or the id of a thread that the
/// log has.
pub(super) fn find_place(screen: Screen, log: &Path, text: &str) -> Result<String, CommandExit> {
    match finding::is_name(text) {
        true => Ok(text.to_owned()),
        false => find(screen, log, text).map(|thread| thread.to_string()),
    }
}

/// The thread for a text: a whole id, the beginning of one, `@last`, or the name of a thread of the operator.
pub(super) fn find(screen: Screen, log: &Path, text: &str) -> Result<ThreadId, CommandExit> {
    if !log.exists() {
        return Err(screen.fail(CommandExit::Unavailable, describe_absent(log)));
    }
    let reader =
        sqlite::open_reading(log).map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    finding::find(&reader, text, &NameOwner::new_operator()).map_err(|why| report_not_found(screen, &why))
}
