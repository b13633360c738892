//! Takes bytes out of a log for good: bodies or parts of them, and documents.
//!
//! The bytes go in one transaction with the record that says so, and with the whole cache, whose rows may repeat
//! them. Then the file is written anew, so that no copy of them is left in a free page or in the write-ahead log. A
//! mark says that this is still to be done: the next opening does it. Commitments, leaves and heads stay.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::column::to_bytes;
use super::documents;
use super::write::SqliteAppender;
use super::{make_fault, rows};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{Commit, LogBatch, LogFault, Position};
use systole_core::types::record::Record;

/// The mark of a log that is still to be written anew.
const UNFINISHED: &str = "erasing";

/// What is taken out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogErasure {
    /// Records as they are afterwards.
    pub records: BTreeMap<Position, Record>,
    /// Documents, by their hash, which stays.
    pub documents: Vec<Digest>,
    /// Large bodies whose hash goes too, because no record names it.
    pub unnamed: Vec<Digest>,
}

impl LogErasure {
    /// Whether there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.documents.is_empty()
    }
}

impl SqliteAppender {
    /// Erases, and stores the batch that says so, in one commit. Call `rewrite` after it.
    pub fn erase_values(&mut self, erasure: &LogErasure, batch: &LogBatch) -> Commit {
        if let Err(commit) = self.prepare_batch(batch) {
            return commit;
        }
        let Some(connection) = self.connection() else { return Commit::Unknown("the log is closed".into()) };
        match take_out(connection, erasure) {
            Ok(()) => self.keep_batch(None),
            Err(error) => {
                self.drop_prepared();
                Commit::NotNow(error.to_string())
            }
        }
    }

    /// Writes the file anew, so that nothing is left of what was taken out. A program that reads the log at this
    /// moment keeps it from being done; the next opening tries again.
    pub fn rewrite_file(&self) -> Result<(), LogFault> {
        let path = self.path();
        let Some(connection) = self.connection() else { return Ok(()) };
        let as_fault = |e: rusqlite::Error| make_fault(path, None, &e);
        connection.execute_batch("PRAGMA secure_delete = ON; VACUUM").map_err(as_fault)?;
        truncate_wal(connection).map_err(as_fault)?.then_some(()).ok_or_else(|| LogFault::Io {
            path: path.display().to_string(),
            why: "another program reads it, so its last pages still have what was erased".to_owned(),
        })?;
        connection.execute("DELETE FROM mark WHERE name = ?1", [UNFINISHED]).map_err(as_fault)?;
        Ok(())
    }

    /// Whether bytes were taken out and the file was not written anew after it.
    pub fn is_unfinished(&self) -> Result<bool, LogFault> {
        let Some(connection) = self.connection() else { return Ok(false) };
        let found = connection
            .prepare_cached("SELECT 1 FROM mark WHERE name = ?1")
            .and_then(|mut find| find.exists([UNFINISHED]));
        found.map_err(|e| make_fault(self.path(), None, &e))
    }
}

/// Copies the write-ahead log into the file and makes it empty. Returns whether that was possible.
fn truncate_wal(connection: &Connection) -> rusqlite::Result<bool> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

fn take_out(connection: &Connection, erasure: &LogErasure) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO mark (name, value) VALUES (?1, 1)", [UNFINISHED])?;
    rows::remove_rows(connection)?;
    let mut seal = connection.prepare("UPDATE part SET seal = ?3 WHERE pos = ?1 AND number = ?2")?;
    for (position, record) in &erasure.records {
        let pos = i64::try_from(position.0).unwrap_or(i64::MAX);
        let left = params![pos, &record.body[..], to_bytes(&record.parts.rest)];
        connection.execute("UPDATE record SET body = ?2, salt = ?3 WHERE pos = ?1", left)?;
        for (number, (_, kept)) in (1_u32..).zip(&record.parts.values) {
            seal.execute(params![pos, number, to_bytes(kept)])?;
        }
        let large = "DELETE FROM large WHERE pos = ?1 RETURNING document";
        let document: Option<i64> = connection.query_row(large, [pos], |row| row.get(0)).optional()?;
        // A document that is the body of another record stays.
        let sql = "UPDATE document SET bytes = x'' WHERE id = ?1 AND id NOT IN (SELECT document FROM large)";
        connection.execute(sql, [document])?;
    }
    for hash in &erasure.documents {
        documents::erase_document(connection, *hash)?;
    }
    documents::drop_unnamed(connection)?;
    for hash in &erasure.unnamed {
        connection.execute("DELETE FROM document WHERE hash = ?1 AND length(bytes) = 0", [hash.0])?;
    }
    Ok(())
}
