//! The thread that owns the log's writer: it commits one batch after the other and settles whatever
//! comes out of a commit, so that the pump only ever hears that a batch is stored, that it waits, or
//! that the log is over.
//!
//! Batches come in and outcomes go out, in the same order. It never reports a batch as committed that
//! the log did not say is stored, never drops one that may still be stored, and never goes on to the
//! next before the last is settled. Which records wait together for the next commit is the caller's
//! choice: whatever gathered while the last commit ran is the natural next batch. A caller with nothing
//! else to do may commit on its own thread instead, which spares two changes of threads; only what goes
//! well ends there.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use systole_core::types::ports::{Batch, Commit, LogWriter, Position, ReadBack};

/// Batches that may wait. The pump sends the next one when it has heard of the last, so one is enough
/// for records; the second is for a checkpoint that is handed over behind them.
const WAITING: usize = 2;
/// The first pause before a batch is tried again that found no room, in milliseconds.
const FIRST_PAUSE_MS: u64 = 100;
/// The longest such pause: how late the organism may notice that there is room again.
const LONGEST_PAUSE_MS: u64 = 2_000;
/// Unknown commits in a row of one batch after which the log is given up. A disk that loses every sync
/// does not get better by being asked, and every round reads the log again.
const UNKNOWN_IN_A_ROW: u32 = 3;

/// What became of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is stored and durable; the position is that of its last record.
    Committed(Position),
    /// It waits for room on the disk and is tried again; said once, however long it waits.
    Stalled {
        /// What the log said.
        words: String,
    },
    /// It is not known to be stored and the log takes nothing more. The last thing that is said.
    Broken {
        /// What is known.
        words: String,
    },
}

/// A batch, with what came of its first commit if that was made elsewhere.
struct Errand {
    batch: Batch,
    tried: Option<Commit>,
}

/// What the thread shares with its handle.
struct Shared {
    log: Mutex<Box<dyn LogWriter>>,
    /// Batches that were handed over and not reported yet.
    waiting: AtomicUsize,
}

impl Shared {
    fn commit(&self, batch: &Batch) -> Commit {
        // If whoever held it panicked, the organism ends with that thread and nobody comes here again.
        self.log.lock().unwrap_or_else(PoisonError::into_inner).commit(batch)
    }

    fn read_back(&self, batch: &Batch) -> ReadBack {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).read_back(batch)
    }
}

/// The handle of the writer's thread.
pub struct Writer {
    batches: SyncSender<Errand>,
    shared: Arc<Shared>,
    is_far: bool,
    // Nothing is ever sent: that it is gone is the signal, and waiting for it can be a pause.
    stop: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts the thread. `report` is called on it and must not block.
    pub fn start(log: Box<dyn LogWriter>, report: impl Fn(Outcome) + Send + 'static) -> io::Result<Writer> {
        let (batches, waiting) = sync_channel(WAITING);
        // Nothing is sent, so no room is needed.
        let (stop, stopped) = sync_channel(0);
        let is_far = log.is_far();
        let shared = Arc::new(Shared { log: Mutex::new(log), waiting: AtomicUsize::new(0) });
        let mut desk = Desk { shared: shared.clone(), report, stopped };
        let thread = thread::Builder::new().name("log-writer".into()).spawn(move || desk.work(waiting))?;
        Ok(Writer { batches, shared, is_far, stop, thread })
    }

    /// Hands over the next batch, or gives it back: full where two already wait, disconnected where the
    /// log is broken. Never blocks.
    pub fn hand(&self, batch: Batch) -> Result<(), TrySendError<Batch>> {
        self.send(Errand { batch, tried: None })
    }

    /// Commits on the caller's thread, which waits for the disk, and gives the position. None if the
    /// thread has to settle it after all, and will report it: because it has work that comes first, because
    /// the log is far away, or because the commit did not go well.
    pub fn commit_here(&self, batch: Batch) -> Result<Option<Position>, TrySendError<Batch>> {
        if self.is_far || self.shared.waiting.load(Ordering::Acquire) > 0 {
            return self.hand(batch).map(|()| None);
        }
        match self.shared.commit(&batch) {
            Commit::Committed(position) => Ok(Some(position)),
            tried => self.send(Errand { batch, tried: Some(tried) }).map(|()| None),
        }
    }

    fn send(&self, errand: Errand) -> Result<(), TrySendError<Batch>> {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        self.batches.try_send(errand).map_err(|refused| {
            self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
            match refused {
                TrySendError::Full(errand) => TrySendError::Full(errand.batch),
                TrySendError::Disconnected(errand) => TrySendError::Disconnected(errand.batch),
            }
        })
    }

    /// Commits what was handed over and ends the thread. A batch that waits for room is tried once more
    /// and is then reported as broken.
    pub fn stop(self) {
        drop(self.stop);
        drop(self.batches);
        // If the thread panicked it has said so on its way out, and there is nothing left to end.
        let _ended = self.thread.join();
    }
}

/// What the thread works with.
struct Desk<R> {
    shared: Arc<Shared>,
    report: R,
    stopped: Receiver<()>,
}

impl<R: Fn(Outcome)> Desk<R> {
    fn work(&mut self, waiting: Receiver<Errand>) {
        for Errand { batch, tried } in &waiting {
            match self.settle(&batch, tried) {
                Ok(position) => {
                    // Before it is said: whoever hears it may commit the next one himself.
                    self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
                    (self.report)(Outcome::Committed(position));
                }
                Err(words) => {
                    // Before it is said: whoever hears it can no longer hand anything over.
                    drop(waiting);
                    return (self.report)(Outcome::Broken { words });
                }
            }
        }
    }

    /// Commits a batch, whatever it takes; in words why the log is over, if it is.
    fn settle(&mut self, batch: &Batch, mut tried: Option<Commit>) -> Result<Position, String> {
        let (mut pause_ms, mut unknown) = (FIRST_PAUSE_MS, 0);
        let mut last_try = false;
        loop {
            match tried.take().unwrap_or_else(|| self.shared.commit(batch)) {
                Commit::Committed(position) => return Ok(position),
                Commit::Conflict(words) => return Err(words),
                Commit::NotNow(words) => {
                    if last_try {
                        return Err(words);
                    }
                    if pause_ms == FIRST_PAUSE_MS {
                        (self.report)(Outcome::Stalled { words });
                    }
                    last_try = self.pause(pause_ms);
                    pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
                }
                Commit::Unknown(words) => {
                    unknown += 1;
                    match self.shared.read_back(batch) {
                        ReadBack::Stored(position) => return Ok(position),
                        ReadBack::Broken(why) => return Err([words, why].join("; then: ")),
                        ReadBack::Absent if unknown == UNKNOWN_IN_A_ROW => return Err(words),
                        ReadBack::Absent => {}
                    }
                }
            }
        }
    }

    /// Waits; says whether the thread is to stop.
    fn pause(&self, ms: u64) -> bool {
        let waited = self.stopped.recv_timeout(Duration::from_millis(ms));
        waited == Err(RecvTimeoutError::Disconnected)
    }
}
