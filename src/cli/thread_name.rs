//! Which thread a person means: a whole id, the beginning of one that only one tree has, or `@last`.
//! Looks into the log and changes nothing.

use std::path::Path;

use super::exit::Exit;
use super::here;
use super::screen::Screen;
use crate::edges::log::sqlite;
use crate::words::ids::ThreadId;
use crate::words::ports::{LogFault, LogReader};

/// Threads that are looked at when a beginning is given: a tree may have many below its root.
const LIKE: usize = 64;

/// Why a text names no thread.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum Unnamed {
    #[error("the log has no thread yet")]
    Empty,
    #[error("no thread begins with {0:?}")]
    Unknown(String),
    #[error("{text:?} is the beginning of several threads: {some}")]
    Ambiguous { text: String, some: String },
}

/// The thread of a log that a text means.
pub(super) fn find(screen: Screen, log: &Path, text: &str) -> Result<ThreadId, Exit> {
    if !log.exists() {
        return Err(
            screen.fail(Exit::Unavailable, [&log.display().to_string(), ": there is no such log"].concat())
        );
    }
    let found = sqlite::open_reading(log).and_then(|reader| named(&reader, text));
    match found {
        Ok(Ok(thread)) => Ok(thread),
        Ok(Err(unnamed)) => Err(screen.fail(Exit::Payload, unnamed)),
        Err(fault) => Err(here::log_fault(screen, &fault)),
    }
}

fn named(reader: &dyn LogReader, text: &str) -> Result<Result<ThreadId, Unnamed>, LogFault> {
    if text == "@last" {
        return Ok(reader.threads(1)?.pop().map(|thread| thread.root_of()).ok_or(Unnamed::Empty));
    }
    let prefix = if text.starts_with("sess-") { text.to_owned() } else { ["sess-", text].concat() };
    let mut like = reader.threads_like(&prefix, LIKE)?;
    // Ids sort so that a thread comes before those that it spawned.
    let full = like.len() == LIKE;
    let Some(first) = like.first().cloned() else { return Ok(Err(Unnamed::Unknown(text.to_owned()))) };
    like.retain(|thread| !thread.is_within(&first));
    // Where the page is full of one tree, another may follow unseen.
    if first.as_str() == prefix || like.is_empty() && !full {
        return Ok(Ok(first));
    }
    let some: Vec<&str> = std::iter::once(&first).chain(&like).take(3).map(ThreadId::as_str).collect();
    Ok(Err(Unnamed::Ambiguous { text: text.to_owned(), some: some.join(", ") }))
}
