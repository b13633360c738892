//! The pump's reads of the log. A read may fail once. It adds nothing to what the log contains.

use std::sync::Arc;

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, Position};
use systole_core::types::record::Record;
use systole_log::memory::MemoryLog;

/// One read.
pub(crate) struct Glass {
    pub(crate) log: MemoryLog,
    /// Whether nothing can be read this time.
    pub(crate) is_blind: bool,
    /// Whether an opening omits the rows, like a start that forgets them.
    pub(crate) forgets_rows: bool,
}

impl Glass {
    fn look<T>(&self, found: Result<T, LogFault>) -> Result<T, LogFault> {
        if self.is_blind {
            return Err(LogFault::Io { path: "the log".into(), why: "nothing can be read".into() });
        }
        found
    }
}

impl LogReader for Glass {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        let opening = self.log.read_opening()?;
        let rows = if self.forgets_rows { Vec::new() } else { opening.rows };
        Ok(LogOpening { rows, ..opening })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.log.read_last()
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.look(self.log.read_row(thread))
    }

    fn of_thread(&self, id: &ThreadId, seq: u64, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
        self.look(self.log.of_thread(id, seq, limit))
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
        self.log.read_after(position, limit)
    }

    fn by_key(&self, id: &ThreadId, who: &Name, key: &Key) -> Result<Option<(Position, Record)>, LogFault> {
        self.look(self.log.by_key(id, who, key))
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.list_threads(limit)
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.threads_like(prefix, limit)
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.log.read_document(hash)
    }
}
