//! How a command ended: the one table of exit codes. Calling programs depend on every number.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandExit {
    /// Done.
    Done = 0,
    /// It ran, and the answer is a failure, or partial.
    Failed = 1,
    /// The command line is invalid; or a name in it matches nothing or several things: a listener, a thread, a record,
    /// a text, an element, a code, an input file; or an output file exists already.
    Usage = 2,
    /// The organism's file is refused.
    Configuration = 3,
    /// The payload or the command is refused, with a code.
    Payload = 4,
    /// Unreachable or unavailable: the log or the address is in use, there is no log yet, nothing can be stored or
    /// printed, the process that runs the organism does not answer, no answer came in time, or the log of a running
    /// organism was deleted or replaced.
    Unavailable = 5,
    /// Blocked until a person acts: something waits for an approval, or is paused.
    Waits = 6,
    /// The log is damaged, lost acknowledged records, is foreign or of another version.
    Log = 7,
    /// Stopped by a signal.
    Stopped = 130,
}

impl CommandExit {
    /// The exit with this number; `None` if no command of ours ends with it.
    pub(super) fn from_code(code: i32) -> Option<CommandExit> {
        use CommandExit::{Configuration, Done, Failed, Log, Payload, Stopped, Unavailable, Usage, Waits};
        let all = [Done, Failed, Usage, Configuration, Payload, Unavailable, Waits, Log, Stopped];
        all.into_iter().find(|exit| *exit as i32 == code)
    }
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
