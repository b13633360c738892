//! The floors: the least work that could do the job, on this machine, in this run. Nothing here uses the
//! code that it is compared with.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;

use rusqlite::{Connection, params};
use systole_core::types::body_parts::PartSeal;
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::record::Record;

use crate::report::seconds;

/// The place of the bytes that an fdatasync writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The end of a growing file: the file system must update its own data too.
    Grown,
    /// Existing bytes of the file, as in a write-ahead log that has wrapped around. The least possible
    /// work.
    Prepared,
}

/// The seconds of each fdatasync after a write of `bytes`.
pub(crate) fn fdatasync(folder: &Path, ground: Ground, bytes: usize, count: usize) -> Vec<f64> {
    let mut file = File::create(folder.join("floor.raw")).unwrap();
    let block = vec![b'x'; bytes];
    if ground == Ground::Prepared {
        (0..count).for_each(|_| file.write_all(&block).unwrap());
        file.sync_all().unwrap();
        file.rewind().unwrap();
    }
    (0..count)
        .map(|_| {
            let (took, ()) = seconds(|| {
                file.write_all(&block).unwrap();
                file.sync_data().unwrap();
            });
            took
        })
        .collect()
}

/// Every record of a log, in order.
pub(crate) fn records(reader: &dyn LogReader) -> Vec<Record> {
    let mut all = Vec::new();
    loop {
        let from = Position(all.len() as u64);
        let page = reader.read_after(from, 10_000).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.into_iter().map(|(_, record)| record));
    }
}

/// The table of records as format 2 of the log had it. It is written out here, so that the floor stays where it is
/// when the log changes.
const TABLE: &str = "CREATE TABLE record (
  pos INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, id BLOB NOT NULL,
  kind INTEGER NOT NULL, sender INTEGER NOT NULL, addressee INTEGER,
  call TEXT, turn INTEGER, ordinal INTEGER, cause BLOB, key TEXT, origin BLOB,
  time INTEGER NOT NULL, config INTEGER NOT NULL, code INTEGER,
  salt BLOB NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL) STRICT;";

/// The indexes that it had.
const INDEXES: &str = "CREATE UNIQUE INDEX record_seq ON record (thread, seq);
CREATE UNIQUE INDEX record_item ON record (thread, call, turn, ordinal) WHERE ordinal IS NOT NULL;
CREATE UNIQUE INDEX record_key ON record (thread, sender, key) WHERE key IS NOT NULL;";

/// What plain inserts keep up to date.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloorTable {
    /// The table and its three indexes.
    Indexed,
    /// The table alone.
    Lean,
}

/// The seconds that plain rusqlite needs to insert the same records, in batches of that size, into a table, WAL and
/// FULL: numbers instead of names, nothing computed.
pub(crate) fn inserts(folder: &Path, table: FloorTable, records: &[Record], batch: usize) -> f64 {
    let path = folder.join("floor.db");
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        drop(std::fs::remove_file(name));
    }
    let mut to = Connection::open(&path).unwrap();
    to.pragma_update(None, "page_size", 8192).unwrap();
    to.pragma_update(None, "journal_mode", "WAL").unwrap();
    to.pragma_update(None, "synchronous", "FULL").unwrap();
    to.pragma_update(None, "wal_autocheckpoint", 2048).unwrap();
    to.pragma_update(None, "cache_size", -32_768).unwrap();
    to.execute_batch(TABLE).unwrap();
    if table == FloorTable::Indexed {
        to.execute_batch(INDEXES).unwrap();
    }
    let mut numbers = std::collections::HashMap::new();
    let threads: Vec<i64> = records
        .iter()
        .map(|r| {
            let next = i64::try_from(numbers.len()).unwrap();
            *numbers.entry(r.header.thread.clone()).or_insert(next)
        })
        .collect();
    let (took, ()) = seconds(|| {
        for (batch, threads) in records.chunks(batch).zip(threads.chunks(batch)) {
            let transaction = to.transaction().unwrap();
            {
                let mut insert = transaction
                    .prepare_cached(
                        "INSERT INTO record (thread, seq, id, kind, sender, addressee, call, turn, ordinal, cause, key, \
                         origin, time, config, code, salt, head, body) VALUES (?,?,?,1,2,3,?,?,?,?,?,?,?,1,4,?,?,?)",
                    )
                    .unwrap();
                for (r, thread) in batch.iter().zip(threads) {
                    let h = &r.header;
                    insert
                        .execute(params![
                            thread,
                            h.seq.cast_signed(),
                            &h.id.0[..],
                            h.call.as_ref().map(|c| c.as_str()),
                            h.turn,
                            h.ordinal,
                            h.cause.as_ref().map(|c| &c.0[..]),
                            h.key.as_ref().map(|k| k.as_str()),
                            h.origin.as_ref().map(|o| &o.0[..]),
                            h.time.0.cast_signed(),
                            match &r.parts.rest {
                                PartSeal::Kept(salt) => &salt[..],
                                PartSeal::Erased(hash) => &hash.0[..],
                            },
                            &r.head.0[..],
                            &r.body[..]
                        ])
                        .unwrap();
                }
            }
            transaction.commit().unwrap();
        }
    });
    took
}
