//! The list of threads for a page: newest first, filtered, a part at a time, each with who opened it and what is below
//! it.
//!
//! It looks at few threads for each part, so that a filter that fits nothing does not read a whole log. A log and a
//! filter come in; entries and the place to go on from go out.

use serde_json::{Value, json};

use super::glance::{PayloadGlance, glance};
use super::log_state::LogState;
use super::posts::DueCalls;
use super::runs::WorkflowRuns;
use super::thread_end::is_in_state;
use super::thread_roll::{self, ThreadEntry};
use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;

/// Which threads are wanted.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ThreadFilter {
    /// Only threads in this state, a word of `thread_end::STATES`.
    pub state: Option<&'static str>,
    /// Only threads that this listener was asked first, or works in now.
    pub listener: Option<Name>,
    /// Only threads with this text in their id, their request or what they wait for.
    pub text: Option<String>,
    /// Only threads that are older than this one.
    pub after: Option<ThreadId>,
}

/// A root in the list.
#[derive(Clone, Debug)]
pub struct ListedThread {
    /// Its state and the reason.
    pub entry: ThreadEntry,
    /// When it was opened.
    pub opened: Millis,
    /// Who opened it.
    pub by: Name,
    /// The listener that was asked first.
    pub to: Option<Name>,
    /// The first request.
    pub request: PayloadGlance,
    /// Its records.
    pub records: u64,
    /// The threads below it, as far as they are named.
    pub children: Vec<ThreadId>,
    /// Whether there are more of them.
    pub has_more_children: bool,
}

/// A part of the list.
#[derive(Clone, Debug, Default)]
pub struct ThreadPart {
    /// The threads, newest first.
    pub threads: Vec<ListedThread>,
    /// The thread after which the list goes on, if it does.
    pub next: Option<ThreadId>,
}

/// The newest roots that a filter wants, at most that many.
pub fn list(
    reader: &dyn LogReader,
    whole: &LogState,
    runs: &WorkflowRuns<'_>,
    now: Millis,
    (filter, most): (&ThreadFilter, usize),
) -> Result<ThreadPart, LogFault> {
    let posts = DueCalls::at(whole, now);
    let all = reader.list_threads(limits::LISTED_IDS)?;
    let roots = all.iter().filter(|id| id.parent().is_none());
    let mut left: Vec<&ThreadId> = roots.collect();
    if let Some(after) = &filter.after {
        let start = left.iter().position(|id| *id == after).map_or(left.len(), |place| place + 1);
        left.drain(..start);
    }
    let mut part = ThreadPart::default();
    for (looked, id) in left.iter().enumerate() {
        if looked == limits::LOOKED_AT || part.threads.len() == most {
            part.next = looked.checked_sub(1).and_then(|last| left.get(last)).map(|id| (*id).clone());
            break;
        }
        let Some(thread) = whole.thread(reader, id)? else { continue };
        let Some((_, first)) = reader.of_thread(id, 1, 1)?.pop() else { continue };
        let works_now = |name: &Name| thread.calls.values().any(|call| call.listener == *name);
        let is_of = |name: &Name| first.header.to.as_ref() == Some(name) || works_now(name);
        if !filter.listener.as_ref().is_none_or(is_of) {
            continue;
        }
        let mut entries = [thread_roll::entry(reader, whole, &posts, &thread, now)?];
        thread_roll::name_goals(&mut entries, whole, runs)?;
        let [entry] = entries;
        let request = glance(&first.body);
        let is_wanted = filter.state.is_none_or(|state| is_in_state(state, entry.status, entry.life))
            && filter.text.as_ref().is_none_or(|text| has(text, &entry, &request));
        if !is_wanted {
            continue;
        }
        let below = format!("{id}.");
        let mut children = reader.threads_like(&below, limits::NAMED_CHILDREN + 1)?;
        let has_more_children = children.len() > limits::NAMED_CHILDREN;
        children.truncate(limits::NAMED_CHILDREN);
        let (opened, by, to) = (first.header.time, first.header.from, first.header.to);
        let records = thread.seq;
        part.threads.push(ListedThread {
            entry,
            opened,
            by,
            to,
            request,
            records,
            children,
            has_more_children,
        });
    }
    Ok(part)
}

fn has(text: &str, entry: &ThreadEntry, request: &PayloadGlance) -> bool {
    let text = text.to_lowercase();
    let own = [entry.thread.as_str(), &entry.words, &request.element, &request.words];
    own.iter().any(|own| own.to_lowercase().contains(&text))
}

impl ListedThread {
    /// The entry for programs.
    pub fn as_json(&self) -> Value {
        let mut value = self.entry.as_json();
        if let Some(fields) = value.as_object_mut() {
            let children: Vec<&str> = self.children.iter().map(ThreadId::as_str).collect();
            fields.insert("opened".to_owned(), json!(self.opened.to_string()));
            fields.insert("by".to_owned(), json!(self.by.as_str()));
            fields.insert("to".to_owned(), json!(self.to.as_ref().map(Name::as_str)));
            fields.insert("element".to_owned(), json!(self.request.element));
            fields.insert("records".to_owned(), json!(self.records));
            fields.insert("children".to_owned(), json!(children));
        }
        value
    }
}
