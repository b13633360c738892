//! Altered evidence: every reading command refuses to show it as if it were genuine, and `doctor` finds what hash
//! chains alone do not show.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::head_zero;
use systole_log::sqlite;

use crate::audit_stage::{payload, stop};
use crate::audit_tree::busy;
use crate::log_page;
use crate::log_records::{fixture, placed_at};
use crate::organism::{ask, outcome, start};
use crate::program::{Events, Ran, Running, run_file, systole};

/// A log with a child that ended, a refused payload, a large body and its own thread, closed cleanly.
pub(crate) async fn house() -> tempfile::TempDir {
    lived_in(busy()).await
}

/// The same, with the text of each `<search>` marked as sensitive.
pub(crate) async fn sensitive_house() -> tempfile::TempDir {
    let folder = busy();
    let schema = folder.path().join("t.xsd");
    let plain = std::fs::read_to_string(&schema).unwrap();
    let mark = "xmlns:systole=\"urn:systole:schema:v1\" systole:sensitive=\"true\"";
    let marked = plain.replace("name=\"search\"", &format!("name=\"search\" {mark}"));
    assert_ne!(marked, plain);
    std::fs::write(schema, marked).unwrap();
    lived_in(folder).await
}

async fn lived_in(folder: tempfile::TempDir) -> tempfile::TempDir {
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let large = payload("search", &"far ".repeat(20_000));
    let receipt = ask(&organism, "k2", &large, None).await.unwrap();
    outcome(&organism, &receipt).await;
    stop(organism).await;
    folder
}

pub(crate) fn edit(folder: &Path, sql: &str) {
    let log = Connection::open(folder.join("hello.db")).unwrap();
    log.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    log.close().unwrap();
}

/// A number from the log.
pub(crate) fn number(folder: &Path, sql: &str) -> i64 {
    Connection::open(folder.join("hello.db")).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Makes the entries fit the records that are left.
pub(crate) fn place_again(folder: &Path) {
    let placed = placed_at(number(folder, "SELECT max(pos) FROM record"));
    edit(
        folder,
        &format!(
            "DELETE FROM place; INSERT INTO place SELECT thread, seq, pos FROM record; DELETE FROM item;
             INSERT INTO item SELECT thread, call, turn, ordinal FROM record WHERE ordinal IS NOT NULL;
             {placed}"
        ),
    );
}

/// Removes every record of a thread and closes the gap in the positions.
pub(crate) fn drop_thread(folder: &Path, thread: &str) {
    forget_tip(folder);
    edit(
        folder,
        &format!(
            "DELETE FROM record WHERE thread = (SELECT id FROM thread WHERE text = '{thread}');
             DELETE FROM large WHERE pos NOT IN (SELECT pos FROM record);
             DELETE FROM part WHERE pos NOT IN (SELECT pos FROM record);
             DELETE FROM fold; UPDATE mark SET value = 0;
             CREATE TEMP TABLE moved AS SELECT pos AS old, row_number() OVER (ORDER BY pos) AS new FROM record;
             UPDATE record SET pos = -(SELECT new FROM moved WHERE old = pos);
             UPDATE large SET pos = -(SELECT new FROM moved WHERE old = pos);
             UPDATE part SET pos = -(SELECT new FROM moved WHERE old = pos);
             UPDATE record SET pos = -pos; UPDATE large SET pos = -pos; UPDATE part SET pos = -pos;"
        ),
    );
    place_again(folder);
}

/// Rewrites a thread: another body for its record `seq`, and every later head recomputed.
pub(crate) fn rewrite(folder: &Path, thread: &ThreadId, seq: u64, body: &str) {
    forget_tip(folder);
    let log = folder.join("hello.db");
    let records = sqlite::open_reading(&log).unwrap().as_claimed().of_thread(thread, 1, 10_000).unwrap();
    let connection = Connection::open(&log).unwrap();
    connection.execute_batch("DELETE FROM fold; UPDATE mark SET value = 0").unwrap();
    let mut head = head_zero(thread);
    for (position, record) in records {
        let (mut parts, mut changed) = (record.parts, record.body);
        if record.header.seq == seq {
            changed = body.as_bytes().into();
            parts.values.clear();
            connection.execute("DELETE FROM part WHERE pos = ?1", [position.0.cast_signed()]).unwrap();
        }
        let sealed = record.header.seal_record(changed, parts, head);
        head = sealed.head;
        let set = "UPDATE record SET head = ?2, body = CASE WHEN length(body) > 0 THEN ?3 ELSE body END WHERE pos = ?1";
        connection.execute(set, (position.0.cast_signed(), head.0, &sealed.body[..])).unwrap();
    }
}

/// Removes the tip, as someone does who writes a log anew: it says where the log ended before.
fn forget_tip(folder: &Path) {
    // It may be gone already.
    let _gone = std::fs::remove_file(folder.join("hello.db.tip"));
}

/// The thread of the first row that a query returns.
pub(crate) fn thread(folder: &Path, sql: &str) -> ThreadId {
    let log = Connection::open(folder.join("hello.db")).unwrap();
    ThreadId::parse(&log.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()).unwrap()
}

const CHILD: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%.heat'";
const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

#[track_caller]
fn says(ran: &Ran, code: i32, words: &[&str]) {
    let told = [ran.stdout.as_str(), &ran.stderr].concat();
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, Some(code), "{told}");
    for words in words {
        assert!(flat.contains(words), "no {words:?} in\n{told}");
    }
}

#[tokio::test]
async fn the_whole_log_does_not_show_altered_text_as_if_it_were_what_was_written() {
    let folder = house().await;
    let at = folder.path();
    says(&systole(at, &["log", "--from", "1"]), 0, &["<plan>"]);
    let altered = number(at, "SELECT min(pos) FROM record WHERE instr(CAST(body AS TEXT), '>one<') > 0");
    edit(at, "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), '>one<', '>two<') AS BLOB)");
    let place = format!("at position {altered} of the log");
    for arguments in [&["log", "--from", "1"][..], &["log"], &["log", "--from", "1", "--json"]] {
        // It is shown all the same: an auditor who looks into damage has to see it.
        says(&systole(at, arguments), 7, &["error: record 2 does not follow record 1", &place, "two"]);
    }
    let from = (altered + 1).to_string();
    says(&systole(at, &["log", "--from", &from]), 0, &["<found>"]);
    // All commands that read it, whole or in part, name its position and show nothing of it.
    let place = format!("damaged at position {altered}");
    let root = thread(at, FIRST);
    for arguments in [
        &["tree", root.as_str()][..],
        &["trail", &format!("{root}@4")],
        &["trail", "--text", "two"],
        &["todo", root.as_str()],
        &["cost", root.as_str()],
        &["ps"],
    ] {
        let ran = systole(at, arguments);
        says(&ran, 7, &[&place, "try: systole doctor"]);
        assert!(!ran.stdout.contains("two"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_log_with_a_gap_in_its_positions_says_so() {
    let folder = house().await;
    let last = number(folder.path(), "SELECT max(pos) FROM record");
    edit(folder.path(), "DELETE FROM record WHERE pos BETWEEN 4 AND 5");
    let ran = systole(folder.path(), &["log", "--from", "1", "--json"]);
    says(&ran, 7, &["error: positions 4 to 5 are missing"]);
    assert_eq!(ran.stdout.lines().count().cast_signed(), isize::try_from(last - 2).unwrap());
}

#[tokio::test]
async fn records_before_one_that_cannot_even_be_read_are_shown() {
    let folder = house().await;
    edit(folder.path(), "UPDATE record SET id = x'00' WHERE pos = 7");
    let ran = systole(folder.path(), &["log", "--from", "1", "--json"]);
    says(&ran, 7, &["damaged at position 7"]);
    assert_eq!(ran.stdout.lines().count(), 6);
}

/// A stream of events ends at the alteration, and says so.
#[tokio::test]
async fn events_end_with_a_fault_where_the_log_was_altered() {
    let folder = house().await;
    let running = Running::organism_set(folder.path(), &["--set", "console.listen=127.0.0.1:0"], &[]);
    edit(folder.path(), "UPDATE record SET time = time + 1 WHERE pos = 3");
    let mut events = Events::open(&run_file(folder.path()), "?from=2", &[]);
    let (id, kind, data) = events.heard().unwrap();
    assert_eq!((id, kind.as_str(), data["code"].as_str()), (None, "fault", Some("thread.damaged")), "{data}");
    assert!(data["message"].as_str().unwrap().contains("damaged at position 3"), "{data}");
    assert_eq!(events.heard(), None);
    drop(running);
}

/// The output of `doctor` for a log after a change. The change is undone.
#[track_caller]
fn examined(at: &Path, change: impl FnOnce(), found: &[&str]) {
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    change();
    says(&systole(at, &["doctor"]), 7, found);
    std::fs::write(at.join("hello.db"), whole).unwrap();
}

/// The position of the newest record with that text, as `doctor` reports it.
fn place_of(at: &Path, text: &str) -> String {
    let sql = format!("SELECT max(pos) FROM record WHERE instr(CAST(body AS TEXT), '{text}') > 0");
    format!("at position {}", number(at, &sql))
}

#[tokio::test]
async fn doctor_finds_threads_that_were_written_anew_or_dropped() {
    let folder = house().await;
    let at = folder.path();
    let fine = [
        "ok structure: tables, indexes and views are those of the format",
        "ok evidence: child threads: 1, named documents: ",
    ];
    says(&systole(at, &["doctor"]), 0, &fine);
    let (child, first) = (thread(at, CHILD), thread(at, FIRST).to_string());
    let (finished, confirmed) = (place_of(at, "<thread-finished"), place_of(at, "<thread-spawned"));
    examined(
        at,
        || rewrite(at, &child, 2, "<thread-cancelled xmlns=\"urn:x\"/>"),
        &["problem evidence: record ", &finished, "as the last head of"],
    );
    examined(
        at,
        || rewrite(at, &child, 1, "<dig xmlns=\"urn:t\">shallow</dig>"),
        &["problem evidence: record ", &confirmed, "as the first head of", &finished],
    );
    // Positions are closed up each time.
    examined(
        at,
        || drop_thread(at, &first),
        &["problem structure: thread ", &first, "has no record any more"],
    );
    examined(
        at,
        || drop_thread(at, child.as_str()),
        &["problem evidence: record ", "which has no record", "has no record any more"],
    );
    examined(
        at,
        || {
            drop_thread(at, &first);
            edit(at, "DELETE FROM thread WHERE id NOT IN (SELECT thread FROM record)");
        },
        &["problem structure: table thread lacks rows that were written: 1"],
    );
}

#[tokio::test]
async fn doctor_finds_documents_that_were_removed() {
    let folder = house().await;
    let at = folder.path();
    let (refused, large) =
        (place_of(at, "payload.invalid"), format!("at position {}", number(at, "SELECT pos FROM large")));
    examined(
        at,
        || {
            edit(
                at,
                "DELETE FROM document WHERE instr(CAST(bytes AS TEXT), '<b/>') > 0 AND length(bytes) < 200",
            )
        },
        &["problem evidence: record 3 of ", &refused, "the refused bytes "],
    );
    examined(
        at,
        || edit(at, "DELETE FROM document WHERE hash = (SELECT hash FROM config WHERE id = 1)"),
        &["problem evidence: record 1 of sys at position 1: it names the configuration"],
    );
    examined(
        at,
        || edit(at, "DELETE FROM document WHERE id IN (SELECT document FROM large)"),
        &["problem log: ", &large],
    );
}

#[tokio::test]
async fn c10_ten_versions_of_a_file_have_each_schema_once() {
    let folder = busy();
    let (at, file) = (folder.path(), folder.path().join("organism.yaml"));
    let plain = std::fs::read_to_string(&file).unwrap();
    for version in 1..=10 {
        std::fs::write(&file, format!("{plain}# version {version}\n")).unwrap();
        stop(start(at).await).await;
    }
    let log = sqlite::open_reading(&at.join("hello.db")).unwrap();
    let hashes: BTreeSet<Digest> =
        log.read_after(Position(0), 1_000).unwrap().iter().map(|(_, record)| record.header.config).collect();
    assert_eq!(hashes.len(), 10);
    let whole: usize = hashes.iter().map(|hash| log.read_document(*hash).unwrap().unwrap().len()).sum();
    let kept = number(
        at,
        "SELECT (SELECT sum(length(bytes)) FROM piece) + (SELECT sum(length(bytes)) FROM document)",
    );
    assert!(usize::try_from(kept).unwrap() < whole / 4, "{kept} bytes for {whole}");
    let verified = systole(at, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Changes to the tables and indexes of the file, and the report of each.
const REMADE: [(&str, &str); 6] = [
    ("DROP INDEX record_key; DROP TABLE item", "table item is missing"),
    (
        "DROP INDEX record_key;
         CREATE UNIQUE INDEX record_key ON record (thread, sender, key) WHERE pos < 0",
        "index record_key is not defined as in the format",
    ),
    (
        "CREATE TRIGGER t AFTER INSERT ON record WHEN new.seq > 9
         BEGIN DELETE FROM record WHERE pos = new.pos; END",
        "trigger t is not part of the format",
    ),
    (
        "DROP VIEW line; CREATE VIEW line AS SELECT pos, 'all is well' AS body FROM record",
        "view line is not defined as in the format",
    ),
    ("ALTER TABLE mark ADD COLUMN note TEXT", "table mark is not defined as in the format"),
    ("CREATE UNIQUE INDEX once ON record (time, pos)", "index once is not part of the format"),
];

#[tokio::test]
async fn doctor_finds_indexes_triggers_and_views_that_are_not_those_of_the_format() {
    let folder = house().await;
    let at = folder.path();
    for (sql, words) in REMADE {
        examined(at, || edit(at, sql), &["problem structure: ", words]);
    }
    edit(at, "CREATE INDEX mine ON record (time)");
    says(&systole(at, &["doctor"]), 0, &["note structure: index mine is not part of the format"]);
}

/// A file with a lower format number is compared with the tables of that number.
#[test]
fn logs_of_every_format_are_made_as_their_format_says() {
    for log in log_page::fixtures() {
        let odd = sqlite::list_oddities(&log).unwrap();
        assert_eq!(odd, [], "{}", log.display());
    }
    let folder = crate::log_records::Folder::new();
    std::fs::copy(fixture(1), folder.log()).unwrap();
    drop(sqlite::open_log(&folder.log()).unwrap());
    assert_eq!(sqlite::list_oddities(&folder.log()).unwrap(), [], "brought forward, it is made as a new one");
}

#[test]
fn a_record_read_alone_must_continue_the_one_before_it() {
    let folder = crate::log_records::Folder::new();
    std::fs::copy("tests/fixtures/log-v2-threads.db", folder.log()).unwrap();
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    let (position, record) =
        reader.read_after(Position(0), 100).unwrap().into_iter().find(|(_, r)| r.header.seq == 3).unwrap();
    let log = Connection::open(folder.log()).unwrap();
    log.execute("UPDATE record SET time = time + 1 WHERE pos = ?1", [position.0.cast_signed()]).unwrap();
    let thread = &record.header.thread;
    let place = |fault: systole_core::types::ports::LogFault| {
        fault.to_string().contains(&format!("position {}:", position.0))
    };
    assert!(reader.of_thread(thread, 3, 1).is_err_and(place));
    assert!(reader.read_after(Position(position.0 - 1), 1).is_err_and(place));
    assert!(reader.of_thread(thread, 1, 2).is_ok_and(|read| read.len() == 2), "what is whole can be read");
    assert!(reader.of_thread(thread, 4, 1).is_ok(), "and what continues the head that the file claims");
    assert!(reader.as_claimed().of_thread(thread, 3, 1).is_ok());
}
