//! The index of a log, `<log>.index`: a row for each root, and sums for each hour.
//!
//! It is a cache and no evidence: it can be removed at any time, and is made again from the log when it is damaged or
//! belongs to another log. It names the position and the leaf of the record up to which it was made. Records that the
//! caller has read come in as changes of rows; rows go out. Nothing here knows what a record means.

mod batch;
mod fault;
mod reading;
mod rows;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

pub use batch::IndexBatch;
use fault::to_signed;
pub use fault::{IndexEnd, IndexFault};
pub use rows::{
    CallTotal, HourKey, HourSum, ModelSum, OpenCall, OpenRequest, RequestKey, RootCount, RootOrder, RootRow,
    RootSelection, SlowRow, SumSelection,
};

use systole_core::types::ids::Digest;
use systole_core::types::ports::Position;

use crate::limits::{INDEX_RECORDS, SEARCH_WAIT};
use crate::side_file::{self, OpenFault, SideFile};

const TABLES: &str = "
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, leaf BLOB NOT NULL
) STRICT;
CREATE TABLE root (
  position INTEGER PRIMARY KEY, thread TEXT NOT NULL UNIQUE, client TEXT NOT NULL, entry TEXT NOT NULL,
  element TEXT NOT NULL, subject TEXT NOT NULL, opened INTEGER NOT NULL, since INTEGER NOT NULL,
  outcome TEXT NOT NULL, code TEXT NOT NULL, first_code TEXT NOT NULL,
  is_ended INTEGER NOT NULL, is_paused INTEGER NOT NULL, took INTEGER NOT NULL, requests INTEGER NOT NULL,
  unknown INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
  uncounted INTEGER NOT NULL, unpriced INTEGER NOT NULL, money TEXT NOT NULL, spent INTEGER NOT NULL,
  retries INTEGER NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL
) STRICT;
CREATE INDEX root_outcome ON root (outcome, position);
CREATE INDEX root_paused ON root (is_paused, position);
CREATE INDEX root_since ON root (since);
CREATE INDEX root_took ON root (took);
CREATE INDEX root_spent ON root (spent);
CREATE INDEX root_source ON root (source, position) WHERE source <> '';
CREATE INDEX root_name ON root (name, position) WHERE name <> '';
CREATE TABLE call (
  thread TEXT NOT NULL, path TEXT NOT NULL, listener TEXT NOT NULL, opened INTEGER NOT NULL,
  is_tell INTEGER NOT NULL, PRIMARY KEY (thread, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
  thread TEXT NOT NULL, path TEXT NOT NULL, turn INTEGER NOT NULL, attempt INTEGER NOT NULL,
  entry INTEGER NOT NULL, listener TEXT NOT NULL, model TEXT NOT NULL, started INTEGER NOT NULL,
  PRIMARY KEY (thread, path, turn, attempt, entry)
) STRICT, WITHOUT ROWID;
CREATE TABLE sum (
  hour INTEGER NOT NULL, listener TEXT NOT NULL, model TEXT NOT NULL, client TEXT NOT NULL,
  outcome TEXT NOT NULL, count INTEGER NOT NULL, took INTEGER NOT NULL, longest INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, uncounted INTEGER NOT NULL,
  unpriced INTEGER NOT NULL, money TEXT NOT NULL, PRIMARY KEY (hour, listener, model, client, outcome)
) STRICT, WITHOUT ROWID;
CREATE TABLE refusal (code TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE slow (
  hour INTEGER NOT NULL, listener TEXT NOT NULL, model TEXT NOT NULL, client TEXT NOT NULL,
  took INTEGER NOT NULL, position INTEGER NOT NULL, thread TEXT NOT NULL, seq INTEGER NOT NULL,
  call TEXT NOT NULL, outcome TEXT NOT NULL,
  PRIMARY KEY (hour, listener, model, client, took, position, call)
) STRICT, WITHOUT ROWID;
";

/// The application id in SQLite's header: "sysx".
const APPLICATION_ID: u32 = 0x7379_7378;
/// The number of the form. A change of the tables, or of how records are counted, needs a new number: files with another
/// one are made again.
const FORM: u32 = 4;

const SIDE_FILE: SideFile = SideFile {
    ending: ".index",
    application_id: APPLICATION_ID,
    form: FORM,
    tables: TABLES,
    is_shared: true,
};

/// Whether an index waits for another process that writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexWait {
    /// A command: the other process commits in seconds.
    Patient,
    /// A running organism, which serves many.
    Never,
}

/// Reads the records after a position into a batch; `None` at the end of the log.
pub type FoldPage<'a> =
    &'a mut dyn FnMut(&mut IndexBatch<'_>, Position) -> Result<Option<IndexEnd>, IndexFault>;

/// An open index.
pub struct IndexFile {
    connection: Connection,
    /// Its path, with the device and the number of the file there; `None` if it is in memory.
    place: Option<(PathBuf, Option<(u64, u64)>)>,
}

impl IndexFile {
    /// Opens the index of a log, and makes the file if there is none.
    pub fn open_file(log: &Path, wait: IndexWait) -> Result<IndexFile, IndexFault> {
        let path = SIDE_FILE.to_path(log);
        let wait = if wait == IndexWait::Never { Duration::ZERO } else { SEARCH_WAIT };
        let connection = SIDE_FILE.open_file(&path, wait).map_err(|fault| match fault {
            OpenFault::Held => IndexFault::Held,
            OpenFault::Other(why) => IndexFault::Unwritable(format!("{}: {why}", path.display())),
        })?;
        let number = find_number(&path);
        Ok(IndexFile { connection, place: Some((path, number)) })
    }

    /// An empty one in memory, which nothing outlives.
    pub fn in_memory() -> Result<IndexFile, IndexFault> {
        Ok(IndexFile { connection: SIDE_FILE.in_memory()?, place: None })
    }

    /// Its path; `None` if it is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|(path, _)| path.as_path())
    }

    /// Whether its path names another file by now, or none: what is written to this one is lost.
    pub fn is_replaced(&self) -> bool {
        self.place.as_ref().is_some_and(|(path, number)| find_number(path) != *number)
    }

    /// Up to which record it was made; `None` if it is empty.
    pub fn read_end(&self) -> Result<Option<IndexEnd>, IndexFault> {
        let found: Option<(i64, [u8; 32])> = self
            .connection
            .prepare_cached("SELECT position, leaf FROM state")
            .and_then(|mut find| find.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional())?;
        let end = |(position, leaf): (i64, [u8; 32])| IndexEnd {
            position: Position(position.unsigned_abs()),
            leaf: Digest(leaf),
        };
        Ok(found.map(end))
    }

    /// Adds what the log has after the end of the file, some thousand records in a commit. Another process may add at the
    /// same time: each commit begins where the file then ends.
    pub fn extend_file(&mut self, fold: FoldPage<'_>) -> Result<(), IndexFault> {
        loop {
            // What fails in between, or panics, is rolled back when the transaction is dropped.
            let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let is_whole = self.add_records(fold)?;
            transaction.commit()?;
            if is_whole {
                return Ok(());
            }
        }
    }

    /// Adds the records of one commit, and returns whether these were the last ones.
    fn add_records(&self, fold: FoldPage<'_>) -> Result<bool, IndexFault> {
        let from = self.read_end()?.map_or(Position(0), |end| end.position);
        let mut batch = IndexBatch::new(&self.connection);
        let (mut at, mut end) = (from, None);
        while at.0 - from.0 < INDEX_RECORDS {
            let Some(reached) = fold(&mut batch, at)? else { break };
            at = reached.position;
            end = Some(reached);
        }
        batch.write_rows()?;
        if let Some(IndexEnd { position, leaf }) = end {
            let sql = "INSERT OR REPLACE INTO state (id, position, leaf) VALUES (1, ?1, ?2)";
            self.connection.prepare_cached(sql)?.execute(params![to_signed(position.0), leaf.0])?;
        }
        Ok(at.0 - from.0 < INDEX_RECORDS)
    }
}

/// The device and the number of the file at a path.
fn find_number(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Removes the index of a log. Call this after a text was erased from the log: the next reader makes the index again,
/// from what the log then says. Returns whether there was one.
pub fn forget_file(log: &Path) -> std::io::Result<bool> {
    side_file::remove_file(&SIDE_FILE.to_path(log))
}
