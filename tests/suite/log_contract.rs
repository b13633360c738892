//! The contract of the log, once, over every log there is. Rules of a single log are in their own
//! files.

use std::sync::Arc;

use systole_core::types::ids::{CallPath, Digest, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogBatch, LogReader, LogWriter, Position, ReadBack, StoredDocument,
};
use systole_core::types::record::{Header, Record};
use systole_log::memory::{CommitFailure, MemoryLog};
use systole_log::sqlite;

use crate::far::Far;
use crate::log_records::{Author, Folder, batch, key, name, root};

/// A log under test: its two sides, and what must outlive them.
struct ContractLog {
    writer: Box<dyn LogWriter>,
    reader: Box<dyn LogReader>,
    _folder: Option<Folder>,
    _broker: Option<Far>,
}

fn memory() -> ContractLog {
    let memory = MemoryLog::new();
    ContractLog { writer: Box::new(memory.clone()), reader: Box::new(memory), _folder: None, _broker: None }
}

fn file() -> ContractLog {
    let folder = Folder::new();
    let opened = sqlite::open_log(&folder.log()).unwrap();
    let (writer, reader) = (Box::new(opened.writer), Box::new(opened.reader));
    ContractLog { writer, reader, _folder: Some(folder), _broker: None }
}

/// In a stream of a real broker.
fn stream() -> ContractLog {
    let (far, folder) = (Far::start(), Folder::new());
    let opened = far.open(&folder.log()).unwrap();
    let (writer, reader) = (Box::new(opened.writer), Box::new(opened.reader));
    ContractLog { writer, reader, _folder: Some(folder), _broker: Some(far) }
}

/// Runs one rule of the contract over every log.
macro_rules! contract {
    ($($(#[$doc:meta])* $rule:ident)*) => {
        mod memory { $(#[test] fn $rule() { super::$rule(super::memory()); })* }
        mod file { $(#[test] fn $rule() { super::$rule(super::file()); })* }
        mod stream { $(#[test] fn $rule() { super::$rule(super::stream()); })* }
    };
}

contract! {
    what_was_committed_is_read_back_as_it_was
    positions_count_from_one_and_pages_join
    a_thread_is_numbered_without_gaps
    an_item_is_recorded_once
    a_key_is_bound_once_per_sender_and_thread
    a_conflict_stores_nothing_of_its_batch
    opening_reads_working_rows_and_what_came_later
    a_row_is_replaced
    a_document_is_stored_once
    threads_are_listed_newest_first
    a_stored_batch_is_found_and_an_absent_one_is_not
    many_readers_see_only_whole_batches
}

fn committed(log: &mut ContractLog, batch: &LogBatch) -> Position {
    match log.writer.commit_batch(batch) {
        Commit::Committed(position) => position,
        other => panic!("{other:?}"),
    }
}

fn conflict(log: &mut ContractLog, batch: &LogBatch) -> String {
    match log.writer.commit_batch(batch) {
        Commit::Conflict(words) => words,
        other => panic!("{other:?}"),
    }
}

fn records(read: Vec<(Position, Record)>) -> Vec<Record> {
    read.into_iter().map(|(_, record)| record).collect()
}

fn what_was_committed_is_read_back_as_it_was(mut log: ContractLog) {
    let mut author = Author::default();
    let child = root(1).make_child("heat").unwrap();
    let wrote = vec![
        author.note(&ThreadId::new_sys(), 0),
        author.full(&root(1)),
        author.full(&child),
        author.note(&root(1), 200_000),
    ];
    assert_eq!(log.reader.read_last(), Ok(Position(0)));
    assert_eq!(committed(&mut log, &batch(wrote.clone())), Position(4));
    assert_eq!(log.reader.read_last(), Ok(Position(4)));
    assert_eq!(records(log.reader.read_after(Position(0), 10).unwrap()), wrote);
    assert_eq!(records(log.reader.of_thread(&child, 1, 10).unwrap()), wrote[2..3]);
}

fn positions_count_from_one_and_pages_join(mut log: ContractLog) {
    let mut author = Author::default();
    for n in 1..=10 {
        let both = [author.note(&root(1), 10), author.note(&root(2), 10)];
        assert_eq!(committed(&mut log, &batch(both)), Position(2 * n));
    }
    let positions = |read: Vec<(Position, Record)>| read.iter().map(|(p, _)| p.0).collect::<Vec<_>>();
    assert_eq!(positions(log.reader.read_after(Position(0), 3).unwrap()), [1, 2, 3]);
    assert_eq!(positions(log.reader.read_after(Position(18), 100).unwrap()), [19, 20]);
    assert_eq!(positions(log.reader.read_after(Position(20), 100).unwrap()), [0; 0]);
    assert_eq!(positions(log.reader.read_after(Position(u64::MAX), 100).unwrap()), [0; 0]);
    assert_eq!(positions(log.reader.of_thread(&root(2), 1, 2).unwrap()), [2, 4]);
    assert_eq!(positions(log.reader.of_thread(&root(2), 9, usize::MAX).unwrap()), [18, 20]);
    assert_eq!(positions(log.reader.of_thread(&root(3), 1, 2).unwrap()), [0; 0]);
}

fn a_thread_is_numbered_without_gaps(mut log: ContractLog) {
    let mut author = Author::default();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    let second = author.note(&root(1), 10);
    let third = author.note(&root(1), 10);
    let words = conflict(&mut log, &batch([third.clone()]));
    assert_eq!(words, "thread sess-000000000001: record 3 does not follow record 1");
    assert_eq!(committed(&mut log, &batch([second.clone(), third])), Position(3));
    let words = conflict(&mut log, &batch([second]));
    assert_eq!(words, "thread sess-000000000001: record 2 does not follow record 3");
    let words = conflict(&mut log, &batch([Author::default().record(&root(2), b"", |h| h.seq = 2)]));
    assert_eq!(words, "thread sess-000000000002: record 2 does not follow record 0");
}

fn item(header: &mut Header, ordinal: u32) {
    header.call = Some(CallPath::new_top(3));
    header.turn = Some(1);
    header.ordinal = Some(ordinal);
}

fn an_item_is_recorded_once(mut log: ContractLog) {
    let mut author = Author::default();
    committed(&mut log, &batch([author.record(&root(1), b"", |h| item(h, 0))]));
    committed(&mut log, &batch([author.record(&root(1), b"", |h| item(h, 1))]));
    committed(&mut log, &batch([author.record(&root(2), b"", |h| item(h, 0))]));
    // A call without an item, as on an outcome, may be on any number of records.
    for _ in 0..2 {
        committed(&mut log, &batch([author.record(&root(1), b"", |h| h.call = Some(CallPath::new_top(3)))]));
    }
    let words = conflict(&mut log, &batch([author.record(&root(1), b"other", |h| item(h, 0))]));
    assert_eq!(words, "thread sess-000000000001: item 0 of turn 1 of call 3 is already recorded");
}

fn a_key_is_bound_once_per_sender_and_thread(mut log: ContractLog) {
    let mut author = Author::default();
    let mut keyed = |thread: u64, from: &str| {
        let change = |h: &mut Header| (h.from, h.key) = (name(from), Some(key("k-1")));
        author.record(&root(thread), b"", change)
    };
    let first = keyed(1, "alice");
    committed(&mut log, &batch([first.clone()]));
    // Row 29: a key that another sender used, or that was used in another thread, is free for this
    // one.
    committed(&mut log, &batch([keyed(1, "mallory"), keyed(2, "alice")]));
    assert_eq!(log.reader.by_key(&root(1), &name("alice"), &key("k-1")), Ok(Some((Position(1), first))),);
    assert_eq!(log.reader.by_key(&root(1), &name("bob"), &key("k-1")), Ok(None));
    assert_eq!(log.reader.by_key(&root(1), &name("alice"), &key("k-2")), Ok(None));
    assert_eq!(log.reader.by_key(&root(9), &name("alice"), &key("k-1")), Ok(None));
    let words = conflict(&mut log, &batch([keyed(1, "alice")]));
    assert_eq!(words, "thread sess-000000000001: key k-1 of alice is already recorded");
}

fn a_conflict_stores_nothing_of_its_batch(mut log: ContractLog) {
    let mut author = Author::default();
    committed(&mut log, &batch([author.record(&root(1), b"", |h| item(h, 0))]));
    let document = StoredDocument { hash: Digest::hash_bytes(b"page"), bytes: Arc::from(&b"page"[..]) };
    let good = author.record(&root(2), b"", |h| h.from = name("newcomer"));
    let bad = author.record(&root(1), b"", |h| item(h, 0));
    let row = FoldRow { thread: root(2), seq: 1, working: true, bytes: vec![1] };
    let refused = LogBatch {
        records: vec![good.clone().into(), bad.into()],
        documents: vec![document.clone()],
        rows: vec![row.clone()],
        checkpoint: Some(Position(3)),
    };
    conflict(&mut log, &refused);
    assert_eq!(log.reader.read_last(), Ok(Position(1)));
    assert_eq!(log.reader.list_threads(10), Ok(vec![root(1)]));
    assert_eq!(log.reader.read_document(document.hash), Ok(None));
    assert_eq!(log.reader.read_row(&root(2)), Ok(None));
    assert_eq!(log.reader.read_opening().unwrap().records.len(), 1, "the checkpoint has not moved");
    // The rules hold within one batch too, and the good part can be committed afterwards.
    let twice = [good.clone(), author.record(&root(3), b"", |h| item(h, 0)), {
        author.record(&root(3), b"", |h| item(h, 0))
    }];
    conflict(&mut log, &batch(twice));
    committed(&mut log, &batch([good.clone()]));
    assert_eq!(log.reader.read_after(Position(1), 9), Ok(vec![(Position(2), good)]));
}

fn row(n: u64, seq: u64, working: bool) -> FoldRow {
    FoldRow { thread: root(n), seq, working, bytes: vec![u8::try_from(n).unwrap(); 3] }
}

fn opening_reads_working_rows_and_what_came_later(mut log: ContractLog) {
    let mut author = Author::default();
    let empty = log.reader.read_opening().unwrap();
    assert_eq!((empty.last, empty.rows.len(), empty.records.len()), (Position(0), 0, 0));
    let before = [1, 2, 3].map(|n| author.note(&root(n), 10));
    let rows = vec![row(1, 1, true), row(2, 1, false), row(3, 1, true)];
    committed(
        &mut log,
        &LogBatch { rows: rows.clone(), checkpoint: Some(Position(3)), ..batch(before.to_vec()) },
    );
    let after = vec![author.note(&root(2), 10), author.note(&root(4), 10)];
    committed(&mut log, &batch(after.clone()));
    // A row that is written alone, as when a thread leaves memory, is not a checkpoint.
    committed(&mut log, &LogBatch { rows: vec![row(4, 1, false)], ..LogBatch::default() });
    let opening = log.reader.read_opening().unwrap();
    assert_eq!(opening.last, Position(5));
    assert_eq!(opening.rows, [rows[0].clone(), rows[2].clone()]);
    assert_eq!(opening.records, after);
    assert_eq!(log.reader.read_row(&root(2)), Ok(Some(rows[1].clone())));
    assert_eq!(log.reader.read_row(&root(9)), Ok(None));
}

fn a_row_is_replaced(mut log: ContractLog) {
    let mut author = Author::default();
    let records = vec![author.note(&root(1), 10)];
    committed(&mut log, &LogBatch { rows: vec![row(1, 1, true)], ..batch(records) });
    let last = committed(&mut log, &LogBatch { rows: vec![row(1, 7, false)], ..LogBatch::default() });
    assert_eq!(last, Position(1), "a batch without records has the position of the log's last");
    assert_eq!(log.reader.read_row(&root(1)), Ok(Some(row(1, 7, false))));
    assert_eq!(log.reader.read_opening().unwrap().rows, []);
}

fn a_document_is_stored_once(mut log: ContractLog) {
    let stored = |bytes: &[u8]| StoredDocument { hash: Digest::hash_bytes(b"page"), bytes: Arc::from(bytes) };
    for bytes in [&b"page"[..], b"something else under the same hash"] {
        committed(&mut log, &LogBatch { documents: vec![stored(bytes)], ..LogBatch::default() });
        assert_eq!(
            log.reader.read_document(Digest::hash_bytes(b"page")).unwrap().as_deref(),
            Some(&b"page"[..])
        );
    }
    assert_eq!(log.reader.read_document(Digest::hash_bytes(b"other")), Ok(None));
}

fn threads_are_listed_newest_first(mut log: ContractLog) {
    let mut author = Author::default();
    let child = root(0x2b).make_child("a").unwrap();
    for thread in [&ThreadId::new_sys(), &root(0x2b), &root(0x2a), &child, &root(0x2b)] {
        committed(&mut log, &batch([author.note(thread, 1)]));
    }
    assert_eq!(log.reader.list_threads(10), Ok(vec![child.clone(), root(0x2a), root(0x2b)]));
    assert_eq!(log.reader.list_threads(1), Ok(vec![child.clone()]));
    let like = |prefix: &str| log.reader.threads_like(prefix, 10).unwrap();
    assert_eq!(like("sess-00000000002"), [root(0x2a), root(0x2b), child.clone()]);
    assert_eq!(like("sess-00000000002b"), [root(0x2b), child.clone()]);
    assert_eq!(like("s").len(), 4, "sys is a thread like any other for a reader that spells it");
    // Row 43: a stranger's input is a text and not a pattern.
    for hostile in ["%", "_", "sess-%", "'; DROP TABLE record; --", "\u{10ffff}", "sess-00000000002b.b"] {
        assert_eq!(like(hostile), [], "{hostile}");
    }
    assert_eq!(log.reader.threads_like("sess-", 2), Ok(vec![root(0x2a), root(0x2b)]));
}

fn a_stored_batch_is_found_and_an_absent_one_is_not(mut log: ContractLog) {
    let mut author = Author::default();
    let first = batch([author.note(&root(1), 10), author.note(&root(2), 10)]);
    assert_eq!(log.writer.read_back(&first), ReadBack::Absent);
    committed(&mut log, &first);
    assert_eq!(log.writer.read_back(&first), ReadBack::Stored(Position(2)));
    let second = batch([author.note(&root(1), 10)]);
    assert_eq!(log.writer.read_back(&second), ReadBack::Absent);
    assert_eq!(committed(&mut log, &second), Position(3), "the writer works after reading back");
    assert_eq!(log.writer.read_back(&second), ReadBack::Stored(Position(3)));
    assert_eq!(log.reader.read_after(Position(0), 9).unwrap().len(), 3);
}

fn many_readers_see_only_whole_batches(mut log: ContractLog) {
    const BATCHES: u64 = 60;
    let mut author = Author::default();
    let batches: Vec<LogBatch> =
        (0..BATCHES).map(|_| batch([author.note(&root(1), 100), author.note(&root(2), 100)])).collect();
    let ContractLog { writer, reader, .. } = &mut log;
    let reader: &dyn LogReader = &**reader;
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                let mut seen = 0;
                while seen < 2 * BATCHES {
                    let last = reader.read_last().unwrap().0;
                    assert!(last.is_multiple_of(2) && last >= seen, "{last} after {seen}");
                    // A former last position can be read, with everything before it.
                    let page = reader.read_after(Position(last.saturating_sub(4)), 4).unwrap();
                    assert!(last == 0 || page.iter().any(|(position, _)| position.0 == last));
                    seen = last;
                }
            });
        }
        for batch in &batches {
            assert!(matches!(writer.commit_batch(batch), Commit::Committed(_)));
        }
    });
}

#[test]
fn memory_answers_as_it_was_told() {
    let (mut log, mut author) = (MemoryLog::new(), Author::default());
    log.next_commits([
        CommitFailure::NotNow,
        CommitFailure::Conflict,
        CommitFailure::UnknownAbsent,
        CommitFailure::UnknownStored,
    ]);
    let first = batch([author.note(&root(1), 10)]);
    assert!(matches!(log.commit_batch(&first), Commit::NotNow(_)));
    assert!(matches!(log.commit_batch(&first), Commit::Conflict(_)));
    assert!(matches!(log.commit_batch(&first), Commit::Unknown(_)));
    assert_eq!(log.read_back(&first), ReadBack::Absent);
    assert_eq!(log.read_last(), Ok(Position(0)));
    assert!(matches!(log.commit_batch(&first), Commit::Unknown(_)));
    assert_eq!(log.read_back(&first), ReadBack::Stored(Position(1)));
    assert_eq!(log.commit_batch(&batch([author.note(&root(1), 10)])), Commit::Committed(Position(2)));
}
