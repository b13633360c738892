//! What the operating system hindered, said to a person: the path, what was wanted there and the mend, and the exit that
//! it means. It looks at nothing itself and never says a bare word of the system.

use std::io::Error;
use std::path::Path;

use super::exit::Exit;
use super::screen::Screen;
use crate::edges::system::{self, Hindered};

/// Says why a file was not read.
pub(super) fn unread(screen: Screen, exit: Exit, path: &Path, what: &str, error: &Error) -> Exit {
    say(screen, exit, &system::unread(path, what, error))
}

/// Says why a file was not written.
pub(super) fn unwritten(screen: Screen, path: &Path, what: &str, error: &Error) -> Exit {
    say(screen, Exit::Unavailable, &system::unwritten(path, what, error))
}

/// Says why a folder was not made.
pub(super) fn no_folder(screen: Screen, path: &Path, what: &str, error: &Error) -> Exit {
    say(screen, Exit::Unavailable, &system::no_folder(path, what, error))
}

/// Says what the machine did not give that was neither file nor folder.
pub(super) fn machine(screen: Screen, what: &str, error: &Error) -> Exit {
    let exit = screen.fail(Exit::Unavailable, format!("{what}: {}", system::told(error)));
    screen.say("  try: the same again; if it stays so, systole doctor");
    exit
}

/// Says what was hindered.
pub(super) fn say(screen: Screen, exit: Exit, hindered: &Hindered) -> Exit {
    let exit = screen.fail(exit, &hindered.words);
    screen.say(format!("  try: {}", hindered.mend));
    exit
}
