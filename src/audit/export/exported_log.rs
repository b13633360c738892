//! An export as a log that can be read: its records and documents in memory.
//!
//! Lines of an export that was verified come in; the reader of a log comes out. The positions are those of the log that
//! the export is from, so there are gaps.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::documents::ExportedDocument;
use super::record_line::ExportedRecord;
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, Position};
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
    pub fn record(&mut self, line: &[u8]) -> Result<(), String> {
        let line: ExportedRecord = serde_json::from_slice(line).map_err(|fault| fault.to_string())?;
        let (position, record) = (Position(line.position), line.record()?);
        self.threads.entry(record.header.thread.clone()).or_default().push(position);
        self.records.insert(position, record);
        Ok(())
    }

    /// Takes a line of `documents.jsonl`.
    pub fn document(&mut self, line: &[u8]) -> Result<(), String> {
        let line: ExportedDocument = serde_json::from_slice(line).map_err(|fault| fault.to_string())?;
        let (hash, bytes) = line.content().ok_or("a document does not fit its hash")?;
        self.documents.insert(hash, Arc::from(bytes));
        Ok(())
    }

    /// The threads without a parent.
    pub fn roots(&self) -> Vec<ThreadId> {
        let roots = self.threads.keys().filter(|thread| thread.parent().is_none() && !thread.is_sys());
        let mut roots: Vec<&ThreadId> = roots.collect();
        roots.sort_by_key(|thread| self.threads.get(*thread).and_then(|all| all.first()).copied());
        roots.into_iter().cloned().collect()
    }

    fn at(&self, position: &Position) -> Option<(Position, Record)> {
        self.records.get(position).map(|record| (*position, record.clone()))
    }
}

impl LogReader for ExportedLog {
    fn opening(&self) -> Result<LogOpening, LogFault> {
        // No state is stored with an export: each thread is folded from its records.
        Ok(LogOpening { last: self.last()?, by_thread: true, ..LogOpening::default() })
    }

    fn last(&self) -> Result<Position, LogFault> {
        Ok(self.records.keys().next_back().copied().unwrap_or(Position(0)))
    }

    fn row(&self, _: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        Ok(None)
    }

    fn of_thread(
        &self,
        thread: &ThreadId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<(Position, Record)>, LogFault> {
        let from = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let all = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
        Ok(all.iter().skip(from).take(limit).filter_map(|position| self.at(position)).collect())
    }

    fn after(&self, position: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
        let later = self.records.range((Bound::Excluded(position), Bound::Unbounded)).take(limit);
        Ok(later.map(|(position, record)| (*position, record.clone())).collect())
    }

    fn by_key(
        &self,
        thread: &ThreadId,
        sender: &Name,
        key: &Key,
    ) -> Result<Option<(Position, Record)>, LogFault> {
        let all = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
        let mut found = all.iter().filter_map(|position| self.at(position));
        Ok(found.find(|(_, record)| record.header.from == *sender && record.header.key.as_ref() == Some(key)))
    }

    fn threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        Ok(self.roots().into_iter().rev().take(limit).collect())
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let all = self.threads.keys().filter(|thread| thread.as_str().starts_with(prefix));
        Ok(all.take(limit).cloned().collect())
    }

    fn document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        Ok(self.documents.get(&hash).cloned())
    }
}
