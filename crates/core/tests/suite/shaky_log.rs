//! A log behind a test layer: it notes which records were read. Its next reads fail, or find no records of
//! threads, if a test says so. The data comes from the log in memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, Position};
use systole_core::types::record::Record;
use systole_log::memory::MemoryLog;

/// Records, each with its position.
type Found = Vec<(Position, Record)>;

/// A log whose next reads fail, this many of them, or that no longer finds records of threads. It notes which
/// records of which threads were read.
pub(crate) struct Shaky {
    log: MemoryLog,
    read: Mutex<Vec<(ThreadId, u64)>>,
    /// Records that were read in the order of the log.
    walked: AtomicUsize,
    /// The number of reads that will still fail.
    pub(crate) fails: AtomicUsize,
    /// Whether it finds no records of threads.
    pub(crate) deaf: AtomicBool,
}

impl Shaky {
    /// A log that does not fail yet.
    pub(crate) fn of(log: MemoryLog) -> Shaky {
        let (read, walked, fails, deaf) = Default::default();
        Shaky { log, read, walked, fails, deaf }
    }

    /// How many records were read in the order of the log.
    pub(crate) fn walked(&self) -> usize {
        self.walked.load(Ordering::Relaxed)
    }

    /// The records of threads that were read singly since the last call.
    pub(crate) fn was_read(&self) -> Vec<(ThreadId, u64)> {
        std::mem::take(&mut *self.read.lock().unwrap())
    }

    fn look<T>(&self, found: Result<T, LogFault>) -> Result<T, LogFault> {
        let shaken = self.fails.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        match shaken {
            Ok(_) => Err(LogFault::Io { path: "log".into(), why: "told to fail".into() }),
            Err(_) => found,
        }
    }
}

impl LogReader for Shaky {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        self.log.read_opening()
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.log.read_last()
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.look(self.log.read_row(thread))
    }

    fn of_thread(&self, id: &ThreadId, seq: u64, limit: usize) -> Result<Found, LogFault> {
        let limit = if self.deaf.load(Ordering::Relaxed) { 0 } else { limit };
        let found = self.look(self.log.of_thread(id, seq, limit))?;
        let read = found.iter().map(|(_, record)| (id.clone(), record.header.seq));
        self.read.lock().unwrap().extend(read);
        Ok(found)
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Found, LogFault> {
        let found = self.log.read_after(position, limit)?;
        self.walked.fetch_add(found.len(), Ordering::Relaxed);
        Ok(found)
    }

    fn by_key(&self, id: &ThreadId, who: &Name, key: &Key) -> Result<Option<(Position, Record)>, LogFault> {
        self.log.by_key(id, who, key)
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.list_threads(limit)
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.threads_like(prefix, limit)
    }

    fn read_document(&self, hash: Digest) -> Result<Option<std::sync::Arc<[u8]>>, LogFault> {
        self.log.read_document(hash)
    }
}
