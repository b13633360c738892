//! `systole acp`: the organism as an agent in an editor, on stdin and stdout.

use clap::Args;

use super::exit::CommandExit;
use super::pipe::run_serve;
use super::place::Place;
use systole_client::pipe_client::PipedDoor;
use systole_core::types::ids::Name;

/// Serves the organism to an editor, over stdin and stdout.
///
/// The editor starts this command, in the folder that is open in it. Goes through the organism that runs on the log; if none
/// runs, one is started in this process until stdin ends. The editor speaks as the client `acp`: who sits there may decide
/// what waits in her own sessions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole acp
  systole acp -f /srv/hello/organism.yaml --client desk")]
pub(super) struct AcpCommand {
    #[command(flatten)]
    place: Place,
    /// Speak as this client of the organism's file
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    client: Option<Name>,
}

impl AcpCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        run_serve(&self.place, self.client.as_ref(), PipedDoor::Acp)
    }
}
