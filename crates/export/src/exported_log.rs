//! An export as a log that can be read: its records and documents in memory.
//!
//! Lines of an export that was verified come in; the reader of a log comes out. The positions are those of the log that
//! the export is from, so there are gaps.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::documents::ExportedDocument;
use super::holes::ExportHole;
use super::record_line::ExportedRecord;
use systole_core::types::body_parts::{BodyParts, LEFT_OUT_TEXT, PartSeal};
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};
use systole_core::types::record::Record;

/// The records and documents of an export.
#[derive(Default)]
pub struct ExportedLog {
    records: BTreeMap<Position, Record>,
    /// The positions of each thread, in their order.
    threads: BTreeMap<ThreadId, Vec<Position>>,
    documents: HashMap<Digest, Arc<[u8]>>,
}

impl ExportedLog {
    /// Takes a line of `records.jsonl`.
    pub fn take_record(&mut self, line: &[u8]) -> Result<(), String> {
        let line: ExportedRecord = serde_json::from_slice(line).map_err(|fault| fault.to_string())?;
        let (position, record) = (Position(line.position), line.to_record()?);
        self.threads.entry(record.header.thread.clone()).or_default().push(position);
        self.records.insert(position, record);
        Ok(())
    }

    /// Takes a line of `documents.jsonl`.
    pub fn take_document(&mut self, line: &[u8]) -> Result<(), String> {
        let line: ExportedDocument = serde_json::from_slice(line).map_err(|fault| fault.to_string())?;
        let (hash, bytes) = line.into_content().ok_or("a document does not fit its hash")?;
        self.documents.insert(hash, Arc::from(bytes));
        Ok(())
    }

    /// Shows the parts that were left out as such: without it they read like those that are erased in the log.
    pub fn leave_out(&mut self, holes: &[ExportHole]) {
        for same in holes.chunk_by(|one, next| one.position == next.position) {
            let left_out = |number| same.iter().any(|hole| hole.part == number && !hole.is_of_log());
            let position = same.first().map_or(0, |hole| hole.position);
            let Some(record) = self.records.get_mut(&Position(position)) else { continue };
            let seal = |number| match left_out(number) {
                true => PartSeal::Erased(Digest([0; 32])),
                false => PartSeal::Kept([0; 16]),
            };
            let values = record.parts.holes().zip(1..).map(|(hole, number)| (hole, seal(number))).collect();
            let mut body = record.body.to_vec();
            BodyParts { rest: seal(0), values }.blank_as(LEFT_OUT_TEXT, &mut body);
            record.body = body.into();
        }
    }

    /// The threads without a parent.
    pub fn list_roots(&self) -> Vec<ThreadId> {
        let roots = self.threads.keys().filter(|thread| thread.parent().is_none() && !thread.is_sys());
        let mut roots: Vec<&ThreadId> = roots.collect();
        roots.sort_by_key(|thread| self.threads.get(*thread).and_then(|all| all.first()).copied());
        roots.into_iter().cloned().collect()
    }

    /// Whether it has records of the log's own thread.
    pub fn has_own_thread(&self) -> bool {
        self.threads.contains_key(&ThreadId::new_sys())
    }

    fn find_record(&self, position: &Position) -> Option<PlacedRecord> {
        self.records.get(position).map(|record| (*position, record.clone()))
    }
}

impl LogReader for ExportedLog {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        // No state is stored with an export: each thread is folded from its records.
        Ok(LogOpening { last: self.read_last()?, by_thread: true, ..LogOpening::default() })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        Ok(self.records.keys().next_back().copied().unwrap_or(Position(0)))
    }

    fn read_row(&self, _: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        Ok(None)
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let from = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let all = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
        Ok(all.iter().skip(from).take(limit).filter_map(|position| self.find_record(position)).collect())
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let later = self.records.range((Bound::Excluded(position), Bound::Unbounded)).take(limit);
        Ok(later.map(|(position, record)| (*position, record.clone())).collect())
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        let all = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
        let mut found = all.iter().filter_map(|position| self.find_record(position));
        Ok(found.find(|(_, record)| record.header.from == *sender && record.header.key.as_ref() == Some(key)))
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        Ok(self.list_roots().into_iter().rev().take(limit).collect())
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let all = self.threads.keys().filter(|thread| thread.as_str().starts_with(prefix));
        Ok(all.take(limit).cloned().collect())
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        Ok(self.documents.get(&hash).cloned())
    }
}
