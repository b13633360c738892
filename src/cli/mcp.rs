//! `systole mcp`: MCP servers as listeners.

mod pin;

use clap::Subcommand;

use super::exit::CommandExit;

/// What is wanted of MCP servers.
#[derive(Subcommand, Debug)]
pub(super) enum Mcp {
    /// Ask a server for its tools, show what changed, and pin them
    #[command(after_help = "Examples:
  systole mcp pin files
  systole mcp pin files --check")]
    Pin(pin::Pin),
}

impl Mcp {
    pub(super) fn run(self) -> CommandExit {
        match self {
            Mcp::Pin(pin) => pin.run(),
        }
    }
}
