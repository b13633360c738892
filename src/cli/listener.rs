//! `systole listener`: writes a listener, or tries one alone. Each subcommand has its own file.

pub(super) mod insert_block;
mod new;
mod plan;
mod trial;
mod trial_output;

use clap::Subcommand;

use super::exit::CommandExit;

/// What is done with a listener.
#[derive(Subcommand, Debug)]
pub(super) enum ListenerCommand {
    /// Write a listener into the organism, with a test
    #[command(after_help = "Examples:
  systole listener new shell weather
  systole listener new python weather")]
    New(new::NewCommand),
    /// Send one request to a listener alone, and judge what it says
    #[command(after_help = r#"Examples:
  systole listener try weather --send ask "How is it?"
  systole listener try -- ./answer.sh"#)]
    Try(trial::TrialCommand),
}

impl ListenerCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        match self {
            ListenerCommand::New(new) => new.run(),
            ListenerCommand::Try(trial) => trial.run(),
        }
    }
}
