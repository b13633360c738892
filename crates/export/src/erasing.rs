//! What has to go when values or bodies are erased, and what stays although it tells something of them.
//!
//! Positions come in; records as they are afterwards go out, or why nothing may be erased. It writes nothing. A value
//! that is erased somewhere is erased wherever it is a sensitive value. Journal entries, refusals, outcomes and
//! documents that repeat it go too. Other bodies that repeat it are named: only a person can say whether they may go.

mod again;
mod need;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};

use again::read_at;
use need::NeededRecord;
use spelling::ErasedTexts;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::limits::LARGE_BODY;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{
    ApprovalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};
use systole_kit::file_reference;
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_log::sqlite::{LogErasure, SqliteReader};
use systole_queries::glance::attribute;

pub use crate::limits::{SHORTEST, SHORTEST_TEXT};
pub use again::{CopyUnfit, ErasedElsewhere};
pub use need::ThreadNeed;

/// What of a log can be erased at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ErasureScope {
    /// Sensitive values, and everything that repeats them: the log is a file.
    #[default]
    Values,
    /// Whole bodies too.
    Bodies,
    /// Sensitive values alone: the log is in NATS, and everything else of it is in bundles that never change.
    Objects,
}

/// What a person names to be erased.
#[derive(Clone, Debug, Default)]
pub struct ErasureTargets {
    /// Positions of records.
    pub positions: BTreeSet<Position>,
    /// Hashes of files that records refer to.
    pub files: BTreeSet<Digest>,
}

/// A record that stays, and refers to a file that goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileHolder {
    /// The hash of the file.
    pub file: Digest,
    /// The record.
    pub position: Position,
    /// Its thread.
    pub thread: ThreadId,
    /// Its number there.
    pub seq: u64,
}

/// What goes, and what stays.
#[derive(Debug, Default)]
pub struct ErasurePlan {
    /// What the log loses.
    pub erasure: LogErasure,
    /// The numbers of the parts that go, for each record.
    pub parts: BTreeMap<Position, Vec<usize>>,
    /// Positions of records that were named and have lost everything before.
    pub already: Vec<Position>,
    /// Positions of records that repeat a value in a place that is not marked as sensitive, and can be erased whole.
    pub repeats: Vec<Position>,
    /// Positions of records that repeat a value, and that the state of their thread needs.
    pub fixed: Vec<Position>,
    /// Positions of records with a key of their sender that repeats a value.
    pub keys: Vec<Position>,
    /// Configurations that repeat a value; in NATS, documents of any kind.
    pub configurations: Vec<Digest>,
    /// Positions of records with the plain hash of a body that goes: a guess of the body can be tested with it.
    pub hashes: Vec<Position>,
    /// Records that lose a file, although they stay.
    pub holders: Vec<FileHolder>,
    /// How many values are too short to be looked for elsewhere.
    pub short: usize,
    /// The last record that was looked at.
    pub last: Position,
}

/// Why nothing is erased.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ErasureRefused {
    /// There is no such record.
    #[error("the log has no record at position {position}; its last is #{last}")]
    Missing {
        /// The position.
        position: u64,
        /// The last one of the log.
        last: u64,
    },
    /// No value of the body is marked.
    #[error("record #{0} has no value that its schema marks as sensitive")]
    Unmarked(u64),
    /// The pump reads the body to know the state of the thread.
    #[error("record #{0} cannot be erased whole: the state of its thread is made from it")]
    Needed(u64),
    /// The record belongs to a thread at work.
    #[error("thread {thread} needs record #{position}: {need}")]
    AtWork {
        /// The record.
        position: u64,
        /// Its thread.
        thread: ThreadId,
        /// What needs it.
        need: ThreadNeed,
    },
    /// No record refers to a file with that hash.
    #[error("no record refers to a file with the hash {0}")]
    NoFile(Digest),
    /// A file goes only as a whole, and from every thread that has it.
    #[error("the file {file} goes from all records that refer to it: {}", .records.join(", "))]
    WholeFile {
        /// The hash of the file.
        file: Digest,
        /// The records, each with its thread.
        records: Vec<String>,
    },
    /// The reason repeats a value.
    #[error("the reason repeats what is erased, and would be recorded")]
    Reason,
    /// The log cannot be read.
    #[error("{0}")]
    Log(LogFault),
}

impl From<LogFault> for ErasureRefused {
    fn from(fault: LogFault) -> ErasureRefused {
        ErasureRefused::Log(fault)
    }
}

/// Finds out what has to go so that nothing is left of the sensitive values of these records, or of their bodies, and
/// of these files.
pub fn plan_erasure(
    reader: &SqliteReader,
    targets: &ErasureTargets,
    scope: ErasureScope,
    reason: Option<&str>,
) -> Result<ErasurePlan, ErasureRefused> {
    let mut planning = ErasurePlanning { scope, last: reader.read_last()?, ..ErasurePlanning::default() };
    for position in &targets.positions {
        planning.add_named(reader, *position)?;
    }
    for file in &targets.files {
        planning.add_kept(reader, *file)?;
        planning.files.insert(*file);
    }
    planning.finish_plan(reader, reason)
}

/// The same for what a newer copy of the log lost. Values are also looked for in the records that came since.
pub fn plan_again(
    reader: &SqliteReader,
    erased: &ErasedElsewhere,
    reason: Option<&str>,
) -> Result<ErasurePlan, ErasureRefused> {
    let mut planning = ErasurePlanning { last: reader.read_last()?, ..ErasurePlanning::default() };
    for (position, parts) in &erased.parts {
        planning.add_again(reader, *position, parts)?;
    }
    for hash in &erased.documents {
        planning.add_kept(reader, *hash)?;
    }
    planning.finish_plan(reader, reason)
}

#[derive(Default)]
struct ErasurePlanning {
    plan: ErasurePlan,
    scope: ErasureScope,
    last: Position,
    /// The values that go, as they are in a body.
    values: BTreeSet<Vec<u8>>,
    texts: ErasedTexts,
    /// The plain hashes of the bodies that go.
    hashes: BTreeMap<Digest, String>,
    /// Those of the bodies that go whole.
    bodies: BTreeSet<Digest>,
    /// Those of the bodies that go whole and are documents.
    large_bodies: BTreeSet<Digest>,
    /// The files that a person named.
    files: BTreeSet<Digest>,
}

impl ErasurePlanning {
    /// Looks at every record and document for what goes.
    fn finish_plan(
        mut self,
        reader: &SqliteReader,
        reason: Option<&str>,
    ) -> Result<ErasurePlan, ErasureRefused> {
        if reason.is_some_and(|reason| self.texts.are_in(reason)) {
            return Err(ErasureRefused::Reason);
        }
        let log: &dyn LogReader = reader;
        let (mut configurations, mut holders) = (BTreeSet::new(), Vec::new());
        for placed in log.records_after(Position(0)).up_to(self.last) {
            let (position, record) = placed?;
            configurations.insert(record.header.config);
            self.check_other(reader, position, &record)?;
            let files = file_reference::list_files(&record.body).into_iter();
            let files: BTreeSet<Digest> = files.filter_map(|file| Digest::parse(&file.hash).ok()).collect();
            let (thread, seq) = (&record.header.thread, record.header.seq);
            let holder = |file| FileHolder { file, position, thread: thread.clone(), seq };
            holders.extend(files.into_iter().map(holder));
        }
        self.plan.erasure.documents.retain(|hash| !configurations.contains(hash));
        self.check_files(&holders)?;
        self.find_documents(reader)?;
        self.find_body_documents(reader)?;
        let ErasurePlan { erasure, parts, .. } = &self.plan;
        let is_whole = |position: &Position| parts.get(position).is_some_and(|parts| parts.contains(&0));
        holders.retain(|one| erasure.documents.contains(&one.file) && !is_whole(&one.position));
        let mut places: BTreeMap<&ThreadId, Vec<(Position, u64)>> = BTreeMap::new();
        for one in &holders {
            places.entry(&one.thread).or_default().push((one.position, one.seq));
        }
        let needed = match need::find_first(reader, &self.plan.erasure.records)? {
            Some(needed) => Some(needed),
            None => need::find_first_holder(reader, &places)?,
        };
        self.plan.holders = holders;
        if let Some(needed) = needed {
            let NeededRecord { position: Position(position), thread, need } = needed;
            return Err(match need {
                Some(need) => ErasureRefused::AtWork { position, thread, need },
                None => ErasureRefused::Needed(position),
            });
        }
        Ok(ErasurePlan { last: self.last, ..self.plan })
    }

    /// A record of which another copy of the log lost these parts.
    fn add_again(
        &mut self,
        reader: &SqliteReader,
        position: Position,
        parts: &BTreeSet<usize>,
    ) -> Result<(), ErasureRefused> {
        let Some(record) = read_at(reader, position)? else { return Ok(()) };
        let whole = parts.contains(&0);
        if whole && !is_erasable(&record) {
            return Err(ErasureRefused::Needed(position.0));
        }
        self.add_values(&record, |number| parts.contains(&number));
        if whole && !record.parts.rest.is_erased() {
            self.with_body(&record);
        }
        if !self.erase_parts(position, &record, |number| parts.contains(&number)) {
            self.plan.already.push(position);
        }
        Ok(())
    }

    /// Takes sensitive values of a record, to look for them.
    fn add_values(&mut self, record: &Record, goes: impl Fn(usize) -> bool) {
        let values = (1..).zip(&record.parts.values);
        for (_, (hole, _)) in values.filter(|(number, (_, seal))| !seal.is_erased() && goes(*number)) {
            let value = record.body.get(hole.to_range()).unwrap_or_default();
            if self.texts.add_value(value) {
                self.plan.short += 1;
            }
            self.values.insert(value.to_vec());
        }
    }

    /// A record that a person named.
    fn add_named(&mut self, reader: &SqliteReader, position: Position) -> Result<(), ErasureRefused> {
        let whole = self.scope == ErasureScope::Bodies;
        let missing = || ErasureRefused::Missing { position: position.0, last: self.last.0 };
        let record = read_at(reader, position)?.ok_or_else(missing)?;
        if record.parts.values.is_empty() && !whole && !record.parts.has_erased() {
            return Err(ErasureRefused::Unmarked(position.0));
        }
        if whole && !is_erasable(&record) {
            return Err(ErasureRefused::Needed(position.0));
        }
        self.add_values(&record, |_| true);
        if !record.parts.has_erased() {
            let hash = Digest::hash_bytes(&record.body);
            self.hashes.insert(hash, hash.to_string());
            if whole {
                self.bodies.insert(hash);
            }
        }
        if whole && !record.parts.rest.is_erased() {
            // What stands in the place of an erased value is in other records, too.
            let mut said = record.body.to_vec();
            for (hole, _) in record.parts.values.iter().rev().filter(|(_, seal)| seal.is_erased()) {
                said.drain(hole.to_range());
            }
            self.texts.add_body(&said);
            self.with_body(&record);
        }
        if !self.erase_parts(position, &record, |number| whole || number > 0) {
            self.plan.already.push(position);
        }
        Ok(())
    }

    /// The documents that say what a body says: the words of a model, bytes that were refused, and files.
    fn with_body(&mut self, record: &Record) {
        if record.header.kind == RecordKind::Refusal {
            let refused = attribute(&record.body, "system-error", "hash");
            self.add_document(refused.and_then(|hash| Digest::parse(&hash).ok()));
        }
        for hash in list_apart(record) {
            self.add_document(Some(hash));
        }
        for file in file_reference::list_files(&record.body) {
            self.add_document(Digest::parse(&file.hash).ok());
        }
    }

    /// A document, unless it is erased already: other bytes are read in its place.
    fn add_kept(&mut self, reader: &SqliteReader, hash: Digest) -> Result<(), LogFault> {
        let bytes = reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash);
        self.add_document(bytes.map(|_| hash));
        Ok(())
    }

    /// Refuses a named hash that is no file, and a file that was not named as a whole.
    fn check_files(&self, holders: &[FileHolder]) -> Result<(), ErasureRefused> {
        for file in self.files.iter().copied() {
            let of_file = holders.iter().filter(|one| one.file == file);
            let records: Vec<String> =
                of_file.map(|one| format!("#{} of {}", one.position.0, one.thread)).collect();
            if records.is_empty() {
                return Err(ErasureRefused::NoFile(file));
            }
            if self.scope != ErasureScope::Bodies {
                return Err(ErasureRefused::WholeFile { file, records });
            }
        }
        Ok(())
    }

    fn add_document(&mut self, hash: Option<Digest>) {
        let documents = &mut self.plan.erasure.documents;
        documents.extend(hash.filter(|hash| !documents.contains(hash)).iter());
    }

    /// A record that may repeat what goes.
    fn check_other(
        &mut self,
        reader: &SqliteReader,
        position: Position,
        record: &Record,
    ) -> Result<(), LogFault> {
        let is_named = self.plan.parts.contains_key(&position);
        let is_same = |number: usize| {
            let value = number.checked_sub(1).and_then(|at| record.parts.values.get(at));
            value.is_some_and(|(hole, _)| {
                record.body.get(hole.to_range()).is_some_and(|v| self.values.contains(v))
            })
        };
        let same: Vec<usize> = (1..=record.parts.values.len()).filter(|number| is_same(*number)).collect();
        if !is_named && !same.is_empty() {
            self.erase_parts(position, record, |number| same.contains(&number));
        }
        let left = self.plan.erasure.records.get(&position).map_or(&record.body, |left| &left.body).clone();
        let text = String::from_utf8_lossy(&left);
        let is_equal = || !is_named && self.bodies.contains(&Digest::hash_bytes(&record.body));
        if self.texts.are_in(&text)
            || (!self.bodies.is_empty() && is_equal())
            || self.words_repeat(reader, record)?
        {
            self.take_repeat(position, record);
        }
        if self.hashes.values().any(|hash| text.contains(hash)) {
            self.plan.hashes.push(position);
        }
        if record.header.key.as_ref().is_some_and(|key| self.texts.are_in(key.as_str())) {
            self.plan.keys.push(position);
        }
        Ok(())
    }

    /// Whether the words of a model that are kept apart from its journal entry repeat what goes. A value may begin in
    /// one document and end in the next.
    fn words_repeat(&self, reader: &SqliteReader, record: &Record) -> Result<bool, LogFault> {
        let mut words = Vec::new();
        for hash in list_apart(record) {
            words.extend_from_slice(&reader.read_document(hash)?.unwrap_or_default());
        }
        Ok(!words.is_empty() && self.texts.are_in(&String::from_utf8_lossy(&words)))
    }

    /// A record repeats what goes. It goes too if it only tells of what happened.
    fn take_repeat(&mut self, position: Position, record: &Record) {
        match record.header.kind {
            _ if self.scope == ErasureScope::Objects => self.plan.fixed.push(position),
            RecordKind::Journal | RecordKind::Refusal | RecordKind::Outcome => {
                self.with_body(record);
                self.erase_parts(position, record, |_| true);
            }
            _ if is_erasable(record) => self.plan.repeats.push(position),
            _ => self.plan.fixed.push(position),
        }
    }

    /// The documents that repeat what goes.
    fn find_documents(&mut self, reader: &SqliteReader) -> Result<(), LogFault> {
        let forms: Vec<String> = self.texts.forms().map(str::to_owned).collect();
        for form in forms {
            for (hash, is_configuration) in reader.documents_with(form.as_bytes())? {
                match is_configuration || self.scope == ErasureScope::Objects {
                    true if !self.plan.configurations.contains(&hash) => self.plan.configurations.push(hash),
                    true => {}
                    false => self.add_document(Some(hash)),
                }
            }
        }
        Ok(())
    }

    /// The documents of bodies that go. If a record that stays names such a document, the hash is known anyway, and a
    /// verifier would miss the document: so it is named as erased. Otherwise the hash goes too.
    fn find_body_documents(&mut self, reader: &dyn LogReader) -> Result<(), LogFault> {
        let bodies = self.bodies.union(&self.large_bodies);
        let digits: BTreeMap<Digest, String> = bodies.map(|hash| (*hash, hash.to_string())).collect();
        let (mut shared, mut named) = (BTreeSet::new(), BTreeSet::new());
        if digits.is_empty() {
            return Ok(());
        }
        for placed in reader.records_after(Position(0)).up_to(self.last) {
            let (position, record) = placed?;
            let left = self.plan.erasure.records.get(&position).unwrap_or(&record);
            if is_document(left) {
                shared.insert(Digest::hash_bytes(&left.body));
            }
            let text = String::from_utf8_lossy(&left.body);
            named.extend(digits.iter().filter(|(_, digits)| text.contains(*digits)).map(|(hash, _)| *hash));
        }
        // The document that is the body of another record stays.
        for hash in digits.into_keys().filter(|hash| !shared.contains(hash)) {
            match named.contains(&hash) {
                false => self.plan.erasure.unnamed.push(hash),
                true if self.large_bodies.contains(&hash) => self.add_document(Some(hash)),
                true => {}
            }
        }
        Ok(())
    }

    /// Takes parts out of a record. Returns whether there was anything to take out.
    fn erase_parts(&mut self, position: Position, record: &Record, goes: impl Fn(usize) -> bool) -> bool {
        let kept =
            std::iter::once(&record.parts.rest).chain(record.parts.values.iter().map(|(_, seal)| seal));
        let numbers = kept.enumerate().filter(|(number, seal)| !seal.is_erased() && goes(*number));
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        if numbers.is_empty() {
            return false;
        }
        if numbers.contains(&0) && is_document(record) {
            self.large_bodies.insert(Digest::hash_bytes(&record.body));
        }
        let (parts, body) = record.parts.remove_parts(numbers.iter().copied(), &record.body);
        let record = Record { parts, body: body.into(), ..record.clone() };
        self.plan.erasure.records.insert(position, record);
        self.plan.parts.insert(position, numbers);
        true
    }
}

/// The hashes of the documents with the words of a model, if the record is the entry of such words.
fn list_apart(record: &Record) -> Vec<Digest> {
    if record.header.kind != RecordKind::Journal {
        return Vec::new();
    }
    match EarlierEntry::from_body(&record.body) {
        Ok(EarlierEntry { entry: JournalEntry::Result(outcome), .. }) => {
            outcome.blobs.iter().filter_map(|hash| Digest::parse(hash).ok()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the log has the body as a document: it is large, and nothing in it is marked or erased.
fn is_document(record: &Record) -> bool {
    record.body.len() > LARGE_BODY && record.parts.values.is_empty() && !record.parts.has_erased()
}

/// Whether nothing but readers need the body: it was said by a listener, a client, a person or a model.
pub fn is_erasable(record: &Record) -> bool {
    use MessageRole::{AskPerson, Begin, Call, Final, Note, Request, Steer, ToAll, ToFirst, Told};
    match (record.header.kind, record.header.code) {
        (RecordKind::Message, Some(RecordCode::Role(role))) => {
            // What the core says in a thread to no one, such as its subject.
            let is_notice = role == Told && !record.header.thread.is_sys();
            is_notice
                || matches!(role, Request | Begin | Call | ToAll | ToFirst | Note | Final | AskPerson | Steer)
        }
        (RecordKind::Journal | RecordKind::Refusal | RecordKind::Outcome, _) => true,
        (RecordKind::Approval, Some(RecordCode::Approving(what))) => what == ApprovalEffect::Amendment,
        (RecordKind::Steer, Some(RecordCode::Steering(what))) => what == SteerEffect::Steered,
        (RecordKind::Timer, Some(RecordCode::Timing(what))) => what == TimerEffect::Set,
        _ => false,
    }
}
