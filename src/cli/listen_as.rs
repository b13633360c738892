//! The listeners that are part of this program. The carrier of programs starts them as processes of their own, so
//! that a fault in one never reaches the pump.
//!
//! A listener that reads files of others is one of them: a grammar is code of others, and a file is anybody's.
//!
//! They read deliveries from stdin and write replies to stdout, as any program does. The first argument says which
//! kind of listener it is; the others are its own.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use systole_carriers::{COMMANDS_WORD, CommandSandbox};
use systole_config::{CommandParts, OpenResult, ServeResult, serve_listener};
use systole_mcp::adapter::{ServerPlace, pin_of};
use systole_workspace::{CommandOrder, CommandStart, PreparedCommand};

use super::exit::CommandExit;
use super::screen::Screen;

/// Becomes the listener that the first argument names.
pub(super) fn run_listener(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments.as_slice() {
        ["mcp-pin", place @ ..] => print_mcp_pin(place),
        words => serve_listener(words, &CommandParts { word: COMMANDS_WORD, open: open_commands }),
    };
    ended.unwrap_or_else(|words| Screen::new(false).fail(CommandExit::Usage, words).into())
}

/// Asks an MCP server for its tools, and prints the pin.
fn print_mcp_pin(place: &[&str]) -> ServeResult {
    let pin = pin_of(&ServerPlace::from_words(place)?)?;
    Screen::new(false).show_document(pin.to_text().as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// Starts the commands of a listener in the sandbox that the carrier handed over.
struct CommandStarter(CommandSandbox);

fn open_commands(policy: Option<&str>) -> OpenResult {
    let sandbox = policy.map_or_else(|| Ok(CommandSandbox::new_open()), CommandSandbox::parse)?;
    Ok(Arc::new(CommandStarter(sandbox)))
}

impl CommandStart for CommandStarter {
    fn command(&self, order: &CommandOrder<'_>) -> Result<PreparedCommand, String> {
        let ready = self.0.make_command(order.words, order.folder, order.session)?;
        let kept = ready.private.map(|private| Box::new(private) as Box<dyn Send>);
        Ok(PreparedCommand { command: ready.command, kept })
    }
}
