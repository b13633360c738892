//! What a record says, as search sees it: its text, and the fields by which it is found.
//!
//! The same function fills the search file and judges each hit, so a hit is judged by what the log says now.

use std::collections::HashMap;

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_kit::{DocumentLimits, namespaces};

use crate::first_cause::FirstCause;
use crate::{glance, texts};
use systole_core::rules::{approval_payload, question};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordCode, RecordKind};
use systole_log::search::{SearchField, SearchTerm};

/// The namespaces whose elements have codes.
const WITH_CODES: [&str; 4] = [namespaces::CORE, namespaces::CODE, namespaces::MCP, namespaces::WORKSPACE];

/// The text of a record and its terms.
pub(super) struct FoundText {
    /// The text, as it reads: without tags, with references resolved.
    pub(super) text: String,
    /// What the record is found by.
    pub(super) terms: Vec<SearchTerm>,
}

/// Reads texts from a log.
pub(super) struct TextReader<'a> {
    reader: &'a dyn LogReader,
    clients: HashMap<ThreadId, Option<String>>,
}

impl<'a> TextReader<'a> {
    pub(super) fn new(reader: &'a dyn LogReader) -> TextReader<'a> {
        TextReader { reader, clients: HashMap::new() }
    }

    /// What a record says.
    pub(super) fn read(&mut self, record: &Record) -> Result<FoundText, LogFault> {
        let h = &record.header;
        let mut found = FoundText { text: String::new(), terms: Vec::with_capacity(10) };
        found.add_payload(&record.body);
        match h.kind {
            RecordKind::Journal => self.add_answer(record, &mut found)?,
            RecordKind::Refusal => {
                let hash = glance::attribute(&record.body, "system-error", "hash");
                if let Some(hash) = hash.and_then(|hash| Digest::parse(&hash).ok())
                    && let Some(refused) = self.reader.intact_document(hash)?
                {
                    found.add_payload(&refused);
                }
            }
            _ => {}
        }
        if h.code == Some(RecordCode::Code(Code::ListenerFailed)) {
            found.add_own_codes(&record.body);
        }
        let mut term = |field, value: &str| found.terms.push(SearchTerm::new(field, value));
        term(SearchField::From, h.from.as_str());
        term(SearchField::Kind, h.kind.as_str());
        if let Some(to) = &h.to {
            term(SearchField::To, to.as_str());
        }
        if let Some(code) = h.code {
            term(SearchField::Code, code.as_str());
        }
        let thread = h.thread.as_str();
        let above = thread.match_indices('.').filter_map(|(at, _)| thread.get(..at));
        above.chain([thread]).for_each(|thread| term(SearchField::Thread, thread));
        if let Some(person) = person(record) {
            term(SearchField::Person, &person);
        }
        if let Some(client) = self.client(record)? {
            term(SearchField::Client, &client);
        }
        Ok(found)
    }

    /// The answer of a model, as it reads: it may be kept in documents, and may be JSON.
    fn add_answer(&self, record: &Record, found: &mut FoundText) -> Result<(), LogFault> {
        let Ok(EarlierEntry { entry: JournalEntry::Result(outcome), .. }) =
            EarlierEntry::from_body(&record.body)
        else {
            return Ok(());
        };
        let mut kept = String::new();
        for hash in outcome.blobs.iter().filter_map(|hash| Digest::parse(hash).ok()) {
            let piece = self.reader.intact_document(hash)?;
            kept.extend(piece.map(|piece| String::from_utf8_lossy(&piece).into_owned()));
        }
        found.add(&kept);
        let whole = if kept.is_empty() { &outcome.text } else { &kept };
        texts::strings(whole).iter().for_each(|text| found.add(text));
        Ok(())
    }

    /// The client that opened the conversation of a record.
    fn client(&mut self, record: &Record) -> Result<Option<String>, LogFault> {
        let h = &record.header;
        if h.thread == ThreadId::new_sys() {
            // A client whose message was refused has no thread.
            return Ok(h.to.as_ref().filter(|_| h.kind == RecordKind::Refusal).map(ToString::to_string));
        }
        let root = h.thread.root_of();
        if let Some(known) = self.clients.get(&root) {
            return Ok(known.clone());
        }
        let client = if h.thread == root && h.seq == 1 {
            Some(h.from.to_string())
        } else {
            let first = self.reader.of_thread(&root, 1, 1)?;
            first.first().map(|(_, first)| first.header.from.to_string())
        };
        if self.clients.len() >= crate::limits::KNOWN_THREADS {
            self.clients.clear();
        }
        self.clients.insert(root, client.clone());
        Ok(client)
    }
}

/// The person who decided, answered, paused or ended something with this record.
fn person(record: &Record) -> Option<String> {
    let h = &record.header;
    match h.kind {
        RecordKind::Approval => approval_payload::read_decided(&record.body).map(|decided| decided.by),
        RecordKind::Steer => {
            let by = approval_payload::read_steering(&record.body).map(|(by, _)| by);
            by.or_else(|| Some(h.from.to_string()))
        }
        RecordKind::Terminal => h.to.as_ref().map(ToString::to_string),
        RecordKind::Message => question::read_said(&record.body).and_then(|said| said.by),
        _ => None,
    }
}

impl FoundText {
    fn add(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Adds the codes that a listener gave to its failure, and those of what failed below it.
    fn add_own_codes(&mut self, body: &[u8]) {
        let Some(error) = glance::read_error(body) else { return };
        let places = FirstCause::of(&error).places;
        let codes = places.iter().map(|place| &place.code).filter(|code| code.contains('.'));
        self.terms.extend(codes.map(|code| SearchTerm::new(SearchField::Code, code)));
    }

    /// Adds the text and the attributes of a payload; a tag counts as a blank. Bytes that are no payload are taken as
    /// they are.
    fn add_payload(&mut self, body: &[u8]) {
        let Ok(mut gate) = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP) else {
            return self.add(&String::from_utf8_lossy(body));
        };
        let mut text = String::with_capacity(body.len());
        let mut is_root = true;
        loop {
            match gate.read_step() {
                Ok(GateStep::Open(tag)) => {
                    if is_root {
                        is_root = false;
                        let named = gate.find_namespace(&tag).map(|ns| format!("{{{ns}}}{}", tag.local));
                        let names = named.into_iter().chain([tag.local.to_owned()]);
                        self.terms.extend(names.map(|name| SearchTerm::new(SearchField::Element, name)));
                    }
                    let is_ours = gate.find_namespace(&tag).is_some_and(|ns| WITH_CODES.contains(&ns));
                    for attribute in gate.attributes() {
                        if is_ours && attribute.prefix.is_empty() && attribute.local == "code" {
                            self.terms.push(SearchTerm::new(SearchField::Code, attribute.value()));
                        }
                        text.push(' ');
                        text.push_str(&attribute.value());
                    }
                    text.push(' ');
                }
                Ok(GateStep::Text(piece)) => piece.append_to(&mut text),
                Ok(GateStep::Close) => text.push(' '),
                Ok(GateStep::Instruction) => {}
                Ok(GateStep::Done) => break,
                Err(_) => {
                    text = String::from_utf8_lossy(body).into_owned();
                    break;
                }
            }
        }
        self.add(text.trim());
    }
}
