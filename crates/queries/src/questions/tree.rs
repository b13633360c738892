//! `tree`: what came of a message. The run of a workflow is a line for each declared step, that of an agent one for each
//! call of its turns; anything else, and everything of a run, is a tree of calls, items, answers and threads.

use serde_json::Value;

use crate::arguments;
use crate::finding::NotFound;
use crate::picture::{self, Look, Pictured};
use crate::query::{
    ArgumentMistake, DrawnAnswer, Flag, PayloadForms, Query, QueryFace, QueryFault, QueryMoment, QueryPage,
    QueryRoute, TypedThread,
};
use crate::runs::WorkflowRuns;
use crate::tree::{ThreadTree, draw, standing, standing_json, with_picture};
use crate::why::{ThreadWaits, WaitReason};
use systole_core::pump::state::ThreadState;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::LogReader;
use systole_core::types::time::Millis;
use systole_show::blocks::Block;
use systole_show::columns::wrapped;
use systole_show::layout;

arguments! {
    /// Which thread is drawn.
    pub struct TreeArguments {
        thread: TypedThread => "The thread: its id, its beginning, or @last",
        all: Flag => "Show every call, item and thread of a run, not its steps or turns",
    }
}

impl TreeArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        Ok(())
    }
}

/// The question.
pub enum TreeQuery {}

impl Query for TreeQuery {
    const NAME: &'static str = "tree";
    const ABOUT: &'static str = "Draw everything that a message caused";
    const EXAMPLES: &'static [&'static str] =
        &["systole tree", "systole tree 1f0c", "systole tree --all", "systole tree --at 120"];
    const ROUTES: &'static [QueryRoute] = &[QueryRoute { path: "/v1/threads/{thread}/tree", fields: &[] }];
    const PAGE: Option<QueryPage> = None;
    const LACKS: &'static [(QueryFace, &'static str)] =
        &[(QueryFace::Page, "the page of a thread draws it, beside its records and its orders")];
    type Arguments = TreeArguments;
    type Answer = DrawnAnswer;

    fn read(moment: &dyn QueryMoment, asked: &TreeArguments) -> Result<DrawnAnswer, QueryFault> {
        let id = asked.thread.as_ref().ok_or(QueryFault::Unfound(NotFound::Unnamed))?;
        let (reader, state, now) = (moment.log(), moment.state()?, moment.now());
        let whole = &*state;
        let unfound = || QueryFault::Unfound(NotFound::None(id.to_string()));
        let (tree, waits) = standing(reader, whole, id, now)?.ok_or_else(unfound)?;
        let runs = &WorkflowRuns::new(reader, whole, moment.steps());
        let declared = moment.read_declared();
        let pictured = picture::read(&Look { reader, whole, runs, declared }, &tree, &waits)?;
        let mut value = standing_json(&tree, &waits, now);
        with_picture(&mut value, pictured.as_json());
        if let Some(forms) = moment.forms() {
            add_payloads(forms, reader, id, &mut value);
        }
        let lines = match &pictured {
            Pictured::Run(run) if asked.all.is_none() => {
                with_pause(picture::draw(run, now, layout::columns()), &waits, id, now)
            }
            _ => draw_thread(&tree, &waits, id, now),
        };
        let unread = match pictured {
            Pictured::Unread(why) => Some(format!("note: {why}")),
            Pictured::Run(_) | Pictured::Nothing => None,
        };
        let is_unfinished = waits.life == ThreadState::Working || !waits.timers.is_empty();
        let still = moment.still_note().filter(|_| is_unfinished);
        Ok(DrawnAnswer { value, lines, notes: unread.into_iter().chain(still).collect() })
    }

    fn blocks(answer: &DrawnAnswer) -> Vec<Block> {
        answer.blocks()
    }
}

/// Adds to each call the payload of its request, with its JSON form and its text. Unreadable records are left out:
/// the tree shows where they are.
fn add_payloads(forms: &dyn PayloadForms, reader: &dyn LogReader, thread: &ThreadId, value: &mut Value) {
    if let Value::Array(all) = value {
        return all.iter_mut().for_each(|one| add_payloads(forms, reader, thread, one));
    }
    let Some(fields) = value.as_object_mut() else { return };
    let own = fields.get("thread").and_then(Value::as_str).and_then(|own| ThreadId::parse(own).ok());
    let thread = own.as_ref().unwrap_or(thread);
    for below in ["calls", "items"] {
        if let Some(below) = fields.get_mut(below) {
            add_payloads(forms, reader, thread, below);
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
pub fn draw_thread(tree: &ThreadTree, waits: &ThreadWaits, id: &ThreadId, now: Millis) -> Vec<String> {
    let reasons = |thread: &ThreadId, call: &CallPath| -> Option<&WaitReason> { waits.find(thread, call) };
    with_pause(draw(tree, waits.status(), &reasons, now), waits, id, now)
}

/// The lines of a thread, with the pause that holds it below the first.
fn with_pause(mut lines: Vec<String>, waits: &ThreadWaits, id: &ThreadId, now: Millis) -> Vec<String> {
    if let Some(pause) = &waits.paused {
        let held = wrapped("  ", 4, &format!("{}; {}", pause.sentence(id, now), pause.command()));
        lines.splice(1..1, held);
    }
    lines
}
