//! Finds a thread from user input: a whole id, the beginning of an id, `@last`, or a child thread of it, as `@last.step`.
//!
//! It never guesses: it refuses ambiguous input and names the candidates. The user's text comes in;
//! an id from the log goes out.

use systole_core::types::ids::{ThreadId, one_line};
use systole_core::types::ports::{LogFault, LogReader};

use crate::limits;

/// Why no thread was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotFound {
    /// The input is empty, which matches everything.
    #[error("the name of the thread is empty")]
    Unnamed,
    /// The log has no thread yet.
    #[error("the log has no thread yet")]
    Empty,
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

/// The thread that the user means. If all matches are in one tree, its root wins over its children.
pub fn find(reader: &dyn LogReader, typed: &str) -> Result<ThreadId, NotFound> {
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
