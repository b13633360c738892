//! Two threads side by side: their records in order, aligned by kind, sender, receiver and element, with the first
//! difference.
//!
//! Two threads come in, of one log or of two; rows go out. Ids, times and hashes that differ in every run do not
//! count. It compares one thread with one thread, without those below them.

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::comparable::comparable_body;
use super::glance::glance;
use super::narrate::narrate;
use super::xml_diff::find_shared;
use crate::limits;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordKind};

/// What stands for the thread's own root in a text.
const ROOT: &str = "sess-…";

/// Two threads side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideBySide {
    /// The first thread.
    pub one: ThreadId,
    /// The second thread.
    pub other: ThreadId,
    /// The rows, in order.
    pub rows: Vec<SideRow>,
    /// The number of the first row that differs.
    pub first: Option<usize>,
    /// Whether a thread has more records than were compared.
    pub is_cut: bool,
}

/// A row: a record of the first thread, of the second, or of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideRow {
    /// The record of the first thread.
    pub one: Option<SideRecord>,
    /// The record of the second thread.
    pub other: Option<SideRecord>,
}

/// A record of one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideRecord {
    /// Its number in the thread.
    pub seq: u64,
    /// The record in words, without its time and number.
    pub words: String,
    /// The hash of what counts in its payload.
    pub payload: Digest,
    kin: String,
}

impl SideRow {
    /// Whether both sides have the same record.
    pub fn is_same(&self) -> bool {
        matches!((&self.one, &self.other), (Some(one), Some(other)) if one.payload == other.payload)
    }
}

/// Reads two threads; `None` if one of them has no record.
pub fn read(
    (reader, one): (&dyn LogReader, &ThreadId),
    (other_reader, other): (&dyn LogReader, &ThreadId),
) -> Result<Option<SideBySide>, LogFault> {
    let (first, second) = (side(reader, one)?, side(other_reader, other)?);
    if first.is_empty() || second.is_empty() {
        return Ok(None);
    }
    let is_cut = first.len() > limits::COMPARED_RECORDS || second.len() > limits::COMPARED_RECORDS;
    let rows = align_records(first, second);
    let first = rows.iter().position(|row| !row.is_same());
    Ok(Some(SideBySide { one: one.clone(), other: other.clone(), rows, first, is_cut }))
}

/// The records of a thread, at most one more than are compared.
fn side(reader: &dyn LogReader, thread: &ThreadId) -> Result<Vec<SideRecord>, LogFault> {
    let records = reader.records_of(thread, 1).take(limits::COMPARED_RECORDS + 1);
    records.map(|placed| Ok(of_record(&placed?.1))).collect()
}

fn of_record(record: &Record) -> SideRecord {
    let h = &record.header;
    let root = h.thread.root_of();
    let seen = glance(&record.body);
    let to = h.to.as_ref().map_or("", |to| to.as_str());
    let code = h.code.map_or("", |code| code.as_str());
    let kin = format!("{} {code} {} {to} {}", h.kind.as_str(), h.from, seen.element);
    // What a model call reserves, and its hashes, are left out: the prompt of each turn is compared elsewhere.
    let counts = match EarlierEntry::from_body(&record.body).map(|entry| entry.entry) {
        Ok(JournalEntry::Started(started)) if h.kind == RecordKind::Journal => started.model,
        Ok(JournalEntry::Result(outcome)) if h.kind == RecordKind::Journal => {
            format!("{} {}", outcome.text, outcome.blobs.join(" "))
        }
        _ => comparable_body(record),
    };
    let counts = format!("{kin} {}", counts.replace(root.as_str(), ROOT));
    let told = narrate(record, Some(&h.thread)).join(" ");
    // The time and the number come first.
    let number = format!("#{}", h.seq);
    let words = told.split_once(&number).map_or(told.as_str(), |(_, words)| words).trim().to_owned();
    SideRecord { seq: h.seq, words, payload: Digest::hash_bytes(counts.as_bytes()), kin }
}

/// Aligns two sides: equal beginnings and ends first, then the longest common order of kin in the middle.
fn align_records(mut one: Vec<SideRecord>, mut other: Vec<SideRecord>) -> Vec<SideRow> {
    one.truncate(limits::COMPARED_RECORDS);
    other.truncate(limits::COMPARED_RECORDS);
    let same = |(one, other): &(&SideRecord, &SideRecord)| one.payload == other.payload;
    let before = one.iter().zip(&other).take_while(same).count();
    let kin =
        |records: &[SideRecord]| records.iter().skip(before).map(|one| one.kin.clone()).collect::<Vec<_>>();
    let (kin_one, kin_other) = (kin(&one), kin(&other));
    let pairs = find_shared(&kin_one, &kin_other);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut rows: Vec<SideRow> = one
        .by_ref()
        .zip(other.by_ref())
        .take(before)
        .map(|(a, b)| SideRow { one: Some(a), other: Some(b) })
        .collect();
    let mut at = (0, 0);
    for (first, second) in pairs.into_iter().chain([(kin_one.len(), kin_other.len())]) {
        let alone = one.by_ref().take(first - at.0).map(|a| SideRow { one: Some(a), other: None });
        rows.extend(alone);
        let alone = other.by_ref().take(second - at.1).map(|b| SideRow { one: None, other: Some(b) });
        rows.extend(alone);
        let row = SideRow { one: one.next(), other: other.next() };
        if row.one.is_some() || row.other.is_some() {
            rows.push(row);
        }
        at = (first + 1, second + 1);
    }
    rows
}

impl SideBySide {
    /// How many rows differ.
    pub fn differences(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_same()).count()
    }

    /// The rows for programs.
    pub fn as_json(&self) -> Value {
        let side = |record: &Option<SideRecord>| {
            record
                .as_ref()
                .map(|one| json!({"seq": one.seq, "words": one.words, "payload": one.payload.to_string()}))
        };
        let rows = self
            .rows
            .iter()
            .map(|row| json!({"same": row.is_same(), "one": side(&row.one), "other": side(&row.other)}));
        json!({
            "one": self.one.as_str(),
            "other": self.other.as_str(),
            "differences": self.differences(),
            "first": self.first,
            "cut": self.is_cut,
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64, kin: &str, payload: &str) -> SideRecord {
        let payload = Digest::hash_bytes(format!("{kin} {payload}").as_bytes());
        SideRecord { seq, words: String::new(), payload, kin: kin.to_owned() }
    }

    fn told(rows: &[SideRow]) -> Vec<(Option<u64>, Option<u64>, bool)> {
        let seq = |one: &Option<SideRecord>| one.as_ref().map(|one| one.seq);
        rows.iter().map(|row| (seq(&row.one), seq(&row.other), row.is_same())).collect()
    }

    #[test]
    fn a_record_that_only_one_thread_has_does_not_shift_the_others() {
        let one = vec![record(1, "a", "x"), record(2, "b", "x"), record(3, "c", "x"), record(4, "d", "x")];
        let other = vec![record(1, "a", "x"), record(2, "c", "y"), record(3, "d", "x"), record(4, "e", "x")];
        assert_eq!(
            told(&align_records(one, other)),
            [
                (Some(1), Some(1), true),
                (Some(2), None, false),
                (Some(3), Some(2), false),
                (Some(4), Some(3), true),
                (None, Some(4), false),
            ]
        );
    }

    #[test]
    fn a_beginning_that_both_have_stays_together() {
        let whole = vec![record(1, "a", "x"), record(2, "b", "x"), record(3, "c", "x")];
        let short = whole.get(..2).unwrap().to_vec();
        assert_eq!(
            told(&align_records(whole.clone(), short)),
            [(Some(1), Some(1), true), (Some(2), Some(2), true), (Some(3), None, false)]
        );
        assert!(align_records(whole.clone(), whole).iter().all(SideRow::is_same));
    }
}
