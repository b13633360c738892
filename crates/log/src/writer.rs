//! The thread that owns the log's writer. It commits one batch after another and settles every result of a
//! commit. So the pump only hears that a batch is stored, that it waits, or that the log is over.
//!
//! Batches come in and outcomes go out, in the same order. It never reports a batch as committed unless the
//! log said that it is stored. It never drops a batch that may still be stored, and never begins the next
//! batch before the last is settled. The caller chooses which records wait together for the next commit:
//! everything that arrived during the last commit is the natural next batch. A caller with nothing else to
//! do may commit on its own thread instead, which saves two thread switches; only a success ends there.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::alarms::{AlarmKind, LogAlarms};
use crate::limits;
use systole_core::types::ports::{Commit, LogBatch, LogStop, LogWriter, Position, ReadBack};

/// The result for a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchResult {
    /// It is stored and durable; the position is that of its last record.
    Committed(Position),
    /// It waits for room on the disk and is tried again. Reported once, however long it waits.
    Stalled {
        /// The log's error.
        words: String,
    },
    /// The log takes nothing more, and the batch is not known to be stored. This is the last report. It also comes
    /// while no batch waits, if the log is not in its place any more.
    Broken(LogStop),
}

/// A batch, with the result of its first commit if that was made elsewhere.
struct PendingBatch {
    batch: LogBatch,
    tried: Option<Commit>,
}

/// What the thread shares with its handle.
struct SharedLog {
    log: Mutex<Box<dyn LogWriter>>,
    /// How many batches were handed over and not reported yet.
    waiting: AtomicUsize,
}

impl SharedLog {
    fn commit_batch(&self, batch: &LogBatch) -> Commit {
        // If a thread panicked while it held the lock, the organism ends with that thread and nothing comes
        // here again.
        self.log.lock().unwrap_or_else(PoisonError::into_inner).commit_batch(batch)
    }

    fn read_back(&self, batch: &LogBatch) -> ReadBack {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).read_back(batch)
    }

    fn find_displacement(&self) -> Option<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).take_displacement()
    }
}

/// The handle of the writer's thread.
pub struct WriterHandle {
    batches: SyncSender<PendingBatch>,
    shared: Arc<SharedLog>,
    is_far: bool,
    // Nothing is ever sent: the drop is the signal, and waiting for it can serve as a pause.
    stop: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl WriterHandle {
    /// Starts the thread, which calls `report`; `report` must not block. What fails is among the `alarms` while it
    /// lasts.
    pub fn start_thread(
        log: Box<dyn LogWriter>,
        alarms: LogAlarms,
        report: impl Fn(BatchResult) + Send + 'static,
    ) -> io::Result<WriterHandle> {
        let (batches, waiting) = sync_channel(limits::WAITING_BATCHES);
        // Nothing is sent, so no room is needed.
        let (stop, stopped) = sync_channel(0);
        let is_far = log.is_far();
        let shared = Arc::new(SharedLog { log: Mutex::new(log), waiting: AtomicUsize::new(0) });
        let mut writer = WriterThread { shared: shared.clone(), alarms, report, stopped };
        let thread =
            thread::Builder::new().name("log-writer".into()).spawn(move || writer.write_batches(waiting))?;
        Ok(WriterHandle { batches, shared, is_far, stop, thread })
    }

    /// Hands over the next batch, or gives it back: `Full` if two already wait, `Disconnected` if the log
    /// is broken. Never blocks.
    pub fn submit_batch(&self, batch: LogBatch) -> Result<(), TrySendError<LogBatch>> {
        self.send_batch(PendingBatch { batch, tried: None })
    }

    /// Commits on the caller's thread, which waits for the disk, and returns the position. Returns `None`
    /// if the thread has to settle and report the batch: because it has earlier work, because the log is
    /// far away, or because the commit did not succeed.
    pub fn commit_here(&self, batch: LogBatch) -> Result<Option<Position>, TrySendError<LogBatch>> {
        if self.is_far || self.shared.waiting.load(Ordering::Acquire) > 0 {
            return self.submit_batch(batch).map(|()| None);
        }
        match self.shared.commit_batch(&batch) {
            Commit::Committed(position) => Ok(Some(position)),
            tried => self.send_batch(PendingBatch { batch, tried: Some(tried) }).map(|()| None),
        }
    }

    fn send_batch(&self, pending: PendingBatch) -> Result<(), TrySendError<LogBatch>> {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        self.batches.try_send(pending).map_err(|refused| {
            self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
            match refused {
                TrySendError::Full(pending) => TrySendError::Full(pending.batch),
                TrySendError::Disconnected(pending) => TrySendError::Disconnected(pending.batch),
            }
        })
    }

    /// Commits what was handed over and ends the thread. A batch that waits for room is tried once more and
    /// then reported as broken. Returns why the log is not in its place any more; `None` if it is.
    pub fn stop_thread(self) -> Option<String> {
        drop(self.stop);
        drop(self.batches);
        // If the thread panicked, it has reported that, and there is nothing left to end.
        let _ended = self.thread.join();
        self.shared.find_displacement()
    }
}

/// What the thread works with.
struct WriterThread<R> {
    shared: Arc<SharedLog>,
    alarms: LogAlarms,
    report: R,
    stopped: Receiver<()>,
}

impl<R: Fn(BatchResult)> WriterThread<R> {
    fn write_batches(&mut self, waiting: Receiver<PendingBatch>) {
        let stop = loop {
            let settled = match waiting.recv_timeout(limits::PLACE_LOOK) {
                Ok(PendingBatch { batch, tried }) => self.settle_batch(&batch, tried),
                Err(RecvTimeoutError::Disconnected) => return self.alarms.settle_alarms(true),
                Err(RecvTimeoutError::Timeout) => match self.shared.find_displacement() {
                    Some(words) => break words.into(),
                    None => {
                        self.alarms.settle_alarms(false);
                        continue;
                    }
                },
            };
            match settled {
                Ok(position) => {
                    self.alarms.clear_alarm(AlarmKind::Stalled);
                    self.alarms.clear_alarm(AlarmKind::Write);
                    self.alarms.settle_alarms(false);
                    // This comes before the report: a caller that hears it may commit the next batch
                    // itself.
                    self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
                    (self.report)(BatchResult::Committed(position));
                }
                Err(stop) => break stop,
            }
        };
        // This comes before the report: a caller that hears it can no longer hand anything over.
        drop(waiting);
        (self.report)(BatchResult::Broken(stop));
    }

    /// Commits a batch, with as many tries as needed; an error says why the log takes nothing more.
    fn settle_batch(&mut self, batch: &LogBatch, mut tried: Option<Commit>) -> Result<Position, LogStop> {
        let (mut pause_ms, mut unknown) = (limits::RETRY_PAUSE_MS, 0);
        let mut last_try = false;
        loop {
            match tried.take().unwrap_or_else(|| self.shared.commit_batch(batch)) {
                Commit::Committed(position) => return Ok(position),
                Commit::Conflict(words) => return Err(words.into()),
                Commit::NotNow(words) => {
                    if last_try {
                        return Err(words.into());
                    }
                    if pause_ms == limits::RETRY_PAUSE_MS {
                        self.alarms.raise_alarm(AlarmKind::Stalled, &words);
                        (self.report)(BatchResult::Stalled { words });
                    }
                    if let Some(displaced) = self.shared.find_displacement() {
                        return Err(displaced.into());
                    }
                    last_try = self.pause_for(pause_ms);
                    pause_ms = (pause_ms * 2).min(limits::RETRY_LONGEST_PAUSE_MS);
                }
                Commit::Unknown(words) => {
                    unknown += 1;
                    self.alarms.raise_alarm(AlarmKind::Write, &words);
                    match self.shared.read_back(batch) {
                        ReadBack::Stored(position) => return Ok(position),
                        ReadBack::Broken(stop) => {
                            return Err(LogStop { words: format!("{words}; then: {}", stop.words), ..stop });
                        }
                        ReadBack::Absent if unknown == limits::UNKNOWN_IN_A_ROW => return Err(words.into()),
                        ReadBack::Absent => {}
                    }
                }
            }
        }
    }

    /// Waits; returns whether the thread must stop.
    fn pause_for(&self, ms: u64) -> bool {
        let waited = self.stopped.recv_timeout(Duration::from_millis(ms));
        waited == Err(RecvTimeoutError::Disconnected)
    }
}
