//! The `systole` program: parses its arguments, runs one command and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    systole::cli::main()
}
