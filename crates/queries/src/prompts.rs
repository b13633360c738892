//! Prompts as they were sent: the chain of documents behind the hash in a journal's start entry.
//!
//! A thread and a record's number come in; links go out, the base first. Every link is checked against its hash; a
//! mismatch is reported and never shown as genuine.

use std::sync::Arc;

use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_kit::prompt_link;

use systole_core::types::body_parts::ERASED_TEXT;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{JournalEffect, Record, RecordCode, RecordKind};

/// A model call from the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournaledCall {
    /// The record.
    pub seq: u64,
    /// The listener that called the model.
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
pub enum PromptFault {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// A link is missing.
    #[error("the log does not hold {0}, a link of the prompt's chain")]
    Missing(String),
    /// A link was erased.
    #[error("{0}, a link of the prompt's chain, is erased")]
    Erased(String),
    /// A link is something else than its hash says.
    #[error("{0}, a link of the prompt's chain, is not the text that its hash names")]
    Altered(String),
    /// There are more links than any prompt has.
    #[error("the prompt's chain does not end")]
    Endless,
}

/// The model call that belongs to a record: the record itself, or the last call of its sender before it. `None` if
/// the thread has none up to there.
pub fn find_called(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<JournaledCall>, LogFault> {
    let mut last: Vec<JournaledCall> = Vec::new();
    let mut speaker = None;
    for placed in reader.records_of(thread, 1) {
        let (_, record) = placed?;
        if record.header.seq > seq {
            break;
        }
        if let Some(called) = read_started(&record) {
            last.retain(|other| other.listener != called.listener);
            last.push(called);
        }
        speaker = Some(record.header.from);
    }
    let own = last.iter().position(|called| Some(&called.listener) == speaker.as_ref());
    Ok(own.map(|at| last.swap_remove(at)).or_else(|| last.pop()))
}

fn read_started(record: &Record) -> Option<JournaledCall> {
    let h = &record.header;
    if h.kind != RecordKind::Journal || h.code != Some(RecordCode::Journaling(JournalEffect::Started)) {
        return None;
    }
    let Ok(EarlierEntry { entry: JournalEntry::Started(started), .. }) =
        EarlierEntry::from_body(&record.body)
    else {
        return None;
    };
    let (model, prompt) = (started.model, started.prompt);
    Some(JournaledCall { seq: h.seq, listener: h.from.clone(), model, turn: h.turn, prompt })
}

/// The link of a prompt before this one.
pub fn find_before(link: &[u8]) -> Option<Digest> {
    let before = prompt_link::find_before(std::str::from_utf8(link).ok()?)?;
    Digest::parse(&before).ok()
}

/// The links of a prompt, first one first.
pub fn links(reader: &dyn LogReader, prompt: &str) -> Result<Vec<Arc<str>>, PromptFault> {
    let mut links = Vec::new();
    let mut next = Some(prompt.to_owned());
    while let Some(hash) = next {
        if links.len() == crate::limits::CHAIN_LINKS {
            return Err(PromptFault::Endless);
        }
        let digest = Digest::parse(&hash).map_err(|_| PromptFault::Altered(hash.clone()))?;
        let Some(bytes) = reader.read_document(digest)? else { return Err(PromptFault::Missing(hash)) };
        let is_same = Digest::hash_bytes(&bytes) == digest;
        if !is_same && *bytes == *ERASED_TEXT.as_bytes() {
            return Err(PromptFault::Erased(hash));
        }
        let text = std::str::from_utf8(&bytes).ok().filter(|_| is_same);
        let Some(text) = text else { return Err(PromptFault::Altered(hash)) };
        next = prompt_link::find_before(text);
        links.push(Arc::from(text));
    }
    links.reverse();
    Ok(links)
}
