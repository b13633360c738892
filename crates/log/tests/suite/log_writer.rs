//! The writer's thread over a log whose commit results the test sets.

use std::sync::mpsc::{Receiver, TrySendError, sync_channel};

use systole_core::types::ports::{
    Commit, LogBatch, LogFault, LogReader as _, LogStop, LogWriter, Position, ReadBack,
};
use systole_log::alarms::{AlarmKind, LogAlarms};
use systole_log::memory::{CommitFailure, MemoryLog};
use systole_log::writer::{BatchResult, WriterHandle};

use crate::log_records::{Author, batch, root};

fn started(log: impl LogWriter + 'static) -> (WriterHandle, Receiver<BatchResult>) {
    // Room for all reports of these tests: the writer must not wait for them.
    let (tell, told) = sync_channel(64);
    let alarms = LogAlarms::of_name("the log", false);
    (
        WriterHandle::start_thread(Box::new(log), alarms, move |outcome| tell.send(outcome).unwrap())
            .unwrap(),
        told,
    )
}

fn one(author: &mut Author) -> LogBatch {
    batch([author.note(&root(1), 10)])
}

fn stalled() -> BatchResult {
    BatchResult::Stalled { words: "the log has no room".into() }
}

/// The log takes nothing more, and is not damaged.
fn broken(words: &str) -> BatchResult {
    BatchResult::Broken(words.to_owned().into())
}

#[test]
fn batches_are_committed_in_order_and_stopping_finishes_them() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    let (writer, told) = started(log.clone());
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(BatchResult::Committed(Position(1))));
    writer.submit_batch(one(&mut author)).unwrap();
    writer.submit_batch(LogBatch::default()).unwrap();
    writer.stop_thread();
    let after = [BatchResult::Committed(Position(2)), BatchResult::Committed(Position(2))];
    assert_eq!(told.iter().collect::<Vec<_>>(), after);
}

#[test]
fn a_full_disk_stalls_once_and_the_batch_is_kept() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    log.next_commits([CommitFailure::NotNow, CommitFailure::NotNow]);
    let (writer, told) = started(log.clone());
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(stalled()));
    assert_eq!(told.recv(), Ok(BatchResult::Committed(Position(1))));
    writer.stop_thread();
}

#[test]
fn stopping_wakes_a_writer_that_waits_for_room() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    log.next_commits([CommitFailure::NotNow; 1000]);
    let (writer, told) = started(log.clone());
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(stalled()));
    // If it were not woken, this would wait through half an hour of pauses.
    writer.stop_thread();
    assert_eq!(told.recv(), Ok(broken("the log has no room")));
    assert_eq!(log.read_last(), Ok(Position(0)));
}

#[test]
fn an_unknown_commit_is_looked_up_and_stored_once() {
    for ending in [CommitFailure::UnknownStored, CommitFailure::UnknownAbsent] {
        let (log, mut author) = (MemoryLog::new(), Author::default());
        let (writer, told) = started(log.clone());
        log.next_commits([ending]);
        writer.submit_batch(one(&mut author)).unwrap();
        writer.submit_batch(one(&mut author)).unwrap();
        writer.stop_thread();
        let both = [BatchResult::Committed(Position(1)), BatchResult::Committed(Position(2))];
        assert_eq!(told.iter().collect::<Vec<_>>(), both, "{ending:?}");
        assert_eq!(log.read_last(), Ok(Position(2)), "{ending:?}");
    }
}

#[test]
fn what_fails_is_among_the_troubles_while_it_lasts_and_after_it() {
    for (ending, kind) in
        [(CommitFailure::NotNow, AlarmKind::Stalled), (CommitFailure::UnknownAbsent, AlarmKind::Write)]
    {
        let (log, mut author) = (MemoryLog::new(), Author::default());
        let (tell, told) = sync_channel(64);
        let alarms = LogAlarms::of_name("the log", false);
        let report = move |outcome| tell.send(outcome).unwrap();
        let writer = WriterHandle::start_thread(Box::new(log.clone()), alarms.clone(), report).unwrap();
        log.next_commits([ending]);
        writer.submit_batch(one(&mut author)).unwrap();
        if ending == CommitFailure::NotNow {
            assert_eq!(told.recv(), Ok(stalled()));
            // The next try may have come already, and then it is over.
            assert_eq!(alarms.list_all().iter().map(|one| one.kind).collect::<Vec<_>>(), [kind]);
        }
        assert_eq!(told.recv(), Ok(BatchResult::Committed(Position(1))));
        alarms.settle_alarms(true);
        let all = alarms.list_all();
        assert!(matches!(all.as_slice(), [one] if one.kind == kind && one.until.is_some()), "{all:?}");
        log.next_commits([ending; 1000]);
        writer.submit_batch(one(&mut author)).unwrap();
        assert!(told.recv().is_ok());
        writer.stop_thread();
        let all = alarms.list_all();
        assert!(matches!(all.as_slice(), [one] if one.kind == kind && one.until.is_none()), "{all:?}");
    }
}

#[test]
fn what_its_caller_commits_is_reported_only_if_the_thread_has_to_settle_it() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    let (writer, told) = started(log.clone());
    assert_eq!(writer.commit_here(one(&mut author)).unwrap(), Some(Position(1)));
    for (ending, first) in [(CommitFailure::NotNow, Some(stalled())), (CommitFailure::UnknownStored, None)] {
        log.next_commits([ending]);
        let at = log.read_last().unwrap().0 + 1;
        assert_eq!(writer.commit_here(one(&mut author)).unwrap(), None, "{ending:?}");
        let said: Vec<_> = first.into_iter().chain([BatchResult::Committed(Position(at))]).collect();
        assert_eq!(told.iter().take(said.len()).collect::<Vec<_>>(), said, "{ending:?}");
    }
    assert_eq!(writer.commit_here(one(&mut author)).unwrap(), Some(Position(4)));
    writer.stop_thread();
    assert!(told.recv().is_err(), "what was committed here is not reported as well");
}

#[test]
fn what_was_handed_over_first_is_committed_first() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    let (writer, told) = started(log.clone());
    log.next_commits([CommitFailure::NotNow]);
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(stalled()));
    assert_eq!(writer.commit_here(one(&mut author)).unwrap(), None, "the first still waits for room");
    writer.stop_thread();
    let both = [BatchResult::Committed(Position(1)), BatchResult::Committed(Position(2))];
    assert_eq!(told.iter().collect::<Vec<_>>(), both);
}

#[test]
fn a_conflict_ends_the_writer() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    let (writer, told) = started(log.clone());
    log.next_commits([CommitFailure::Conflict]);
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(broken("told to conflict")));
    assert!(matches!(writer.submit_batch(one(&mut author)), Err(TrySendError::Disconnected(_))));
    assert!(told.recv().is_err(), "nothing is said after that");
    writer.stop_thread();
}

#[test]
fn a_disk_that_loses_every_sync_is_given_up() {
    let (log, mut author) = (MemoryLog::new(), Author::default());
    log.next_commits([CommitFailure::UnknownAbsent; 3]);
    let (writer, told) = started(log.clone());
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!(told.recv(), Ok(broken("told to lose the batch")));
    writer.stop_thread();
}

/// A log whose commits have an unknown outcome and that cannot be read back.
struct Torn;

impl LogWriter for Torn {
    fn commit_batch(&mut self, _: &LogBatch) -> Commit {
        Commit::Unknown("input/output error".into())
    }
    fn read_back(&mut self, _: &LogBatch) -> ReadBack {
        ReadBack::Broken(LogStop::of_damage("position 7 does not verify"))
    }
}

#[test]
fn only_a_fault_of_the_log_itself_is_damage() {
    let path = || "organism.db".to_owned();
    let io = LogFault::Io { path: path(), why: "disk I/O error".to_owned() };
    let damaged =
        LogFault::Damaged { path: path(), position: Position(7), why: "it has other bytes".to_owned() };
    for (fault, is_damaged) in [(io, false), (damaged, true)] {
        assert_eq!(LogStop::from(fault.clone()), LogStop { words: fault.to_string(), is_damaged });
    }
    assert!(!LogStop::from("another process writes it".to_owned()).is_damaged);
}

#[test]
fn a_log_that_does_not_verify_ends_the_writer() {
    let (writer, told) = started(Torn);
    writer.submit_batch(LogBatch::default()).unwrap();
    let stop = LogStop::of_damage("input/output error; then: position 7 does not verify");
    assert_eq!(told.recv(), Ok(BatchResult::Broken(stop)));
    writer.stop_thread();
}

/// A log in memory that is displaced from the second look on.
struct Displaced {
    log: MemoryLog,
    looks: usize,
}

impl LogWriter for Displaced {
    fn commit_batch(&mut self, batch: &LogBatch) -> Commit {
        self.log.commit_batch(batch)
    }
    fn read_back(&mut self, batch: &LogBatch) -> ReadBack {
        self.log.read_back(batch)
    }
    fn take_displacement(&mut self) -> Option<String> {
        self.looks += 1;
        (self.looks > 1).then(|| "organism.db is gone".to_owned())
    }
}

#[test]
fn c15_an_idle_writer_looks_for_its_log_and_so_does_one_that_stops() {
    let (writer, told) = started(Displaced { log: MemoryLog::new(), looks: 0 });
    assert_eq!(told.recv(), Ok(broken("organism.db is gone")));
    assert!(writer.submit_batch(LogBatch::default()).is_err(), "it takes nothing more");
    assert_eq!(writer.stop_thread(), Some("organism.db is gone".to_owned()));
    let (writer, told) = started(Displaced { log: MemoryLog::new(), looks: 1 });
    assert_eq!(writer.stop_thread(), Some("organism.db is gone".to_owned()));
    assert!(told.recv().is_err(), "it ended before it looked by itself");
    // One that waits for room looks too: a log that is gone gets none.
    let (log, mut author) = (MemoryLog::new(), Author::default());
    log.next_commits([CommitFailure::NotNow, CommitFailure::NotNow]);
    let (writer, told) = started(Displaced { log, looks: 1 });
    writer.submit_batch(one(&mut author)).unwrap();
    assert_eq!([told.recv(), told.recv()], [Ok(stalled()), Ok(broken("organism.db is gone"))]);
    writer.stop_thread();
}
