//! `systole todo`: the todo lists of a thread, now or as they were after some record.

use clap::Args;

use super::as_of::AsOf;
use super::exit::CommandExit;
use systole_queries::todo;

/// Which thread, and when.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole todo
  systole todo @last@12
  systole todo --at 120")]
pub(super) struct Todo {
    #[command(flatten)]
    at: AsOf,
}

impl Todo {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let (looking, id, seq) = self.at.open()?;
        let screen = looking.screen;
        let read = todo::read(&*looking.view, &id, seq).map_err(|fault| looking.fault(&fault))?;
        let Some(lists) = read else {
            return Err(screen.fail(CommandExit::Usage, format!("thread {} has no record", id.as_str())));
        };
        if screen.json {
            screen.show_value(&todo::as_json(&id, seq, &lists));
        } else if lists.is_empty() {
            screen.say(format!("thread {} has no todo list", id.as_str()));
        } else {
            todo::lines(&lists).iter().for_each(|line| screen.show_drawn(line));
        }
        Ok(CommandExit::Done)
    }
}
