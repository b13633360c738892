//! The next records of the log, and a reader that finds them in memory: an event often needs records that came shortly
//! before its own, such as the one that opened the call, or with it.

use std::collections::HashMap;
use std::sync::Arc;

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};

use crate::limits::{PAGE_BYTES, PAGE_RECORDS};

/// Records of the log that follow each other.
pub(crate) struct LogPage {
    /// The records.
    pub(crate) records: Vec<PlacedRecord>,
    /// Whether they are the last ones of the log.
    pub(crate) is_last: bool,
}

impl LogPage {
    /// The records after a position. Those before a damaged one are a page of their own.
    pub(crate) fn read_after(log: &dyn LogReader, after: Position) -> Result<LogPage, LogFault> {
        let (mut records, mut bytes): (Vec<PlacedRecord>, usize) = (Vec::new(), 0);
        let mut following = log.records_after(after);
        while records.len() < PAGE_RECORDS && bytes < PAGE_BYTES {
            match following.next() {
                Some(Ok(placed)) => {
                    bytes += placed.1.body.len();
                    records.push(placed);
                }
                Some(Err(fault)) if records.is_empty() => return Err(fault),
                Some(Err(_)) => break,
                None => return Ok(LogPage { records, is_last: true }),
            }
        }
        Ok(LogPage { records, is_last: false })
    }
}

/// Reads a log of which a page is in memory.
pub(crate) struct PageReader<'a> {
    log: &'a dyn LogReader,
    page: &'a LogPage,
    /// Where in the page the records of each thread are.
    threads: HashMap<&'a ThreadId, Vec<usize>>,
}

impl<'a> PageReader<'a> {
    pub(crate) fn new(log: &'a dyn LogReader, page: &'a LogPage) -> PageReader<'a> {
        let mut threads: HashMap<&ThreadId, Vec<usize>> = HashMap::new();
        for (index, (_, record)) in page.records.iter().enumerate() {
            threads.entry(&record.header.thread).or_default().push(index);
        }
        PageReader { log, page, threads }
    }

    /// Records that begin in the page, unless the log may have further ones behind the page.
    fn copy_found<'p>(
        &self,
        found: impl Iterator<Item = &'p PlacedRecord>,
        limit: usize,
    ) -> Option<Vec<PlacedRecord>> {
        let found: Vec<PlacedRecord> = found.take(limit).cloned().collect();
        (found.len() == limit || self.page.is_last).then_some(found)
    }

    fn find_of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Option<Vec<PlacedRecord>> {
        let all = self.threads.get(thread)?.iter().filter_map(|index| self.page.records.get(*index));
        let (_, first) = all.clone().next()?;
        let before = seq.checked_sub(first.header.seq)?;
        self.copy_found(all.skip(usize::try_from(before).ok()?), limit)
    }

    fn find_after(&self, position: Position, limit: usize) -> Option<Vec<PlacedRecord>> {
        let (first, _) = self.page.records.first()?;
        let before = (position.0 + 1).checked_sub(first.0)?;
        self.copy_found(self.page.records.iter().skip(usize::try_from(before).ok()?), limit)
    }
}

impl LogReader for PageReader<'_> {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        self.log.read_opening()
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.log.read_last()
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.log.read_row(thread)
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let found = self.find_of_thread(thread, seq, limit);
        found.map_or_else(|| self.log.of_thread(thread, seq, limit), Ok)
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let found = self.find_after(position, limit);
        found.map_or_else(|| self.log.read_after(position, limit), Ok)
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        self.log.by_key(thread, sender, key)
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

#[cfg(test)]
mod tests {
    use systole_core::types::ids::MessageId;
    use systole_core::types::ports::{LogBatch, LogWriter};
    use systole_core::types::record::{Header, Record, head_zero};
    use systole_core::types::time::Millis;
    use systole_log::memory::MemoryLog;
    use systole_log::sqlite;

    use super::*;

    const THREADS: [&str; 3] = ["sess-0000000000a1", "sess-0000000000b2", "sess-0000000000c3"];

    /// A log in memory in which the records of three threads take turns.
    fn write_log(records: u64) -> MemoryLog {
        let mut log = MemoryLog::new();
        add_records(&mut log, records);
        log
    }

    fn add_records(log: &mut dyn LogWriter, records: u64) {
        let mut heads = THREADS.map(|id| head_zero(&ThreadId::parse(id).unwrap()));
        for at in 0..records {
            let which = usize::try_from(at % 3).unwrap();
            let (thread, id) =
                (ThreadId::parse(THREADS[which]).unwrap(), MessageId([u8::try_from(at).unwrap(); 16]));
            let header = Header::new_notice(thread, at / 3 + 1, id, Millis(100), Digest([1; 32]));
            let record = header.seal_record(
                Arc::from(format!("<said>part {at}</said>").as_bytes()),
                [7; 16],
                heads[which],
            );
            heads[which] = record.head;
            log.commit_batch(&LogBatch { records: vec![Arc::new(record)], ..LogBatch::default() });
        }
    }

    fn places(found: &[(Position, Record)]) -> Vec<u64> {
        found.iter().map(|(position, _)| position.0).collect()
    }

    #[test]
    fn h15_a_page_in_memory_says_what_the_log_says_from_every_record_on() {
        let log = write_log(30);
        for (is_last, records) in
            [(false, log.read_after(Position(9), 12)), (true, log.read_after(Position(9), 99))]
        {
            let page = LogPage { records: records.unwrap(), is_last };
            let reader = PageReader::new(&log, &page);
            for limit in [1, 2, 5, 40] {
                for position in (0..32).map(Position) {
                    let own = log.read_after(position, limit).unwrap();
                    assert_eq!(places(&reader.read_after(position, limit).unwrap()), places(&own));
                }
                for (thread, seq) in THREADS.iter().flat_map(|one| (1..13).map(move |seq| (one, seq))) {
                    let thread = ThreadId::parse(thread).unwrap();
                    let own = log.of_thread(&thread, seq, limit).unwrap();
                    assert_eq!(places(&reader.of_thread(&thread, seq, limit).unwrap()), places(&own));
                }
            }
        }
    }

    #[test]
    fn h15_what_a_page_has_is_not_read_again() {
        let log = write_log(30);
        let page = LogPage { records: log.read_after(Position(9), 99).unwrap(), is_last: true };
        let empty = MemoryLog::new();
        let reader = PageReader::new(&empty, &page);
        let thread = ThreadId::parse(THREADS[0]).unwrap();
        assert_eq!(places(&reader.of_thread(&thread, 5, 8).unwrap()), [13, 16, 19, 22, 25, 28]);
        assert_eq!(places(&reader.read_after(Position(27), 8).unwrap()), [28, 29, 30]);
        assert!(reader.of_thread(&thread, 1, 8).unwrap().is_empty(), "the page begins later");
    }

    #[test]
    fn h15_the_records_before_a_damaged_one_are_a_page_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hello.db");
        let mut opened = sqlite::open_log(&path).unwrap();
        add_records(&mut opened.writer, 9);
        drop(opened);
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(6).position(|window| window == b"part 4").unwrap();
        let damaged = [&bytes[..at], b"part 5", &bytes[at + 6..]].concat();
        std::fs::write(&path, damaged).unwrap();
        let log = sqlite::open_reading(&path).unwrap();
        let page = LogPage::read_after(&log, Position(0)).unwrap();
        assert_eq!((places(&page.records), page.is_last), (vec![1, 2, 3, 4], false));
        let fault = LogPage::read_after(&log, Position(4)).err().unwrap();
        assert!(fault.is_damage(), "{fault}");
    }
}
