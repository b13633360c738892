//! How a command ended: the one table of exit codes. Calling programs depend on every number.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandExit {
    /// Done.
    Done = 0,
    /// It ran, and the answer is a failure.
    Failed = 1,
    /// The command line is wrong; clap ends with the same number.
    Usage = 2,
    /// The organism file is refused.
    Configuration = 3,
    /// The payload is refused.
    Payload = 4,
    /// No organism can be reached, or something needed is not available.
    Unavailable = 5,
    /// Only a person can continue: something waits for an approval, or is paused.
    Waits = 6,
    /// The log is damaged, foreign or of another version.
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
