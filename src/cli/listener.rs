//! `systole listener`: writes a listener, tries one alone, or plays a provider of models. Each subcommand has its own
//! file.

mod inserted;
mod mock_model;
mod new;
mod plan;
mod seen;
mod trial;

use clap::Subcommand;

use super::exit::Exit;

/// What is done with a listener.
#[derive(Subcommand, Debug)]
pub(super) enum Listener {
    /// Write a listener into the organism, with a test
    New(new::New),
    /// Send one request to a listener alone, and judge what it says
    Try(trial::Trial),
    /// Answer as a provider of models does, from a script
    MockModel(mock_model::Mock),
}

impl Listener {
    pub(super) fn run(self) -> Exit {
        match self {
            Listener::New(new) => new.run(),
            Listener::Try(trial) => trial.run(),
            Listener::MockModel(mock) => mock.run(),
        }
    }
}
