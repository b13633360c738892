//! When two records are equal, in two runs of the same thing: everything counts except what differs in every run. Each
//! exception is one line here, with its reason.
//!
//! Not compared: message ids, times, salts, leaves, heads, and positions in the log and in a thread. A record that
//! refers to another one by its id or its leaf is compared by the place of that other record.

use std::collections::HashMap;
use std::fmt;

use systole_core::rules::core_payload;
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, MessageId, ThreadId};
use systole_core::types::record::{JournalEffect, MessageRole, Record, RecordCode, RecordKind};
use systole_kit::journal::EarlierEntry;
use systole_queries::comparable::comparable_body;

/// Where a record is: thread, call, turn, item, kind, and its number among the records that share all of these. The
/// thread is named relative to the root of its tree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordPlace {
    /// The thread below the root; empty for the root.
    pub thread: String,
    /// The call.
    pub call: String,
    /// Its turn.
    pub turn: Option<u32>,
    /// The item.
    pub ordinal: Option<u32>,
    /// The kind.
    pub kind: &'static str,
    /// From 1.
    pub nth: usize,
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordPlace { thread, call, turn, ordinal, kind, nth } = self;
        if !thread.is_empty() {
            write!(f, "thread …{thread} ")?;
        }
        match call.as_str() {
            "" => write!(f, "the thread itself")?,
            call => write!(f, "call {call}")?,
        }
        if let Some(turn) = turn {
            write!(f, " turn {turn}")?;
        }
        if let Some(ordinal) = ordinal {
            write!(f, " item {ordinal}")?;
        }
        write!(f, ", {kind}")?;
        if *nth > 1 { write!(f, " number {nth}") } else { Ok(()) }
    }
}

/// What is compared of a record, apart from its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordParts {
    /// The meaning.
    pub code: &'static str,
    /// The sender and the addressee.
    pub between: (String, Option<String>),
    /// The key of a message from outside.
    pub key: Option<String>,
    /// The place of its cause.
    pub cause: Option<String>,
    /// The place of the record that spawned its thread.
    pub origin: Option<String>,
    /// The body, without what differs in every run.
    pub body: String,
}

/// The records that are compared, with their places. Counts of refusals are not among them, because the refusals are
/// not recorded, and neither is the marker of a fork.
pub fn place_records<'r>(
    root: &ThreadId,
    records: impl Iterator<Item = &'r Record>,
) -> Vec<(RecordPlace, &'r Record)> {
    let mut met: HashMap<RecordPlace, usize> = HashMap::new();
    let mut placed = Vec::new();
    for record in records.filter(|record| is_compared(root, record)) {
        let mut place = find_place(root, record);
        let nth = met.entry(place.clone()).or_default();
        *nth += 1;
        place.nth = *nth;
        placed.push((place, record));
    }
    placed
}

fn is_compared(root: &ThreadId, record: &Record) -> bool {
    let h = &record.header;
    let is_marker = h.code == Some(RecordCode::Role(MessageRole::Told));
    h.thread.is_within(root) && !is_marker && (h.call.is_some() || !is_count(record))
}

/// Whether a record counts refusals that were not recorded one by one.
pub(super) fn is_count(record: &Record) -> bool {
    let is_refusal = record.header.kind == RecordKind::Refusal;
    is_refusal && core_payload::read_attributes(&record.body, "throttled", ["count"]).is_some()
}

fn find_place(root: &ThreadId, record: &Record) -> RecordPlace {
    let h = &record.header;
    RecordPlace {
        thread: h.thread.as_str().strip_prefix(root.as_str()).unwrap_or_default().to_owned(),
        call: h.call.as_ref().map_or("", CallPath::as_str).to_owned(),
        turn: h.turn,
        ordinal: h.ordinal,
        kind: h.kind.as_str(),
        nth: 0,
    }
}

/// Finds the places that records refer to.
pub struct PlaceIndex {
    by_id: HashMap<MessageId, String>,
    by_leaf: HashMap<Digest, String>,
    /// The entries of each attempt, for counting them from 1.
    entries: HashMap<EntryAttempt, Vec<u64>>,
    root: ThreadId,
}

impl PlaceIndex {
    /// The index of these records.
    pub fn from_records(root: &ThreadId, placed: &[(RecordPlace, &Record)]) -> PlaceIndex {
        let (mut by_id, mut by_leaf) = (HashMap::new(), HashMap::new());
        let mut entries: HashMap<_, Vec<u64>> = HashMap::new();
        for (place, record) in placed {
            by_id.insert(record.header.id, place.to_string());
            by_leaf.insert(record.leaf, place.to_string());
            if let Some((attempt, id)) = read_entry(record) {
                entries.entry(attempt).or_default().push(id);
            }
        }
        entries.values_mut().for_each(|numbers| numbers.sort_unstable());
        PlaceIndex { by_id, by_leaf, entries, root: root.clone() }
    }

    /// What is compared of a record. `has_keys` says whether keys are compared.
    pub fn find_parts(&self, record: &Record, has_keys: bool) -> RecordParts {
        let h = &record.header;
        let absent = || "a record that is not compared".to_owned();
        RecordParts {
            code: h.code.map_or("", RecordCode::as_str),
            between: (h.from.to_string(), h.to.as_ref().map(ToString::to_string)),
            key: h.key.as_ref().filter(|_| has_keys).map(|key| key.as_str().to_owned()),
            cause: h.cause.map(|id| self.by_id.get(&id).cloned().unwrap_or_else(absent)),
            origin: h.origin.map(|leaf| self.by_leaf.get(&leaf).cloned().unwrap_or_else(absent)),
            body: self.normalize_body(record),
        }
    }

    fn normalize_body(&self, record: &Record) -> String {
        let body = comparable_body(record).replace(self.root.as_str(), "sess-…");
        match read_entry(record) {
            Some((attempt, _)) => self.renumber_entry(&attempt, body),
            None => body,
        }
    }

    /// A journal entry with its number counted within its attempt: a listener counts entries and questions in one
    /// sequence, and how often it asks may depend on when a delivery came.
    fn renumber_entry(&self, attempt: &EntryAttempt, body: String) -> String {
        let numbers = self.entries.get(attempt).map_or(&[][..], Vec::as_slice);
        [" id=\"", " of=\""].into_iter().fold(body, |body, part| {
            let number = find_value(&body, part).and_then(|text| text.parse::<u64>().ok());
            let place = number.and_then(|number| numbers.binary_search(&number).ok());
            match (number, place) {
                (Some(number), Some(place)) => {
                    body.replacen(&format!("{part}{number}\""), &format!("{part}{}\"", place + 1), 1)
                }
                _ => body,
            }
        })
    }
}

/// Thread, call, turn and attempt of a journal entry.
type EntryAttempt = (ThreadId, Option<CallPath>, Option<u32>, u32);

/// The attempt and the number of a journal entry.
fn read_entry(record: &Record) -> Option<(EntryAttempt, u64)> {
    let h = &record.header;
    if h.kind != RecordKind::Journal {
        return None;
    }
    let EarlierEntry { attempt, id, .. } = EarlierEntry::from_body(&record.body).ok()?;
    Some(((h.thread.clone(), h.call.clone(), h.turn, attempt), id))
}

/// The hash of the prompt in the record of a model call.
pub(super) fn find_prompt(record: &Record) -> Option<String> {
    let is_call = record.header.code == Some(RecordCode::Journaling(JournalEffect::Started));
    find_value(&String::from_utf8_lossy(&record.body), " prompt=\"").filter(|_| is_call).map(str::to_owned)
}

/// Whether two bodies are the same refusal in other words.
pub(super) fn is_reworded(record: &Record, one: &str, other: &str) -> bool {
    let is_error = |body: &str| body.starts_with("<system-error ");
    let code = |body: &str| find_value(body, " code=\"").map(str::to_owned);
    let is_refusal = matches!(record.header.code, Some(RecordCode::Code(_)));
    is_refusal && is_error(one) && is_error(other) && code(one).is_some() && code(one) == code(other)
}

/// Whether a record refuses a payload because of its schema or its form.
pub(super) fn find_refusal(record: &Record) -> Option<Code> {
    match (record.header.kind, record.header.code) {
        (RecordKind::Refusal, Some(RecordCode::Code(code))) if code.family() == "payload" => Some(code),
        _ => None,
    }
}

fn find_value<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    text.split_once(begin)?.1.split_once('"').map(|(value, _)| value)
}

/// The text without the marks of the core's own tags, which derive from the secret of the log.
pub(super) fn without_marks(text: &str) -> String {
    let mut parts = text.split("core-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str("core-");
        out.push_str(if digits == 8 { part.get(8..).unwrap_or_default() } else { part });
    }
    out
}
