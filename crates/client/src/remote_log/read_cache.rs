//! What was read of a log elsewhere: records by their position and by their thread, states, and documents.
//!
//! It never grows beyond a limit. What it does not have is read again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{FoldRow, PlacedRecord, Position};
use systole_core::types::record::{Record, head_zero};

use crate::limits;

/// Records, states and documents that were read.
#[derive(Default)]
pub(super) struct KeptRecords {
    bytes: usize,
    records: BTreeMap<u64, Record>,
    /// The position of each, by its thread and number.
    places: HashMap<ThreadId, BTreeMap<u64, u64>>,
    /// After which position, and up to which, no record is missing.
    pub(super) spans: Vec<(u64, u64)>,
    /// The number after the last record of a thread.
    pub(super) ends: HashMap<ThreadId, u64>,
    /// The states of threads.
    pub(super) rows: HashMap<ThreadId, FoldRow>,
    /// Documents, and which there are none of.
    pub(super) documents: HashMap<Digest, Option<Arc<[u8]>>>,
}

impl KeptRecords {
    /// Forgets everything if there is much. The states stay: they belong to the moment when the log was opened.
    pub(super) fn make_room(&mut self) {
        if self.bytes > limits::REMOTE_KEPT_BYTES {
            let rows = std::mem::take(&mut self.rows);
            *self = KeptRecords { rows, ..KeptRecords::default() };
        }
    }

    /// Keeps a record. The error says that it does not follow the one before it in its thread.
    pub(super) fn add_record(&mut self, (position, record): PlacedRecord) -> Result<(), (Position, String)> {
        let (thread, seq) = (&record.header.thread, record.header.seq);
        let before = match seq {
            1 => Some(head_zero(thread)),
            _ => self.find_record(thread, seq - 1).map(|(_, before)| before.head),
        };
        if before.is_some_and(|head| !record.is_valid_after(head)) {
            let why = format!("record {seq} of thread {thread} does not follow the one before it");
            return Err((position, why));
        }
        self.places.entry(thread.clone()).or_default().insert(seq, position.0);
        self.bytes += record.body.len() + limits::RECORD_BYTES;
        self.records.insert(position.0, record);
        Ok(())
    }

    /// Keeps a document.
    pub(super) fn add_document(&mut self, hash: Digest, bytes: Option<Arc<[u8]>>) {
        self.bytes += bytes.as_ref().map_or(limits::RECORD_BYTES, |bytes| bytes.len());
        self.documents.insert(hash, bytes);
    }

    fn find_record(&self, thread: &ThreadId, seq: u64) -> Option<(Position, &Record)> {
        let at = self.places.get(thread)?.get(&seq)?;
        Some((Position(*at), self.records.get(at)?))
    }

    /// Adds the records of a thread from `next` on that follow each other, until `found` has so many.
    pub(super) fn collect_run(
        &self,
        thread: &ThreadId,
        next: &mut u64,
        limit: usize,
        found: &mut Vec<PlacedRecord>,
    ) {
        while found.len() < limit
            && let Some((position, record)) = self.find_record(thread, *next)
        {
            found.push((position, record.clone()));
            *next += 1;
        }
    }

    /// Adds at most that many records after a position, as far as none is missing. Returns the position up to which
    /// they go; `None` if nothing after the position is known.
    pub(super) fn collect_after(&self, at: u64, most: usize, found: &mut Vec<PlacedRecord>) -> Option<u64> {
        let ends = self.spans.iter().filter(|(from, to)| *from <= at && at < *to).map(|(_, to)| *to);
        let end = ends.max()?;
        let known = self.records.range(at + 1..=end).take(most);
        found.extend(known.map(|(position, record)| (Position(*position), record.clone())));
        Some(end)
    }
}
