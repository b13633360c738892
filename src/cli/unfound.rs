//! Reports that the thread that a person means was not found, with the fix.

use super::exit::CommandExit;
use super::local_organism;
use super::screen::Screen;
use systole_queries::finding::NotFound;

/// Reports why no thread was found. A name without a thread is a wrong argument for every command: nothing was
/// requested yet.
pub(super) fn report_not_found(screen: Screen, why: &NotFound) -> CommandExit {
    let fix = match why {
        NotFound::Log(fault) => return local_organism::report_log_fault(screen, fault),
        NotFound::Unnamed => "@last, or one of systole ps",
        NotFound::NoName(_) => "systole ps --name TEXT, which lists threads by their names",
        NotFound::Empty => "systole send, which opens the first one",
        NotFound::None(_) => "systole ps, which lists them",
        NotFound::Ambiguous { .. } => "more of its digits",
    };
    screen.refuse(why, fix)
}
