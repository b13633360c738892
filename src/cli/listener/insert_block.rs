//! Reads and replaces the organism's file for commands that add lines to it, and reports why that fails.

use std::fs;
use std::path::Path;

use crate::cli::exit::CommandExit;
use crate::cli::screen::Screen;
use crate::cli::system_faults;

pub(in crate::cli) use systole_sdk::insert_below;

/// The text of the organism's file.
pub(in crate::cli) fn read_file(screen: Screen, path: &Path) -> Result<String, CommandExit> {
    let what = "the organism's file";
    fs::read_to_string(path)
        .map_err(|error| system_faults::report_unread(screen, CommandExit::Unavailable, path, what, &error))
}

/// Replaces the organism's file atomically.
pub(in crate::cli) fn replace_file(screen: Screen, path: &Path, text: &str) -> Result<(), CommandExit> {
    systole_sdk::replace_text(path, text)
        .map_err(|error| system_faults::report_unwritten(screen, path, "the organism's file", &error))
}
