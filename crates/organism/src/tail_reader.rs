//! Reads a log as the pump writes it. Its newest records are in memory, and come from there: followers and the keeper of
//! the index read each record soon after it is on disk. Everything else is read from the log itself.

use std::sync::Arc;

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};

use crate::tail::LogTail;

impl LogReader for LogTail {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        self.reader.read_opening()
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.reader.read_last()
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.reader.read_row(thread)
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        self.reader.of_thread(thread, seq, limit)
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        self.copy_kept(position, limit).map_or_else(|| self.reader.read_after(position, limit), Ok)
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        self.reader.by_key(thread, sender, key)
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.reader.list_threads(limit)
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.reader.threads_like(prefix, limit)
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.reader.read_document(hash)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    use systole_core::types::ids::MessageId;
    use systole_core::types::record::{Header, Record, head_zero};
    use systole_core::types::time::Millis;
    use systole_log::memory::MemoryLog;

    use super::*;
    use crate::limits::TAIL_KEPT;

    fn write_record(seq: u64) -> Arc<Record> {
        let thread = ThreadId::parse("sess-0000000000a1").unwrap();
        let head = head_zero(&thread);
        let header = Header::new_notice(thread, seq, MessageId([1; 16]), Millis(100), Digest([1; 32]));
        Arc::new(header.seal_record(Arc::from(&b"<said/>"[..]), [7; 16], head))
    }

    #[test]
    fn the_newest_records_are_read_from_memory_and_all_others_from_the_log() {
        // The log itself is empty, so what it is asked for is missing.
        let (tail, mut end) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
        let all = TAIL_KEPT as u64 + 10;
        for seq in 1..=all {
            end.add_written(&[write_record(seq)]);
            assert!(tail.read_after(Position(seq - 1), 5).unwrap().is_empty(), "it is not on disk yet");
            end.is_at(Position(seq));
        }
        let places = |after: u64, limit| -> Vec<(u64, u64)> {
            let found = tail.read_after(Position(after), limit).unwrap();
            found.iter().map(|(position, record)| (position.0, record.header.seq)).collect()
        };
        assert_eq!(places(all - 2, 5), [(all - 1, all - 1), (all, all)]);
        assert_eq!(places(10, 2), [(11, 11), (12, 12)]);
        assert!(places(9, 2).is_empty(), "one of these is no longer kept");
        assert!(places(all, 5).is_empty() && places(all + 3, 5).is_empty());
    }

    struct WakeCount(AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<WakeCount>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_for_the_end_of_a_log_is_not_woken_by_its_records() {
        let (tail, mut end) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
        let count = Arc::new(WakeCount(AtomicUsize::new(0)));
        let waker = Waker::from(count.clone());
        let mut over = pin!(tail.wait_for_end());
        assert!(over.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        for seq in 1..=3 {
            end.add_written(&[write_record(seq)]);
            end.is_at(Position(seq));
        }
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        drop(end);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(over.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
