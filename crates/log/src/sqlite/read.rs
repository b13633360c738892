//! The reading side of the file, for any number of threads next to the writer.
//!
//! Every call is one short read, so that a reader never blocks the checkpoint of the write-ahead log. Every record
//! that comes out has been hashed again and continues the previous record of its thread; every document has the hash
//! under which it is stored. Anything else is damage at its position, and only `as_claimed` returns it.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Params};

use super::column::{UnfitRow, read_stored, records_where};
use super::documents;
use super::places::NewestPlaces;
use super::pool::{PooledReader, ReaderPool};
use super::rows::{self, CheckedRow, rows_where};
use super::verify::{self, VerifyWalk};
use super::{make_damage, make_fault, migrate};
use systole_core::types::body_parts::ERASED_TEXT;
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};

/// The content of the table `fold`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoldCache {
    /// Rows.
    pub rows: usize,
    /// The threads whose row has a wrong checksum, or the row's number if its thread is unknown.
    pub corrupt: Vec<String>,
    /// Whether every thread at work has its row.
    pub is_complete: bool,
}

/// Reads a log file. Clones share their connections.
#[derive(Clone)]
pub struct SqliteReader {
    pool: Arc<ReaderPool>,
    /// Whether records are checked against the records before them.
    proves: bool,
}

/// The limit as SQLite takes it: a signed number.
fn to_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn to_number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl SqliteReader {
    pub(super) fn new(pool: Arc<ReaderPool>) -> SqliteReader {
        SqliteReader { pool, proves: true }
    }

    /// The same log with records as the file claims them, unverified: for callers that investigate damage and verify
    /// for themselves.
    pub fn as_claimed(&self) -> SqliteReader {
        SqliteReader { pool: self.pool.clone(), proves: false }
    }

    fn make_fault(&self, error: &rusqlite::Error) -> LogFault {
        make_fault(&self.pool.path, None, error)
    }

    fn make_damage(&self, position: Position, why: String) -> LogFault {
        make_damage(&self.pool.path, position, why)
    }

    /// The records at these positions, where a thread has records with these numbers. Each must continue the one
    /// before it. What is not there is left out of a log as it is claimed.
    fn at(
        &self,
        PooledReader { connection, newest, .. }: &mut PooledReader,
        thread: &ThreadId,
        places: &[(i64, i64)],
    ) -> Result<Vec<PlacedRecord>, LogFault> {
        let as_fault = |e: rusqlite::Error| self.make_fault(&e);
        let mut walk = VerifyWalk::new_after(connection, newest, &self.pool.path, Position::default());
        let mut statement =
            connection.prepare_cached(records_where!("WHERE r.pos = ?1")).map_err(as_fault)?;
        let mut found = Vec::with_capacity(places.len());
        for (seq, pos) in places {
            let (seq, position) = (seq.unsigned_abs(), Position(pos.unsigned_abs()));
            let as_fault = |e: rusqlite::Error| make_fault(&self.pool.path, Some(position), &e);
            let mut rows = statement.query([pos]).map_err(as_fault)?;
            let row = rows.next().map_err(as_fault)?;
            let record =
                row.map(read_stored).transpose().map_err(|UnfitRow(why)| self.make_damage(position, why))?;
            match record {
                Some(record) if record.header.thread == *thread && record.header.seq == seq => {
                    found.push(if self.proves { walk.link_record(record)? } else { record.into_claimed() });
                }
                _ if !self.proves => {}
                _ => {
                    let why =
                        format!("record {seq} of thread {thread} is not here, but the table place says so");
                    return Err(self.make_damage(position, why));
                }
            }
        }
        Ok(found)
    }

    fn threads_where(&self, sql: &str, params: impl Params) -> Result<Vec<ThreadId>, LogFault> {
        let texts: Vec<String> = self.pool.with_connection(|connection| {
            let mut statement = connection.prepare_cached(sql).map_err(|e| self.make_fault(&e))?;
            let rows = statement.query_map(params, |row| row.get(0)).map_err(|e| self.make_fault(&e))?;
            rows.collect::<Result<_, _>>().map_err(|e| self.make_fault(&e))
        })?;
        texts.iter().map(|text| self.thread_id(text)).collect()
    }

    fn thread_id(&self, text: &str) -> Result<ThreadId, LogFault> {
        ThreadId::parse(text).map_err(|e| self.make_damage(Position::default(), e.to_string()))
    }

    /// Checks every row of the table `fold`: how many there are, and what is wrong with them.
    pub fn read_cache(&self) -> Result<FoldCache, LogFault> {
        self.pool.with_connection(|connection| {
            // One transaction, so that rows and marks are from the same moment.
            let moment = connection.unchecked_transaction().map_err(|e| self.make_fault(&e))?;
            let (_, marks) = verify::read_ends(&moment, &self.pool.path)?;
            let mut cache = FoldCache::default();
            let mut statement = moment.prepare(rows_where!("")).map_err(|e| self.make_fault(&e))?;
            let mut found = statement.query([]).map_err(|e| self.make_fault(&e))?;
            while let Some(row) = found.next().map_err(|e| self.make_fault(&e))? {
                match rows::check_row(row) {
                    CheckedRow::Sound(_) => {}
                    CheckedRow::Corrupt(_, Some(thread)) => cache.corrupt.push(thread.to_string()),
                    CheckedRow::Corrupt(number, None) => cache.corrupt.push(format!("number {number}")),
                }
                cache.rows += 1;
            }
            let is_complete = match marks {
                Some(marks) => {
                    rows::read_working(&moment, marks).map_err(|e| self.make_fault(&e))?.is_complete
                }
                // An older log has no such marks.
                None => migrate::read_number(&moment).map_err(|e| self.make_fault(&e))? < migrate::WITH_TIP,
            };
            cache.is_complete = is_complete;
            Ok(cache)
        })
    }
}

impl SqliteReader {
    /// The documents that are erased: they have no bytes.
    pub fn erased_documents(&self) -> Result<Vec<Digest>, LogFault> {
        let sql = "SELECT hash FROM document WHERE length(bytes) = 0 AND hash <> ?1 ORDER BY id";
        self.pool.with_connection(|connection| {
            let found = connection.prepare_cached(sql).and_then(|mut find| {
                let rows = find.query_map([Digest::hash_bytes(b"").0], |row| Ok(Digest(row.get(0)?)))?;
                rows.collect()
            });
            found.map_err(|e| self.make_fault(&e))
        })
    }

    /// The documents that have a text, each with whether it is a configuration. Bodies of records are left out.
    pub fn documents_with(&self, text: &[u8]) -> Result<Vec<(Digest, bool)>, LogFault> {
        self.pool.with_connection(|connection| {
            documents::with_text(connection, text).map_err(|e| self.make_fault(&e))
        })
    }
}

impl LogReader for SqliteReader {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        self.pool.with_connection(|connection| {
            // One transaction, so that rows and records are from the same moment.
            let moment = connection.unchecked_transaction().map_err(|e| self.make_fault(&e))?;
            let (last, marks) = verify::read_ends(&moment, &self.pool.path)?;
            let near = marks.filter(|marks| last.0 - marks.checkpoint.0 <= crate::limits::OPEN_RECORDS);
            let working = near.map(|marks| rows::read_working(&moment, marks)).transpose();
            let working = working.map_err(|e| self.make_fault(&e))?.filter(|working| working.is_complete);
            let (Some(marks), Some(working)) = (near, working) else {
                return Ok(LogOpening { last, by_thread: true, ..LogOpening::default() });
            };
            let mut records = Vec::new();
            let mut newest = NewestPlaces::default();
            let mut walk = VerifyWalk::new_after(&moment, &mut newest, &self.pool.path, marks.checkpoint);
            walk.finish_walk(|record| records.push(record))?;
            Ok(LogOpening { last, rows: working.rows, records, by_thread: false })
        })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        self.pool.with_connection(|connection| {
            let last: rusqlite::Result<i64> = connection
                .prepare_cached("SELECT coalesce(max(pos), 0) FROM record")
                .and_then(|mut s| s.query_row([], |row| row.get(0)));
            last.map(|last| Position(last.unsigned_abs())).map_err(|e| self.make_fault(&e))
        })
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        let sql = rows_where!("WHERE f.thread = (SELECT id FROM thread WHERE text = ?1)");
        self.pool.with_connection(|connection| {
            let found = connection.prepare_cached(sql).and_then(|mut find| {
                find.query_row([thread.as_str()], |row| Ok(rows::check_row(row))).optional()
            });
            Ok(match found.map_err(|e| self.make_fault(&e))? {
                Some(CheckedRow::Sound(row)) => Some(row),
                Some(CheckedRow::Corrupt(..)) | None => None,
            })
        })
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        self.pool.read_with(|reading| {
            let (mut found, mut from) = (Vec::new(), to_number(seq));
            loop {
                let PooledReader { connection, newest, .. } = &mut *reading;
                let left = limit - found.len();
                let places = newest.of_thread(connection, thread.as_str(), from, left);
                let places = places.map_err(|e| self.make_fault(&e))?;
                found.extend(self.at(reading, thread, &places)?);
                // What is not there leaves room for later records: fewer than `limit` mean the end of the thread.
                match places.last() {
                    Some((last, _)) if places.len() == left && found.len() < limit => from = last + 1,
                    _ => return Ok(found),
                }
            }
        })
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let sql = records_where!("WHERE r.pos > ?1 ORDER BY r.pos LIMIT ?2");
        self.pool.read_with(|PooledReader { connection, newest, .. }| {
            let mut walk = VerifyWalk::new_after(connection, newest, &self.pool.path, position);
            let mut statement = connection.prepare_cached(sql).map_err(|e| self.make_fault(&e))?;
            let mut rows =
                statement.query((to_number(position.0), to_limit(limit))).map_err(|e| self.make_fault(&e))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next().map_err(|e| self.make_fault(&e))? {
                let record = read_stored(row).map_err(|UnfitRow(why)| {
                    // The position is the table's key: an existing row has a number there.
                    self.make_damage(Position(row.get::<_, i64>(0).unwrap_or_default().unsigned_abs()), why)
                })?;
                found.push(if self.proves { walk.take_step(record)? } else { record.into_claimed() });
            }
            Ok(found)
        })
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        let sql = "SELECT seq, pos FROM record WHERE thread = (SELECT id FROM thread WHERE text = ?1) \
             AND sender = (SELECT id FROM word WHERE text = ?2) AND key = ?3";
        self.pool.read_with(|reading| {
            let mut find = reading.connection.prepare_cached(sql).map_err(|e| self.make_fault(&e))?;
            let place = find.query_row((thread.as_str(), sender.as_str(), key.as_str()), |row| {
                Ok((row.get(0)?, row.get(1)?))
            });
            let place: Option<(i64, i64)> = place.optional().map_err(|e| self.make_fault(&e))?;
            drop(find);
            Ok(self.at(reading, thread, place.as_slice())?.pop())
        })
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        let sql = "SELECT text FROM thread WHERE text <> 'sys' ORDER BY id DESC LIMIT ?1";
        self.threads_where(sql, [to_limit(limit)])
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        // A range of the index, not a pattern, so characters in a user's input have no special meaning. No character
        // sorts after the last one of Unicode, which no id contains.
        let sql =
            "SELECT text FROM thread WHERE text >= ?1 AND text < ?1 || char(1114111) ORDER BY text LIMIT ?2";
        self.threads_where(sql, (prefix, to_limit(limit)))
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        self.pool.with_connection(|connection| {
            let bytes = documents::read_document(connection, hash).map_err(|e| self.make_fault(&e))?;
            if bytes.as_ref().is_some_and(Vec::is_empty) {
                return Ok(Some(Arc::from(ERASED_TEXT.as_bytes())));
            }
            if self.proves && bytes.as_ref().is_some_and(|bytes| Digest::hash_bytes(bytes) != hash) {
                return Err(self.make_damage(Position::default(), verify::other_document(hash)));
            }
            Ok(bytes.map(Arc::from))
        })
    }
}
