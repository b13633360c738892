//! The end of the log for many followers: records are read once, not by each follower, and a slow follower blocks no
//! other and misses nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use systole::edges::log::memory::MemoryLog;
use systole::runtime::tail::{FollowPosition, LogTail};
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogFault, LogOpening, LogReader, LogWriter as _, Position,
};
use systole_core::types::record::Record;
use tokio::sync::watch;

use crate::log_records::{Author, batch, root};

/// A log that counts its page reads.
struct Counted {
    log: MemoryLog,
    pages: AtomicUsize,
}

impl LogReader for Counted {
    fn opening(&self) -> Result<LogOpening, LogFault> {
        self.log.opening()
    }
    fn last(&self) -> Result<Position, LogFault> {
        self.log.last()
    }
    fn row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.log.row(thread)
    }
    fn of_thread(
        &self,
        thread: &ThreadId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<(Position, Record)>, LogFault> {
        self.log.of_thread(thread, seq, limit)
    }
    fn after(&self, position: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.log.after(position, limit)
    }
    fn by_key(
        &self,
        thread: &ThreadId,
        sender: &Name,
        key: &Key,
    ) -> Result<Option<(Position, Record)>, LogFault> {
        self.log.by_key(thread, sender, key)
    }
    fn threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.threads(limit)
    }
    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.log.threads_like(prefix, limit)
    }
    fn document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.log.document(hash)
    }
}

/// A growing log, with its followers.
struct GrowingLog {
    reader: Arc<Counted>,
    author: Author,
    end: watch::Sender<Position>,
    tail: LogTail,
}

impl GrowingLog {
    fn new() -> GrowingLog {
        let reader = Arc::new(Counted { log: MemoryLog::new(), pages: AtomicUsize::new(0) });
        let (end, ends) = watch::channel(Position(0));
        // It ends with the log, or with the test.
        let (tail, _task) = LogTail::of(reader.clone(), ends);
        GrowingLog { reader, author: Author::default(), end, tail }
    }

    fn grows(&mut self, thread: &ThreadId) -> Position {
        let record = self.author.note(thread, 100);
        let Commit::Committed(position) = self.reader.log.clone().commit(&batch([record])) else {
            panic!("it is not committed")
        };
        self.end.send_replace(position);
        position
    }

    fn pages(&self) -> usize {
        self.reader.pages.load(Ordering::Relaxed)
    }
}

/// Whether one read of a follower gets nothing.
async fn hears_nothing(following: &mut FollowPosition) -> bool {
    tokio::select! {
        biased;
        _ = following.next() => false,
        () = tokio::task::yield_now() => true,
    }
}

async fn next(following: &mut FollowPosition) -> Vec<Position> {
    let records = following.next().await.unwrap().expect("it has ended");
    records.into_iter().map(|(position, _)| position).collect()
}

/// The number of page reads while a thread grows fifty times, with this many followers of another thread.
async fn pages_beside(idle: usize) -> usize {
    let mut log = GrowingLog::new();
    let (quiet, busy) = (root(1), root(2));
    let mut idle: Vec<FollowPosition> =
        (0..idle).map(|_| log.tail.follow(Position(0), Some(quiet.clone()))).collect();
    for following in &mut idle {
        assert!(hears_nothing(following).await);
    }
    let mut follows = log.tail.follow(Position(0), Some(busy.clone()));
    assert!(hears_nothing(&mut follows).await);
    let before = log.pages();
    for _ in 0..50 {
        let position = log.grows(&busy);
        assert_eq!(next(&mut follows).await, [position]);
    }
    let read = log.pages() - before;
    for following in &mut idle {
        assert!(hears_nothing(following).await);
    }
    assert_eq!(log.pages() - before, read, "a follower reads no other thread");
    // Each still gets its own thread.
    let position = log.grows(&quiet);
    for following in &mut idle {
        assert_eq!(next(following).await, [position]);
    }
    read
}

#[tokio::test]
async fn d5_followers_of_idle_threads_cause_no_reads_of_other_threads() {
    let alone = pages_beside(0).await;
    assert_eq!(alone, 50, "one for each record");
    assert_eq!(pages_beside(60).await, alone);
}

#[tokio::test]
async fn without_followers_nothing_is_read() {
    let mut log = GrowingLog::new();
    for _ in 0..10 {
        log.grows(&root(1));
        tokio::task::yield_now().await;
    }
    assert_eq!(log.pages(), 0);
    // A late follower reads earlier records itself.
    let mut late = log.tail.follow(Position(4), None);
    assert_eq!(next(&mut late).await, (5..=10).map(Position).collect::<Vec<_>>());
    assert_eq!(log.pages(), 1);
}

#[tokio::test]
async fn a_follower_from_a_position_not_yet_read_gets_only_later_records() {
    let mut log = GrowingLog::new();
    let mut all = log.tail.follow(Position(0), None);
    assert!(hears_nothing(&mut all).await);
    // The reader gets no turn in between.
    let [_, second, third] = [(); 3].map(|()| log.grows(&root(1)));
    let mut late = log.tail.follow(second, Some(root(1)));
    assert_eq!(next(&mut late).await, [third]);
}

#[tokio::test]
async fn d5_a_slow_follower_delays_no_other_follower_and_misses_nothing() {
    let mut log = GrowingLog::new();
    let (one, below) = (root(1), ThreadId::parse(&format!("{}.below", root(1))).unwrap());
    let mut slow = log.tail.follow(Position(0), Some(one.clone()));
    let mut fast = log.tail.follow(Position(0), None);
    assert!(hears_nothing(&mut slow).await && hears_nothing(&mut fast).await);
    let (two, mut own) = (root(2), Vec::new());
    for n in 0..3000 {
        let thread = [&one, &below, &two][n % 3];
        let position = log.grows(thread);
        if n % 3 < 2 {
            own.push(position);
        }
        assert_eq!(next(&mut fast).await, [position]);
    }
    let mut seen = Vec::new();
    while seen.len() < own.len() {
        seen.extend(next(&mut slow).await);
    }
    assert_eq!(seen, own, "each once, in order");
    let position = log.grows(&one);
    assert_eq!(next(&mut slow).await, [position]);
    let GrowingLog { end, .. } = log;
    drop(end);
    assert!(slow.next().await.unwrap().is_none());
}
