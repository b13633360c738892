//! Finding the thread that somebody means: a whole id, the beginning of one, or `@last`.
//!
//! It never guesses: what may mean two threads is refused with both. What a person typed comes in; an
//! id of the log goes out.

use systole_core::types::ids::{ThreadId, one_line};
use systole_core::types::ports::{LogFault, LogReader};

/// Threads looked at for one beginning. More than this of one root's children may follow it; more
/// roots than this mean that the beginning was too short anyway.
const LOOKED_AT: usize = 1000;
/// Candidates that are named.
const NAMED: usize = 8;

/// Why no thread was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotFound {
    /// Nothing was typed, with which all of them begin.
    #[error("the name of the thread is empty")]
    Unnamed,
    /// The log has no thread yet.
    #[error("the log has no thread yet")]
    Empty,
    /// None begins like that.
    #[error("no thread begins with \"{}\"", one_line(.0))]
    None(String),
    /// Several do.
    #[error("\"{}\" is the beginning of {} threads{}", one_line(.typed), if *.more { "many" } else { "several" }, listed(.candidates))]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// Some of those that begin like that.
        candidates: Vec<ThreadId>,
        /// Whether there are more.
        more: bool,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
}

fn listed(candidates: &[ThreadId]) -> String {
    let mut text = String::from(":");
    for id in candidates {
        text.push_str("\n  ");
        text.push_str(id.as_str());
    }
    text
}

/// The thread that was meant. A root is meant rather than its children where all that begin like that
/// are of one tree.
pub fn find(reader: &dyn LogReader, typed: &str) -> Result<ThreadId, NotFound> {
    if typed.is_empty() {
        return Err(NotFound::Unnamed);
    }
    if typed == "@last" {
        return last(reader)?.ok_or(NotFound::Empty);
    }
    if let Some(found) = beginning(reader, typed)? {
        return Ok(found);
    }
    // The hex digits alone, as somebody reads them off a screen.
    if !typed.starts_with("sess-")
        && let Some(found) = beginning(reader, &format!("sess-{typed}"))?
    {
        return Ok(found);
    }
    if reader.threads(1)?.is_empty() {
        return Err(NotFound::Empty);
    }
    Err(NotFound::None(typed.chars().take(80).collect()))
}

/// The root of the thread that was opened last.
pub fn last(reader: &dyn LogReader) -> Result<Option<ThreadId>, LogFault> {
    let newest = reader.threads(LOOKED_AT)?;
    let root = newest.iter().find(|id| id.parent().is_none());
    Ok(root.cloned().or_else(|| newest.first().map(ThreadId::root_of)))
}

fn beginning(reader: &dyn LogReader, typed: &str) -> Result<Option<ThreadId>, NotFound> {
    let found = reader.threads_like(typed, LOOKED_AT)?;
    let Some(first) = found.first() else { return Ok(None) };
    let is_one_tree = |top: &ThreadId| {
        let below = format!("{}.", top.as_str());
        found.iter().all(|id| id == top || id.as_str().starts_with(&below))
    };
    // Ids come sorted, so a thread stands before its children: the first is the one above all others
    // if any is. It is meant for certain if it was typed whole.
    if first.as_str() == typed || (found.len() < LOOKED_AT && is_one_tree(first)) {
        return Ok(Some(first.clone()));
    }
    let mut candidates: Vec<ThreadId> = Vec::new();
    for id in &found {
        let root = id.root_of();
        // Inside one tree its threads are the choice; among trees their roots are.
        let shown = if root.as_str().starts_with(typed) { root } else { id.clone() };
        if !candidates.contains(&shown) {
            candidates.push(shown);
        }
    }
    let more = candidates.len() > NAMED || found.len() == LOOKED_AT;
    candidates.truncate(NAMED);
    Err(NotFound::Ambiguous { typed: typed.chars().take(80).collect(), candidates, more })
}
