//! The format of the log on disk: `tests/fixtures` has a log of every format number. Each opens in every later
//! version, with the records that were written into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use systole_core::pump::fold::apply_record;
use systole_core::pump::state::{PumpState, Thread};
use systole_core::rules::core_payload::{self, AttemptState};
use systole_core::rules::retry_payload::{self, RetryTerms};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogBatch, LogFault, LogReader as _, LogWriter as _, Position, StoredDocument,
};
use systole_core::types::record::{FORMAT, MessageRole, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_log::sqlite::{self, VerifySummary};

use crate::decide_stage::record_line;
use crate::log_records::{Author, Folder, batch, edit_at, fixture, fixtures, root, sharing};
use crate::pump::cut::{busy, spread, thinking};
use crate::pump::wall::over;

/// The content of the fixture of format 1: a checkpoint, and records after it.
fn batches() -> [LogBatch; 2] {
    let mut author = Author::default();
    let child = root(1).make_child("heat").unwrap();
    let rows = [(root(1), 2, true), (child.clone(), 1, true), (ThreadId::new_sys(), 1, false)];
    let records = [
        author.note(&ThreadId::new_sys(), 30),
        author.full(&root(1)),
        author.note(&root(1), 3_000),
        author.full(&child),
    ];
    let before = LogBatch {
        documents: vec![StoredDocument {
            hash: Digest::hash_bytes(b"organism: {name: hello}"),
            bytes: b"organism: {name: hello}"[..].into(),
        }],
        rows: rows
            .map(|(thread, seq, working)| FoldRow { thread, seq, working, bytes: b"fold".to_vec() })
            .to_vec(),
        checkpoint: Some(Position(4)),
        ..batch(records)
    };
    let refusal = author.record(&root(1), b"<system-error/>", |header| {
        header.kind = RecordKind::Refusal;
        header.code = RecordCode::parse("payload.invalid");
    });
    let terminal =
        author.record(&child, b"", |header| (header.kind, header.code) = (RecordKind::Terminal, None));
    [before, batch([refusal, terminal])]
}

/// The additional content of the fixture of format 2: two equal large bodies, stored once.
fn large() -> LogBatch {
    let mut author = Author::default();
    batch([7, 8].map(|n| author.note(&root(n), 66_000)))
}

/// The additional content of the fixture of format 5: a body with two sensitive values, the same with one of them
/// erased, and one that is erased but for a value.
fn in_parts() -> LogBatch {
    let mut author = Author::default();
    let sealed = [[false, false, false], [false, true, false], [true, false, true]];
    batch((1..).zip(sealed).map(|(thread, erased)| author.in_parts(&root(20 + thread), erased)))
}

/// The additional content of the fixture of format 6.
fn in_pieces() -> LogBatch {
    let mut author = Author::default();
    LogBatch { documents: sharing().to_vec(), ..batch([author.note(&root(30), 10)]) }
}

fn waits() -> AttemptState {
    let words = "no worker takes it".to_owned();
    AttemptState::Waits { outage: "worker".to_owned(), after: None, words }
}

/// The additional content of the fixture of format 7: an attempt that waits, and goes on when a worker takes it.
fn waiting() -> LogBatch {
    let mut author = Author::default();
    let states = [waits(), AttemptState::Taken(Millis(1_790_000_000_000))];
    batch(states.map(|state| {
        let body = core_payload::attempt_state(1, Millis(0), &state);
        author.record(&root(40), &body, |header| {
            (header.kind, header.code) = (RecordKind::Attempt, Some(RecordCode::Attempting(state.effect())));
        })
    }))
}

/// The additional content of the fixture of format 8: a request that failed and is open again.
fn write_reopening() -> LogBatch {
    let mut author = Author::default();
    let (place, one) = (root(50), Some(CallPath::new_top(1)));
    let request = author.record(&place, b"<ask/>", |header| {
        (header.call, header.to) = (one.clone(), Some(Name::parse("tool").unwrap()));
        header.code = Some(RecordCode::Role(MessageRole::Request));
    });
    let words = core_payload::system_error(&Refusal::new(Code::ListenerFailed, "tool: no"));
    let failed = author.record(&place, &words, |header| {
        (header.kind, header.call) = (RecordKind::Outcome, one.clone());
        header.code = Some(RecordCode::Code(Code::ListenerFailed));
    });
    let terms = RetryTerms { by: Name::new_operator(), number: 1, note: None, has_effects: false };
    let again = author.record(&place, &retry_payload::write_reopened(&terms), |header| {
        (header.kind, header.call, header.turn) = (RecordKind::Steer, one.clone(), Some(1));
        header.code = Some(RecordCode::Steering(SteerEffect::Reopened));
    });
    batch([request, failed, again])
}

/// Run by hand, once, for a new format number:
/// `cargo test -p systole-core --test suite -- --ignored make_the_fixture_of_a_new_format`.
#[test]
#[ignore = "makes the fixture of a format number that has none yet"]
fn make_the_fixture_of_a_new_format() {
    // A fixture is never made again: old logs must look as they did.
    if fixture(FORMAT).exists() {
        return;
    }
    let folder = Folder::new();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    for batch in batches().into_iter().chain([large(), in_parts(), in_pieces(), waiting(), write_reopening()])
    {
        assert!(matches!(opened.writer.commit_batch(&batch), Commit::Committed(_)));
    }
    drop(opened);
    std::fs::copy(folder.log(), fixture(FORMAT)).unwrap();
}

#[test]
fn c13_a_log_of_format_1_opens_verifies_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(1), folder.log()).unwrap();
    let saw = VerifySummary { records: 6, threads: 3, documents: 1, last: Position(6) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));

    let [before, after] = batches();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let all = opened.reader.read_after(Position(0), 10).unwrap();
    let wrote: Vec<_> =
        before.records.iter().chain(&after.records).map(|record| Record::clone(record)).collect();
    assert_eq!(all.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), wrote);
    let opening = opened.reader.read_opening().unwrap();
    // Its rows have no checksum: everything is folded again.
    assert_eq!((opening.last, opening.records), (Position(6), wrote));
    assert_eq!(opening.rows, []);
    let document = &before.documents[0];
    assert_eq!(opened.reader.read_document(document.hash), Ok(Some(document.bytes.clone())));

    // If a rule of the tables were lost on the way, this would be stored.
    let mut author = Author::default();
    let again = [(); 6].map(|()| author.note(&root(1), 1));
    assert!(matches!(opened.writer.commit_batch(&batch(again)), Commit::Conflict(_)));
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(7)));
}

#[test]
fn c13_a_log_of_format_2_opens_verifies_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(2), folder.log()).unwrap();
    let saw = VerifySummary { records: 8, threads: 5, documents: 2, last: Position(8) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let [before, after] = batches();
    let wrote: Vec<_> = [before, after, large()].into_iter().flat_map(|batch| batch.records).collect();
    let read = opened.reader.read_after(Position(0), 10).unwrap();
    assert_eq!(read.into_iter().map(|(_, record)| Arc::new(record)).collect::<Vec<_>>(), wrote);
    let next = Author::default().note(&root(9), 66_000);
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(9)));
    drop(opened);
    let documents = sqlite::verify_all(&folder.log()).unwrap().documents;
    assert_eq!(documents, 2, "those bytes were there already");
}

#[test]
fn c13_a_log_of_format_3_opens_with_its_rows_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(3), folder.log()).unwrap();
    let saw = VerifySummary { records: 8, threads: 5, documents: 2, last: Position(8) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let [before, after] = batches();
    let opening = opened.reader.read_opening().unwrap();
    assert_eq!(opening.rows, before.rows[..2], "its rows have checksums that fit");
    let came_after: Vec<_> = opening.records.into_iter().map(Arc::new).collect();
    assert_eq!(came_after, [after.records, large().records].concat());
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(9)));
}

#[test]
fn c13_a_log_of_format_3_gets_its_places_and_keeps_its_rules() {
    let folder = Folder::new();
    std::fs::copy(fixture(3), folder.log()).unwrap();
    let wrote: Vec<_> = batches().into_iter().chain([large()]).flat_map(|batch| batch.records).collect();
    let of = |reader: &sqlite::SqliteReader, thread: &ThreadId| {
        let read = reader.of_thread(thread, 1, 100).unwrap();
        read.into_iter().map(|(_, record)| Arc::new(record)).collect::<Vec<_>>()
    };
    let threads: Vec<_> = wrote.iter().map(|record| record.header.thread.clone()).collect();
    let wanted = |thread: &ThreadId| {
        let its = wrote.iter().filter(|record| record.header.thread == *thread);
        its.cloned().collect::<Vec<_>>()
    };
    let early = sqlite::open_reading(&folder.log()).unwrap();
    threads.iter().for_each(|thread| assert_eq!(of(&early, thread), wanted(thread), "read as it is"));
    assert_eq!(sqlite::read_format(&folder.log()), Ok(3), "reading changes nothing");
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!(
        opened.notes.len(),
        2,
        "it is converted, and its tip did not come with it: {:?}",
        opened.notes
    );
    for reader in [&opened.reader, &early] {
        threads.iter().for_each(|thread| assert_eq!(of(reader, thread), wanted(thread), "and as it is now"));
    }
    for old in &wrote {
        assert!(matches!(opened.writer.commit_batch(&batch([Record::clone(old)])), Commit::Conflict(_)));
    }
    drop((opened, early));
    assert_eq!(sqlite::list_oddities(&folder.log()), Ok(Vec::new()));
    assert!(sqlite::verify_all(&folder.log()).is_ok());
}

#[test]
fn c13_a_log_of_format_4_opens_with_its_places_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(4), folder.log()).unwrap();
    let saw = VerifySummary { records: 8, threads: 5, documents: 2, last: Position(8) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    assert_eq!(sqlite::list_oddities(&folder.log()), Ok(Vec::new()));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!(opened.notes.len(), 2, "it is converted, and came without a tip: {:?}", opened.notes);
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(9)));
}

#[test]
fn c13_a_log_of_format_5_has_its_parts_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(5), folder.log()).unwrap();
    let saw = VerifySummary { records: 11, threads: 8, documents: 2, last: Position(11) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    assert_eq!(sqlite::list_oddities(&folder.log()), Ok(Vec::new()));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let read = opened.reader.read_after(Position(8), 10).unwrap();
    let bodies: Vec<String> =
        read.iter().map(|(_, record)| String::from_utf8(record.body.to_vec()).unwrap()).collect();
    assert_eq!(
        bodies,
        [
            "<pay iban=\"DE02\"><name>Ann Lee, Oslo</name></pay>",
            "<pay iban=\"****\"><name>Ann Lee, Oslo</name></pay>",
            "[erased]***DE02[erased][erased]*****[erased]*****"
        ]
    );
    let whole: Vec<Arc<Record>> = read.into_iter().map(|(_, record)| Arc::new(record)).collect();
    assert_eq!(whole, in_parts().records);
    let next = Author::default().in_parts(&root(9), [false, false, true]);
    let wrote = next.clone();
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(12)));
    assert_eq!(opened.reader.read_after(Position(11), 1).unwrap(), [(Position(12), wrote)]);
    drop(opened);
    let log = systole_checker::log::LogSnapshot::open_file(&folder.log()).unwrap();
    let mut lines = Vec::new();
    log.read_each(|line| lines.push(line.unwrap())).unwrap();
    let heads: Vec<[u8; 32]> = lines.iter().map(|line| line.hash_leaf().0).collect();
    let leaves = sqlite::open_reading(&folder.log()).unwrap().read_after(Position(0), 20).unwrap();
    assert_eq!(heads, leaves.iter().map(|(_, record)| record.leaf.0).collect::<Vec<_>>());
}

#[test]
fn c13_a_log_of_format_6_has_its_documents_in_pieces_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(6), folder.log()).unwrap();
    let saw = VerifySummary { records: 12, threads: 9, documents: 4, last: Position(12) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    assert_eq!(sqlite::list_oddities(&folder.log()), Ok(Vec::new()));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    for document in sharing() {
        assert_eq!(opened.reader.read_document(document.hash), Ok(Some(document.bytes)));
    }
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(13)));
}

#[test]
fn c13_a_log_of_format_7_says_what_waits_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(7), folder.log()).unwrap();
    let saw = VerifySummary { records: 14, threads: 10, documents: 4, last: Position(14) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let told = opened.reader.of_thread(&root(40), 1, 3).unwrap();
    let states: Vec<_> =
        told.iter().map(|(_, record)| core_payload::read_attempt_state(&record.body)).collect();
    assert_eq!(states, [Some(waits()), Some(AttemptState::Taken(Millis(1_790_000_000_000))),]);
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(15)));
}

#[test]
fn c13_a_log_of_format_8_has_a_call_that_is_open_again_and_is_written_on() {
    let folder = Folder::new();
    std::fs::copy(fixture(8), folder.log()).unwrap();
    let saw = VerifySummary { records: 17, threads: 11, documents: 4, last: Position(17) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let mut state = PumpState::default();
    for (_, record) in opened.reader.of_thread(&root(50), 1, 3).unwrap() {
        apply_record(&mut state, &record);
    }
    let call = &state.threads[&root(50)].calls["1"];
    assert_eq!((call.retries, call.attempts, call.own_attempt()), (1, 2, 1));
    let next = Author::default().record(&root(9), b"", |_| {});
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(18)));
}

#[test]
fn c13_a_value_an_erased_place_or_a_seal_that_was_changed_is_damage() {
    for (sql, position) in [
        (
            "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'DE02', 'DE03') AS BLOB) WHERE pos = 9",
            9,
        ),
        (
            "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'Oslo', 'Rome') AS BLOB) WHERE pos = 10",
            10,
        ),
        // No hash covers what stands in an erased place.
        (
            "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), '****', 'DE99') AS BLOB) WHERE pos = 10",
            10,
        ),
        (
            "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), '[erased]***DE02', '<pay iban=\"DE02') AS BLOB) WHERE pos = 11",
            11,
        ),
        ("UPDATE part SET seal = zeroblob(16) WHERE pos = 9 AND number = 2", 9),
        ("UPDATE part SET seal = zeroblob(32) WHERE pos = 10 AND number = 1", 10),
        ("UPDATE part SET seal = zeroblob(20) WHERE pos = 9 AND number = 1", 9),
        ("UPDATE part SET at = at + 1 WHERE pos = 9 AND number = 1", 9),
        ("UPDATE part SET at = -1 WHERE pos = 9 AND number = 1", 9),
        ("UPDATE part SET length = 100000 WHERE pos = 9 AND number = 2", 9),
        ("DELETE FROM part WHERE pos = 9 AND number = 2", 9),
        ("INSERT INTO part VALUES (1, 1, 0, 3, zeroblob(16))", 1),
        ("UPDATE record SET salt = zeroblob(32) WHERE pos = 9", 9),
        ("UPDATE record SET salt = zeroblob(16) WHERE pos = 11", 11),
    ] {
        let folder = Folder::new();
        std::fs::copy(fixture(5), folder.log()).unwrap();
        edit_at(&folder.log(), sql);
        let fault = sqlite::verify_all(&folder.log()).unwrap_err();
        assert!(
            matches!(&fault, LogFault::Damaged { position: Position(at), .. } if *at == position),
            "{sql}: {fault}"
        );
    }
    let folder = Folder::new();
    std::fs::copy(fixture(5), folder.log()).unwrap();
    edit_at(&folder.log(), "INSERT INTO part VALUES (99, 1, 0, 3, zeroblob(16))");
    let odd = sqlite::list_oddities(&folder.log()).unwrap();
    assert!(odd.iter().any(|odd| odd.what == "table part"), "{odd:?}");
}

/// A log as text, one line for each record and one for the end of each thread.
fn told(log: &Path) -> String {
    let opened = sqlite::open_log(log).unwrap();
    let mut state = PumpState::default();
    let mut lines = Vec::new();
    for (_, record) in opened.reader.read_after(Position(0), 10_000).unwrap() {
        apply_record(&mut state, &record);
        lines.push(record_line(&record));
    }
    let what = |t: &Thread| {
        let (life, open) = (t.life().as_str(), t.calls.len());
        format!(
            "{}: {life}, {} top calls, {open} open, {} timers, {}",
            t.id,
            t.top_calls,
            t.timers.len(),
            t.head
        )
    };
    let mut threads: Vec<String> = state.threads.values().map(what).collect();
    threads.sort_unstable();
    lines.extend(threads);
    lines.join("\n") + "\n"
}

fn conversation(name: &str, ending: &str) -> PathBuf {
    let file = format!("log-{name}.{ending}");
    fixtures().join(file)
}

/// Run by hand, once for each:
/// `cargo test -p systole-core --test suite -- --ignored make_the_fixtures_of_conversations`. Its fixtures are never
/// made again; later kinds get their own fixture.
#[test]
#[ignore = "makes fixtures that are kept for ever"]
fn make_the_fixtures_of_conversations() {
    for (name, stage) in [
        ("v1-threads", busy().0),
        ("v2-broadcast", spread()),
        ("v2-threads", busy().0),
        ("v2-models", thinking()),
        ("v2-time", over().0),
        ("v3-threads", busy().0),
    ] {
        if conversation(name, "db").exists() {
            continue;
        }
        let folder = Folder::new();
        let mut opened = sqlite::open_log(&folder.log()).unwrap();
        assert!(matches!(opened.writer.commit_batch(&batch(stage.records)), Commit::Committed(_)));
        drop(opened);
        std::fs::copy(folder.log(), conversation(name, "db")).unwrap();
        std::fs::write(conversation(name, "txt"), told(&folder.log())).unwrap();
    }
}

/// A fixture folds as it did when it was made.
fn opens_and_folds(name: &str) {
    let folder = Folder::new();
    std::fs::copy(conversation(name, "db"), folder.log()).unwrap();
    assert!(sqlite::verify_all(&folder.log()).is_ok());
    assert_eq!(told(&folder.log()), std::fs::read_to_string(conversation(name, "txt")).unwrap());
}

#[test]
fn c13_a_log_with_timers_approvals_and_steering_opens_and_folds_as_it_did() {
    opens_and_folds("v1-threads");
}

#[test]
fn c13_logs_with_views_models_and_limited_time_open_and_fold_as_they_did() {
    for name in ["v2-threads", "v2-models", "v2-time", "v3-threads"] {
        opens_and_folds(name);
    }
}

#[test]
fn c13_an_old_log_with_broadcasts_opens_folds_and_verifies() {
    opens_and_folds("v2-broadcast");
    let folder = Folder::new();
    std::fs::copy(conversation("v2-broadcast", "db"), folder.log()).unwrap();
    let log = systole_checker::log::LogSnapshot::open_file(&folder.log()).unwrap();
    let report = systole_checker::check_under(&log, &[], &systole_checker::RunSettings::default());
    assert!(report.is_clean(), "{report}");
}
