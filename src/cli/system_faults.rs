//! Errors of the operating system for a person: the path, what was tried there, the fix, and the exit. It checks
//! nothing itself and never prints a bare system message.

use std::io::{Error, ErrorKind};
use std::path::Path;

use super::exit::CommandExit;
use super::screen::Screen;
use systole_system::system::{self, FileFault};

/// Reports why a file was not read.
pub(super) fn report_unread(
    screen: Screen,
    exit: CommandExit,
    path: &Path,
    what: &str,
    error: &Error,
) -> CommandExit {
    report_fault(screen, exit, &system::report_unread(path, what, error))
}

/// Reports why a file was not written. Naming a file that is there already is a mistake of the command line.
pub(super) fn report_unwritten(screen: Screen, path: &Path, what: &str, error: &Error) -> CommandExit {
    let exit = match error.kind() {
        ErrorKind::AlreadyExists => CommandExit::Usage,
        _ => CommandExit::Unavailable,
    };
    report_fault(screen, exit, &system::report_unwritten(path, what, error))
}

/// Reports why a folder was not made.
pub(super) fn report_no_folder(screen: Screen, path: &Path, what: &str, error: &Error) -> CommandExit {
    report_fault(screen, CommandExit::Unavailable, &system::report_no_folder(path, what, error))
}

/// Reports a missing resource that is neither a file nor a folder.
pub(super) fn report_missing(screen: Screen, what: &str, error: &Error) -> CommandExit {
    let words = format!("{what}: {}", system::describe_error(error));
    screen.fail_with(CommandExit::Unavailable, words, "run it again; if it fails again, systole doctor")
}

/// Reports the error.
pub(super) fn report_fault(screen: Screen, exit: CommandExit, hindered: &FileFault) -> CommandExit {
    screen.fail_with(exit, &hindered.words, hindered.fix)
}
