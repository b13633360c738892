//! A log as it was at a position: what was written later is not there.
//!
//! State is a fold of records, so everything that is read through it is as it was then. Stored rows count only if the
//! last record in them was there already. What is damaged later does not matter.

use std::sync::Arc;

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};

/// A log that ends at a position.
pub struct PastLog {
    log: Arc<dyn LogReader>,
    end: Position,
}

impl PastLog {
    /// The log up to that position, with its record.
    pub fn new(log: Arc<dyn LogReader>, end: Position) -> PastLog {
        PastLog { log, end }
    }

    fn keep_past(&self, mut page: Vec<PlacedRecord>) -> Vec<PlacedRecord> {
        page.retain(|(position, _)| *position <= self.end);
        page
    }

    /// Whether only what came later is damaged.
    fn is_later(&self, fault: &LogFault) -> bool {
        matches!(fault, LogFault::Damaged { position, .. } if *position > self.end)
    }

    /// Whether a thread had a record then.
    fn has(&self, thread: &ThreadId) -> Result<bool, LogFault> {
        Ok(!self.of_thread(thread, 1, 1)?.is_empty())
    }
}

impl LogReader for PastLog {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        let by_thread = || LogOpening { last: self.end, by_thread: true, ..LogOpening::default() };
        let mut opening = match self.log.read_opening() {
            Err(fault) if self.is_later(&fault) => return Ok(by_thread()),
            opening => opening?,
        };
        if opening.last <= self.end {
            return Ok(opening);
        }
        let checkpoint = opening.last.0.saturating_sub(opening.records.len() as u64);
        if opening.by_thread || checkpoint > self.end.0 {
            return Ok(by_thread());
        }
        let count = usize::try_from(self.end.0.saturating_sub(checkpoint)).unwrap_or(usize::MAX);
        opening.records.truncate(count);
        opening.last = self.end;
        Ok(opening)
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        Ok(self.log.read_last()?.min(self.end))
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        let Some(row) = self.log.read_row(thread)? else { return Ok(None) };
        let was_there = !self.of_thread(thread, row.seq, 1)?.is_empty();
        Ok(was_there.then_some(row))
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        match self.log.of_thread(thread, seq, limit) {
            Err(fault) if self.is_later(&fault) && limit > 1 => {
                let mut found = Vec::new();
                for seq in seq..seq.saturating_add(limit as u64) {
                    match self.of_thread(thread, seq, 1)?.pop() {
                        Some(placed) => found.push(placed),
                        None => break,
                    }
                }
                Ok(found)
            }
            Err(fault) if self.is_later(&fault) => Ok(Vec::new()),
            page => Ok(self.keep_past(page?)),
        }
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let left = usize::try_from(self.end.0.saturating_sub(position.0)).unwrap_or(usize::MAX);
        match left.min(limit) {
            0 => Ok(Vec::new()),
            most => Ok(self.keep_past(self.log.read_after(position, most)?)),
        }
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        match self.log.by_key(thread, sender, key) {
            Err(fault) if self.is_later(&fault) => Ok(None),
            found => Ok(found?.filter(|(position, _)| *position <= self.end)),
        }
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let all = self.log.list_threads(usize::MAX)?;
        // The newest come first, so those that were not there yet are the beginning of the list.
        let (mut low, mut high) = (0, all.len());
        while let Some(id) = all.get(low..high).and_then(|left| left.get(left.len() / 2)) {
            let middle = low + (high - low) / 2;
            if self.has(id)? { high = middle } else { low = middle + 1 }
        }
        Ok(all.into_iter().skip(low).take(limit).collect())
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let mut found = Vec::new();
        for id in self.log.threads_like(prefix, usize::MAX)? {
            if found.len() >= limit {
                break;
            }
            if self.has(&id)? {
                found.push(id);
            }
        }
        Ok(found)
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.log.read_document(hash)
    }
}
