//! The commands, one file each. They read arguments and print; what they do stands in the rooms below.
//! Data goes to stdout, talk to stderr.

use std::process::ExitCode;

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    ExitCode::from(2)
}
