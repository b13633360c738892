//! The end of the log as it grows. The pump passes on each record when it is on disk, and its followers get it from
//! memory. Followers of other threads cost nothing.
//!
//! The pump waits for no follower. The newest records are kept in memory, and so much as a follower's inbox holds. A
//! follower that falls behind reads what it missed from the log itself, at its own pace. Input: a log, its last
//! position, and its new records. Output: its records after a position, in order, without gaps.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::record::Record;

use crate::limits::{TAIL_BYTES, TAIL_INBOX, TAIL_KEPT, TAIL_PAGE};

/// A record that is on disk.
#[derive(Debug)]
pub struct FollowedRecord {
    /// Its log position.
    pub position: Position,
    /// The record.
    pub record: Arc<Record>,
    /// Its form for clients. The first follower that shows it writes the form for all.
    shown: OnceLock<Box<[u8]>>,
}

/// A record that followers share.
pub type SharedRecord = Arc<FollowedRecord>;
/// A page of the log that is being read from disk.
type PageRead = JoinHandle<Result<Vec<(Position, Record)>, LogFault>>;

impl FollowedRecord {
    fn new(position: Position, record: Arc<Record>) -> SharedRecord {
        Arc::new(FollowedRecord { position, record, shown: OnceLock::new() })
    }

    /// Its form for clients; `write` makes it if this is the first request for it.
    pub fn show_once(&self, write: impl FnOnce(&FollowedRecord) -> Vec<u8>) -> &[u8] {
        self.shown.get_or_init(|| write(self).into_boxed_slice())
    }
}

/// The end of a log, for those who follow it. Cheap to clone.
#[derive(Clone)]
pub struct LogTail {
    pub(super) reader: Arc<dyn LogReader>,
    end: watch::Receiver<Position>,
    /// Nothing is ever sent here: it closes when the log has ended.
    over: watch::Receiver<()>,
    board: Arc<Mutex<TailBoard>>,
}

/// The end of a log, for the pump that writes it. When it is dropped, the log has ended.
pub struct LogEnd {
    end: watch::Sender<Position>,
    _over: watch::Sender<()>,
    board: Arc<Mutex<TailBoard>>,
    /// Records that the writer has and that may not be on disk yet.
    writing: VecDeque<Arc<Record>>,
}

/// A record in memory, shared once a follower asks for it.
struct KeptRecord {
    position: Position,
    record: Arc<Record>,
    shared: Option<SharedRecord>,
}

impl KeptRecord {
    fn share_record(&mut self) -> SharedRecord {
        let KeptRecord { position, record, shared } = self;
        shared.get_or_insert_with(|| FollowedRecord::new(*position, record.clone())).clone()
    }
}

/// The newest records, and the followers of single threads.
#[derive(Default)]
struct TailBoard {
    end: Position,
    kept: VecDeque<KeptRecord>,
    bytes: usize,
    ended: bool,
    inboxes: HashMap<ThreadId, Vec<Arc<FollowerInbox>>>,
}

#[derive(Default)]
struct FollowerInbox {
    letters: Mutex<InboxLetters>,
    came: Notify,
}

#[derive(Default)]
struct InboxLetters {
    records: VecDeque<SharedRecord>,
    bytes: usize,
    /// The last position before the records that did not fit.
    full_at: Option<Position>,
    ended: bool,
}

/// Each change under the lock is complete before anything can panic.
fn lock_guarded<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FollowerInbox {
    /// Adds a record. `before` is the position before it.
    fn put_record(&self, before: Position, placed: &SharedRecord) {
        let mut letters = lock_guarded(&self.letters);
        if letters.full_at.is_some() {
            return;
        }
        let bytes = placed.record.body.len();
        if letters.records.len() == TAIL_INBOX || letters.bytes + bytes > TAIL_BYTES {
            letters.full_at = Some(before);
        } else {
            letters.bytes += bytes;
            letters.records.push_back(placed.clone());
        }
        drop(letters);
        self.came.notify_one();
    }

    fn overflows(&self, before: Position) {
        lock_guarded(&self.letters).full_at.get_or_insert(before);
        self.came.notify_one();
    }

    fn end_log(&self) {
        lock_guarded(&self.letters).ended = true;
        self.came.notify_one();
    }
}

impl TailBoard {
    /// Keeps the next record, and gives it to the followers of its thread and of the threads above it.
    fn add_record(&mut self, record: Arc<Record>) {
        let before = self.end;
        self.end = Position(before.0 + 1);
        let mut kept = KeptRecord { position: self.end, record, shared: None };
        let mut place = (!self.inboxes.is_empty()).then(|| kept.record.header.thread.clone());
        while let Some(thread) = place {
            for inbox in self.inboxes.get(&thread).into_iter().flatten() {
                inbox.put_record(before, &kept.share_record());
            }
            place = thread.parent();
        }
        self.bytes += kept.record.body.len();
        self.kept.push_back(kept);
        while self.kept.len() > TAIL_KEPT || self.bytes > TAIL_BYTES {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.record.body.len();
        }
    }

    /// Forgets what is kept, because the records up to `last` are only on disk.
    fn skip_to(&mut self, last: Position) {
        let before = self.end;
        for inbox in self.inboxes.values().flatten() {
            inbox.overflows(before);
        }
        self.kept.clear();
        (self.bytes, self.end) = (0, last);
    }

    /// Where in memory the records after a position begin; `None` if some of them are no longer kept.
    fn find_after(&self, at: Position) -> Option<usize> {
        let missing = self.end.0.checked_sub(at.0)?;
        self.kept.len().checked_sub(usize::try_from(missing).ok()?)
    }

    /// The next records after a position, as many as an inbox holds; `None` if they are no longer kept.
    fn take_after(&mut self, at: Position) -> Option<Vec<SharedRecord>> {
        let first = self.find_after(at.min(self.end))?;
        let mut bytes = 0;
        let fits = |kept: &&mut KeptRecord| {
            let is_first = bytes == 0;
            bytes += kept.record.body.len().max(1);
            is_first || bytes <= TAIL_BYTES
        };
        Some(
            self.kept
                .range_mut(first..)
                .take(TAIL_INBOX)
                .take_while(fits)
                .map(KeptRecord::share_record)
                .collect(),
        )
    }
}

impl LogEnd {
    /// The writer has these records.
    pub fn add_written(&mut self, records: &[Arc<Record>]) {
        self.writing.extend(records.iter().cloned());
    }

    /// The log is on disk up to this position: its followers get the records.
    pub fn is_at(&mut self, last: Position) {
        let mut board = lock_guarded(&self.board);
        if board.end == last {
            return;
        }
        while board.end < last
            && let Some(record) = self.writing.pop_front()
        {
            board.add_record(record);
        }
        if board.end < last {
            board.skip_to(last);
        }
        drop(board);
        self.end.send_replace(last);
    }
}

impl Drop for LogEnd {
    fn drop(&mut self) {
        let mut board = lock_guarded(&self.board);
        board.ended = true;
        board.inboxes.values().flatten().for_each(|inbox| inbox.end_log());
    }
}

impl LogTail {
    /// The tail of a log whose last position is `last`, for its followers and for the pump.
    pub fn open_tail(reader: Arc<dyn LogReader>, last: Position) -> (LogTail, LogEnd) {
        let ((end, ends), (_over, over)) = (watch::channel(last), watch::channel(()));
        let board = Arc::new(Mutex::new(TailBoard { end: last, ..TailBoard::default() }));
        let writing = VecDeque::new();
        let tail = LogTail { reader, end: ends, over, board: board.clone() };
        (tail, LogEnd { end, _over, board, writing })
    }

    /// The last position, updated as the log grows.
    pub fn end(&self) -> watch::Receiver<Position> {
        self.end.clone()
    }

    /// Waits until the log has ended. Its records wake no one who waits here.
    pub(super) fn wait_for_end(&self) -> impl Future<Output = ()> + use<> {
        let mut over = self.over.clone();
        async move {
            // An error says that it has ended.
            let _ended = over.changed().await;
        }
    }

    /// At most `limit` records after a position; `None` if they are no longer kept in memory.
    pub(super) fn copy_kept(&self, at: Position, limit: usize) -> Option<Vec<PlacedRecord>> {
        let kept: Vec<(Position, Arc<Record>)> = {
            let board = lock_guarded(&self.board);
            let found = board.kept.range(board.find_after(at)?..).take(limit);
            found.map(|kept| (kept.position, kept.record.clone())).collect()
        };
        Some(kept.into_iter().map(|(position, record)| (position, Record::clone(&record))).collect())
    }

    /// Follows the log from the record after `at`: `thread` and the threads below it, or all threads.
    pub fn follow(&self, at: Position, thread: Option<ThreadId>) -> FollowPosition {
        let tail = self.clone();
        let (place, reading, pace, rests_until) = (None, None, None, None);
        FollowPosition { tail, at, thread, place, reading, tells_end: false, pace, rests_until }
    }

    /// Adds a follower of a thread. It gets all records after `from` of the returned place.
    fn add_follower(&self, thread: &ThreadId) -> FollowerPlace {
        let inbox = Arc::new(FollowerInbox::default());
        let mut board = lock_guarded(&self.board);
        if board.ended {
            lock_guarded(&inbox.letters).ended = true;
        } else {
            board.inboxes.entry(thread.clone()).or_default().push(inbox.clone());
        }
        let from = board.end;
        drop(board);
        FollowerPlace { board: self.board.clone(), thread: thread.clone(), inbox, from }
    }
}

/// A follower's registration, removed when it is dropped.
struct FollowerPlace {
    board: Arc<Mutex<TailBoard>>,
    thread: ThreadId,
    inbox: Arc<FollowerInbox>,
    from: Position,
}

/// The content of an inbox.
enum InboxContent {
    Records(Vec<SharedRecord>),
    /// The inbox had no room for records after this position.
    Full(Position),
    Ended,
}

impl FollowerPlace {
    /// Whether it holds nothing. It looks between two commits: what is decided at once comes at once.
    fn is_empty(&self) -> bool {
        let _board = lock_guarded(&self.board);
        let letters = lock_guarded(&self.inbox.letters);
        letters.records.is_empty() && letters.full_at.is_none()
    }

    /// The next content. Cancel-safe: dropping it loses nothing.
    async fn take_content(&self) -> InboxContent {
        loop {
            {
                let mut letters = lock_guarded(&self.inbox.letters);
                if !letters.records.is_empty() {
                    letters.bytes = 0;
                    return InboxContent::Records(letters.records.drain(..).collect());
                }
                if let Some(before) = letters.full_at {
                    return InboxContent::Full(before);
                }
                if letters.ended {
                    return InboxContent::Ended;
                }
            }
            self.inbox.came.notified().await;
        }
    }
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        let mut board = lock_guarded(&self.board);
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
    place: Option<FollowerPlace>,
    /// A page that is being read. It survives a cancelled `next`.
    reading: Option<PageRead>,
    tells_end: bool,
    pace: Option<Duration>,
    rests_until: Option<Instant>,
}

impl FollowPosition {
    /// Follows all threads at this pace: after it has caught up, it lets the log grow for that long, and then takes
    /// what came together. The first record after a pause still comes at once.
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> FollowPosition {
        self.pace = Some(pace);
        self
    }

    /// Returns no records, once, where it has read all that the log has of its thread, so that who follows can look.
    #[must_use]
    pub fn with_end_told(mut self) -> FollowPosition {
        self.tells_end = true;
        self
    }

    /// The next records, as soon as there are any. `None` when the log has ended and everything is read. Cancel-safe:
    /// dropping it loses nothing and repeats nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<SharedRecord>>, LogFault> {
        match self.thread.clone() {
            Some(thread) => self.next_of(&thread).await,
            None => self.next_of_all().await,
        }
    }

    /// Whether it has returned all that the log has of its thread. For all threads there is no such moment.
    pub fn has_caught_up(&self) -> bool {
        self.place.as_ref().is_some_and(|place| self.at >= place.from && place.is_empty())
    }

    async fn next_of_all(&mut self) -> Result<Option<Vec<SharedRecord>>, LogFault> {
        loop {
            if let Some(until) = self.rests_until {
                sleep_until(until).await;
                self.rests_until = None;
            }
            self.tail.end.mark_unchanged();
            let (kept, end, ended) = {
                let mut board = lock_guarded(&self.tail.board);
                (board.take_after(self.at), board.end, board.ended)
            };
            match kept {
                None => {
                    let records = self.read_to(end).await?;
                    if !records.is_empty() {
                        return Ok(Some(records));
                    }
                    continue;
                }
                Some(records) => {
                    if let Some(last) = records.last() {
                        self.at = last.position;
                        let has_all = self.at == end;
                        self.rests_until = self.pace.filter(|_| has_all).map(|pace| Instant::now() + pace);
                        return Ok(Some(records));
                    }
                }
            }
            if ended {
                return Ok(None);
            }
            // An error says that the log has ended, which the next look finds too.
            let _ended = self.tail.end.changed().await;
        }
    }

    async fn next_of(&mut self, thread: &ThreadId) -> Result<Option<Vec<SharedRecord>>, LogFault> {
        loop {
            let place = self.place.get_or_insert_with(|| self.tail.add_follower(thread));
            let from = place.from;
            if self.at < from {
                let mut records = self.read_to(from).await?;
                records.retain(|placed| placed.record.header.thread.is_within(thread));
                if !records.is_empty() || (self.tells_end && self.at >= from) {
                    return Ok(Some(records));
                }
                continue;
            }
            match place.take_content().await {
                InboxContent::Records(mut records) => {
                    // A follower may begin behind the end of the log.
                    records.retain(|placed| placed.position > self.at);
                    if let Some(last) = records.last() {
                        self.at = last.position;
                        return Ok(Some(records));
                    }
                }
                InboxContent::Full(before) => {
                    self.at = self.at.max(before);
                    self.place = None;
                }
                InboxContent::Ended => return Ok(None),
            }
        }
    }

    /// Takes the next records up to `from`: from memory, or a page from disk.
    async fn read_to(&mut self, from: Position) -> Result<Vec<SharedRecord>, LogFault> {
        let kept =
            if self.reading.is_none() { lock_guarded(&self.tail.board).take_after(self.at) } else { None };
        let mut records = match kept {
            Some(records) => records,
            None => {
                let (reader, at) = (self.tail.reader.clone(), self.at);
                let read = || tokio::task::spawn_blocking(move || reader.read_after(at, TAIL_PAGE));
                let read = self.reading.get_or_insert_with(read).await;
                self.reading = None;
                let page =
                    read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
                page.into_iter().map(|(at, record)| FollowedRecord::new(at, Arc::new(record))).collect()
            }
        };
        self.at = records.last().map_or(from, |last| from.min(last.position));
        records.retain(|placed| placed.position <= from);
        Ok(records)
    }
}
