//! `systole end`: ends a thread at rest, through the organism that runs on the log or through one that
//! is started here only for that. It never ends work: `systole cancel` does.

use clap::Args;

use super::cancel::EndTarget;
use super::exit::CommandExit;
use super::live_order::carry_out;
use super::place::Place;

/// Ends a thread at rest.
///
/// Its timers are cancelled, and messages for it are refused from then on. Its records stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole end 1f0c")]
pub(super) struct EndCommand {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, @last or @NAME
    thread: String,
}

impl EndCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let what = EndTarget::Thread { named: self.thread, call: None, is_gentle: true };
        carry_out(&self.place, what)
    }
}
