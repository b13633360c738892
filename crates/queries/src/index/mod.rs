//! The index of a log, kept up to date: which roots there are and how each ended, and what calls and models took.
//!
//! It is a cache of the log: each answer says up to which record it was made. A file that does not fit the log, or was
//! made before something was erased, is made again. A reader that cannot write the file, or finds it held by another
//! process, makes the index in memory. A log comes in; an index that has all of it goes out.

mod closing;
mod folding;

use std::path::{Path, PathBuf};

use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_log::index::{self, IndexBatch, IndexEnd, IndexFault, IndexFile, IndexWait};

use crate::limits;
use folding::IndexFold;

pub use closing::{ANSWERED, CANCELLED, FAILED};
pub(crate) use folding::UNKNOWN;

/// Reports how far the index is, of the last position, and says whether to go on.
pub type IndexProgress<'a> = &'a mut dyn FnMut(Position, Position) -> bool;

/// The index of one log.
pub struct LogIndex {
    /// The log beside which its file is; `None` if nothing is written beside it.
    log: Option<PathBuf>,
    wait: IndexWait,
    /// The file, once it was opened.
    file: Option<IndexFile>,
    /// The index in memory, while the file cannot be used.
    memory: Option<IndexFile>,
    /// What a person should know about the file.
    pub notes: Vec<String>,
    /// The last note, until the file can be used again.
    noted: Option<String>,
}

impl LogIndex {
    /// The index beside a log.
    pub fn beside(log: &Path, wait: IndexWait) -> LogIndex {
        LogIndex { log: Some(log.to_owned()), wait, file: None, memory: None, notes: Vec::new(), noted: None }
    }

    /// The same for a log beside which nothing is written.
    pub fn apart() -> LogIndex {
        LogIndex {
            log: None,
            wait: IndexWait::Never,
            file: None,
            memory: None,
            notes: Vec::new(),
            noted: None,
        }
    }

    /// Asks the index, with all that the log has now. A file that turns out to be damaged is made again.
    pub fn ask<T>(
        &mut self,
        reader: &dyn LogReader,
        told: IndexProgress<'_>,
        ask: &mut dyn FnMut(&IndexFile) -> Result<T, IndexFault>,
    ) -> Result<T, IndexFault> {
        match self.read_whole(reader, told).and_then(&mut *ask) {
            Err(IndexFault::Stale(_)) => {
                (self.file, self.memory) = (None, None);
                if let Some(log) = &self.log {
                    index::forget_file(log).map_err(|error| IndexFault::Unwritable(error.to_string()))?;
                }
                self.read_whole(reader, told).and_then(ask)
            }
            asked => asked,
        }
    }

    /// The index with all that the log has now.
    pub fn read_whole(
        &mut self,
        reader: &dyn LogReader,
        told: IndexProgress<'_>,
    ) -> Result<&IndexFile, IndexFault> {
        match self.extend_file(reader, told) {
            Ok(true) => {
                (self.memory, self.noted) = (None, None);
                return self.file.as_ref().ok_or(IndexFault::Held);
            }
            Ok(false) => {}
            Err(fault @ (IndexFault::Log(_) | IndexFault::Stale(_))) => return Err(fault),
            // A running organism waits for no one, and takes the file again with the next question.
            Err(IndexFault::Held) if self.wait == IndexWait::Never => {}
            Err(IndexFault::Held) => self.note("another process writes it"),
            Err(IndexFault::Unwritable(why)) => self.note(&why),
        }
        self.extend_memory(reader, told)
    }

    /// Adds to the file what the log has. Returns whether there is a file. It never makes an index in memory.
    pub fn extend_file(
        &mut self,
        reader: &dyn LogReader,
        told: IndexProgress<'_>,
    ) -> Result<bool, IndexFault> {
        let Some(log) = self.log.clone() else { return Ok(false) };
        let mut is_anew = false;
        loop {
            let file = match self.file.take().filter(|file| !file.is_replaced()) {
                Some(file) => file,
                None => IndexFile::open_file(&log, self.wait)?,
            };
            let file = self.file.insert(file);
            match extend(file, reader, told) {
                Err(IndexFault::Stale(_)) if !is_anew => {
                    is_anew = true;
                    self.file = None;
                    index::forget_file(&log).map_err(|error| IndexFault::Unwritable(error.to_string()))?;
                }
                extended => return extended.map(|()| true),
            }
        }
    }

    fn extend_memory(
        &mut self,
        reader: &dyn LogReader,
        told: IndexProgress<'_>,
    ) -> Result<&IndexFile, IndexFault> {
        let kept = match self.memory.take() {
            None => None,
            Some(mut kept) => match extend(&mut kept, reader, told) {
                Ok(()) => Some(kept),
                Err(IndexFault::Stale(_)) => None,
                Err(fault) => return Err(fault),
            },
        };
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let mut fresh = IndexFile::in_memory()?;
                extend(&mut fresh, reader, told)?;
                fresh
            }
        };
        Ok(self.memory.insert(kept))
    }

    /// Keeps a note for a person, once.
    fn note(&mut self, why: &str) {
        if self.noted.as_deref() != Some(why) {
            self.notes.push(format!("{why}; the index of the log is made in memory until that changes"));
            self.noted = Some(why.to_owned());
        }
    }
}

/// Adds to an index what the log has after its end.
fn extend(file: &mut IndexFile, reader: &dyn LogReader, told: IndexProgress<'_>) -> Result<(), IndexFault> {
    let last = reader.read_last()?;
    let end = file.read_end()?;
    if let Some(IndexEnd { position, leaf }) = end {
        let before = Position(position.0.saturating_sub(1));
        let found = reader.read_after(before, 1)?.pop().filter(|(found, _)| *found == position);
        if found.is_none_or(|(_, record)| record.leaf != leaf) {
            return Err(IndexFault::Stale("it belongs to another log".to_owned()));
        }
        if position == last {
            return Ok(());
        }
    } else if last == Position(0) {
        return Ok(());
    }
    let fold = IndexFold { is_from_start: end.is_none() };
    let mut goes_on = true;
    file.extend_file(&mut |batch: &mut IndexBatch<'_>, after| {
        let page = if goes_on { reader.read_after(after, limits::SEARCH_SPAN)? } else { Vec::new() };
        let Some((position, record)) = page.last() else { return Ok(None) };
        for (position, record) in &page {
            fold.add_record(batch, *position, record)?;
        }
        goes_on = told(*position, last.max(*position));
        Ok(Some(IndexEnd { position: *position, leaf: record.leaf }))
    })
}

/// The fault of a log, or of an index that could not even be made in memory.
pub fn describe_fault(fault: IndexFault) -> LogFault {
    let why = match fault {
        IndexFault::Log(fault) => return fault,
        IndexFault::Stale(why) | IndexFault::Unwritable(why) => why,
        IndexFault::Held => "another process holds it".to_owned(),
    };
    LogFault::Io { path: "the index of the log".to_owned(), why }
}
