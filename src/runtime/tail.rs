//! The end of the log as it grows. One reader reads each record once, and hands it to those who follow its thread or all
//! threads; who follows another thread costs nothing for it.
//!
//! Nobody waits for a follower: each has an inbox of bounded size, and one that falls behind reads what it missed from the
//! log itself, at its own pace. In: a log, and how far it goes. Out: its records after a place, in order, without a gap.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::edges::tasks::{self, Kind, Task};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

/// Records read at once: with the largest bodies still only some tens of megabytes.
const PAGE: usize = 32;
/// What waits for one follower at most: records, and the bytes of their bodies. Followers share the bodies.
const INBOX: usize = 256;
const INBOX_BYTES: usize = 4 << 20;

/// A record and its place in the log.
pub type Placed = (Position, Arc<Record>);
/// A page of the log on its way from disk.
type Page = JoinHandle<Result<Vec<(Position, Record)>, LogFault>>;

/// The end of a log. Cheap to clone.
#[derive(Clone)]
pub struct Tail {
    reader: Arc<dyn LogReader>,
    end: watch::Receiver<Position>,
    board: Arc<Mutex<Board>>,
}

/// Who follows what, and how far was handed out.
#[derive(Default)]
struct Board {
    handed: Position,
    ended: bool,
    /// By the thread that they follow; none for all.
    inboxes: HashMap<Option<ThreadId>, Vec<Arc<Inbox>>>,
}

#[derive(Default)]
struct Inbox {
    letters: Mutex<Letters>,
    came: Notify,
}

#[derive(Default)]
struct Letters {
    records: VecDeque<Placed>,
    bytes: usize,
    /// The last position before what it had no room for.
    full_at: Option<Position>,
    ended: bool,
}

/// Every change of what it guards is complete before anything can panic.
fn locked<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// Puts a record in. `before` is what was handed out before it.
    fn put(&self, before: Position, placed: &Placed) {
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

    /// Hands a record to those who follow its thread, one above it, or all.
    fn hand(&mut self, placed: &Placed) {
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

impl Tail {
    /// The end of that log, which goes as far as `end` says. The task that is given back reads it, and ends with whoever
    /// says how far it goes.
    pub fn of(reader: Arc<dyn LogReader>, end: watch::Receiver<Position>) -> (Tail, Task) {
        let board = Board { handed: *end.borrow(), ..Board::default() };
        let tail = Tail { reader, end, board: Arc::new(Mutex::new(board)) };
        let (reading, fallen) = (tail.clone(), tail.clone());
        let task = tasks::start(Kind::Tail, reading.read(), async move |_| fallen.ends());
        (tail, task)
    }

    async fn read(mut self) {
        loop {
            // How far the log goes is told before that ends, so one more look finds the rest.
            let is_over = self.end.changed().await.is_err();
            let to = *self.end.borrow_and_update();
            self.read_to(to).await;
            if is_over {
                return self.ends();
            }
        }
    }

    /// Reads as far as there is anything, unless nobody follows.
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
                // Each follower finds out why when it reads for itself.
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

    /// Follows the log from the record after `at`: that thread and those below it, or all if none is named.
    pub fn follow(&self, at: Position, thread: Option<ThreadId>) -> Following {
        Following { tail: self.clone(), at, thread, place: None, reading: None }
    }

    /// A place among those who are handed records: all after the position that is given back.
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

/// A place among those who are handed records, until it is dropped.
struct Place {
    tail: Tail,
    thread: Option<ThreadId>,
    inbox: Arc<Inbox>,
    from: Position,
}

/// What was in an inbox.
enum Taken {
    Records(Vec<Placed>),
    /// It had no room for what came after this position.
    Full(Position),
    Ended,
}

impl Place {
    /// What is handed to it next. May be dropped while it waits: nothing is lost.
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

/// A place in the log, and what is looked for after it.
pub struct Following {
    tail: Tail,
    at: Position,
    thread: Option<ThreadId>,
    place: Option<Place>,
    /// A page that is being read, for whoever asks next if nobody waits for it any more.
    reading: Option<Page>,
}

impl Following {
    /// The next records, as soon as there are any; none once the log has ended and all is read. May be dropped while it
    /// waits: nothing is lost, and nothing is given twice.
    pub async fn next(&mut self) -> Result<Option<Vec<Placed>>, LogFault> {
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
                    // The reader may be behind the place from which this one follows.
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

    /// Reads a page for itself, of what is not handed out to it, which begins behind `from`.
    async fn read_to(&mut self, from: Position) -> Result<Vec<Placed>, LogFault> {
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
