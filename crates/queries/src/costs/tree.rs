//! The model requests of a thread and everything below it, counted as its records come: a list that is shown again and
//! again reads only what is new.
//!
//! A reader and threads come in; sums go out. A tree that has too many unread records is counted in parts, and has no sum
//! until all of them are read. Few threads are kept, and all are forgotten before they are too many.

use std::collections::{BTreeMap, HashMap};

use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::{CostRow, CostRows, sum};
use crate::limits;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordKind};

/// A start that waits for its result: thread, call, turn, attempt and entry.
type Start = (ThreadId, Option<CallPath>, Option<u32>, u32, u64);

/// What was counted of one tree.
pub(super) struct TreeCost {
    rows: CostRows,
    open: BTreeMap<Start, (Name, String)>,
    /// The last record of each thread that was counted.
    seen: HashMap<ThreadId, u64>,
    /// The threads that are not read to their end.
    unread: Vec<ThreadId>,
}

impl TreeCost {
    /// A thread and everything below it, of which nothing is read yet.
    pub(super) fn of(reader: &dyn LogReader, root: &ThreadId) -> Result<TreeCost, LogFault> {
        let mut unread = reader.threads_like(&format!("{root}."), limits::COST_THREADS)?;
        unread.push(root.clone());
        let (rows, open) = (CostRows::new(), BTreeMap::new());
        Ok(TreeCost { rows, open, seen: HashMap::new(), unread })
    }

    /// Each thread from that one on, with its own requests only.
    pub(super) fn of_each(
        reader: &dyn LogReader,
        root: &ThreadId,
    ) -> Result<BTreeMap<ThreadId, CostRow>, LogFault> {
        let threads = TreeCost::of(reader, root)?.unread;
        let each = threads.into_iter().map(|thread| {
            let (rows, open) = (CostRows::new(), BTreeMap::new());
            let mut one = TreeCost { rows, open, seen: HashMap::new(), unread: vec![thread.clone()] };
            let mut left = usize::MAX;
            one.read(reader, &mut left)?;
            Ok((thread, sum(&one.rows())))
        });
        each.collect()
    }

    /// Reads at most `left` records and threads, and takes them off. Returns whether all is read.
    pub(super) fn read(&mut self, reader: &dyn LogReader, left: &mut usize) -> Result<bool, LogFault> {
        while let Some(thread) = self.unread.last().filter(|_| *left > 0) {
            let from = self.seen.get(thread).map_or(1, |seen| seen + 1);
            let most = limits::LOG_PAGE_FIRST.min(*left);
            let page = reader.of_thread(thread, from, most)?;
            *left = left.saturating_sub(page.len().max(1));
            page.iter().for_each(|(_, record)| self.follow(record));
            if page.len() < most {
                self.unread.pop();
            }
        }
        Ok(self.unread.is_empty())
    }

    /// Counts a record of the tree, once.
    fn follow(&mut self, record: &Record) {
        let h = &record.header;
        let seen = self.seen.entry(h.thread.clone()).or_default();
        if h.seq == *seen + 1 {
            *seen = h.seq;
            self.take(record);
        } else if h.seq > *seen && !self.unread.contains(&h.thread) {
            self.unread.push(h.thread.clone());
        }
    }

    fn take(&mut self, record: &Record) {
        let h = &record.header;
        if h.kind != RecordKind::Journal {
            return;
        }
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else { return };
        let start = |entry| (h.thread.clone(), h.call.clone(), h.turn, attempt, entry);
        match entry {
            JournalEntry::Started(started) => {
                let key = (h.from.clone(), started.model);
                self.rows.entry(key.clone()).or_default().requests += 1;
                self.open.insert(start(id), key);
            }
            JournalEntry::Result(outcome) => {
                let Some(key) = self.open.remove(&start(outcome.of)) else { return };
                self.rows.entry(key).or_default().add(&outcome);
            }
        }
    }

    /// What was counted; a request without a result may have been paid.
    pub(super) fn rows(&self) -> CostRows {
        let mut rows = self.rows.clone();
        for key in self.open.values() {
            rows.entry(key.clone()).or_default().unknown += 1;
        }
        rows
    }
}
