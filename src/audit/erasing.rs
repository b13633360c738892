//! What has to go when values or bodies are erased, and what stays although it tells something of them.
//!
//! Positions come in; records as they are afterwards go out, or why nothing may be erased. It writes nothing. A value
//! that is erased somewhere is erased wherever it is a sensitive value, and every journal entry and document that
//! repeats it goes too. Other bodies that repeat it are named: only a person can say whether they may go.

use std::collections::{BTreeMap, BTreeSet};

use super::whole::folded_until;
use crate::edges::log::sqlite::{Erasure, SqliteReader};
use systole_core::types::body_parts::BodyParts;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{ApprovalEffect, MessageRole, Record, RecordCode, RecordKind};

/// Records per read.
const PAGE: usize = 512;

/// The shortest value that is looked for inside other texts. A shorter one is in many texts by chance.
pub const SHORTEST: usize = 4;

/// What goes, and what stays.
#[derive(Debug, Default)]
pub struct ErasurePlan {
    /// What the log loses.
    pub erasure: Erasure,
    /// The numbers of the parts that go, for each record.
    pub parts: BTreeMap<Position, Vec<usize>>,
    /// Positions of records that were named and have lost everything before.
    pub already: Vec<Position>,
    /// Positions of records that repeat a value in a place that is not marked as sensitive.
    pub repeats: Vec<Position>,
    /// Configurations that repeat a value.
    pub configurations: Vec<Digest>,
    /// Positions of records with the plain hash of a body that goes: a guess of the body can be tested with it.
    pub hashes: Vec<Position>,
    /// Values that are too short to be looked for elsewhere.
    pub short: usize,
}

/// Why nothing is erased.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ErasureRefused {
    /// There is no such record.
    #[error("the log has no record at position {}", .0.0)]
    Missing(Position),
    /// No value of the body is marked.
    #[error("the record at position {} has no value that its schema marks as sensitive", .0.0)]
    Unmarked(Position),
    /// The pump reads the body to know the state of the thread.
    #[error("the record at position {} says what happened to its thread, and the state of the thread is made from it", .0.0)]
    Needed(Position),
    /// The record belongs to a thread at work.
    #[error("thread {1} is at work or has a timer, and needs the record at position {}", .0.0)]
    AtWork(Position, ThreadId),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
}

/// Finds out what has to go so that nothing is left of the sensitive values of these records, or of their bodies.
pub fn plan(
    reader: &SqliteReader,
    positions: &BTreeSet<Position>,
    whole: bool,
) -> Result<ErasurePlan, ErasureRefused> {
    let mut planning = Planning::default();
    for position in positions {
        planning.named(reader, *position, whole)?;
    }
    let mut at = Position(0);
    loop {
        let page = reader.after(at, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        at = *last;
        for (position, record) in &page {
            planning.another(*position, record);
        }
    }
    for value in &planning.plan.erasure.values {
        for (hash, is_configuration) in reader.documents_with(value)? {
            let plan = &mut planning.plan;
            let list = if is_configuration { &mut plan.configurations } else { &mut plan.erasure.documents };
            if !list.contains(&hash) {
                list.push(hash);
            }
        }
    }
    let plan = planning.plan;
    let mut threads: BTreeMap<&ThreadId, Position> = BTreeMap::new();
    for (position, record) in &plan.erasure.records {
        threads.entry(&record.header.thread).or_insert(*position);
    }
    for (id, position) in threads {
        let thread = folded_until(reader, id, u64::MAX, |_| ())?;
        if thread.is_some_and(|thread| !thread.calls.is_empty() || !thread.timers.is_empty()) {
            return Err(ErasureRefused::AtWork(position, id.clone()));
        }
    }
    Ok(plan)
}

#[derive(Default)]
struct Planning {
    plan: ErasurePlan,
    /// The values that go, as they are in a body.
    values: BTreeSet<Vec<u8>>,
    /// The plain hashes of the bodies that go, in text.
    hashes: BTreeSet<String>,
    /// Those of the bodies that go whole.
    bodies: BTreeSet<Digest>,
}

impl Planning {
    /// A record that a person named.
    fn named(
        &mut self,
        reader: &SqliteReader,
        position: Position,
        whole: bool,
    ) -> Result<(), ErasureRefused> {
        let before = Position(position.0.saturating_sub(1));
        let found = reader.after(before, 1)?.into_iter().next().filter(|(at, _)| *at == position);
        let (_, record) = found.ok_or(ErasureRefused::Missing(position))?;
        if record.parts.values.is_empty() && !whole {
            return Err(ErasureRefused::Unmarked(position));
        }
        if whole && !is_erasable(&record) {
            return Err(ErasureRefused::Needed(position));
        }
        for (hole, _) in record.parts.values.iter().filter(|(_, seal)| !seal.is_erased()) {
            self.goes(record.body.get(hole.range()).unwrap_or_default());
        }
        if !record.parts.has_erased() {
            let hash = Digest::of(&record.body);
            self.hashes.insert(hash.to_string());
            if whole {
                self.bodies.insert(hash);
            }
        }
        if !self.erase(position, &record, |number| whole || number > 0) {
            self.plan.already.push(position);
        }
        Ok(())
    }

    /// A value goes, in the forms in which other texts may repeat it.
    fn goes(&mut self, value: &[u8]) {
        self.values.insert(value.to_vec());
        if value.len() < SHORTEST {
            self.plan.short += 1;
            return;
        }
        let mut forms = vec![value.to_vec()];
        if let Ok(text) = std::str::from_utf8(value) {
            let plain = systole_kit::characters::value(text);
            let mut escaped = Vec::new();
            systole_kit::writer::escape(&mut escaped, text, false);
            let json = serde_json::Value::from(&*plain).to_string();
            forms.extend([plain.as_bytes().to_vec(), escaped, json.trim_matches('"').as_bytes().to_vec()]);
        }
        for form in forms {
            if form.len() >= SHORTEST && !self.plan.erasure.values.contains(&form) {
                self.plan.erasure.values.push(form);
            }
        }
    }

    /// A record that may repeat what goes.
    fn another(&mut self, position: Position, record: &Record) {
        let is_named = self.plan.parts.contains_key(&position);
        let is_same = |number: usize| {
            let value = number.checked_sub(1).and_then(|at| record.parts.values.get(at));
            value.is_some_and(|(hole, _)| {
                record.body.get(hole.range()).is_some_and(|v| self.values.contains(v))
            })
        };
        let same: Vec<usize> = (1..=record.parts.values.len()).filter(|number| is_same(*number)).collect();
        if !is_named && !same.is_empty() {
            self.erase(position, record, |number| same.contains(&number));
        }
        if !self.bodies.is_empty() && !is_named && self.bodies.contains(&Digest::of(&record.body)) {
            self.plan.repeats.push(position);
            return;
        }
        let left =
            self.plan.erasure.records.iter().find(|(at, _)| *at == position).map(|(_, left)| &left.body);
        let left = left.unwrap_or(&record.body);
        let Ok(text) = std::str::from_utf8(left) else { return };
        let has = |value: &Vec<u8>| std::str::from_utf8(value).is_ok_and(|value| text.contains(value));
        if self.plan.erasure.values.iter().any(has) {
            if record.header.kind == RecordKind::Journal {
                self.erase(position, record, |_| true);
            } else {
                self.plan.repeats.push(position);
            }
        }
        if self.hashes.iter().any(|hash| text.contains(hash)) {
            self.plan.hashes.push(position);
        }
    }

    /// Takes parts out of a record. Returns whether there was anything to take out.
    fn erase(&mut self, position: Position, record: &Record, goes: impl Fn(usize) -> bool) -> bool {
        let kept =
            std::iter::once(&record.parts.rest).chain(record.parts.values.iter().map(|(_, seal)| seal));
        let numbers = kept.enumerate().filter(|(number, seal)| !seal.is_erased() && goes(*number));
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        if numbers.is_empty() {
            return false;
        }
        let (parts, body): (BodyParts, Vec<u8>) = record.parts.without(numbers.iter().copied(), &record.body);
        let record = Record { parts, body: body.into(), ..record.clone() };
        let records = &mut self.plan.erasure.records;
        records.retain(|(at, _)| *at != position);
        records.push((position, record));
        self.plan.parts.insert(position, numbers);
        true
    }
}

/// Whether the state of the thread does not depend on the body: it was said by a listener, a client or a model.
fn is_erasable(record: &Record) -> bool {
    use MessageRole::{Begin, Call, Final, Note, Request, ToAll, ToFirst};
    match (record.header.kind, record.header.code) {
        (RecordKind::Message, Some(RecordCode::Role(role))) => {
            matches!(role, Request | Begin | Call | ToAll | ToFirst | Note | Final)
        }
        (RecordKind::Journal | RecordKind::Refusal | RecordKind::Outcome, _) => true,
        (RecordKind::Approval, Some(RecordCode::Approving(what))) => what == ApprovalEffect::Amendment,
        _ => false,
    }
}
