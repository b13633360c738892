//! Keeps the index beside the log of a running organism up to date, from the end of the log as it grows.
//!
//! Nothing waits for it: it reads the log on a thread of its own, tries the lock of the file and never waits for it, and
//! leaves the index to a reading that has it. What fails is said once and tried again with the next records.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use tokio::sync::watch;

use systole_core::types::ports::{Clock as _, LogFault, LogReader, Position};
use systole_follow::{MetricReader, MetricReading, SourceReader};
use systole_log::index::{IndexFault, IndexFile, IndexWait};
use systole_queries::index::{LogIndex, describe_fault};
use systole_queries::log_state::LogState;
use systole_queries::metrics::{MetricSource, read_metrics};
use systole_system::clock::WallClock;
use systole_system::tasks::{self, RunningTask, TaskKind};

use crate::limits::INDEX_PAUSE;
use crate::tail::LogTail;

/// The fix of a file beside the log that cannot be kept.
pub const WRITABLE: &str = "the right to write beside the log, with room on its disk; then the same again";

/// The index of a log, for all that read it.
pub type SharedIndex = Arc<Mutex<LogIndex>>;

/// The index beside that log, or in memory if there is no file or nothing is to be written beside it.
pub(super) fn share_index(log: Option<&Path>) -> SharedIndex {
    let index = log.map_or_else(LogIndex::apart, |log| LogIndex::beside(log, IndexWait::Never));
    Arc::new(Mutex::new(index))
}

/// Asks an index, with all that the log has now. What keeps it from its file is said on the screen.
pub fn ask_index<T>(
    index: &SharedIndex,
    reader: &dyn LogReader,
    ask: &mut dyn FnMut(&IndexFile) -> Result<T, IndexFault>,
) -> Result<T, LogFault> {
    let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = index.ask(reader, &mut |_, _| true, ask);
    for why in index.notes.drain(..) {
        tracing::warn!(why, fix = WRITABLE, "an answer takes longer than it has to");
    }
    asked.map_err(describe_fault)
}

/// Reads the metrics of the running organism.
pub(super) fn make_metric_reader(
    index: SharedIndex,
    reader: &Arc<dyn LogReader>,
    read_source: &SourceReader,
) -> MetricReader {
    let (reader, read_source) = (reader.clone(), read_source.clone());
    Arc::new(move || {
        let (reader, read) = (&*reader, |source: &[u8]| read_source(source));
        let whole = LogState::look(reader, &read, Some(std::process::id()))?;
        let first = reader.read_after(Position(0), 1)?;
        let now = WallClock.now();
        let began = first.first().map_or(now, |(_, record)| record.header.time);
        let mut ask = |index: &IndexFile| read_metrics(&MetricSource { reader, whole: &whole, now, index });
        let metrics = ask_index(&index, reader, &mut ask)?;
        Ok(MetricReading { position: whole.end, began, now, metrics })
    })
}

/// Keeps the file of an index up to date until the pump ends.
pub(super) fn start_keeper(index: SharedIndex, log: LogTail) -> RunningTask {
    let work = async move {
        let mut tail = log.end();
        let (mut said, mut is_behind) = (None, false);
        // A file that could not be written is tried again without a new record.
        while if is_behind { tail.has_changed().is_ok() } else { tail.changed().await.is_ok() } {
            // Many records at once cost less than one at a time.
            tokio::select! {
                () = tokio::time::sleep(INDEX_PAUSE) => {}
                () = log.wait_for_end() => break,
            }
            tail.borrow_and_update();
            let (index, reader, seen) = (index.clone(), log.clone(), tail.clone());
            let added = tokio::task::spawn_blocking(move || add_records(&index, &reader, &seen)).await;
            let why = match added {
                Ok(Ok(is_whole)) => {
                    is_behind = !is_whole;
                    None
                }
                Ok(Err(why)) => Some(why),
                // The number of the task is another one each time.
                Err(_) => Some("the thread that reads the log ended in a panic".to_owned()),
            };
            is_behind |= why.is_some();
            if why.is_some() && why != said {
                let fix = "the right to write beside the log, with room on its disk";
                tracing::warn!(why, fix, "the index of the log is not kept; lists of threads take longer");
            }
            said = why;
        }
    };
    let fallen = |panic| async move {
        let fix = "systole stop, then systole run; until then readers extend the index themselves";
        tracing::error!(why = %panic, fix, "the keeper of the index ended");
    };
    tasks::start_task(TaskKind::Index, work, fallen)
}

/// Adds what the log has, as long as the pump runs. Returns whether no other process held the file. The error
/// is in words.
fn add_records(
    index: &Mutex<LogIndex>,
    reader: &dyn LogReader,
    tail: &watch::Receiver<Position>,
) -> Result<bool, String> {
    let mut index = match index.try_lock() {
        Ok(index) => index,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // A reading has it, and extends it.
        Err(TryLockError::WouldBlock) => return Ok(true),
    };
    let is_wanted = |_, _| tail.has_changed().is_ok();
    match index.extend_file(reader, &mut { is_wanted }) {
        Ok(_) => Ok(true),
        Err(IndexFault::Held) => Ok(false),
        Err(IndexFault::Log(fault)) => Err(fault.to_string()),
        Err(IndexFault::Stale(why) | IndexFault::Unwritable(why)) => Err(why),
    }
}
