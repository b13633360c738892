//! Finds a text in a log: the first record that contains it, and who passed it on.
//!
//! It reads the whole log and checks every record against its chain. So the claim that no earlier record contains the
//! text is as strong as the log. It searches payloads, refused payloads, model answers, and prompts. A text comes in;
//! places go out.

use std::collections::HashMap;

use serde_json::{Value, json};
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::glance;
use crate::limits;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::record::{Record, RecordKind, head_zero};
use systole_show::columns::{cut, wrapped};

/// The text to find.
pub struct SearchText {
    typed: String,
    words: String,
}

/// How a record contains a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextUse {
    /// In its payload.
    Says,
    /// In the payload that it refuses.
    Refuses,
    /// In a model's answer.
    Answered,
    /// In a prompt to a model.
    Prompted,
}

impl TextUse {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            TextUse::Says => "says",
            TextUse::Refuses => "refuses",
            TextUse::Answered => "answered",
            TextUse::Prompted => "prompted",
        }
    }
}

/// One way that a text took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextRoute {
    /// How its records contain it.
    pub how: TextUse,
    /// Who sent them.
    pub from: Name,
    /// The receiver.
    pub to: Option<Name>,
    /// The first of them.
    pub first: (ThreadId, u64),
    /// The number of records.
    pub records: u64,
}

/// The search result.
#[derive(Default)]
pub struct SearchResult {
    /// The first record that contains the text.
    pub first: Option<PlacedRecord>,
    /// The number of records.
    pub records: u64,
    /// The ways it took, by their first records.
    pub ways: Vec<TextRoute>,
    /// Whether there are more ways.
    pub more: bool,
    /// Documents that records name but the log does not have, so they cannot be searched.
    pub missing: u64,
}

/// A link of a prompt's chain: the hash of the previous link, and its texts.
pub struct PromptLink {
    /// The previous link.
    pub before: Option<String>,
    /// Its texts, as the model read them.
    pub texts: Vec<String>,
}

/// Reads a link of a prompt's chain; `None` if the text is not a link.
pub type ReadLink<'a> = &'a dyn Fn(&str) -> Option<PromptLink>;

/// Collapses white space to one blank.
fn space_out(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with XML escapes decoded.
fn decode_text(text: &str) -> String {
    let marks =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", "\n"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (mark, meant)| text.replace(mark, meant))
}

impl SearchText {
    /// A search for that text; `None` if it is blank.
    pub fn new(typed: &str) -> Option<SearchText> {
        let words = space_out(typed);
        (!words.is_empty()).then(|| SearchText { typed: typed.to_owned(), words })
    }

    fn is_in(&self, text: &str) -> bool {
        text.contains(&self.typed) || space_out(text).contains(&self.words)
    }

    /// Whether a text that a model wrote or read contains it; such a text may hold XML that is escaped twice.
    fn is_in_model_text(&self, text: &str) -> bool {
        self.is_in(text) || text.contains('&') && self.is_in(&decode_text(text))
    }

    /// Whether a payload contains it: in its bytes, in its text, or in an attribute. A tag counts as a blank.
    fn is_in_payload(&self, body: &[u8]) -> bool {
        let raw = String::from_utf8_lossy(body);
        if raw.contains(&self.typed) {
            return true;
        }
        let Ok(mut gate) = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP) else { return false };
        let mut text = String::with_capacity(body.len());
        while let Ok(step) = gate.read_step() {
            match step {
                GateStep::Open(_) => {
                    if gate.attributes().iter().any(|attribute| self.is_in(&attribute.value())) {
                        return true;
                    }
                    text.push(' ');
                }
                GateStep::Text(piece) => piece.append_to(&mut text),
                GateStep::Close => text.push(' '),
                GateStep::Instruction => {}
                GateStep::Done => break,
            }
        }
        self.is_in(&text)
    }
}

/// A search through a log.
struct Search<'a> {
    reader: &'a dyn LogReader,
    wanted: &'a SearchText,
    read_link: ReadLink<'a>,
    /// Prompts and links that were searched, and whether they contain the text.
    prompts: HashMap<Digest, bool>,
    /// The head of every thread that was read.
    heads: HashMap<ThreadId, (u64, Digest)>,
    found: SearchResult,
}

/// Searches the whole log.
pub fn search(
    reader: &dyn LogReader,
    wanted: &SearchText,
    read_link: ReadLink<'_>,
) -> Result<SearchResult, LogFault> {
    let (prompts, heads) = (HashMap::new(), HashMap::new());
    let mut search = Search { reader, wanted, read_link, prompts, heads, found: SearchResult::default() };
    for placed in reader.records_after(Position(0)).up_to(reader.read_last()?) {
        search.take(placed?)?;
    }
    Ok(search.found)
}

fn make_damage(position: Position, why: String) -> LogFault {
    LogFault::Damaged { path: "the log".to_owned(), position, why }
}

impl Search<'_> {
    fn take(&mut self, (position, record): PlacedRecord) -> Result<(), LogFault> {
        let h = &record.header;
        let zero = || (0, head_zero(&h.thread));
        let (seq, head) = self.heads.get(&h.thread).copied().unwrap_or_else(zero);
        if h.seq != seq + 1 || !record.is_valid_after(head) {
            let why = format!("record {} of thread {} does not follow the one before it", h.seq, h.thread);
            return Err(make_damage(position, why));
        }
        self.heads.insert(h.thread.clone(), (h.seq, record.head));
        let Some(how) = self.how(position, &record)? else { return Ok(()) };
        self.found.records += 1;
        let to = h.to.clone().filter(|_| h.from != Name::new_core() || how != TextUse::Refuses);
        let is_its = |way: &TextRoute| way.how == how && way.from == h.from && way.to == to;
        let known = self.found.ways.iter().position(is_its);
        if let Some(way) = known.and_then(|at| self.found.ways.get_mut(at)) {
            way.records += 1;
        } else if self.found.ways.len() == limits::WAYS {
            self.found.more = true;
        } else {
            let first = (h.thread.clone(), h.seq);
            self.found.ways.push(TextRoute { how, from: h.from.clone(), to, first, records: 1 });
        }
        self.found.first.get_or_insert((position, record));
        Ok(())
    }

    fn how(&mut self, position: Position, record: &Record) -> Result<Option<TextUse>, LogFault> {
        if record.header.kind == RecordKind::Journal {
            return self.of_model(position, record);
        }
        if record.header.kind == RecordKind::Refusal
            && let Some(hash) = glance::attribute(&record.body, "system-error", "hash")
            && let Ok(hash) = Digest::parse(&hash)
        {
            match self.document(position, hash)? {
                Some(refused) if self.wanted.is_in_payload(&refused) => return Ok(Some(TextUse::Refuses)),
                _ => {}
            }
        }
        Ok(self.wanted.is_in_payload(&record.body).then_some(TextUse::Says))
    }

    fn of_model(&mut self, position: Position, record: &Record) -> Result<Option<TextUse>, LogFault> {
        Ok(match EarlierEntry::from_body(&record.body).map(|recalled| recalled.entry) {
            Ok(JournalEntry::Result(outcome)) => {
                let mut text = outcome.text;
                for hash in outcome.blobs.iter().filter_map(|hash| Digest::parse(hash).ok()) {
                    let piece = self.document(position, hash)?;
                    text.extend(piece.map(|piece| String::from_utf8_lossy(&piece).into_owned()));
                }
                let texts = [text.as_str()].into_iter().map(str::to_owned).chain(strings(&text));
                let is_in = texts.into_iter().any(|text| self.wanted.is_in_model_text(&text));
                is_in.then_some(TextUse::Answered)
            }
            Ok(JournalEntry::Started(started)) => {
                let is_in = match Digest::parse(&started.prompt) {
                    Ok(hash) => self.prompt(position, hash)?,
                    Err(_) => false,
                };
                is_in.then_some(TextUse::Prompted)
            }
            Err(_) => self.wanted.is_in_payload(&record.body).then_some(TextUse::Says),
        })
    }

    /// Whether a prompt contains the text: in its last link, or in an earlier one. Each is searched once.
    fn prompt(&mut self, position: Position, hash: Digest) -> Result<bool, LogFault> {
        let mut chain = Vec::new();
        let mut next = Some(hash);
        let mut holds = false;
        while let Some(hash) = next.take() {
            if let Some(known) = self.prompts.get(&hash) {
                holds = *known;
                break;
            }
            let bytes = self.document(position, hash)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            // A listener that is not one of our agents may store prompts in another form.
            let whole = || PromptLink { before: None, texts: vec![text.to_string()] };
            let PromptLink { before, texts } = (self.read_link)(&text).unwrap_or_else(whole);
            chain.push((hash, texts.iter().any(|text| self.wanted.is_in_model_text(text))));
            next = before.and_then(|before| Digest::parse(&before).ok());
        }
        // From the base on: every link contains the text of the links before it.
        for (hash, is_in) in chain.into_iter().rev() {
            holds |= is_in;
            self.prompts.insert(hash, holds);
        }
        Ok(holds)
    }

    fn document(
        &mut self,
        position: Position,
        hash: Digest,
    ) -> Result<Option<std::sync::Arc<[u8]>>, LogFault> {
        let bytes = self.reader.read_document(hash)?;
        match &bytes {
            None => self.found.missing += 1,
            Some(bytes) if Digest::hash_bytes(bytes) != hash => {
                return Err(make_damage(position, format!("the document {hash} does not match its hash")));
            }
            Some(_) => {}
        }
        Ok(bytes)
    }
}

/// The strings in a JSON text or in JSON lines; empty for anything else.
pub fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => gather(&value, &mut found),
        Err(_) => {
            let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            values.for_each(|value| gather(&value, &mut found));
        }
    }
    found
}

fn gather(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            // The arguments of a native call are JSON in a string.
            if text.starts_with(['{', '[']) {
                found.extend(strings(text));
            }
            found.push(text.clone());
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The result, in lines for a terminal.
pub fn lines(found: &SearchResult) -> Vec<String> {
    let mut lines = vec![format!("{} the text; who said it, earliest first:", count_records(found.records))];
    for way in found.ways.iter().take(limits::NAMED_WAYS) {
        let (thread, seq) = (way.first.0.as_str(), way.first.1.to_string());
        let from = cut(way.from.as_str(), limits::NAME_COLUMNS);
        let words = match (way.how, &way.to) {
            (TextUse::Says, Some(to)) => {
                format!("{} → {}", from.as_str(), cut(to.as_str(), limits::NAME_COLUMNS))
            }
            (TextUse::Says, None) => from,
            (TextUse::Refuses, _) => "in a payload that was refused".to_owned(),
            (TextUse::Answered, _) => format!("the model of {from} answered it"),
            (TextUse::Prompted, _) => format!("the model of {from} was shown it"),
        };
        let more = if way.records > 1 { format!(", {} times", way.records) } else { String::new() };
        lines.extend(wrapped("  ", 6, &format!("{thread}@{seq}  {words}{more}")));
    }
    if found.ways.len() > limits::NAMED_WAYS || found.more {
        let more = (found.ways.len() - limits::NAMED_WAYS.min(found.ways.len())).to_string();
        let or_more = if found.more { " or more" } else { "" };
        lines.push(format!("  and {more}{or_more} other ways"));
    }
    lines
}

fn count_records(records: u64) -> String {
    if records == 1 { "1 record holds".to_owned() } else { format!("{records} records hold") }
}

/// The result, for programs.
pub fn as_json(text: &str, found: &SearchResult) -> Value {
    let way = |way: &TextRoute| {
        let first = format!("{}@{}", way.first.0.as_str(), way.first.1);
        json!({
            "how": way.how.as_str(),
            "from": way.from.as_str(),
            "to": way.to.as_ref().map(Name::as_str),
            "first": first,
            "records": way.records,
        })
    };
    let ways: Vec<Value> = found.ways.iter().map(way).collect();
    json!({"text": text, "records": found.records, "ways": ways, "more": found.more, "missing": found.missing})
}
