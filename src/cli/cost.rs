//! `systole cost`: the model requests of a thread and everything below it, and their cost.

use clap::Args;

use super::exit::CommandExit;
use super::looking::Looking;
use super::place::Place;
use crate::audit::costs;

/// Of which thread.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole cost
  systole cost 1f0c --json")]
pub(super) struct Cost {
    #[command(flatten)]
    place: Place,
    /// Its id, its beginning, or @last
    #[arg(default_value = "@last")]
    thread: String,
}

impl Cost {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let id = looking.find(&self.thread)?;
        let rows = costs::read(&looking.reader, &id).map_err(|fault| looking.fault(&fault))?;
        if screen.json {
            screen.value(&costs::as_json(&id, &rows));
        } else if rows.is_empty() {
            screen.say(format!("thread {} asked no model", id.as_str()));
        } else {
            costs::lines(&rows).iter().for_each(|line| screen.drawn(line));
        }
        Ok(CommandExit::Done)
    }
}
