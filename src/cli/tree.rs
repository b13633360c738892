//! `systole tree`: what came of a message, as a tree of calls, items, answers and threads.

use clap::Args;
use serde_json::Value;

use super::exit::Exit;
use super::looking::Looking;
use super::place::Place;
use crate::audit::columns::wrapped;
use crate::audit::pauses::Pause;
use crate::audit::posts::Posts;
use crate::audit::tree;
use crate::audit::why::{Reason, Standing};
use crate::pump::state::Life;
use crate::words::ids::{CallPath, ThreadId};

/// Which thread is drawn.
#[derive(Args, Debug)]
pub(super) struct Tree {
    #[command(flatten)]
    place: Place,
    /// The thread: its id, its beginning, or @last
    #[arg(default_value = "@last")]
    thread: String,
}

impl Tree {
    pub(super) fn run(self) -> Exit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<Exit, Exit> {
        let looking = Looking::open(&self.place)?;
        let (reader, screen, now) = (&looking.reader, looking.screen, looking.now);
        let id = looking.find(&self.thread)?;
        let whole = looking.whole()?;
        let posts = Posts::at(&whole, now);
        let read = whole.thread(reader, &id).and_then(|thread| Ok((thread, tree::read(reader, &id)?)));
        let (Some(thread), Some(tree)) = read.map_err(|fault| looking.fault(&fault))? else {
            return Err(screen.fail(Exit::Usage, ["thread ", id.as_str(), " has no record"].concat()));
        };
        let standing =
            Standing::of(reader, &whole, &posts, &thread).map_err(|fault| looking.fault(&fault))?;
        let reasons = |thread: &ThreadId, call: &CallPath| -> Option<&Reason> { standing.find(thread, call) };
        let paused = standing.paused.as_ref();
        if screen.json {
            let mut drawn = tree::to_json(&tree, &reasons, now);
            if let Some(fields) = drawn.as_object_mut() {
                fields.insert("state".to_owned(), standing.state().into());
                fields.insert("paused".to_owned(), paused.map_or(Value::Null, Pause::as_json));
            }
            screen.value(&drawn);
            return Ok(Exit::Done);
        }
        let mut lines = tree::draw(&tree, standing.state(), &reasons, now);
        if let Some(pause) = paused {
            let held = wrapped("  ", 4, &format!("{}; {}", pause.sentence(&id, now), pause.command()));
            lines.splice(1..1, held);
        }
        lines.iter().for_each(|line| screen.drawn(line));
        looking.say_if_still(thread.life() == Life::Working || !thread.timers.is_empty());
        Ok(Exit::Done)
    }
}
