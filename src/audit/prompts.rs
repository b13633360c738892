//! Prompts as they were sent: the chain of documents behind the hash that a journal's start names.
//!
//! A thread and a record's number come in, links come out, the base first. Every link is held to the hash that names
//! it; what does not fit is said and never shown as if it did.

use std::sync::Arc;

use systole_kit::journal::{Entry, Recalled};

use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Journaling, Kind, Mark, Record};

/// Records read at once.
const PAGE: usize = 64;
/// Links of one chain. A call has at most a thousand turns, and each adds one.
const LONGEST: usize = 100_000;

/// A model's call, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The record.
    pub seq: u64,
    /// Whose model it was.
    pub listener: Name,
    /// The model.
    pub model: String,
    /// The turn of the call.
    pub turn: Option<u32>,
    /// The hash of the prompt.
    pub prompt: String,
}

/// Why a prompt cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Unshown {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// A link is missing.
    #[error("the log does not hold {0}, a link of the prompt's chain")]
    Missing(String),
    /// A link is something else than its hash says.
    #[error("{0}, a link of the prompt's chain, is not the text that its hash names")]
    Altered(String),
    /// There are more links than any prompt has.
    #[error("the prompt's chain does not end")]
    Endless,
}

/// The call to a model that belongs to a record: itself, or the last of whoever said it before that. None where the
/// thread has none up to there.
pub fn called(reader: &dyn LogReader, thread: &ThreadId, seq: u64) -> Result<Option<Called>, LogFault> {
    let mut last: Vec<Called> = Vec::new();
    let mut speaker = None;
    let mut from = 1;
    'all: loop {
        let page = reader.of_thread(thread, from, PAGE)?;
        if page.is_empty() {
            break;
        }
        for (_, record) in &page {
            if record.header.seq > seq {
                break 'all;
            }
            speaker = Some(record.header.from.clone());
            if let Some(called) = started(record) {
                last.retain(|other| other.listener != called.listener);
                last.push(called);
            }
            from = record.header.seq + 1;
        }
    }
    let own = last.iter().position(|called| Some(&called.listener) == speaker.as_ref());
    Ok(own.map(|at| last.swap_remove(at)).or_else(|| last.pop()))
}

fn started(record: &Record) -> Option<Called> {
    let h = &record.header;
    if h.kind != Kind::Journal || h.code != Some(Mark::Journaling(Journaling::Started)) {
        return None;
    }
    let Ok(Recalled { entry: Entry::Started(started), .. }) = Recalled::read(&record.body) else {
        return None;
    };
    let (model, prompt) = (started.model, started.prompt);
    Some(Called { seq: h.seq, listener: h.from.clone(), model, turn: h.turn, prompt })
}

/// The links of a prompt, the first one first. `before` says which link a text stands on.
pub fn links(
    reader: &dyn LogReader,
    prompt: &str,
    before: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Arc<str>>, Unshown> {
    let mut links = Vec::new();
    let mut next = Some(prompt.to_owned());
    while let Some(hash) = next {
        if links.len() == LONGEST {
            return Err(Unshown::Endless);
        }
        let digest = Digest::parse(&hash).map_err(|_| Unshown::Altered(hash.clone()))?;
        let Some(bytes) = reader.document(digest)? else { return Err(Unshown::Missing(hash)) };
        let text = std::str::from_utf8(&bytes).ok().filter(|_| Digest::of(&bytes) == digest);
        let Some(text) = text else { return Err(Unshown::Altered(hash)) };
        next = before(text);
        links.push(Arc::from(text));
    }
    links.reverse();
    Ok(links)
}
