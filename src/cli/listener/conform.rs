//! `systole listener conform`: plays the pump towards a worker, and judges it by a list of checks. The crate
//! `listeners/conform` has the checks and most of the command line.

use clap::Args;
use systole_conform::ConformArguments;

use crate::cli::exit::CommandExit;
use crate::cli::local_organism;
use crate::cli::place::Place;
use crate::cli::signals::Signals;

#[derive(Args, Debug)]
pub(in crate::cli) struct ConformCommand {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    order: ConformArguments,
}

impl ConformCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let file = if self.order.reads_file() { Some(self.place.organism(screen)?) } else { None };
        let subject =
            self.order.find_subject(file.map(|file| file.composition), std::env::vars_os().collect());
        let subject = subject.map_err(|(words, fix)| screen.refuse(words, fix))?;
        let judged = local_organism::with_runtime(screen, async {
            let mut signals = Signals::listen(screen)?;
            tokio::select! {
                judged = Box::pin(self.order.judge(subject)) => judged.map_err(|(words, fix)| screen.refuse(words, fix)),
                _ = signals.next() => Err(CommandExit::Stopped),
            }
        })?;
        if screen.json {
            screen.show_value(&judged.value)
        } else {
            judged.lines.iter().for_each(|line| screen.show(line))
        }
        Ok(if judged.has_failed { CommandExit::Failed } else { CommandExit::Done })
    }
}
