//! How a command ends: the one table of exit codes. Programs that call us depend on every number.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It is done.
    Done = 0,
    /// It ran, and the answer is a failure.
    Failed = 1,
    /// The command line makes no sense; clap ends with the same number.
    Usage = 2,
    /// The organism's file is refused.
    Configuration = 3,
    /// The payload is refused.
    Payload = 4,
    /// Nobody can be reached, or what is needed is not available.
    Unavailable = 5,
    /// Only a person can go on: something waits for an approval, or is paused.
    Waits = 6,
    /// The log is damaged, foreign or of another version.
    Log = 7,
    /// Stopped by a signal.
    Stopped = 130,
}

impl Exit {
    /// How a command ended that ended with this number; none where no command of ours does.
    pub(super) fn of_code(code: i32) -> Option<Exit> {
        use Exit::{Configuration, Done, Failed, Log, Payload, Stopped, Unavailable, Usage, Waits};
        let all = [Done, Failed, Usage, Configuration, Payload, Unavailable, Waits, Log, Stopped];
        all.into_iter().find(|exit| *exit as i32 == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
