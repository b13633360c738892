//! `systole todo`: the todo lists of a thread, now or as they stood after some record.

use clap::Args;

use super::exit::Exit;
use super::looking::{Looking, parted};
use super::place::Place;
use crate::audit::todo;

/// Which thread, and when.
#[derive(Args, Debug)]
pub(super) struct Todo {
    #[command(flatten)]
    place: Place,
    /// Its id, its beginning, or @last; with @N behind it: after record N
    #[arg(default_value = "@last")]
    thread: String,
}

impl Todo {
    pub(super) fn run(self) -> Exit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<Exit, Exit> {
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let (typed, seq) = parted(&self.thread);
        let (id, seq) = (looking.find(typed)?, seq.unwrap_or(u64::MAX));
        let read = todo::read(&looking.reader, &id, seq).map_err(|fault| looking.fault(&fault))?;
        let Some(lists) = read else {
            return Err(screen.fail(Exit::Usage, ["thread ", id.as_str(), " has no record"].concat()));
        };
        if screen.json {
            screen.value(&todo::as_json(&id, seq, &lists));
        } else if lists.is_empty() {
            screen.say(["thread ", id.as_str(), " has no todo list"].concat());
        } else {
            todo::lines(&lists).iter().for_each(|line| screen.drawn(line));
        }
        Ok(Exit::Done)
    }
}
