//! Bit rot in the cache of a log: bits of the table `fold` and of its marks are flipped, in columns and in the pages
//! of the file. Each flip gives the threads as they were, or a refusal, but never another state or another chain.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use systole_core::pump::event::EventKind;
use systole_core::pump::wake::{recover_log, wake_thread};
use systole_core::types::flow::JudgedContent;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::ports::{
    Commit, FoldRow, LogBatch, LogFault, LogReader, LogWriter as _, NoObserver, Position,
};
use systole_log::sqlite;

use crate::decide_stage::{DecideStage, call, final_, name, root, set_timer};
use crate::log_records::{Folder, batch, edit_at};

/// A log with a thread at rest, a thread that waits for an approval, a thread with a timer, and `sys`. After the
/// checkpoint, records came to the thread at rest and to `sys`.
fn write_log(folder: &Folder) -> (DecideStage, [ThreadId; 4]) {
    let mut stage = DecideStage::new();
    let thread =
        |key: &str| ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse(key).unwrap(), 12);
    let (waiting, timed) = (thread("waiting"), thread("timed"));
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![final_()]);
    stage.asks("waiting", "agent", None);
    stage.says(&waiting, "1", 1, JudgedContent::Items(vec![call("guarded")]));
    stage.asks("timed", "agent", None);
    let timer = vec![set_timer("id=\"tea\" after=\"1m\"", ""), call("tool")];
    stage.says(&timed, "1", 1, JudgedContent::Items(timer));
    let rows = rows(&stage);
    let working: Vec<bool> = [&root(), &waiting, &timed, &ThreadId::new_sys()]
        .map(|id| rows.iter().find(|row| row.thread == *id).unwrap().working)
        .to_vec();
    assert_eq!(working, [false, true, true, false], "one rests and two are at work");
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let before = stage.records.len();
    let checkpoint = Some(Position(before as u64));
    let first = LogBatch { rows, checkpoint, ..batch(stage.records.clone()) };
    assert!(matches!(opened.writer.commit_batch(&first), Commit::Committed(_)));
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    stage.asks("later", "agent", Some(&root()));
    let after = stage.records.split_off(before);
    assert!(matches!(opened.writer.commit_batch(&batch(after)), Commit::Committed(_)));
    (stage, [root(), waiting, timed, ThreadId::new_sys()])
}

/// A row for every thread.
fn rows(stage: &DecideStage) -> Vec<FoldRow> {
    let mut rows: Vec<_> = stage.state.threads.values().map(|thread| thread.to_row()).collect();
    rows.sort_unstable_by(|a, b| a.thread.cmp(&b.thread));
    rows
}

/// Every thread singly, and the threads that a start loads.
fn threads(reader: &dyn LogReader) -> Result<[BTreeMap<ThreadId, Vec<u8>>; 2], LogFault> {
    let mut woken = BTreeMap::new();
    for id in reader.list_threads(100)?.into_iter().chain([ThreadId::new_sys()]) {
        woken.extend(wake_thread(reader, &id)?.map(|thread| (id, thread.to_row().bytes)));
    }
    let state = recover_log(reader, &NoObserver)?.state;
    let taken_up = state.threads.into_iter().filter(|(id, thread)| id.is_sys() || thread.is_at_work());
    Ok([woken, taken_up.map(|(id, thread)| (id, thread.to_row().bytes)).collect()])
}

/// The result of reading, and of opening for writing in a copy of the files.
fn read_as_it_is(log: &Path) -> Result<[BTreeMap<ThreadId, Vec<u8>>; 2], LogFault> {
    threads(&sqlite::open_reading(log)?)
}

fn open_a_copy(log: &Path) -> Result<[BTreeMap<ThreadId, Vec<u8>>; 2], LogFault> {
    let copy = Folder::new();
    std::fs::copy(log, copy.log()).unwrap();
    threads(&sqlite::open_log(&copy.log())?.reader)
}

/// A value with one of its bits flipped.
fn flip_bit(value: &Value, bit: usize) -> Option<Value> {
    match value {
        Value::Integer(number) => (bit < 64).then(|| Value::Integer(number ^ (1 << bit))),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            *bytes.get_mut(bit / 8)? ^= 1 << (bit % 8);
            Some(Value::Blob(bytes))
        }
        _ => None,
    }
}

#[test]
fn c15_a_flipped_bit_in_a_row_or_a_mark_changes_no_thread() {
    let folder = Folder::new();
    let (_, ids) = write_log(&folder);
    let whole = read_as_it_is(&folder.log()).unwrap();
    assert_eq!(open_a_copy(&folder.log()).unwrap(), whole);
    let connection = Connection::open(folder.log()).unwrap();
    let mut places = Vec::new();
    for id in ids {
        let of = format!("WHERE thread = (SELECT id FROM thread WHERE text = '{id}')");
        places
            .extend(["seq", "working", "bytes", "sum", "thread"].map(|column| ("fold", column, of.clone())));
    }
    for mark in ["checkpoint", "working", "sum"] {
        places.push(("mark", "value", format!("WHERE name = '{mark}'")));
    }
    let mut tried = 0;
    for (table, column, of) in places {
        let find = format!("SELECT rowid, {column} FROM {table} {of}");
        let find = if table == "mark" { find.replace("rowid", "0") } else { find };
        let (row, value): (i64, Value) =
            connection.query_row(&find, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let step = if column == "bytes" { 11 } else { 3 };
        for bit in (0..8 * 4096).step_by(step) {
            let Some(rotten) = flip_bit(&value, bit) else { break };
            let copy = Folder::new();
            std::fs::copy(folder.log(), copy.log()).unwrap();
            let set = format!("UPDATE OR IGNORE {table} SET {column} = ?1 {of}");
            let other = Connection::open(copy.log()).unwrap();
            other.execute(&set, [&rotten]).unwrap();
            other.close().unwrap();
            let place = format!("bit {bit} of {table}.{column}, row {row}");
            assert_eq!(read_as_it_is(&copy.log()).as_ref(), Ok(&whole), "{place}");
            if tried % 7 == 0 {
                assert_eq!(open_a_copy(&copy.log()).as_ref(), Ok(&whole), "{place}");
            }
            tried += 1;
        }
    }
    assert!(tried > 800, "{tried}");
}

#[test]
fn c15_a_flipped_bit_in_a_page_of_the_cache_changes_no_thread() {
    let folder = Folder::new();
    write_log(&folder);
    let whole = read_as_it_is(&folder.log()).unwrap();
    let bytes = std::fs::read(folder.log()).unwrap();
    let connection = Connection::open(folder.log()).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name IN ('fold', 'fold_working', 'mark')";
    let mut statement = connection.prepare(sql).unwrap();
    let pages: Vec<u32> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let pages: Vec<usize> = pages.into_iter().map(|page| usize::try_from(page).unwrap()).collect();
    assert_eq!(pages.len(), 3);
    let (mut same, mut refused) = (0, 0);
    let copy = Folder::new();
    for bit in pages.iter().flat_map(|page| ((page - 1) * 8192 * 8..page * 8192 * 8).step_by(661)) {
        let mut rotten = bytes.clone();
        rotten[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(copy.log(), rotten).unwrap();
        for found in [read_as_it_is(&copy.log()), open_a_copy(&copy.log())] {
            match found {
                Ok(found) => {
                    assert_eq!(found, whole, "bit {bit}");
                    same += 1;
                }
                Err(LogFault::Damaged { .. }) => refused += 1,
                Err(other) => panic!("bit {bit}: {other}"),
            }
        }
    }
    assert!(same > 250 && refused > 0, "{same} as they were, {refused} refused");
}

#[test]
fn c15_rows_that_are_gone_or_from_before_are_not_taken_for_the_newest() {
    let folder = Folder::new();
    let (mut stage, [_, waiting, ..]) = write_log(&folder);
    // The state of a disk that lost a write: a row that was correct once.
    let of = format!("(SELECT id FROM thread WHERE text = '{waiting}')");
    edit_at(&folder.log(), &format!("CREATE TABLE old AS SELECT * FROM fold WHERE thread = {of}"));
    let before = stage.records.len();
    stage.steers("operator", "agent", Some(&waiting));
    let records = stage.records.split_off(before);
    assert!(!records.is_empty());
    let opened = sqlite::open_log(&folder.log()).unwrap();
    let checkpoint = Some(Position(opened.reader.read_last().unwrap().0 + records.len() as u64));
    let newer = LogBatch { rows: rows(&stage), checkpoint, ..batch(records) };
    let mut writer = opened.writer;
    assert!(matches!(writer.commit_batch(&newer), Commit::Committed(_)));
    drop(writer);
    let whole = read_as_it_is(&folder.log()).unwrap();
    for sql in [
        "INSERT OR REPLACE INTO fold SELECT * FROM old",
        "DELETE FROM fold WHERE working = 1",
        "DELETE FROM fold",
        "DELETE FROM mark",
        "UPDATE mark SET value = 0 WHERE name = 'checkpoint'; DELETE FROM fold",
    ] {
        let copy = Folder::new();
        std::fs::copy(folder.log(), copy.log()).unwrap();
        edit_at(&copy.log(), sql);
        assert_eq!(read_as_it_is(&copy.log()).as_ref(), Ok(&whole), "{sql}");
        assert_eq!(open_a_copy(&copy.log()).as_ref(), Ok(&whole), "{sql}");
    }
}
