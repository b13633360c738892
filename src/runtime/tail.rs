//! The end of the log as it grows. One reader reads each record once and gives it to the followers of its thread and
//! of all threads. Followers of other threads cost nothing.
//!
//! The reader waits for no follower. Each follower has a bounded inbox. One that falls behind reads what it missed
//! from the log itself, at its own pace. Input: a log and its last position. Output: its records after a position, in
//! order, without gaps.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::edges::tasks::{self, RunningTask, TaskKind};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

/// Records per read. Even with the largest bodies, this is only some tens of megabytes.
const PAGE: usize = 32;
/// Bounds of one follower's inbox: records, and bytes of their bodies. Followers share the bodies.
const INBOX: usize = 256;
const INBOX_BYTES: usize = 4 << 20;

/// A record and its log position.
pub type SharedRecord = (Position, Arc<Record>);
/// A page of the log that is being read from disk.
type Page = JoinHandle<Result<Vec<(Position, Record)>, LogFault>>;

/// The end of a log. Cheap to clone.
#[derive(Clone)]
pub struct LogTail {
    reader: Arc<dyn LogReader>,
    end: watch::Receiver<Position>,
    board: Arc<Mutex<Board>>,
}

/// The followers, and the last position given to them.
#[derive(Default)]
struct Board {
    handed: Position,
    ended: bool,
    /// Inboxes by followed thread. `None` follows all threads.
    inboxes: HashMap<Option<ThreadId>, Vec<Arc<Inbox>>>,
}

#[derive(Default)]
struct Inbox {
    letters: Mutex<Letters>,
    came: Notify,
}

#[derive(Default)]
struct Letters {
    records: VecDeque<SharedRecord>,
    bytes: usize,
    /// The last position before the records that did not fit.
    full_at: Option<Position>,
    ended: bool,
}

/// Each change under the lock is complete before anything can panic.
fn locked<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// Adds a record. `before` is the position given out before it.
    fn put(&self, before: Position, placed: &SharedRecord) {
        let mut letters = locked(&self.letters);
        if letters.full_at.is_some() {
            return;
        }
        let bytes = placed.1.body.len();
        if letters.records.len() == INBOX || letters.bytes + bytes > INBOX_BYTES {
            letters.full_at = Some(before);
        } else {
            letters.bytes += bytes;
            letters.records.push_back(placed.clone());
        }
        drop(letters);
        self.came.notify_one();
    }

    fn overflows(&self, before: Position) {
        locked(&self.letters).full_at.get_or_insert(before);
        self.came.notify_one();
    }

    fn ends(&self) {
        locked(&self.letters).ended = true;
        self.came.notify_one();
    }
}

impl Board {
    fn all(&self) -> impl Iterator<Item = &Arc<Inbox>> {
        self.inboxes.values().flatten()
    }

    /// Gives a record to the followers of its thread, of a thread above it, and of all threads.
    fn hand(&mut self, placed: &SharedRecord) {
        if placed.0 <= self.handed {
            return;
        }
        let mut place = Some(placed.1.header.thread.clone());
        loop {
            for inbox in self.inboxes.get(&place).into_iter().flatten() {
                inbox.put(self.handed, placed);
            }
            let Some(thread) = place else { break };
            place = thread.parent();
        }
        self.handed = placed.0;
    }
}

impl LogTail {
    /// The tail of a log whose last position is `end`. The returned task reads the log and ends when `end` closes.
    pub fn of(reader: Arc<dyn LogReader>, end: watch::Receiver<Position>) -> (LogTail, RunningTask) {
        let board = Board { handed: *end.borrow(), ..Board::default() };
        let tail = LogTail { reader, end, board: Arc::new(Mutex::new(board)) };
        let (reading, fallen) = (tail.clone(), tail.clone());
        let task = tasks::start(TaskKind::Tail, reading.read(), async move |_| fallen.ends());
        (tail, task)
    }

    async fn read(mut self) {
        loop {
            // The last position is sent before the channel closes, so one more look finds the rest.
            let is_over = self.end.changed().await.is_err();
            let to = *self.end.borrow_and_update();
            self.read_to(to).await;
            if is_over {
                return self.ends();
            }
        }
    }

    /// Reads up to `to`, unless there are no followers.
    async fn read_to(&self, to: Position) {
        loop {
            let from = {
                let mut board = locked(&self.board);
                if board.inboxes.is_empty() {
                    board.handed = board.handed.max(to);
                }
                if board.handed >= to {
                    return;
                }
                board.handed
            };
            let reader = self.reader.clone();
            let page = tokio::task::spawn_blocking(move || reader.after(from, PAGE)).await;
            let mut board = locked(&self.board);
            match page {
                Ok(Ok(page)) if !page.is_empty() => {
                    for (position, record) in page {
                        board.hand(&(position, Arc::new(record)));
                    }
                }
                // Each follower gets the error when it reads for itself.
                _ => {
                    board.all().for_each(|inbox| inbox.overflows(from));
                    board.handed = board.handed.max(to);
                }
            }
        }
    }

    fn ends(&self) {
        let mut board = locked(&self.board);
        board.ended = true;
        board.all().for_each(|inbox| inbox.ends());
    }

    /// Follows the log from the record after `at`: `thread` and the threads below it, or all threads.
    pub fn follow(&self, at: Position, thread: Option<ThreadId>) -> FollowPosition {
        FollowPosition { tail: self.clone(), at, thread, place: None, reading: None }
    }

    /// Adds a follower. It gets all records after `from` of the returned place.
    fn place(&self, thread: &Option<ThreadId>) -> Place {
        let inbox = Arc::new(Inbox::default());
        let mut board = locked(&self.board);
        if board.inboxes.is_empty() {
            board.handed = board.handed.max(*self.end.borrow());
        }
        if board.ended {
            locked(&inbox.letters).ended = true;
        } else {
            board.inboxes.entry(thread.clone()).or_default().push(inbox.clone());
        }
        let from = board.handed;
        drop(board);
        Place { tail: self.clone(), thread: thread.clone(), inbox, from }
    }
}

/// A follower's registration, removed when it is dropped.
struct Place {
    tail: LogTail,
    thread: Option<ThreadId>,
    inbox: Arc<Inbox>,
    from: Position,
}

/// The content of an inbox.
enum Taken {
    Records(Vec<SharedRecord>),
    /// The inbox had no room for records after this position.
    Full(Position),
    Ended,
}

impl Place {
    /// The next content. Cancel-safe: dropping it loses nothing.
    async fn take(&self) -> Taken {
        loop {
            {
                let mut letters = locked(&self.inbox.letters);
                if !letters.records.is_empty() {
                    letters.bytes = 0;
                    return Taken::Records(letters.records.drain(..).collect());
                }
                if let Some(before) = letters.full_at {
                    return Taken::Full(before);
                }
                if letters.ended {
                    return Taken::Ended;
                }
            }
            self.inbox.came.notified().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut board = locked(&self.tail.board);
        if let Some(inboxes) = board.inboxes.get_mut(&self.thread) {
            inboxes.retain(|inbox| !Arc::ptr_eq(inbox, &self.inbox));
            if inboxes.is_empty() {
                board.inboxes.remove(&self.thread);
            }
        }
    }
}

/// A position in the log and the thread to follow from there.
pub struct FollowPosition {
    tail: LogTail,
    at: Position,
    thread: Option<ThreadId>,
    place: Option<Place>,
    /// A page that is being read. It survives a cancelled `next`.
    reading: Option<Page>,
}

impl FollowPosition {
    /// The next records, as soon as there are any. `None` when the log has ended and everything is read. Cancel-safe:
    /// dropping it loses nothing and repeats nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<SharedRecord>>, LogFault> {
        loop {
            let place = self.place.get_or_insert_with(|| self.tail.place(&self.thread));
            let from = place.from;
            if self.at < from {
                let wanted = self.read_to(from).await?;
                if !wanted.is_empty() {
                    return Ok(Some(wanted));
                }
                continue;
            }
            let taken = place.take().await;
            match taken {
                Taken::Records(mut records) => {
                    // The reader may be behind the position from which this follower starts.
                    records.retain(|(position, _)| *position > self.at);
                    if let Some((last, _)) = records.last() {
                        self.at = *last;
                        return Ok(Some(records));
                    }
                }
                Taken::Full(before) => {
                    self.at = self.at.max(before);
                    self.place = None;
                }
                Taken::Ended => return Ok(None),
            }
        }
    }

    /// Reads a page of the records up to `from`, which the inbox will not get.
    async fn read_to(&mut self, from: Position) -> Result<Vec<SharedRecord>, LogFault> {
        let (reader, at) = (self.tail.reader.clone(), self.at);
        let reading =
            self.reading.get_or_insert_with(|| tokio::task::spawn_blocking(move || reader.after(at, PAGE)));
        let read = reading.await;
        self.reading = None;
        let page = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
        self.at = page.last().map_or(from, |(last, _)| from.min(*last));
        let wants = |(position, record): &(Position, Record)| {
            *position <= from && self.thread.as_ref().is_none_or(|own| record.header.thread.is_within(own))
        };
        let wanted = page.into_iter().filter(wants);
        Ok(wanted.map(|(position, record)| (position, Arc::new(record))).collect())
    }
}
