//! Finds a thread from user input: a whole id, the beginning of an id, `@last`, or a child thread of it, as `@last.step`,
//! or the name that the client who asks gave one of its threads, as `@ticket-17`.
//!
//! It never guesses: it refuses ambiguous input and names the candidates. The user's text comes in;
//! an id from the log goes out.

use std::ops::ControlFlow;

use systole_core::rules::core_payload;
use systole_core::types::ids::{Key, Name, ThreadId, one_line};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::thread_choice::{SoughtRoot, ThreadName};

use crate::{causes, limits};

/// Why no thread was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotFound {
    /// The input is empty, which matches everything.
    #[error("the name of the thread is empty")]
    Unnamed,
    /// The log has no thread yet.
    #[error("the log has no thread yet")]
    Empty,
    /// The client has no thread of that name, or nothing can have it; the words say so.
    #[error("{0}")]
    NoName(String),
    /// No thread begins like that.
    #[error("no thread begins with \"{}\"", one_line(.0))]
    None(String),
    /// Several threads begin like that.
    #[error("\"{}\" is the beginning of {} threads{}", one_line(.typed), if *.more { "many" } else { "several" }, list_candidates(.candidates))]
    Ambiguous {
        /// The input.
        typed: String,
        /// Some of the matching threads.
        candidates: Vec<ThreadId>,
        /// Whether there are more.
        more: bool,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
}

fn list_candidates(candidates: &[ThreadId]) -> String {
    let mut text = String::from(":");
    for id in candidates {
        text.push_str("\n  ");
        text.push_str(id.as_str());
    }
    text
}

/// Whether a text is the name of a thread. `@last` and what is below it are none.
pub fn is_name(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(|name| name != "last" && !name.starts_with("last."))
}

/// Whose names count.
#[derive(Clone, Debug)]
pub struct NameOwner {
    /// The client that asks.
    pub client: Name,
    /// The organism; `None` reads its name from the log.
    pub organism: Option<Name>,
}

impl NameOwner {
    /// The operator of the organism that wrote a log.
    pub fn new_operator() -> NameOwner {
        NameOwner { client: Name::new_operator(), organism: None }
    }

    /// The client of a token at an organism elsewhere, as that names both.
    pub fn elsewhere(client: Option<&str>, organism: &str) -> NameOwner {
        let client = client.and_then(|client| Name::parse(client).ok()).unwrap_or_else(Name::new_operator);
        NameOwner { client, organism: Name::parse(organism).ok() }
    }

    /// The client's thread of that name.
    fn find(&self, reader: &dyn LogReader, name: &str) -> Result<ThreadId, NotFound> {
        let name = ThreadName::parse(name).map_err(NotFound::NoName)?;
        let organism = match &self.organism {
            Some(organism) => Some(organism.clone()),
            None => read_organism(reader)?,
        };
        let absent = || NotFound::NoName(format!("{} has no thread with the name {name}", self.client));
        let organism = organism.ok_or_else(absent)?;
        find_named(reader, (&organism, &self.client), &name)?.ok_or_else(absent)
    }
}

/// The thread of that name of a client. Its id is made of the name, so nothing is searched.
pub fn find_named(
    reader: &dyn LogReader,
    (organism, client): (&Name, &Name),
    name: &ThreadName,
) -> Result<Option<ThreadId>, LogFault> {
    let (organism, sender) = (organism.clone(), client.clone());
    let Ok(key) = Key::parse(&name.to_string()) else { return Ok(None) };
    let sought = SoughtRoot { organism, sender, key, name: Some(name.clone()) };
    for digits in 12..=64 {
        let id = sought.find_id(digits);
        let Some((_, first)) = reader.of_thread(&id, 1, 1)?.pop() else { return Ok(None) };
        if sought.is_opened_by(&first.header.from, first.header.key.as_ref()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The organism that wrote the log last.
fn read_organism(reader: &dyn LogReader) -> Result<Option<Name>, LogFault> {
    let sys = ThreadId::new_sys();
    let end = causes::first_after(|seq| Ok(!reader.of_thread(&sys, seq, 1)?.is_empty()))?;
    causes::back(reader, &sys, end, |record| match core_payload::read_organism(&record.body) {
        Some(organism) => ControlFlow::Break(organism),
        None => ControlFlow::Continue(()),
    })
}

/// The thread that the user means. If all matches are in one tree, its root wins over its children.
pub fn find(reader: &dyn LogReader, typed: &str, owner: &NameOwner) -> Result<ThreadId, NotFound> {
    if typed.is_empty() {
        return Err(NotFound::Unnamed);
    }
    if typed == "@last" {
        return last(reader)?.ok_or(NotFound::Empty);
    }
    if let Some(below) = typed.strip_prefix("@last").filter(|below| below.starts_with('.')) {
        let root = last(reader)?.ok_or(NotFound::Empty)?;
        let found = beginning(reader, &format!("{}{below}", root.as_str()))?;
        return found.ok_or_else(|| NotFound::None(typed.chars().take(80).collect()));
    }
    if let Some(name) = typed.strip_prefix('@') {
        return owner.find(reader, name);
    }
    if let Some(found) = beginning(reader, typed)? {
        return Ok(found);
    }
    // Only the hex digits, as a person reads them off a screen.
    if !typed.starts_with("sess-")
        && let Some(found) = beginning(reader, &format!("sess-{typed}"))?
    {
        return Ok(found);
    }
    if reader.list_threads(1)?.is_empty() {
        return Err(NotFound::Empty);
    }
    Err(NotFound::None(typed.chars().take(80).collect()))
}

/// The root of the most recently opened thread.
pub fn last(reader: &dyn LogReader) -> Result<Option<ThreadId>, LogFault> {
    let newest = reader.list_threads(limits::BEGINNINGS)?;
    let root = newest.iter().find(|id| id.parent().is_none());
    Ok(root.cloned().or_else(|| newest.first().map(ThreadId::root_of)))
}

fn beginning(reader: &dyn LogReader, typed: &str) -> Result<Option<ThreadId>, NotFound> {
    let found = reader.threads_like(typed, limits::BEGINNINGS)?;
    let Some(first) = found.first() else { return Ok(None) };
    let is_one_tree = |top: &ThreadId| {
        let below = format!("{}.", top.as_str());
        found.iter().all(|id| id == top || id.as_str().starts_with(&below))
    };
    // Ids are sorted, so a thread comes before its children: if one match is above all others, it is
    // the first. A fully typed id is always certain.
    if first.as_str() == typed || (found.len() < limits::BEGINNINGS && is_one_tree(first)) {
        return Ok(Some(first.clone()));
    }
    let mut candidates: Vec<ThreadId> = Vec::new();
    for id in &found {
        let root = id.root_of();
        // Inside one tree the candidates are its threads; across trees they are the roots.
        let shown = if root.as_str().starts_with(typed) { root } else { id.clone() };
        if !candidates.contains(&shown) {
            candidates.push(shown);
        }
    }
    let more = candidates.len() > limits::NAMED_BEGINNINGS || found.len() == limits::BEGINNINGS;
    candidates.truncate(limits::NAMED_BEGINNINGS);
    Err(NotFound::Ambiguous { typed: typed.chars().take(80).collect(), candidates, more })
}
