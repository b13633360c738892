//! Takes bytes out of a log for good: bodies or parts of them, documents, and rows of the cache that repeat them.
//!
//! The bytes go in one transaction with the record that says so. Then the file is written anew, so that no copy of
//! them is left in a free page or in the write-ahead log. Commitments, leaves and heads stay as they are.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::column::sealed;
use super::fault;
use super::write::SqliteAppender;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{Commit, LogBatch, LogFault, Position};
use systole_core::types::record::Record;

/// What is taken out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Erasure {
    /// Records as they are afterwards.
    pub records: Vec<(Position, Record)>,
    /// Documents, by their hash, which stays.
    pub documents: Vec<Digest>,
    /// Texts of which no row of the cache may keep one.
    pub values: Vec<Vec<u8>>,
}

impl SqliteAppender {
    /// Erases, and stores the batch that says so, in one commit.
    pub fn erase(&mut self, erasure: &Erasure, batch: &LogBatch) -> Commit {
        if let Err(commit) = self.prepare(batch) {
            return commit;
        }
        let Some(connection) = self.connection() else { return Commit::Unknown("the log is closed".into()) };
        match take_out(connection, erasure) {
            Ok(()) => self.keep(None),
            Err(error) => {
                self.drop_prepared();
                Commit::NotNow(error.to_string())
            }
        }
    }

    /// Writes the file anew, so that nothing is left of what was taken out. Another program that reads the log keeps
    /// it from being done.
    pub fn rewrite(&mut self) -> Result<(), LogFault> {
        let path = self.path().to_owned();
        let Some(connection) = self.connection() else { return Ok(()) };
        let ill = |e: rusqlite::Error| fault(&path, None, &e);
        connection.execute_batch("PRAGMA secure_delete = ON; VACUUM").map_err(ill)?;
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(ill)?;
        if busy == 0 {
            return Ok(());
        }
        Err(LogFault::Io { path: path.display().to_string(), why: "another program reads it".to_owned() })
    }
}

fn take_out(connection: &Connection, erasure: &Erasure) -> rusqlite::Result<()> {
    for (position, record) in &erasure.records {
        let pos = i64::try_from(position.0).unwrap_or(i64::MAX);
        connection
            .prepare_cached("UPDATE record SET body = ?2, salt = ?3 WHERE pos = ?1")?
            .execute(params![pos, &record.body[..], sealed(&record.parts.rest)])?;
        let large = "DELETE FROM large WHERE pos = ?1 RETURNING document";
        let document: Option<i64> =
            connection.prepare_cached(large)?.query_row([pos], |row| row.get(0)).optional()?;
        // A document that is the body of another record stays.
        let sql = "UPDATE document SET bytes = x'' WHERE id = ?1 AND id NOT IN (SELECT document FROM large)";
        connection.prepare_cached(sql)?.execute([document])?;
        let mut seal =
            connection.prepare_cached("UPDATE part SET seal = ?3 WHERE pos = ?1 AND number = ?2")?;
        for (number, (_, kept)) in (1_u32..).zip(&record.parts.values) {
            seal.execute(params![pos, number, sealed(kept)])?;
        }
        let rows =
            "DELETE FROM fold WHERE working = 0 AND thread = (SELECT thread FROM record WHERE pos = ?1)";
        connection.prepare_cached(rows)?.execute([pos])?;
    }
    for hash in &erasure.documents {
        connection.prepare_cached("UPDATE document SET bytes = x'' WHERE hash = ?1")?.execute([hash.0])?;
    }
    for value in &erasure.values {
        // A thread at work whose row goes is folded again by the next start, with all others.
        connection.prepare_cached("DELETE FROM fold WHERE instr(bytes, ?1) > 0")?.execute([value])?;
    }
    Ok(())
}

/// The documents with one of these texts that are no configuration, and the configurations with one of them.
pub(super) fn documents_with(connection: &Connection, value: &[u8]) -> rusqlite::Result<Vec<(Digest, bool)>> {
    let sql = "SELECT d.hash, EXISTS (SELECT 1 FROM config c WHERE c.hash = d.hash) FROM document d \
               WHERE instr(d.bytes, ?1) > 0 AND d.id NOT IN (SELECT document FROM large)";
    let mut find = connection.prepare_cached(sql)?;
    let rows = find.query_map([value], |row| Ok((Digest(row.get(0)?), row.get(1)?)))?;
    rows.collect()
}
