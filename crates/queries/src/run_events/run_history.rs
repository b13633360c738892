//! The records of a run in the log, in order: those of its thread from its message on, and those of the threads below. It
//! reads these threads alone, however much else the log has got since.

use std::collections::{BTreeMap, VecDeque};

use systole_core::types::ids::ThreadId;
use systole_core::types::limits::LOG_PAGE_FIRST;
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};

use crate::limits;

/// A thread that is read a page at a time.
struct ThreadPage {
    thread: ThreadId,
    /// The record after the page.
    next: u64,
    page: VecDeque<PlacedRecord>,
}

impl ThreadPage {
    fn read(
        reader: &dyn LogReader,
        thread: ThreadId,
        (from, most): (u64, usize),
    ) -> Result<ThreadPage, LogFault> {
        let page: VecDeque<PlacedRecord> = reader.of_thread(&thread, from, most)?.into();
        let next = page.back().map_or(from, |(_, record)| record.header.seq + 1);
        Ok(ThreadPage { thread, next, page })
    }

    fn first(&self) -> Option<Position> {
        self.page.front().map(|(position, _)| *position)
    }
}

/// The records of a run up to a position, as far as they are not read yet.
pub struct RunHistory {
    end: Position,
    /// Its threads, by the positions of their next records.
    pages: BTreeMap<Position, ThreadPage>,
}

impl RunHistory {
    /// The records of the run that record `seq` of a thread began. `None` if there are more threads below than are read
    /// for one run.
    pub fn open(
        reader: &dyn LogReader,
        (thread, seq): (&ThreadId, u64),
        end: Position,
    ) -> Result<Option<RunHistory>, LogFault> {
        let own = ThreadPage::read(reader, thread.clone(), (seq, LOG_PAGE_FIRST))?;
        let below = reader.threads_like(&format!("{thread}."), limits::RUN_THREADS + 1)?;
        if below.len() > limits::RUN_THREADS {
            return Ok(None);
        }
        let begin = own.first().unwrap_or(end);
        let mut pages = BTreeMap::new();
        let below = below.into_iter().map(|thread| ThreadPage::read(reader, thread, (1, 1)));
        for page in std::iter::once(Ok(own)).chain(below) {
            let page = page?;
            // What began earlier belongs to an earlier run.
            if let Some(first) = page.first().filter(|first| *first >= begin) {
                pages.insert(first, page);
            }
        }
        Ok(Some(RunHistory { end, pages }))
    }

    /// The next records; none if all are read.
    pub fn read_page(&mut self, reader: &dyn LogReader) -> Result<Vec<PlacedRecord>, LogFault> {
        let mut records = Vec::new();
        while records.len() < LOG_PAGE_FIRST
            && let Some((first, mut page)) = self.pages.pop_first()
        {
            if first > self.end {
                continue;
            }
            records.extend(page.page.pop_front());
            if page.page.is_empty() {
                page = ThreadPage::read(reader, page.thread, (page.next, LOG_PAGE_FIRST))?;
            }
            if let Some(next) = page.first() {
                self.pages.insert(next, page);
            }
        }
        Ok(records)
    }
}
