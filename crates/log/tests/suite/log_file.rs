//! Rules of the log in a file alone: what it refuses and leaves untouched, who may write, and what
//! survives the kill of a process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{
    Commit, LogBatch, LogFault, LogReader as _, LogWriter as _, Position, ReadBack, StoredDocument,
};
use systole_core::types::record::FORMAT;
use systole_log::sqlite::{self, VerifySummary};

use crate::log_records::{Author, Folder, batch, key, name, root};

/// The folder in which a second process of this test binary works.
const FOLDER: &str = "SYSTOLE_TEST_LOG";

/// Runs one of the ignored tests below in its own process.
fn second_process(test: &str, log: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", &format!("log_file::{test}")])
        .env(FOLDER, log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A log of `records` records in batches, in seven threads, closed cleanly.
fn written(folder: &Folder, records: usize) {
    let (mut author, mut opened) = (Author::default(), sqlite::open_log(&folder.log()).unwrap());
    let all: Vec<_> = (0..records).map(|n| author.note(&root(n as u64 % 7), 40)).collect();
    for part in all.chunks(1000) {
        assert!(matches!(opened.writer.commit_batch(&batch(part.to_vec())), Commit::Committed(_)));
    }
}

/// Changes the log as a person with the file and `sqlite3` could.
fn edit(folder: &Folder, sql: &str) {
    let connection = Connection::open(folder.log()).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

/// Opens a log that must be refused, and compares every byte of its folder before and after.
fn refused(folder: &Folder) -> LogFault {
    let before = folder.hashes();
    let fault = sqlite::open_log(&folder.log()).err().expect("the log is refused");
    assert_eq!(folder.hashes(), before, "{fault}");
    fault
}

fn position(fault: &LogFault) -> u64 {
    match fault {
        LogFault::Damaged { position, .. } => position.0,
        other => panic!("{other}"),
    }
}

#[test]
fn a_log_that_is_closed_in_peace_is_one_file_and_opens_again() {
    let folder = Folder::new();
    written(&folder, 10);
    let names: Vec<String> = folder.hashes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["organism.db", "organism.db.lock", "organism.db.secret", "organism.db.tip"]);
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!(opened.reader.read_last(), Ok(Position(10)));
}

#[test]
fn foreign_files_are_refused_untouched() {
    let folder = Folder::new();
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"not a database, but a diary", "it is not an SQLite database"),
        (b"SQLite format 3\0", "it is shorter than a database"),
    ] {
        std::fs::write(folder.log(), bytes).unwrap();
        let path = folder.log().canonicalize().unwrap().display().to_string();
        assert_eq!(refused(&folder), LogFault::Foreign { path, why: why.into() });
    }
    std::fs::remove_file(folder.log()).unwrap();
    edit(&folder, "CREATE TABLE diary (day TEXT); PRAGMA user_version = 1;");
    assert!(matches!(refused(&folder), LogFault::Foreign { .. }));
    assert!(matches!(sqlite::open_reading(&folder.log()), Err(LogFault::Foreign { .. })));
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    assert!(matches!(sqlite::open_log(&folder.path().join("folder")), Err(LogFault::Io { .. })));
    let device = sqlite::open_reading(std::path::Path::new("/dev/null")).map(drop);
    assert!(matches!(device, Err(LogFault::Foreign { why, .. }) if why.contains("a device")));
    // Opening it would wait forever for a writer.
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()));
    for fault in [sqlite::open_log(&pipe).map(drop), sqlite::open_reading(&pipe).map(drop)] {
        assert!(matches!(fault, Err(LogFault::Foreign { why, .. }) if why.contains("a pipe")));
    }
}

#[test]
fn a_newer_format_is_refused_untouched() {
    let folder = Folder::new();
    written(&folder, 3);
    edit(&folder, &format!("PRAGMA user_version = {}", FORMAT + 1));
    let fault = refused(&folder);
    assert!(matches!(fault, LogFault::Newer { known: FORMAT, .. }), "{fault}");
    assert!(fault.to_string().ends_with("has format 9; this version reads up to 8"), "{fault}");
}

#[test]
fn a_newer_format_that_is_still_in_the_write_ahead_log_is_refused_untouched() {
    let (folder, crashed) = (Folder::new(), Folder::new());
    written(&folder, 3);
    let newer = Connection::open(folder.log()).unwrap();
    newer.pragma_update(None, "user_version", FORMAT + 1).unwrap();
    // The files as they are if the newer version dies now.
    for ending in ["", "-wal"] {
        let name = format!("organism.db{ending}");
        std::fs::copy(folder.path().join(&name), crashed.path().join(&name)).unwrap();
    }
    assert!(matches!(refused(&crashed), LogFault::Newer { known: FORMAT, .. }));
}

#[test]
fn row_42_an_edited_log_is_refused_at_its_first_bad_position() {
    // Each edit, and the position at which it is found.
    let edits = [
        ("UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'o', '0') AS BLOB) WHERE pos = 41", 41),
        ("UPDATE record SET body = zeroblob(length(body)) WHERE pos IN (30, 12)", 12),
        ("UPDATE record SET time = time + 1 WHERE pos = 50", 50),
        ("UPDATE record SET sender = sender + 1 WHERE pos = 9", 9),
        ("UPDATE record SET ordinal = 1 WHERE pos = 33", 33),
        ("UPDATE record SET salt = zeroblob(16) WHERE pos = 2", 2),
        ("UPDATE record SET head = zeroblob(32) WHERE pos = 17", 17),
        ("UPDATE record SET head = zeroblob(31) WHERE pos = 18", 18),
        ("UPDATE record SET call = '../3' WHERE pos = 19", 19),
        ("UPDATE record SET code = (SELECT id FROM word WHERE text = 'message') WHERE pos = 20", 20),
        ("DELETE FROM record WHERE pos = 23", 23),
        ("DELETE FROM record WHERE pos = 1", 1),
        ("DELETE FROM word WHERE text = 'researcher'", 1),
        ("UPDATE thread SET text = 'sess-00000000000f' WHERE text = 'sess-000000000004'", 5),
        ("UPDATE config SET hash = zeroblob(32)", 1),
        // Two rows of one thread change places: 30 and 37 are neighbours in it.
        (
            "UPDATE record SET pos = -1 WHERE pos = 30; UPDATE record SET pos = 30 WHERE pos = 37; \
          UPDATE record SET pos = 37 WHERE pos = -1",
            30,
        ),
        ("DROP TABLE config", 1),
    ];
    for (sql, first) in edits {
        let folder = Folder::new();
        written(&folder, 60);
        edit(&folder, sql);
        let fault = refused(&folder);
        assert_eq!(position(&fault), first, "{sql}: {fault}");
        let whole = sqlite::verify_all(&folder.log()).expect_err("verify sees it too");
        assert_eq!(position(&whole), first, "{sql}: {whole}");
    }
}

#[test]
fn a_flipped_byte_in_a_body_is_found() {
    let folder = Folder::new();
    let mut author = Author::default();
    {
        let mut opened = sqlite::open_log(&folder.log()).unwrap();
        let wrote = (1..=9).map(|n| author.record(&root(1), format!("here is body {n}").as_bytes(), |_| {}));
        assert!(matches!(opened.writer.commit_batch(&batch(wrote)), Commit::Committed(_)));
    }
    let mut bytes = std::fs::read(folder.log()).unwrap();
    let at = bytes.windows(14).position(|w| w == b"here is body 5").unwrap();
    bytes[at] ^= 1;
    std::fs::write(folder.log(), bytes).unwrap();
    assert_eq!(position(&refused(&folder)), 5);
}

#[test]
fn a_log_that_was_cut_is_refused_untouched() {
    let folder = Folder::new();
    written(&folder, 500);
    let whole = std::fs::read(folder.log()).unwrap();
    for length in [whole.len() - 1, whole.len() - 8192, whole.len() / 2, 8192, 200] {
        std::fs::write(folder.log(), &whole[..length]).unwrap();
        let fault = refused(&folder);
        assert!(matches!(fault, LogFault::Damaged { .. }), "cut to {length}: {fault}");
    }
}

#[test]
fn damage_further_back_is_for_verify_all() {
    let folder = Folder::new();
    written(&folder, 10_050);
    edit(&folder, "UPDATE record SET time = time + 1 WHERE pos = 50");
    assert_eq!(position(&refused(&folder)), 50, "what opening would fold is verified, however much it is");
    edit(&folder, "UPDATE record SET time = time - 1 WHERE pos = 50");
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let checkpoint = LogBatch { checkpoint: Some(Position(10_050)), ..LogBatch::default() };
    assert_eq!(opened.writer.commit_batch(&checkpoint), Commit::Committed(Position(10_050)));
    drop(opened);
    edit(&folder, "UPDATE record SET time = time + 1 WHERE pos = 50");
    assert!(sqlite::open_log(&folder.log()).is_ok(), "the newest 10,000 are as they were");
    assert_eq!(position(&sqlite::verify_all(&folder.log()).unwrap_err()), 50);
    edit(&folder, "UPDATE record SET time = time + 1 WHERE pos = 51");
    assert_eq!(position(&refused(&folder)), 51);
}

#[test]
fn verify_all_counts_what_it_saw_and_touches_nothing() {
    let folder = Folder::new();
    let mut author = Author::default();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let page = StoredDocument {
        hash: systole_core::types::ids::Digest::hash_bytes(b"page"),
        bytes: b"page"[..].into(),
    };
    let records =
        vec![author.note(&ThreadId::new_sys(), 5), author.full(&root(1)), author.note(&root(1), 9_000)];
    let first = LogBatch { documents: vec![page], ..batch(records) };
    assert!(matches!(opened.writer.commit_batch(&first), Commit::Committed(_)));
    let saw = VerifySummary { records: 3, threads: 2, documents: 1, last: Position(3) };
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw), "while the organism runs");
    drop(opened);
    let before = folder.hashes();
    assert_eq!(sqlite::verify_all(&folder.log()), Ok(saw), "and after it has ended");
    assert_eq!(folder.hashes(), before);
    edit(&folder, "UPDATE document SET bytes = x'00'");
    assert_eq!(position(&sqlite::verify_all(&folder.log()).unwrap_err()), 0);
    assert!(matches!(sqlite::verify_all(&folder.path().join("none.db")), Err(LogFault::Io { .. })));
}

#[test]
fn a_record_outside_the_order_is_found_by_verify_all() {
    let folder = Folder::new();
    written(&folder, 20);
    edit(
        &folder,
        "INSERT INTO record SELECT -1, thread, 99, id, kind, sender, addressee, call, turn, ordinal, \
        cause, key, origin, time, config, code, salt, head, body FROM record WHERE pos = 20",
    );
    assert_eq!(position(&sqlite::verify_all(&folder.log()).unwrap_err()), 0);
}

#[test]
fn an_index_that_lost_an_entry_is_found_by_verify_all() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let keyed = (0..20).map(|n| author.record(&root(n % 7), b"", |h| h.key = Some(key(&format!("k-{n}")))));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(keyed)), Commit::Committed(_)));
    drop(opened);
    assert!(sqlite::verify_all(&folder.log()).is_ok());
    // The effect of a stray write to one page: the row exists, but the index does not lead to it.
    edit(
        &folder,
        "CREATE UNIQUE INDEX half ON record (thread, sender, key) WHERE pos <> 7; PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'half') \
         WHERE name = 'record_key'; DELETE FROM sqlite_schema WHERE name = 'half';",
    );
    let fault = sqlite::verify_all(&folder.log()).unwrap_err();
    assert!(matches!(fault, LogFault::Damaged { .. }), "{fault}");
}

#[test]
fn a_second_writer_is_refused_with_the_process_of_the_first() {
    let folder = Folder::new();
    let opened = sqlite::open_log(&folder.log()).unwrap();
    let fault = sqlite::open_log(&folder.log()).err().unwrap();
    assert!(matches!(fault, LogFault::InUse { pid, .. } if pid == std::process::id()), "{fault}");
    drop(opened);

    let mut first = second_process("process_that_writes_until_it_is_killed", &folder.log());
    let mut said = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("acknowledged")), "it writes");
    let link = folder.path().join("same.db");
    std::os::unix::fs::symlink(folder.log(), &link).unwrap();
    for path in [folder.log(), link] {
        let fault = sqlite::open_log(&path).err().expect("the other process has it");
        assert!(matches!(fault, LogFault::InUse { pid, .. } if pid == first.id()), "{fault}");
        assert!(sqlite::open_reading(&path).unwrap().read_last().unwrap() > Position(0), "reading is free");
        assert!(sqlite::verify_all(&path).unwrap().records > 0, "and so is verifying");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(sqlite::open_log(&folder.log()).is_ok(), "the lock ended with its holder");
}

/// Writes forever and prints its progress after each commit. Run by the tests around it.
#[test]
#[ignore = "the second process of other tests"]
fn process_that_writes_until_it_is_killed() {
    let Some(log) = std::env::var_os(FOLDER) else { return };
    let mut opened = sqlite::open_log(Path::new(&log)).unwrap();
    let mut author = Author::default();
    // After a restart every record goes to threads of this process.
    let born = opened.reader.read_last().unwrap().0 + 1;
    for n in 0.. {
        let records = (0..1 + n % 40).map(|i| author.note(&root((born << 8) + i % 5), 900));
        let Commit::Committed(position) = opened.writer.commit_batch(&batch(records)) else {
            panic!("not committed")
        };
        writeln!(std::io::stdout(), "acknowledged {}", position.0).unwrap();
    }
}

#[test]
fn what_was_acknowledged_survives_a_killed_process() {
    let folder = Folder::new();
    let mut acknowledged = 0;
    for round in 1..=8 {
        let mut child = second_process("process_that_writes_until_it_is_killed", &folder.log());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acks =
            lines.filter_map(|line| line.unwrap().strip_prefix("acknowledged ")?.parse::<u64>().ok());
        // After a few commits it is killed at any point; then the rest of its output is read.
        acknowledged = acks.by_ref().take(10 * round).last().unwrap();
        child.kill().unwrap();
        acknowledged = acks.last().unwrap_or(acknowledged);
        child.wait().unwrap();
        // The remains are first read without a change, then opened for writing.
        let before = folder.hashes();
        let found = sqlite::verify_all(&folder.log()).unwrap().last.0;
        assert_eq!(folder.hashes(), before, "round {round}");
        assert!(found >= acknowledged, "round {round}: {acknowledged} acknowledged, {found} found");
        let opened = sqlite::open_log(&folder.log()).unwrap();
        assert_eq!(opened.reader.read_last(), Ok(Position(found)), "round {round}");
        assert_eq!(opened.reader.read_opening().unwrap().records.len() as u64, found, "round {round}");
    }
    assert!(acknowledged > 0);
}

#[test]
fn a_crashed_log_without_its_index_file_is_read_and_refused_alike() {
    let folder = Folder::new();
    let mut child = second_process("process_that_writes_until_it_is_killed", &folder.log());
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("acknowledged")));
    child.kill().unwrap();
    child.wait().unwrap();
    // As after a copy of only the log and its write-ahead log to another machine.
    std::fs::remove_file(folder.path().join("organism.db-shm")).unwrap();
    std::fs::remove_file(folder.path().join("organism.db.lock")).unwrap();
    let before = folder.hashes();
    assert!(before.iter().any(|(name, _)| name == "organism.db-wal"));
    let found = sqlite::verify_all(&folder.log()).unwrap();
    assert!(found.records > 0);
    assert_eq!(folder.hashes(), before);
    assert_eq!(sqlite::open_log(&folder.log()).unwrap().reader.read_last(), Ok(found.last));
}

#[test]
fn a_crash_behind_the_header_of_the_write_ahead_log_loses_nothing_and_opens() {
    let folder = Folder::new();
    written(&folder, 5);
    let wal = folder.path().join("organism.db-wal");
    let connection = Connection::open(folder.log()).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO mark VALUES ('another', 1)").unwrap();
    let header = std::fs::read(&wal).unwrap()[..32].to_vec();
    connection.close().unwrap();
    // The state if a process dies between the header and the first page of its first commit.
    std::fs::write(&wal, header).unwrap();
    std::fs::write(folder.path().join("organism.db-shm"), [0; 32768]).unwrap();
    assert_eq!(sqlite::verify_all(&folder.log()).map(|found| found.records), Ok(5));
    assert_eq!(sqlite::open_log(&folder.log()).unwrap().reader.read_last(), Ok(Position(5)));
}

#[test]
fn an_unfinished_creation_leaves_no_half_log() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("organism.db.new"), b"half a page").unwrap();
    std::fs::write(folder.path().join("organism.db.new-journal"), b"half a page").unwrap();
    written(&folder, 1);
    assert!(!folder.hashes().iter().any(|(name, _)| name.contains(".new")));
}

#[test]
fn the_secret_is_the_owners_alone_and_stays() {
    let folder = Folder::new();
    let path = folder.path().join("organism.db.secret");
    let secret = || sqlite::open_log(&folder.log()).unwrap().secret;
    let first = secret();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read(&path).unwrap(), first.0);
    assert_eq!(secret(), first);
    assert_eq!(format!("{first:?}"), "Secret(…)");
    std::fs::remove_file(&path).unwrap();
    assert_ne!(secret(), first, "a lost one is made anew, not made up");
    std::fs::write(&path, b"short").unwrap();
    assert!(matches!(sqlite::open_log(&folder.log()).err(), Some(LogFault::Io { .. })));
}

#[test]
fn a_log_that_was_cut_back_behind_its_checkpoint_is_refused() {
    let folder = Folder::new();
    written(&folder, 20);
    let checkpoint = LogBatch { checkpoint: Some(Position(20)), ..LogBatch::default() };
    let committed = sqlite::open_log(&folder.log()).unwrap().writer.commit_batch(&checkpoint);
    assert_eq!(committed, Commit::Committed(Position(20)));
    edit(&folder, "DELETE FROM record WHERE pos > 17");
    assert_eq!(position(&refused(&folder)), 18);
    assert_eq!(position(&sqlite::verify_all(&folder.log()).unwrap_err()), 18);
    assert_eq!(position(&sqlite::open_reading(&folder.log()).unwrap().read_opening().unwrap_err()), 18);
}

#[test]
fn the_view_gives_records_in_words() {
    let folder = Folder::new();
    let record = Author::default().full(&root(1));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch([record.clone()])), Commit::Committed(_)));
    let sql = "SELECT pos, thread, seq, id, kind, sender, addressee, call, turn, ordinal, cause, key, origin, time, \
               config, code, head, body FROM line";
    let connection = Connection::open(folder.log()).unwrap();
    let words: Vec<rusqlite::types::Value> =
        connection.query_row(sql, [], |row| (0..18).map(|at| row.get(at)).collect()).unwrap();
    let header = &record.header;
    let text = |text: &str| rusqlite::types::Value::from(text.to_owned());
    let (id, cause) =
        (header.id.to_string().replace('-', ""), header.cause.unwrap().to_string().replace('-', ""));
    let expected = [
        1.into(),
        text("sess-000000000001"),
        1.into(),
        text(&id),
        text("message"),
        text("researcher"),
        text("search"),
        text("3/2.1"),
        7.into(),
        2.into(),
        text(&cause),
        text("k-1"),
        text(&header.origin.unwrap().to_string()),
        text(&header.time.to_string()),
        text(&header.config.to_string()),
        text("call"),
        text(&record.head.to_string()),
        text("<a>è</a>"),
    ];
    assert_eq!(words, expected);
}

#[test]
fn a_damaged_row_is_named_to_readers() {
    let folder = Folder::new();
    written(&folder, 20);
    edit(&folder, "UPDATE record SET id = x'00' WHERE pos = 12");
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    assert_eq!(reader.read_after(Position(0), 11).unwrap().len(), 11, "what is whole can be read");
    let fault = reader.read_after(Position(0), 20).unwrap_err();
    assert_eq!(position(&fault), 12, "{fault}");
    assert_eq!(position(&reader.read_opening().unwrap_err()), 12);
}

#[test]
fn a_torn_log_is_not_read_back_as_stored() {
    let folder = Folder::new();
    let mut author = Author::default();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let first = batch([author.note(&root(1), 10), author.note(&root(2), 10)]);
    assert!(matches!(opened.writer.commit_batch(&first), Commit::Committed(_)));
    let second = batch([author.note(&root(1), 10), author.record(&root(2), b"", |h| h.from = name("other"))]);
    assert!(matches!(opened.writer.commit_batch(&second), Commit::Committed(_)));
    edit(&folder, "UPDATE record SET time = 0 WHERE pos = 4");
    assert!(matches!(opened.writer.read_back(&second), ReadBack::Broken(_)));
    assert!(
        matches!(opened.writer.commit_batch(&second), Commit::Unknown(_)),
        "and nothing is written after it"
    );
}
