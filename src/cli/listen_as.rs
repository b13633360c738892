//! The listeners that are part of this program. The carrier of programs starts them as processes of their own, so
//! that a fault in one never reaches the pump.
//!
//! They read deliveries from stdin and write replies to stdout, as any program does. The first argument says which
//! listener it is; the others are its own.

use std::ffi::OsString;
use std::process::ExitCode;

/// Becomes the listener that the first argument names.
pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
    match arguments.split_first() {
        Some((kind, _)) => unknown(kind),
        None => unknown(""),
    }
}

fn unknown(kind: &str) -> ExitCode {
    crate::cli::screen::Screen::of_process(false)
        .fail(crate::cli::exit::CommandExit::Usage, format!("no listener of this program is called `{kind}`"))
        .into()
}
