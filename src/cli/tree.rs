//! `systole tree`: what came of a message. The run of a workflow is a line for each declared step, that of an agent one for
//! each call of its turns; anything else, and everything of a run, is a tree of calls, items, answers and threads.

use clap::Args;
use serde_json::Value;

use super::exit::CommandExit;
use super::forms::Forms;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use systole_core::pump::state::ThreadState;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::LogReader;
use systole_core::types::time::Millis;
use systole_organism::workflow_steps;
use systole_queries::picture::{self, Pictured};
use systole_queries::tree;
use systole_queries::why::{ThreadWaits, WaitReason};
use systole_show::columns::wrapped;
use systole_show::layout;

/// Which thread is drawn.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole tree
  systole tree 1f0c
  systole tree --all
  systole tree --at 120")]
pub(super) struct Tree {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The thread: its id, its beginning, or @last
    #[arg(default_value = "@last")]
    thread: String,
    /// Show every call, item and thread of a run, not its steps or turns
    #[arg(long)]
    all: bool,
}

impl Tree {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let (reader, screen, now) = (&*looking.view, looking.screen, looking.now);
        let id = looking.find(&self.thread)?;
        let whole = looking.whole()?;
        let found = tree::standing(reader, &whole, &id, now).map_err(|fault| looking.fault(&fault))?;
        let Some((tree, standing)) = found else {
            return Err(screen.fail(CommandExit::Usage, format!("thread {} has no record", id.as_str())));
        };
        let pictured = workflow_steps::draw_picture(reader, &whole, &tree, &standing);
        let pictured = pictured.map_err(|fault| looking.fault(&fault))?;
        if screen.json {
            let mut drawn = tree::standing_json(&tree, &standing, now);
            tree::with_picture(&mut drawn, pictured.as_json());
            with_payloads(&Forms::default(), reader, &id, &mut drawn);
            screen.show_value(&drawn);
            return Ok(CommandExit::Done);
        }
        let drawn = match (&pictured, self.all) {
            (Pictured::Run(run), false) => {
                with_pause(picture::draw(run, now, layout::columns()), &standing, &id, now)
            }
            _ => lines(&tree, &standing, &id, now),
        };
        if let Pictured::Unread(why) = &pictured {
            screen.say(format!("note: {why}"));
        }
        drawn.iter().for_each(|line| screen.show_drawn(line));
        looking.say_if_still(standing.life == ThreadState::Working || !standing.timers.is_empty());
        Ok(CommandExit::Done)
    }
}

/// Adds to each call the payload of its request, with its JSON form and its text. Unreadable records are left out:
/// the tree shows where they are.
fn with_payloads(forms: &Forms, reader: &dyn LogReader, thread: &ThreadId, value: &mut Value) {
    if let Value::Array(all) = value {
        return all.iter_mut().for_each(|one| with_payloads(forms, reader, thread, one));
    }
    let Some(fields) = value.as_object_mut() else { return };
    let own = fields.get("thread").and_then(Value::as_str).and_then(|own| ThreadId::parse(own).ok());
    let thread = own.as_ref().unwrap_or(thread);
    for below in ["calls", "items"] {
        if let Some(below) = fields.get_mut(below) {
            with_payloads(forms, reader, thread, below);
        }
    }
    let Some(seq) = fields.get("seq").and_then(Value::as_u64).filter(|_| fields.contains_key("call")) else {
        return;
    };
    let Some((_, record)) = reader.of_thread(thread, seq, 1).ok().and_then(|mut found| found.pop()) else {
        return;
    };
    let config = record.header.config;
    fields.insert("payload".to_owned(), String::from_utf8_lossy(&record.body).into());
    forms.add_beside(reader, Some(config), "payload", value);
}

/// A thread with what it waits for, in lines.
pub(super) fn lines(
    tree: &tree::ThreadTree,
    standing: &ThreadWaits,
    id: &ThreadId,
    now: Millis,
) -> Vec<String> {
    let reasons = |thread: &ThreadId, call: &CallPath| -> Option<&WaitReason> { standing.find(thread, call) };
    with_pause(tree::draw(tree, standing.state(), &reasons, now), standing, id, now)
}

/// The lines of a thread, with the pause that holds it below the first.
fn with_pause(mut lines: Vec<String>, standing: &ThreadWaits, id: &ThreadId, now: Millis) -> Vec<String> {
    if let Some(pause) = &standing.paused {
        let held = wrapped("  ", 4, &format!("{}; {}", pause.sentence(id, now), pause.command()));
        lines.splice(1..1, held);
    }
    lines
}
