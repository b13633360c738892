//! Which thread a person means, for the commands that speak to an organism. Looks into the log and
//! changes nothing.

use std::path::Path;

use super::exit::Exit;
use super::here;
use super::looking::{absent, not_found};
use super::screen::Screen;
use crate::audit::finding;
use crate::edges::log::sqlite;
use systole_core::types::ids::ThreadId;

/// The thread of a log that a text means: a whole id, the beginning of one, or `@last`.
pub(super) fn find(screen: Screen, log: &Path, text: &str) -> Result<ThreadId, Exit> {
    if !log.exists() {
        return Err(screen.fail(Exit::Unavailable, absent(log)));
    }
    let reader = sqlite::open_reading(log).map_err(|fault| here::log_fault(screen, &fault))?;
    finding::find(&reader, text).map_err(|why| not_found(screen, &why))
}
