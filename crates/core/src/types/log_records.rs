//! The records of a log, one after the other.
//!
//! The iterator reads a page at a time and holds at most one: a log of any length takes little memory, no reader stays
//! in the way of the writer, and one that is left early reads no further page. It ends at the first short page, so it
//! does not run after a log that grows. A damaged record comes as a fault after all records before it, however large
//! the pages are. Nothing follows a fault.
//!
//! A log comes in; its records go out in their order, each with its position. Nothing is read but through the port.

use std::vec::IntoIter;

use super::ids::ThreadId;
use super::limits::{LOG_PAGE, LOG_PAGE_BYTES, LOG_PAGE_FIRST};
use super::ports::{LogFault, LogReader, Position};
use super::record::Record;

impl<'l> dyn LogReader + 'l {
    /// The records of a thread, from a number on.
    pub fn records_of<'a>(&'a self, thread: &'a ThreadId, from: u64) -> LogRecords<'a> {
        LogRecords::new(self, Some(thread), from)
    }

    /// The records after a position.
    pub fn records_after(&self, position: Position) -> LogRecords<'_> {
        LogRecords::new(self, None, position.0)
    }
}

/// Records of a log, read when they are asked for.
pub struct LogRecords<'a> {
    log: &'a dyn LogReader,
    /// The thread, if only its records are read.
    thread: Option<&'a ThreadId>,
    /// Where the next page begins: the number of a record in the thread, or the position before it.
    next: u64,
    /// The last position that is passed on.
    end: Position,
    page: IntoIter<(Position, Record)>,
    /// How many records the next page has.
    size: usize,
    /// The most records that a page may still have.
    most: usize,
    is_over: bool,
}

impl<'a> LogRecords<'a> {
    fn new(log: &'a dyn LogReader, thread: Option<&'a ThreadId>, next: u64) -> LogRecords<'a> {
        let (end, page) = (Position(u64::MAX), Vec::new().into_iter());
        let most = if thread.is_some() { LOG_PAGE_FIRST } else { LOG_PAGE };
        LogRecords { log, thread, next, end, page, size: LOG_PAGE_FIRST, most, is_over: false }
    }

    /// The same up to a position, with its record.
    pub fn up_to(self, end: Position) -> LogRecords<'a> {
        LogRecords { end, ..self }
    }

    fn read_next(&mut self) -> Result<(), LogFault> {
        let mut page = self.read_page()?;
        self.is_over = page.len() < self.size || page.last().is_none_or(|(last, _)| *last >= self.end);
        if let Some((position, record)) = page.last() {
            self.next = if self.thread.is_some() { record.header.seq + 1 } else { position.0 };
        }
        page.retain(|(position, _)| *position <= self.end);
        let bytes: usize = page.iter().map(|(_, record)| record.body.len()).sum();
        let size = if bytes > LOG_PAGE_BYTES { self.size.div_ceil(2) } else { self.size * 2 };
        self.size = size.min(self.most);
        self.page = page.into_iter();
        Ok(())
    }

    /// Reads the next page. One with a damaged record is halved until it ends before that record.
    fn read_page(&mut self) -> Result<Vec<(Position, Record)>, LogFault> {
        loop {
            let page = match self.thread {
                Some(thread) => self.log.of_thread(thread, self.next, self.size),
                None => {
                    let left = self.end.0.saturating_sub(self.next);
                    self.size = self.size.min(usize::try_from(left).unwrap_or(usize::MAX));
                    if self.size == 0 {
                        return Ok(Vec::new());
                    }
                    self.log.read_after(Position(self.next), self.size)
                }
            };
            match page {
                Err(LogFault::Damaged { .. }) if self.size > 1 => {
                    self.most = self.size / 2;
                    self.size = self.most;
                }
                page => return page,
            }
        }
    }
}

impl Iterator for LogRecords<'_> {
    type Item = Result<(Position, Record), LogFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0
            && !self.is_over
            && let Err(fault) = self.read_next()
        {
            self.is_over = true;
            return Some(Err(fault));
        }
        self.page.next().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::types::ids::{Digest, Key, MessageId, Name};
    use crate::types::ports::{FoldRow, LogOpening};
    use crate::types::record::{Header, head_zero};
    use crate::types::time::Millis;

    /// A log of one thread that notes the size of each page that is read.
    #[derive(Default)]
    struct Pages {
        records: Mutex<Vec<(Position, Record)>>,
        damaged: Option<u64>,
        read: Mutex<Vec<usize>>,
    }

    impl Pages {
        /// A log with records at these positions.
        fn at(positions: impl IntoIterator<Item = u64>) -> Pages {
            let log = Pages::default();
            positions.into_iter().for_each(|position| log.add(position, "<a/>"));
            log
        }

        fn add(&self, position: u64, body: &str) {
            let mut records = self.records.lock().unwrap();
            let sys = ThreadId::new_sys();
            let (seq, id) = (records.len() as u64 + 1, MessageId([1; 16]));
            let header = Header::new_notice(sys.clone(), seq, id, Millis(0), Digest([1; 32]));
            let record = header.seal_record(Arc::from(body.as_bytes()), [7; 16], head_zero(&sys));
            records.push((Position(position), record));
        }

        fn page(
            &self,
            limit: usize,
            fits: impl Fn(&(Position, Record)) -> bool,
        ) -> Result<Vec<(Position, Record)>, LogFault> {
            self.read.lock().unwrap().push(limit);
            let records = self.records.lock().unwrap();
            let page: Vec<_> = records.iter().filter(|placed| fits(placed)).take(limit).cloned().collect();
            match page.iter().find(|(position, _)| Some(position.0) == self.damaged) {
                Some((position, _)) => {
                    Err(LogFault::Damaged { path: "log".into(), position: *position, why: "bad".into() })
                }
                None => Ok(page),
            }
        }

        /// The positions of these records, and the fault that ends them.
        fn told(records: LogRecords<'_>) -> (Vec<u64>, Option<LogFault>) {
            let (mut positions, mut ends) = (Vec::new(), None);
            for placed in records {
                assert_eq!(ends, None, "something follows a fault");
                match placed {
                    Ok((position, _)) => positions.push(position.0),
                    Err(fault) => ends = Some(fault),
                }
            }
            (positions, ends)
        }

        fn reads(&self) -> Vec<usize> {
            std::mem::take(&mut *self.read.lock().unwrap())
        }
    }

    impl LogReader for Pages {
        fn read_opening(&self) -> Result<LogOpening, LogFault> {
            unreachable!()
        }
        fn read_last(&self) -> Result<Position, LogFault> {
            unreachable!()
        }
        fn read_row(&self, _: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
            unreachable!()
        }
        fn of_thread(
            &self,
            thread: &ThreadId,
            seq: u64,
            limit: usize,
        ) -> Result<Vec<(Position, Record)>, LogFault> {
            self.page(limit, |(_, record)| record.header.thread == *thread && record.header.seq >= seq)
        }
        fn read_after(&self, at: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
            self.page(limit, |(position, _)| *position > at)
        }
        fn by_key(&self, _: &ThreadId, _: &Name, _: &Key) -> Result<Option<(Position, Record)>, LogFault> {
            unreachable!()
        }
        fn list_threads(&self, _: usize) -> Result<Vec<ThreadId>, LogFault> {
            unreachable!()
        }
        fn threads_like(&self, _: &str, _: usize) -> Result<Vec<ThreadId>, LogFault> {
            unreachable!()
        }
        fn read_document(&self, _: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
            unreachable!()
        }
    }

    const FIRST: u64 = LOG_PAGE_FIRST as u64;

    #[test]
    fn every_record_comes_once_and_in_order() {
        for count in [0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST, 5000] {
            let log = Pages::at(1..=count);
            let log: &dyn LogReader = &log;
            let all: Vec<u64> = (1..=count).collect();
            assert_eq!(Pages::told(log.records_after(Position(0))), (all.clone(), None));
            assert_eq!(Pages::told(log.records_of(&ThreadId::new_sys(), 1)), (all, None));
            let rest: Vec<u64> = (8..=count).collect();
            assert_eq!(Pages::told(log.records_after(Position(7))), (rest.clone(), None));
            assert_eq!(Pages::told(log.records_of(&ThreadId::new_sys(), 8)), (rest, None));
        }
    }

    #[test]
    fn lost_positions_are_passed_over() {
        let positions: Vec<u64> = (1..=40).chain(200..=400).chain([9000]).collect();
        let log = Pages::at(positions.clone());
        let log: &dyn LogReader = &log;
        assert_eq!(Pages::told(log.records_after(Position(0))), (positions.clone(), None));
        assert_eq!(Pages::told(log.records_of(&ThreadId::new_sys(), 1)), (positions, None));
    }

    #[test]
    fn pages_grow_and_a_short_one_ends() {
        let log = Pages::at(1..=5000);
        Pages::told((&log as &dyn LogReader).records_after(Position(0)));
        let mut grows: Vec<usize> = std::iter::successors(Some(LOG_PAGE_FIRST), |size| Some(size * 2))
            .take_while(|size| *size < LOG_PAGE)
            .collect();
        let left = 5000 - grows.iter().sum::<usize>();
        grows.extend(std::iter::repeat_n(LOG_PAGE, left / LOG_PAGE + 1));
        assert_eq!(log.reads(), grows);
    }

    #[test]
    fn one_that_is_left_early_reads_no_further_page() {
        let log = Pages::at(1..=5000);
        let mut records = (&log as &dyn LogReader).records_after(Position(0));
        assert_eq!(log.reads(), [0; 0], "nothing is read before it is asked for");
        records.by_ref().take(LOG_PAGE_FIRST).for_each(drop);
        assert_eq!(log.reads(), [LOG_PAGE_FIRST]);
        records.next();
        assert_eq!(log.reads(), [2 * LOG_PAGE_FIRST]);
    }

    #[test]
    fn a_full_last_page_is_followed_by_one_look() {
        let log = Pages::at(1..=FIRST);
        Pages::told((&log as &dyn LogReader).records_of(&ThreadId::new_sys(), 1));
        assert_eq!(log.reads(), [LOG_PAGE_FIRST; 2]);
    }

    #[test]
    fn a_record_that_comes_after_a_short_page_is_not_seen() {
        let log = Pages::at(1..=3);
        let mut records = (&log as &dyn LogReader).records_after(Position(0));
        records.next();
        log.add(4, "<a/>");
        assert_eq!(Pages::told(records).0, [2, 3]);
        assert_eq!(log.reads(), [LOG_PAGE_FIRST]);
    }

    #[test]
    fn an_end_is_kept_and_nothing_behind_it_is_read() {
        let log = Pages { damaged: Some(11), ..Pages::at(1..=5000) };
        let reader: &dyn LogReader = &log;
        let first: Vec<u64> = (1..=10).collect();
        assert_eq!(Pages::told(reader.records_after(Position(0)).up_to(Position(10))), (first, None));
        assert_eq!(log.reads(), [10]);
        assert_eq!(Pages::told(reader.records_after(Position(10)).up_to(Position(10))), (vec![], None));
        assert_eq!(log.reads(), [0; 0]);
        let log = Pages::at((1..=30).chain(50..=5000));
        let reader: &dyn LogReader = &log;
        let until_51: Vec<u64> = (1..=30).chain([50, 51]).collect();
        assert_eq!(Pages::told(reader.records_after(Position(0)).up_to(Position(51))).0, until_51);
        assert_eq!(log.reads(), [51]);
        assert_eq!(Pages::told(reader.records_of(&ThreadId::new_sys(), 1).up_to(Position(51))).0, until_51);
        assert_eq!(log.reads(), [LOG_PAGE_FIRST]);
    }

    #[test]
    fn the_records_before_a_damaged_one_come_first() {
        for bad in [1, 2, 40, FIRST, FIRST + 1, 700] {
            let log = Pages { damaged: Some(bad), ..Pages::at(1..=1000) };
            let log: &dyn LogReader = &log;
            for records in [log.records_after(Position(0)), log.records_of(&ThreadId::new_sys(), 1)] {
                let (told, fault) = Pages::told(records);
                assert_eq!(told, (1..bad).collect::<Vec<u64>>());
                assert!(matches!(fault, Some(LogFault::Damaged { position, .. }) if position.0 == bad));
            }
        }
    }

    #[test]
    fn pages_of_large_records_stay_small() {
        let log = Pages::default();
        let large = "x".repeat(LOG_PAGE_BYTES / 16);
        (1..=4 * FIRST).for_each(|position| log.add(position, &large));
        assert_eq!(
            Pages::told((&log as &dyn LogReader).records_after(Position(0))).0.len(),
            4 * LOG_PAGE_FIRST
        );
        assert_eq!(log.reads(), [64, 32, 16, 32, 16, 32, 16, 32, 16, 32]);
    }
}
