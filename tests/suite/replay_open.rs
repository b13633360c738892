//! Threads that were cut off in the middle are replayed as far as they are recorded.

use std::sync::Arc;

use rusqlite::Connection;
use systole::edges::log::sqlite;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    Commit, LogBatch, LogReader as _, LogWriter as _, Position, StoredDocument,
};
use systole_core::types::record::RecordKind;

use crate::program::systole;
use crate::replay::{agent, log_in};

/// As a backup or an export of a running organism may have it.
#[test]
fn c4_every_beginning_of_a_thread_replays_equal() {
    let folder = agent();
    let log = log_in(folder.path());
    let reader = sqlite::open_reading(&log).unwrap();
    let all = reader.after(Position(0), 1_000).unwrap();
    let hashes = Connection::open(&log).unwrap();
    let mut hashes = hashes.prepare("SELECT hash FROM document").unwrap();
    let hashes = hashes.query_map([], |row| Ok(Digest(row.get(0)?))).unwrap();
    let documents: Vec<StoredDocument> = hashes
        .map(|hash| hash.unwrap())
        .map(|hash| StoredDocument { hash, bytes: reader.document(hash).unwrap().unwrap() })
        .collect();
    let first = all.iter().position(|(_, record)| !record.header.thread.is_sys()).unwrap();
    // Each entry of a journal begins a commit, and a log ends with a whole one.
    let is_end = |end: &usize| all.get(*end).is_none_or(|(_, next)| next.header.kind == RecordKind::Journal);
    let ends: Vec<usize> = (first + 1..=all.len()).filter(is_end).collect();
    assert!(ends.len() >= 5, "{ends:?}");
    for end in ends {
        let beginning = folder.path().join(format!("until-{end}.db"));
        let mut opened = sqlite::open(&beginning).unwrap();
        let records = all[..end].iter().map(|(_, record)| Arc::new(record.clone())).collect();
        let batch = LogBatch { records, documents: documents.clone(), ..LogBatch::default() };
        assert!(matches!(opened.writer.commit(&batch), Commit::Committed(_)));
        drop(opened);
        let ran = systole(folder.path(), &["replay", "--log", beginning.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "up to {end}: {ran:?}");
    }
}
