//! The program `systole-soak`: its arguments, its streams and its exit code.

use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The organism and its many clients start with the limits of this process.
    systole_system::descriptors::raise_limit();
    ExitCode::from(systole_soak::command::run(std::env::args_os(), &mut stdout(), &mut stderr()))
}
