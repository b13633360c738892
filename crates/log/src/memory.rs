//! The log in memory: for tests, rehearsals and organisms that need not remember.
//!
//! It keeps the same rules as the log on disk. It can be told how the next commits end. So tests see
//! how the pump reacts to a full disk or an unknown commit, without breaking a disk. Batches come
//! in, and records go out as they came. Nothing is ever written to a file.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{BatchRule, RuleBreach};
use systole_core::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogBatch, LogFault, LogOpening, LogReader, LogWriter, PlacedRecord, Position, ReadBack,
};
use systole_core::types::record::{Header, Record};

/// A commit result other than success, for tests and for rehearsing faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitFailure {
    /// `Commit::Unknown`, and the batch is stored.
    UnknownStored,
    /// `Commit::Unknown`, and nothing is stored.
    UnknownAbsent,
    /// `Commit::Conflict`, and nothing is stored.
    Conflict,
    /// `Commit::NotNow`, and nothing is stored.
    NotNow,
}

type ItemKey = (ThreadId, CallPath, u32, u32);
type MessageKey = (ThreadId, Name, Key);

fn item_of(header: &Header) -> Option<ItemKey> {
    Some((header.thread.clone(), header.call.clone()?, header.turn?, header.ordinal?))
}

fn keyed_of(header: &Header) -> Option<MessageKey> {
    Some((header.thread.clone(), header.from.clone(), header.key.clone()?))
}

/// A log in memory. Clones are handles to the same log: one writes, any number read.
#[derive(Clone, Default)]
pub struct MemoryLog {
    held: Arc<Mutex<HeldRecords>>,
}

#[derive(Default)]
struct HeldRecords {
    /// Position n is at index n - 1.
    records: Vec<Arc<Record>>,
    /// Indexes into `records`, in the order of the thread: seq n is at index n - 1.
    threads: BTreeMap<ThreadId, Vec<usize>>,
    /// Threads in the order of their first record.
    born: Vec<ThreadId>,
    items: HashSet<ItemKey>,
    keys: HashMap<MessageKey, usize>,
    rows: BTreeMap<ThreadId, FoldRow>,
    documents: HashMap<Digest, Arc<[u8]>>,
    checkpoint: usize,
    endings: VecDeque<CommitFailure>,
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> MemoryLog {
        MemoryLog::default()
    }

    /// Says how the next commits end, one each, in this order; later commits succeed.
    pub fn next_commits(&self, endings: impl IntoIterator<Item = CommitFailure>) {
        self.lock_held().endings.extend(endings);
    }

    fn lock_held(&self) -> MutexGuard<'_, HeldRecords> {
        // A reader that panicked while it held the lock cannot have left a batch half stored: only
        // `store` changes anything, and it does not panic.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldRecords {
    fn last(&self) -> Position {
        Position(self.records.len() as u64)
    }

    fn last_seq(&self, thread: &ThreadId) -> u64 {
        self.threads.get(thread).map_or(0, |of| of.len() as u64)
    }

    /// The first rule that the batch would break, compared with the stored records and within the
    /// batch.
    fn find_breach(&self, batch: &LogBatch) -> Option<String> {
        let mut seqs: HashMap<&ThreadId, u64> = HashMap::new();
        let (mut items, mut keys) = (HashSet::new(), HashSet::new());
        for record in &batch.records {
            let header = &record.header;
            let last = seqs.entry(&header.thread).or_insert_with(|| self.last_seq(&header.thread));
            let rule = if header.seq != *last + 1 {
                Some(BatchRule::Sequence { last: *last })
            } else if item_of(header).is_some_and(|i| self.items.contains(&i) || !items.insert(i)) {
                Some(BatchRule::Item)
            } else if keyed_of(header).is_some_and(|k| self.keys.contains_key(&k) || !keys.insert(k)) {
                Some(BatchRule::Key)
            } else {
                None
            };
            if let Some(rule) = rule {
                return Some(RuleBreach(rule, header).to_string());
            }
            *last = header.seq;
        }
        None
    }

    /// Stores a batch that breaks no rule.
    fn store_batch(&mut self, batch: &LogBatch) {
        for document in &batch.documents {
            self.documents.entry(document.hash).or_insert_with(|| Arc::clone(&document.bytes));
        }
        for record in &batch.records {
            let index = self.records.len();
            let of = self.threads.entry(record.header.thread.clone()).or_default();
            if of.is_empty() {
                self.born.push(record.header.thread.clone());
            }
            of.push(index);
            self.items.extend(item_of(&record.header));
            self.keys.extend(keyed_of(&record.header).map(|k| (k, index)));
            self.records.push(record.clone());
        }
        for row in &batch.rows {
            self.rows.insert(row.thread.clone(), row.clone());
        }
        if let Some(checkpoint) = batch.checkpoint {
            self.checkpoint = usize::try_from(checkpoint.0).unwrap_or(usize::MAX);
        }
    }

    fn find_placed(&self, index: usize) -> Option<PlacedRecord> {
        self.records.get(index).map(|record| (Position(index as u64 + 1), Record::clone(record)))
    }
}

impl LogWriter for MemoryLog {
    fn commit_batch(&mut self, batch: &LogBatch) -> Commit {
        let mut held = self.lock_held();
        let ending = held.endings.pop_front();
        match ending {
            Some(CommitFailure::NotNow) => return Commit::NotNow("the log has no room".into()),
            Some(CommitFailure::Conflict) => return Commit::Conflict("told to conflict".into()),
            Some(CommitFailure::UnknownAbsent) => return Commit::Unknown("told to lose the batch".into()),
            Some(CommitFailure::UnknownStored) | None => {}
        }
        if let Some(words) = held.find_breach(batch) {
            return Commit::Conflict(words);
        }
        held.store_batch(batch);
        match ending {
            Some(_) => Commit::Unknown("told to keep the batch and not say so".into()),
            None => Commit::Committed(held.last()),
        }
    }

    fn read_back(&mut self, batch: &LogBatch) -> ReadBack {
        let held = self.lock_held();
        let stored = batch.records.last().is_some_and(|last| {
            let of = held.threads.get(&last.header.thread);
            let ids = of.into_iter().flatten().filter_map(|at| held.records.get(*at));
            ids.rev().any(|record| record.header.id == last.header.id)
        });
        // A batch without records only sets rows and documents, which may be set again.
        if stored { ReadBack::Stored(held.last()) } else { ReadBack::Absent }
    }
}

impl LogReader for MemoryLog {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        let held = self.lock_held();
        Ok(LogOpening {
            last: held.last(),
            rows: held.rows.values().filter(|row| row.working).cloned().collect(),
            records: held.records.iter().skip(held.checkpoint).map(|r| Record::clone(r)).collect(),
            by_thread: false,
        })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        Ok(self.lock_held().last())
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        Ok(self.lock_held().rows.get(thread).cloned())
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let held = self.lock_held();
        let skip = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let of = held.threads.get(thread).into_iter().flatten();
        Ok(of.skip(skip).take(limit).filter_map(|at| held.find_placed(*at)).collect())
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let held = self.lock_held();
        let from = usize::try_from(position.0).unwrap_or(usize::MAX);
        Ok((from..held.records.len()).take(limit).filter_map(|at| held.find_placed(at)).collect())
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        let held = self.lock_held();
        let at = held.keys.get(&(thread.clone(), sender.clone(), key.clone()));
        Ok(at.and_then(|at| held.find_placed(*at)))
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        Ok(self.lock_held().born.iter().rev().filter(|id| !id.is_sys()).take(limit).cloned().collect())
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let held = self.lock_held();
        let from = held.threads.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let like = from.map(|(id, _)| id).take_while(|id| id.as_str().starts_with(prefix));
        Ok(like.take(limit).cloned().collect())
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        Ok(self.lock_held().documents.get(&hash).cloned())
    }
}
