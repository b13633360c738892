//! Large bodies are stored among the documents. A log from before that is converted in one step, by its
//! writer and not by a reader.

use std::process::{Command, Stdio};
use std::sync::Arc;

use rusqlite::Connection;
use systole_core::types::body_parts::ERASED_TEXT;
use systole_core::types::fields::write_field;
use systole_core::types::ids::Digest;
use systole_core::types::limits::LARGE_BODY;
use systole_core::types::ports::{
    Commit, LogBatch, LogFault, LogReader as _, LogWriter as _, Position, StoredDocument,
};
use systole_core::types::record::{FORMAT, Record};
use systole_log::sqlite::{self, LogErasure};

use crate::log_records::{Author, Folder, batch, fixture, root, sharing};

const LOG: &str = "SYSTOLE_TEST_LOG";

/// The result of a query for one number.
fn number(folder: &Folder, sql: &str) -> i64 {
    Connection::open(folder.log()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// A log in which three threads got the same large body ten times.
fn of_ten() -> (Folder, Vec<Arc<Record>>) {
    let (folder, mut author) = (Folder::new(), Author::default());
    let records: Vec<_> = (0..10).map(|n| author.note(&root(n % 3), 4 * LARGE_BODY)).collect();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let all = batch(records);
    assert_eq!(opened.writer.commit_batch(&all), Commit::Committed(Position(10)));
    (folder, all.records)
}

#[test]
fn c10_a_large_body_is_stored_once_however_often_it_is_sent() {
    let (folder, records) = of_ten();
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    let read: Vec<_> = reader
        .read_after(Position(0), 100)
        .unwrap()
        .into_iter()
        .map(|(_, record)| Arc::new(record))
        .collect();
    assert_eq!(read, records, "a reader sees no difference");
    let bytes = std::fs::metadata(folder.log()).unwrap().len();
    assert!(bytes < 3 * 4 * LARGE_BODY as u64, "{bytes} bytes");
    let saw = sqlite::verify_all(&folder.log()).unwrap();
    assert_eq!((saw.records, saw.documents), (10, 1));
    assert_eq!(
        reader.read_document(Digest::hash_bytes(&records[0].body)).unwrap().as_deref(),
        Some(&*records[0].body)
    );
    assert_eq!(number(&folder, "SELECT min(length(body)) FROM line"), 4 * LARGE_BODY as i64);
}

#[test]
fn a_body_up_to_the_limit_stays_in_its_record() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let both = [author.note(&root(1), LARGE_BODY), author.note(&root(1), LARGE_BODY + 1)];
    assert!(matches!(opened.writer.commit_batch(&batch(both)), Commit::Committed(_)));
    drop(opened);
    assert_eq!(number(&folder, "SELECT pos FROM large"), 2);
    assert_eq!(number(&folder, "SELECT count(*) FROM document"), 1);
}

#[test]
fn a_large_body_that_was_changed_lost_or_exchanged_is_named() {
    for (edit, position) in [
        ("UPDATE document SET bytes = CAST('<other/>' AS BLOB)", 1),
        ("DELETE FROM document", 1),
        ("DELETE FROM large WHERE pos = 4", 4),
        ("UPDATE record SET body = CAST('<other/>' AS BLOB) WHERE pos = 7", 7),
    ] {
        let (folder, _) = of_ten();
        Connection::open(folder.log()).unwrap().execute_batch(edit).unwrap();
        match sqlite::verify_all(&folder.log()) {
            Err(LogFault::Damaged { position: found, .. }) => assert_eq!(found.0, position, "{edit}"),
            other => panic!("{edit}: {other:?}"),
        }
    }
}

#[test]
fn c13_an_older_log_is_read_as_it_is_and_brought_forward_by_who_writes_it() {
    let folder = Folder::new();
    std::fs::copy(fixture(1), folder.log()).unwrap();
    let bytes = || Digest::hash_bytes(&std::fs::read(folder.log()).unwrap());
    let before = bytes();
    let early = sqlite::open_reading(&folder.log()).unwrap();
    assert_eq!(early.read_after(Position(0), 100).unwrap().len(), 6);
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 6);
    assert_eq!((sqlite::read_format(&folder.log()), bytes()), (Ok(1), before), "no byte was changed");

    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let large = Author::default().note(&root(9), 2 * LARGE_BODY);
    assert_eq!(opened.writer.commit_batch(&batch([large.clone()])), Commit::Committed(Position(7)));
    let read = early.read_after(Position(6), 100).unwrap();
    assert_eq!(read[0].1, large, "a reader that had begun goes on");
    drop((opened, early));
    assert_eq!(sqlite::read_format(&folder.log()), Ok(FORMAT));
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 7);
    assert_eq!(number(&folder, "SELECT count(*) FROM line"), 7);
}

/// Opens a log for writing, and nothing else. Run by the test below, under strace.
#[test]
#[ignore = "the second process of another test"]
fn process_that_brings_a_log_forward() {
    let Some(log) = std::env::var_os(LOG) else { return };
    drop(sqlite::open_log(std::path::Path::new(&log)).unwrap());
}

#[test]
#[ignore = "needs strace"]
fn c13_death_at_any_write_while_a_log_is_brought_forward_leaves_it_whole() {
    let mut formats = [0; 5];
    for n in 1..100 {
        let folder = Folder::new();
        std::fs::copy(fixture(1), folder.log()).unwrap();
        let inject = format!("inject=pwrite64:signal=SIGKILL:when={n}");
        let ended = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &inject])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "log_large::process_that_brings_a_log_forward"])
            .env(LOG, folder.log())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("strace is installed");
        let reader = sqlite::open_reading(&folder.log()).unwrap_or_else(|e| panic!("write {n}: {e}"));
        assert_eq!(reader.read_after(Position(0), 100).unwrap().len(), 6, "write {n}");
        drop(reader);
        let format: usize = number(&folder, "PRAGMA user_version").try_into().unwrap();
        formats[format] += 1;
        drop(sqlite::open_log(&folder.log()).unwrap_or_else(|e| panic!("write {n}: {e}")));
        assert_eq!(number(&folder, "PRAGMA user_version"), 5, "write {n}");
        if ended.success() {
            assert!(n > 3, "several writes were struck");
            assert!(formats[1] > 0 && formats[4] > 0, "before and after: {formats:?}");
            return;
        }
    }
    panic!("it never ended by itself");
}

#[test]
fn c10_documents_made_of_fields_share_their_pieces_and_an_erased_one_takes_only_its_own() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let [first, other] = sharing();
    for documents in [vec![first.clone(), other.clone()], vec![first.clone()]] {
        let next = LogBatch { documents, ..batch([author.note(&root(1), 10)]) };
        assert!(matches!(opened.writer.commit_batch(&next), Commit::Committed(_)));
    }
    assert_eq!(number(&folder, "SELECT count(*) FROM piece WHERE length(bytes) > 7000"), 1);
    assert_eq!(
        number(&folder, "SELECT count(*) FROM piece"),
        4,
        "the field, what is before it twice, the end"
    );
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().documents, 2);

    let erasure = LogErasure { documents: vec![first.hash], ..LogErasure::default() };
    let record = batch([author.note(&root(1), 20)]);
    assert!(matches!(opened.writer.erase_values(&erasure, &record), Commit::Committed(_)));
    opened.writer.rewrite_file().unwrap();
    let read = |hash| opened.reader.read_document(hash).unwrap().unwrap();
    assert_eq!((&*read(first.hash), &*read(other.hash)), (ERASED_TEXT.as_bytes(), &*other.bytes));
    assert_eq!(opened.reader.erased_documents().map(|all| all.len()), Ok(1));
    assert_eq!(number(&folder, "SELECT count(*) FROM piece WHERE instr(bytes, 'first') > 0"), 0);

    // What was erased can be said again.
    let again = LogBatch { documents: vec![first.clone()], ..batch([author.note(&root(1), 30)]) };
    assert!(matches!(opened.writer.commit_batch(&again), Commit::Committed(_)));
    assert_eq!(opened.reader.read_document(first.hash), Ok(Some(first.bytes)));
    drop(opened);
    assert_eq!(sqlite::list_oddities(&folder.log()), Ok(Vec::new()));
}

#[test]
fn c10_a_document_that_is_there_whole_stays_whole_and_a_changed_piece_harms_no_other_document() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let [first, other] = sharing();
    let mut says = |document: &StoredDocument| {
        let mut opened = sqlite::open_log(&folder.log()).unwrap();
        let next = LogBatch { documents: vec![document.clone()], ..batch([author.note(&root(1), 10)]) };
        assert!(matches!(opened.writer.commit_batch(&next), Commit::Committed(_)));
        opened.reader.read_document(document.hash).unwrap()
    };
    says(&first);
    let changed = |sql: &str, bytes: &[u8]| {
        Connection::open(folder.log()).unwrap().execute(sql, [bytes]).unwrap();
    };
    // As a log of an older format has it.
    changed("UPDATE document SET bytes = ?1", &first.bytes);
    changed("DELETE FROM piece WHERE hash <> ?1", b"");
    assert_eq!(says(&first), Some(first.bytes.clone()));
    assert_eq!(number(&folder, "SELECT count(*) FROM piece"), 0);

    says(&other);
    changed("UPDATE piece SET bytes = ?1 WHERE length(bytes) > 7000", b"someone else's");
    changed("DELETE FROM document WHERE length(bytes) > 7000 AND bytes <> ?1", b"");
    assert_eq!(says(&first), Some(first.bytes), "its shared piece is another one now");
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    assert!(reader.read_document(other.hash).is_err(), "and that stays to be seen");
}

#[test]
fn c10_a_list_that_names_a_piece_again_and_again_is_damage_and_takes_no_room() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let all = LogBatch { documents: sharing().to_vec(), ..batch([author.note(&root(1), 10)]) };
    assert!(matches!(opened.writer.commit_batch(&all), Commit::Committed(_)));
    drop(opened);
    let log = Connection::open(folder.log()).unwrap();
    log.execute("UPDATE piece SET bytes = zeroblob(1000000) WHERE length(bytes) > 7000", []).unwrap();
    let sql = "SELECT hash FROM piece WHERE length(bytes) = 1000000";
    let name: Vec<u8> = log.query_row(sql, [], |row| row.get(0)).unwrap();
    // A terabyte, if it were put together.
    let list = [&b"systole pieces v1\n"[..], &name.repeat(1_000_000)].concat();
    log.execute("UPDATE document SET bytes = ?1", [list]).unwrap();
    drop(log);
    let read = sqlite::open_reading(&folder.log()).unwrap().read_document(sharing()[0].hash);
    assert!(matches!(read, Err(LogFault::Damaged { .. })), "{read:?}");
    let verified = sqlite::verify_all(&folder.log());
    assert!(matches!(verified, Err(LogFault::Damaged { .. })), "{verified:?}");
}

#[test]
fn c10_a_piece_that_was_changed_lost_or_moved_is_damage() {
    for edit in [
        "UPDATE piece SET bytes = CAST(bytes || ' ' AS BLOB) WHERE length(bytes) > 7000",
        "DELETE FROM piece WHERE length(bytes) > 7000",
        "UPDATE document SET bytes = substr(bytes, 1, length(bytes) - 32)",
        "UPDATE document SET bytes = substr(bytes, 1, 18)",
        "UPDATE document SET bytes = CAST(substr(bytes, 1, 18) || substr(bytes, 51) || substr(bytes, 19, 32) AS BLOB)",
    ] {
        let (folder, mut author) = (Folder::new(), Author::default());
        let mut opened = sqlite::open_log(&folder.log()).unwrap();
        let all = LogBatch { documents: sharing().to_vec(), ..batch([author.note(&root(1), 10)]) };
        assert!(matches!(opened.writer.commit_batch(&all), Commit::Committed(_)));
        drop(opened);
        Connection::open(folder.log()).unwrap().execute_batch(edit).unwrap();
        let reader = sqlite::open_reading(&folder.log()).unwrap();
        let read = reader.read_document(sharing()[0].hash);
        assert!(matches!(read, Err(LogFault::Damaged { .. })), "{edit}: {read:?}");
        let verified = sqlite::verify_all(&folder.log());
        assert!(matches!(verified, Err(LogFault::Damaged { .. })), "{edit}: {verified:?}");
    }
}

#[test]
fn c10_a_document_in_pieces_may_also_be_the_body_of_a_record() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let mut bytes = Vec::new();
    [&[b'a'; LARGE_BODY][..], &[b'b'; LARGE_BODY]].iter().for_each(|value| write_field(&mut bytes, value));
    let document = StoredDocument { hash: Digest::hash_bytes(&bytes), bytes: bytes.clone().into() };
    let body = author.record(&root(1), &bytes, |_| {});
    let both = LogBatch { documents: vec![document.clone()], ..batch([body]) };
    assert!(matches!(opened.writer.commit_batch(&both), Commit::Committed(_)));
    let (_, record) = opened.reader.read_after(Position(0), 1).unwrap().remove(0);
    assert_eq!(&*record.body, &*bytes);
    assert_eq!(opened.reader.read_document(document.hash), Ok(Some(document.bytes.clone())));
}
