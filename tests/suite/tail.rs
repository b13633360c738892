//! The end of the log for many followers: they get new records from memory, a follower of another thread is not even
//! woken, and a slow follower blocks no other and misses nothing.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogFault, LogOpening, LogReader, LogWriter as _, Position,
};
use systole_core::types::record::Record;
use systole_log::memory::MemoryLog;
use systole_organism::tail::{FollowPosition, LogEnd, LogTail};

use crate::log_records::{Author, batch, root};
use crate::program::PATIENCE;

/// A log that counts its page reads.
struct Counted {
    log: MemoryLog,
    pages: AtomicUsize,
}

impl LogReader for Counted {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        self.log.read_opening()
    }
    fn read_last(&self) -> Result<Position, LogFault> {
        self.log.read_last()
    }
    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        self.log.read_row(thread)
    }
    fn of_thread(
        &self,
        thread: &ThreadId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<(Position, Record)>, LogFault> {
        self.log.of_thread(thread, seq, limit)
    }
    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.log.read_after(position, limit)
    }
    fn by_key(
        &self,
        thread: &ThreadId,
        sender: &Name,
        key: &Key,
    ) -> Result<Option<(Position, Record)>, LogFault> {
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

/// A growing log, with its followers.
struct GrowingLog {
    reader: Arc<Counted>,
    author: Author,
    end: LogEnd,
    tail: LogTail,
}

impl GrowingLog {
    fn new() -> GrowingLog {
        let reader = Arc::new(Counted { log: MemoryLog::new(), pages: AtomicUsize::new(0) });
        let (tail, end) = LogTail::open_tail(reader.clone(), Position(0));
        GrowingLog { reader, author: Author::default(), end, tail }
    }

    fn grows(&mut self, thread: &ThreadId) -> Position {
        let batch = batch([self.author.note(thread, 100)]);
        self.end.add_written(&batch.records);
        let Commit::Committed(position) = self.reader.log.clone().commit_batch(&batch) else {
            panic!("it is not committed")
        };
        self.end.is_at(position);
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
    let records = tokio::time::timeout(PATIENCE, following.next()).await.expect("nothing came");
    let records = records.unwrap().expect("it has ended");
    records.iter().map(|placed| placed.position).collect()
}

/// Counts how often a follower is woken.
#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn d5_a_follower_of_an_idle_thread_is_not_woken_and_nothing_is_read_for_it() {
    let mut log = GrowingLog::new();
    let (quiet, busy) = (root(1), root(2));
    let (mut follows, mut idle) = (log.tail.follow(Position(0), Some(busy.clone())), Vec::new());
    for _ in 0..64 {
        idle.push((log.tail.follow(Position(0), Some(quiet.clone())), Arc::new(WakeCount::default())));
    }
    let mut waits = Vec::new();
    for (following, wakes) in &mut idle {
        let (mut waiting, waker) = (Box::pin(following.next()), Waker::from(wakes.clone()));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        waits.push((waiting, wakes));
    }
    for _ in 0..50 {
        let position = log.grows(&busy);
        assert_eq!(next(&mut follows).await, [position]);
    }
    let woken = |waits: &[(_, &mut Arc<WakeCount>)]| -> usize {
        waits.iter().map(|(_, wakes)| wakes.0.load(Ordering::Relaxed)).sum()
    };
    assert_eq!((woken(&waits), log.pages()), (0, 0));
    // Each still gets its own thread.
    let position = log.grows(&quiet);
    assert_eq!((woken(&waits), log.pages()), (64, 0));
    for (waiting, _) in waits {
        let records = waiting.await.unwrap().unwrap();
        assert_eq!(records.iter().map(|placed| placed.position).collect::<Vec<_>>(), [position]);
    }
}

#[tokio::test]
async fn a_follower_at_a_pace_gets_together_what_came_while_it_rested() {
    let mut log = GrowingLog::new();
    let pace = Duration::from_millis(20);
    let mut all = log.tail.follow(Position(0), None).with_pace(pace);
    let first = log.grows(&root(1));
    assert_eq!(next(&mut all).await, [first]);
    let later: Vec<Position> = (0..20).map(|n| log.grows(&root(n % 3))).collect();
    assert_eq!(next(&mut all).await, later);
    // It is not woken by each record while it rests.
    let from = log.grows(&root(1));
    let mut rests = log.tail.follow(from, None).with_pace(Duration::from_secs(3600));
    let last = log.grows(&root(1));
    assert_eq!(next(&mut rests).await, [last]);
    let (wakes, mut waiting) = (Arc::new(WakeCount::default()), pin!(rests.next()));
    let waker = Waker::from(wakes.clone());
    for _ in 0..20 {
        assert!(matches!(waiting.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending));
        log.grows(&root(1));
    }
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn followers_share_a_record_and_its_form_for_clients() {
    let mut log = GrowingLog::new();
    let follows = [None, Some(root(1)), None].map(|thread| log.tail.follow(Position(0), thread));
    log.grows(&root(1));
    let written = AtomicUsize::new(0);
    for mut follower in follows {
        for placed in follower.next().await.unwrap().unwrap() {
            placed.show_once(|_| {
                written.fetch_add(1, Ordering::Relaxed);
                b"form".to_vec()
            });
        }
    }
    assert_eq!((written.load(Ordering::Relaxed), log.pages()), (1, 0));
}

#[tokio::test]
async fn only_what_memory_no_longer_has_is_read_from_the_log() {
    let mut log = GrowingLog::new();
    for _ in 0..10 {
        log.grows(&root(1));
    }
    let mut late = log.tail.follow(Position(4), None);
    assert_eq!(next(&mut late).await, (5..=10).map(Position).collect::<Vec<_>>());
    assert_eq!(log.pages(), 0);
    for _ in 0..3000 {
        log.grows(&root(1));
    }
    for thread in [None, Some(root(1))] {
        let (mut late, mut seen, pages) = (log.tail.follow(Position(4), thread), Vec::new(), log.pages());
        while seen.len() < 3006 {
            seen.extend(next(&mut late).await);
        }
        assert_eq!(seen, (5..=3010).map(Position).collect::<Vec<_>>());
        let read = log.pages() - pages;
        assert!((10..90).contains(&read), "the oldest from the log, the newest from memory: {read} pages");
    }
}

#[tokio::test]
async fn records_that_were_not_passed_on_are_read_from_the_log() {
    let mut log = GrowingLog::new();
    let (mut all, mut own) =
        (log.tail.follow(Position(0), None), log.tail.follow(Position(0), Some(root(1))));
    assert!(hears_nothing(&mut all).await && hears_nothing(&mut own).await);
    log.grows(&root(1));
    let batch = batch([log.author.note(&root(1), 100)]);
    assert!(matches!(log.reader.log.clone().commit_batch(&batch), Commit::Committed(_)));
    log.end.is_at(Position(2));
    log.grows(&root(1));
    for mut following in [all, own] {
        let mut seen = Vec::new();
        while seen.len() < 3 {
            seen.extend(next(&mut following).await);
        }
        assert_eq!(seen, [1, 2, 3].map(Position));
    }
}

#[tokio::test]
async fn a_follower_gets_only_records_after_its_position() {
    let mut log = GrowingLog::new();
    let mut all = log.tail.follow(Position(0), None);
    assert!(hears_nothing(&mut all).await);
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
