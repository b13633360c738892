//! `systole mcp`: the organism as an MCP server on stdin and stdout, and MCP servers as listeners.

mod add;
mod install;
mod login;
mod needs;
mod pin;
mod pin_output;
mod server_choice;
mod staged_files;

use clap::{Args, Subcommand};

use super::exit::CommandExit;
use super::pipe::run_serve;
use super::place::Place;
use systole_client::pipe_client::PipedDoor;
use systole_core::types::ids::Name;

/// Serves the organism to a host of models, over stdin and stdout.
///
/// The host starts this command. Goes through the organism that runs on the log; if none runs, one is started in
/// this process until stdin ends. The host speaks as the client `mcp`, which has no roles.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  systole mcp
  systole mcp -f /srv/hello/organism.yaml --client desk"
)]
pub(super) struct McpGroup {
    #[command(flatten)]
    place: Place,
    /// Speak as this client of the organism's file
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    client: Option<Name>,
    #[command(subcommand)]
    what: Option<McpCommand>,
}

/// What is wanted of MCP servers.
#[derive(Subcommand, Debug)]
enum McpCommand {
    /// Install a server, ask it for its tools, show what changed, and pin both
    #[command(after_help = "Examples:
  systole mcp pin files
  systole mcp pin files --upgrade
  systole mcp pin files --check")]
    Pin(pin::PinCommand),
    /// Add a server to the organism's file, from .mcp.json or server.json
    #[command(after_help = "Examples:
  systole mcp add files
  systole mcp add tickets --from ~/project/.mcp.json")]
    Add(add::AddCommand),
    /// Log in to a server at an address, in a browser
    #[command(after_help = "Examples:
  systole mcp login tickets
  systole mcp login tickets --no-browser
  systole mcp login github --client-id Iv1.5f8d --client-secret-env GITHUB_SECRET --port 8765")]
    Login(login::LoginCommand),
}

impl McpGroup {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        match self.what {
            Some(McpCommand::Pin(pin)) => pin.run(),
            Some(McpCommand::Add(add)) => add.run(),
            Some(McpCommand::Login(login)) => login.run(),
            None => run_serve(&self.place, self.client.as_ref(), PipedDoor::Mcp),
        }
    }
}
