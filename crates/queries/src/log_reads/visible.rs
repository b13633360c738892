//! The part of a log that a client without the role `read` may see: the threads whose root it opened, and, for a client
//! that decides for others, those in which a person was asked.
//!
//! Other threads read as if they were not there, and so does `sys`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use systole_core::rules::{approval_payload, question};
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};
use systole_core::types::record::RecordKind;

/// A log with the threads of one client.
pub struct VisibleLog {
    log: Arc<dyn LogReader>,
    client: Name,
    roots: Mutex<HashMap<ThreadId, bool>>,
    /// For a client that decides: the roots with requests to a person.
    asked: Option<Mutex<AskedRoots>>,
}

/// The roots below which a person was asked, as far as `sys` was read.
#[derive(Default)]
struct AskedRoots {
    seq: u64,
    roots: HashSet<ThreadId>,
}

impl VisibleLog {
    /// What that client opened, and everything below it; if it `decides`, also every conversation in which a person was
    /// asked.
    pub fn new(log: Arc<dyn LogReader>, client: Name, decides: bool) -> VisibleLog {
        VisibleLog { log, client, roots: Mutex::default(), asked: decides.then(Mutex::default) }
    }

    /// Whether the client may decide something below a root, or could.
    fn is_asked_below(&self, root: &ThreadId) -> Result<bool, LogFault> {
        let Some(asked) = &self.asked else { return Ok(false) };
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.roots.contains(root) {
            return Ok(true);
        }
        for placed in self.log.records_of(&ThreadId::new_sys(), asked.seq + 1) {
            let (_, record) = placed?;
            asked.seq = record.header.seq;
            if record.header.kind != RecordKind::Approval {
                continue;
            }
            let of_approval = approval_payload::read_request(&record.body).map(|request| request.thread);
            let thread =
                of_approval.or_else(|| question::read_asked(&record.body).map(|request| request.thread));
            asked.roots.extend(thread.map(|thread| thread.root_of()));
            if asked.roots.contains(root) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the client may see a thread.
    pub fn shows(&self, thread: &ThreadId) -> Result<bool, LogFault> {
        if thread.is_sys() {
            return Ok(false);
        }
        let root = thread.root_of();
        if self.is_asked_below(&root)? {
            return Ok(true);
        }
        let known = self.roots.lock().unwrap_or_else(PoisonError::into_inner).get(&root).copied();
        if let Some(is_own) = known {
            return Ok(is_own);
        }
        let first = self.log.of_thread(&root, 1, 1)?;
        let Some((_, record)) = first.first() else { return Ok(false) };
        let is_own = record.header.from == self.client;
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if roots.len() >= crate::limits::KNOWN_THREADS {
            roots.clear();
        }
        roots.insert(root, is_own);
        Ok(is_own)
    }

    fn keep_visible(
        &self,
        ids: impl IntoIterator<Item = ThreadId>,
        limit: usize,
    ) -> Result<Vec<ThreadId>, LogFault> {
        let mut shown = Vec::new();
        for id in ids {
            if shown.len() >= limit {
                break;
            }
            if self.shows(&id)? {
                shown.push(id);
            }
        }
        Ok(shown)
    }
}

impl LogReader for VisibleLog {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        Ok(LogOpening { last: self.log.read_last()?, by_thread: true, ..LogOpening::default() })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.log.read_last()
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        if self.shows(thread)? { self.log.read_row(thread) } else { Ok(None) }
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        if self.shows(thread)? { self.log.of_thread(thread, seq, limit) } else { Ok(Vec::new()) }
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let (mut found, mut records) = (Vec::new(), self.log.records_after(position));
        while found.len() < limit
            && let Some((position, record)) = records.next().transpose()?
        {
            if self.shows(&record.header.thread)? {
                found.push((position, record));
            }
        }
        Ok(found)
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        if self.shows(thread)? { self.log.by_key(thread, sender, key) } else { Ok(None) }
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.keep_visible(self.log.list_threads(usize::MAX)?, limit)
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.keep_visible(self.log.threads_like(prefix, usize::MAX)?, limit)
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.log.read_document(hash)
    }
}
