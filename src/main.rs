//! The `systole` program: reads its arguments, runs one command, says how it ended.

use std::process::ExitCode;

fn main() -> ExitCode {
    systole::cli::main()
}
