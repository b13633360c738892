//! `systole listener`: writes a listener, or tries one alone. Each subcommand has its own file.

mod conform;
pub(super) mod insert_block;
mod new;
mod trial;
mod trial_output;

use clap::Subcommand;

use super::exit::CommandExit;

/// What is done with a listener.
#[derive(Subcommand, Debug)]
pub(super) enum ListenerCommand {
    /// Write a listener into the organism, with a test
    #[command(after_help = "Examples:
  systole listener new python weather
  systole listener new typescript weather --nats")]
    New(new::NewCommand),
    /// Send one request to a listener alone, and judge what it says
    #[command(after_help = r#"Examples:
  systole listener try weather --send ask "How is it?"
  systole listener try -- ./answer.sh"#)]
    Try(trial::TrialCommand),
    /// Play the pump towards a worker, and judge it by a list of checks
    #[command(after_help = "Examples:
  systole listener conform weather
  systole listener conform --schema weather.xsd -- python3 weather.py")]
    Conform(Box<conform::ConformCommand>),
}

impl ListenerCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        match self {
            ListenerCommand::New(new) => new.run(),
            ListenerCommand::Try(trial) => trial.run(),
            ListenerCommand::Conform(conform) => conform.run(),
        }
    }
}
