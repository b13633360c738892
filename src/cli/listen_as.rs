//! The listeners that are part of this program. The carrier of programs starts them as processes of their own, so
//! that a fault in one never reaches the pump.
//!
//! They read deliveries from stdin and write replies to stdout, as any program does. The first argument says which
//! listener it is; the others are its own.

use std::ffi::OsString;
use std::process::ExitCode;

use systole_mcp::adapter::{AdapterOrder, pin_of, serve};

use super::exit::CommandExit;
use super::screen::Screen;
use crate::edges::system::told;

/// Becomes the listener that the first argument names.
pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["mcp", pin, server, "--", run @ ..] => mcp(pin, server, run),
        ["mcp-pin", "--", run @ ..] => mcp_pin(run),
        other => fail(&format!("-listen-as: these words name no listener: {}", other.join(" "))),
    }
}

/// Stands in front of an MCP server.
fn mcp(pin: &str, server: &str, run: &[&str]) -> ExitCode {
    match std::fs::read(pin) {
        Ok(text) => {
            let run = run.iter().map(|word| (*word).to_owned()).collect();
            serve(&AdapterOrder { server: server.to_owned(), pin: text, run })
        }
        Err(error) => fail(&format!("config.unpinned: {pin}: {}", told(&error))),
    }
}

/// Asks an MCP server for its tools, and prints the pin.
fn mcp_pin(run: &[&str]) -> ExitCode {
    let run: Vec<String> = run.iter().map(|word| (*word).to_owned()).collect();
    match pin_of(&run) {
        Ok(pin) => {
            Screen::of_process(false).document(pin.text().as_bytes());
            ExitCode::SUCCESS
        }
        Err(words) => fail(&words),
    }
}

fn fail(words: &str) -> ExitCode {
    Screen::of_process(false).fail(CommandExit::Usage, words).into()
}
