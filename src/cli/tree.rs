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
use crate::audit::whole::Whole;
use crate::audit::why::{Reason, Standing};
use crate::words::ids::{CallPath, ThreadId};
use crate::words::ports::{LogFault, LogReader};
use crate::words::time::Millis;

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
        let found = read(reader, &whole, &id, now).map_err(|fault| looking.fault(&fault))?;
        let Some((tree, standing)) = found else {
            return Err(screen.fail(Exit::Usage, ["thread ", id.as_str(), " has no record"].concat()));
        };
        if screen.json {
            let reasons = |thread: &ThreadId, call: &CallPath| standing.find(thread, call);
            let mut drawn = tree::to_json(&tree, &reasons, now);
            if let Some(fields) = drawn.as_object_mut() {
                fields.insert("state".to_owned(), standing.state().into());
                let paused = standing.paused.as_ref();
                fields.insert("paused".to_owned(), paused.map_or(Value::Null, Pause::as_json));
            }
            screen.value(&drawn);
            return Ok(Exit::Done);
        }
        lines(&tree, &standing, &id, now).iter().for_each(|line| screen.drawn(line));
        looking.say_if_still();
        Ok(Exit::Done)
    }
}

/// A thread as a tree, with what it waits for; none if it has no record.
pub(super) fn read(
    reader: &dyn LogReader,
    whole: &Whole,
    id: &ThreadId,
    now: Millis,
) -> Result<Option<(tree::Tree, Standing)>, LogFault> {
    let posts = Posts::at(whole, now);
    let (Some(thread), Some(tree)) = (whole.thread(reader, id)?, tree::read(reader, id)?) else {
        return Ok(None);
    };
    Ok(Some((tree, Standing::of(reader, whole, &posts, &thread)?)))
}

/// The same in lines.
pub(super) fn lines(tree: &tree::Tree, standing: &Standing, id: &ThreadId, now: Millis) -> Vec<String> {
    let reasons = |thread: &ThreadId, call: &CallPath| -> Option<&Reason> { standing.find(thread, call) };
    let mut lines = tree::draw(tree, standing.state(), &reasons, now);
    if let Some(pause) = &standing.paused {
        let held = wrapped("  ", 4, &format!("{}; {}", pause.sentence(id, now), pause.command()));
        lines.splice(1..1, held);
    }
    lines
}
