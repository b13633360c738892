//! The writer of the file: one transaction for each batch.
//!
//! A batch comes in. It is committed and fsynced, or nothing of it is stored, or the result says that this is
//! unknown. The writer reports a commit only after SQLite has confirmed a `COMMIT` with `synchronous=FULL`. It never
//! repeats a failed write: after a failure the file is closed, opened again and checked.

use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension, params};

use super::column::to_bytes;
use super::documents;
use super::file_watch::{FileDisplacement, FileWatch};
use super::known::KnownRows;
use super::layout::{LogFileKind, connect_writing};
use super::lock::LogLock;
use super::pool::ReaderPool;
use super::read::SqliteReader;
use super::rows;
use super::tip::{LogTip, TipEnd};
use super::{closing, copy, make_damage, make_fault, places, verify};
use crate::alarms::{AlarmKind, LogAlarms};
use crate::limits;
use crate::{BatchRule, RuleBreach};
use systole_core::types::body_parts::BodyParts;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    Commit, FoldRow, LogBatch, LogFault, LogReader as _, LogStop, LogWriter, Position, ReadBack,
};
use systole_core::types::record::Record;

/// The one writer of a log file; it holds the file's lock as long as it lives.
pub struct SqliteAppender {
    /// `None` if the file could not be opened again.
    connection: Option<Connection>,
    pool: Arc<ReaderPool>,
    known: KnownRows,
    kind: LogFileKind,
    /// The last position of the prepared batch, and the head of its last record, if it has one.
    prepared: Option<(Position, Option<Digest>)>,
    /// The tip file next to the log; a copy has none.
    tip: Option<LogTip>,
    alarms: LogAlarms,
    /// Looks whether the file is still in its place. A copy can be made again, so nothing looks.
    watch: Option<FileWatch>,
    /// What became of the file, if this writer has it no more. Nothing is written to it then, not even at the end.
    lost: Option<FileDisplacement>,
    lock: Arc<LogLock>,
}

/// Why a batch is not stored.
enum WriteFailure {
    Refused(String),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for WriteFailure {
    fn from(error: rusqlite::Error) -> WriteFailure {
        WriteFailure::Database(error)
    }
}

impl SqliteAppender {
    /// Opens a log that is known to be whole.
    pub(super) fn new(
        pool: Arc<ReaderPool>,
        lock: Arc<LogLock>,
        kind: LogFileKind,
        tip: Option<LogTip>,
    ) -> Result<SqliteAppender, LogFault> {
        let (connection, last) = reopen_log(&pool.path, kind)?;
        let known = KnownRows::new_at(last);
        let alarms = LogAlarms::of_file(&pool.path);
        Ok(SqliteAppender {
            connection: Some(connection),
            pool,
            known,
            kind,
            prepared: None,
            tip,
            alarms,
            watch: None,
            lost: None,
            lock,
        })
    }

    /// Begins to watch the file, by the number of this opening.
    pub(super) fn watch_file(&mut self, opening: i64) -> Result<(), LogFault> {
        if let Some(connection) = &self.connection {
            self.watch = Some(FileWatch::new(&self.pool.path, connection, opening)?);
        }
        Ok(())
    }
}

impl Drop for SqliteAppender {
    fn drop(&mut self) {
        // A log that is closed in order is one file again: closing its last connection copies the write-ahead log
        // into it. If that fails, the next opening does it, so an error here is harmless.
        self.pool.close_idle();
        let connection = self.connection.take();
        if let Some(lost) = &self.lost {
            drop(connection);
            if let (FileDisplacement::Replaced, Some(watch)) = (lost, &self.watch) {
                // If that fails, the next opening finds that it does not fit.
                let _kept = watch.set_wal_aside();
            }
            return;
        }
        let Some(connection) = connection else { return };
        // Those who read a closed log then need not look at its last records; the next writer does it otherwise.
        let _completed = places::complete_places(&connection);
        if self.kind == LogFileKind::Log {
            let _marked = closing::end_opening(&connection);
        }
        let _kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        let _closed = connection.close();
    }
}

fn reopen_log(path: &Path, kind: LogFileKind) -> Result<(Connection, Position), LogFault> {
    let open = || {
        let connection = connect_writing(path, kind)?;
        let last: i64 =
            connection.query_row("SELECT coalesce(max(pos), 0) FROM record", [], |row| row.get(0))?;
        Ok((connection, Position(last.unsigned_abs())))
    };
    open().map_err(|e| make_fault(path, None, &e))
}

impl LogWriter for SqliteAppender {
    fn commit_batch(&mut self, batch: &LogBatch) -> Commit {
        match self.prepare_batch(batch) {
            Ok(_) => self.keep_batch(None),
            Err(commit) => commit,
        }
    }

    fn read_back(&mut self, batch: &LogBatch) -> ReadBack {
        self.known.forget_all();
        // SQLite reads the write-ahead log again only after the last connection to it is closed.
        self.pool.close_idle();
        drop(self.connection.take());
        match self.look_again(batch) {
            Ok(found) => found,
            Err(fault) => ReadBack::Broken(fault.into()),
        }
    }

    fn take_displacement(&mut self) -> Option<String> {
        if self.lost.is_none() {
            match self.watch.as_mut()?.find_displacement(&self.lock, self.connection.as_ref())? {
                // The file can still be closed as always, which completes it.
                wal @ FileDisplacement::WithoutWal => return Some(wal.describe_loss(&self.pool.path)),
                other => self.lost = Some(other),
            }
        }
        self.lost.as_ref().map(|lost| lost.describe_loss(&self.pool.path))
    }
}

impl SqliteAppender {
    /// Writes a batch that the next call keeps or drops. Returns the position that its last record would have, or
    /// why it cannot be kept. No reader sees the batch before it is kept.
    pub fn prepare_batch(&mut self, batch: &LogBatch) -> Result<Position, Commit> {
        let Some(connection) = &self.connection else {
            return Err(Commit::Unknown("the log is closed".into()));
        };
        match insert_batch(connection, &mut self.known, batch) {
            Ok(last) => {
                self.prepared = Some((last, batch.records.last().map(|record| record.head)));
                Ok(last)
            }
            Err(failure) => {
                self.known.forget_all();
                let ended = settle_failure(connection, failure);
                Err(self.of_another_writer(ended))
            }
        }
    }

    /// A broken rule of the log has another reason if there are records after the last one: another process writes.
    fn of_another_writer(&mut self, ended: Commit) -> Commit {
        let (Commit::Conflict(_), Some(connection)) = (&ended, &self.connection) else { return ended };
        let sql = "SELECT coalesce(max(pos), 0) FROM record";
        let last: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap_or_default();
        if last.unsigned_abs() <= self.known.last.0 {
            return ended;
        }
        let words = FileDisplacement::Shared.describe_loss(&self.pool.path);
        self.lost = Some(FileDisplacement::Shared);
        Commit::Conflict(words)
    }

    /// Keeps the prepared batch; in a copy together with the bundle that it came from.
    pub fn keep_batch(&mut self, bundle: Option<&copy::LastBundle>) -> Commit {
        let (Some(connection), Some((last, head))) = (&self.connection, self.prepared.take()) else {
            return Commit::Unknown("nothing is prepared".into());
        };
        let kept = bundle.map_or(Ok(()), |bundle| copy::set_followed(connection, bundle));
        match kept.and_then(|()| connection.prepare_cached("COMMIT")?.execute([])) {
            Ok(_) => {
                // If the file was deleted or replaced, this batch is not in the log.
                if let Some(words) = self.take_displacement() {
                    return Commit::Conflict(words);
                }
                self.known.last = last;
                self.tell_tip(last, head);
                Commit::Committed(last)
            }
            Err(error) => {
                self.known.forget_all();
                settle_failure(connection, WriteFailure::Database(error))
            }
        }
    }

    /// Writes the end of the log into its tip, before anyone hears of the commit.
    fn tell_tip(&mut self, position: Position, head: Option<Digest>) {
        if let (Some(tip), Some(head)) = (&mut self.tip, head) {
            match tip.put_end(TipEnd { position, head }) {
                Ok(()) => self.alarms.clear_alarm(AlarmKind::Tip),
                Err(fault) => self.alarms.raise_alarm(AlarmKind::Tip, &fault),
            }
        }
    }

    /// What keeps it from being written as it should. The one who commits reports the rest there.
    pub fn alarms(&self) -> LogAlarms {
        self.alarms.clone()
    }

    /// Prepares the cache for what opening reads; returns what was wrong with it.
    pub(super) fn heal_rows(&mut self, is_suspect: bool) -> Result<Option<String>, LogFault> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let as_fault = |e: rusqlite::Error| make_fault(&self.pool.path, None, &e);
        let placed = places::heal_places(connection, is_suspect).map_err(as_fault)?.then(|| {
            "it was unknown which of its records have an entry in the table place: all entries were made again".to_owned()
        });
        if let Some(position) = places::repeated_item(connection).map_err(as_fault)? {
            return Err(make_damage(&self.pool.path, position, "its item is recorded before it"));
        }
        let rows = rows::heal_rows(connection).map_err(as_fault)?;
        Ok([placed, rows].into_iter().flatten().reduce(|one, other| format!("{one}; {other}")))
    }

    /// Forgets the prepared batch.
    pub fn drop_prepared(&mut self) {
        if let (Some(connection), Some(_)) = (&self.connection, self.prepared.take()) {
            self.known.forget_all();
            // A rollback needs no disk. If it fails all the same, the next batch finds out.
            let _rolled_back = connection.execute_batch("ROLLBACK");
        }
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// The position of the last record.
    pub fn last(&self) -> Position {
        self.known.last
    }

    /// Which copy it is and how far it goes; `None` if it has followed nothing yet.
    pub fn read_followed(&self) -> Result<Option<copy::LogCopy>, LogFault> {
        let closed =
            || LogFault::Io { path: self.pool.path.display().to_string(), why: "it is closed".into() };
        let connection = self.connection.as_ref().ok_or_else(closed)?;
        copy::read_copy(connection).map_err(|e| make_fault(&self.pool.path, None, &e))
    }

    /// Sets which copy it is.
    pub fn follow_copy(&mut self, copy: &copy::LogCopy) -> Result<(), LogFault> {
        let closed =
            || LogFault::Io { path: self.pool.path.display().to_string(), why: "it is closed".into() };
        let connection = self.connection.as_ref().ok_or_else(closed)?;
        copy::begin_copy(connection, copy).map_err(|e| make_fault(&self.pool.path, None, &e))
    }

    /// The position up to which opening need not fold anything.
    pub fn write_checkpoint(&self) -> Result<Position, LogFault> {
        let closed =
            || LogFault::Io { path: self.pool.path.display().to_string(), why: "it is closed".into() };
        let connection = self.connection.as_ref().ok_or_else(closed)?;
        let (_, marks) = verify::read_ends(connection, &self.pool.path)?;
        Ok(marks.map(|marks| marks.checkpoint).unwrap_or_default())
    }

    /// Verifies every record after a position.
    pub fn verify_after(&self, position: Position) -> Result<(), LogFault> {
        let closed =
            || LogFault::Io { path: self.pool.path.display().to_string(), why: "it is closed".into() };
        let connection = self.connection.as_ref().ok_or_else(closed)?;
        verify::verify_stretch(connection, &self.pool.path, position, self.known.last)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.pool.path
    }

    /// A document in the log.
    pub fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        SqliteReader::new(self.pool.clone()).read_document(hash)
    }

    /// Whether the log holds a document. If the look-up fails, the answer is no.
    pub fn has_document(&self, hash: Digest) -> bool {
        let Some(connection) = &self.connection else { return false };
        let found = connection
            .prepare_cached("SELECT 1 FROM document WHERE hash = ?1")
            .and_then(|mut look| look.exists([hash.0]));
        found.unwrap_or(false)
    }

    /// Opens the log again and looks for the batch; the log stays closed unless it can be trusted.
    fn look_again(&mut self, batch: &LogBatch) -> Result<ReadBack, LogFault> {
        let path = self.pool.path.clone();
        if let Some(words) = self.take_displacement() {
            return Ok(ReadBack::Broken(words.into()));
        }
        let (connection, last) = reopen_log(&path, self.kind)?;
        let count = batch.records.len() as u64;
        verify::verify_tail(&connection, &path, last, limits::VERIFIED_AFTER_DOUBT + count)?;
        let as_fault = |e: rusqlite::Error| make_fault(&path, None, &e);
        let found = match stored_at_the_end(&connection, last, batch).map_err(as_fault)? {
            Some(true) => ReadBack::Stored(last),
            Some(false) => ReadBack::Absent,
            None => return Ok(ReadBack::Broken(LogStop::of_damage("a part of the last batch is stored"))),
        };
        if let ReadBack::Stored(_) = found
            && let Some(words) = still_not_durable(&connection).map_err(as_fault)?
        {
            return Ok(ReadBack::Broken(words.into()));
        }
        self.known.last = last;
        self.connection = Some(connection);
        if let ReadBack::Stored(_) = found {
            self.tell_tip(last, batch.records.last().map(|record| record.head));
        }
        Ok(found)
    }
}

/// Whether the newest records are those of the batch; `None` if only some of them are. The first and the last record
/// are enough evidence, because no other process writes and the chains in between have been verified.
fn stored_at_the_end(
    connection: &Connection,
    last: Position,
    batch: &LogBatch,
) -> rusqlite::Result<Option<bool>> {
    let before = last.0.checked_sub(batch.records.len() as u64);
    let (Some(oldest), Some(newest), Some(before)) = (batch.records.first(), batch.records.last(), before)
    else {
        // A batch without records only sets rows and documents, which may be set again.
        return Ok(Some(false));
    };
    let oldest = is_at(connection, Position(before + 1), oldest)?;
    let newest = is_at(connection, last, newest)?;
    Ok((oldest == newest).then_some(newest))
}

/// Whether that record is at that position.
fn is_at(connection: &Connection, position: Position, record: &Record) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT id, head FROM record WHERE pos = ?1")?;
    let pos = i64::try_from(position.0).unwrap_or(i64::MAX);
    let stored = statement.query_row([pos], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(stored == Some((record.header.id.0, record.head.0)))
}

/// Copies the write-ahead log into the file and syncs the file. Without this, what was read back might be only in
/// the memory of a machine whose last sync failed. An absent batch needs no such care: it is written and synced
/// again.
fn still_not_durable(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok((busy != 0).then(|| "readers kept what was read back from being synced".into()))
}

/// Ends a transaction that failed, and returns what that means.
fn settle_failure(connection: &Connection, failure: WriteFailure) -> Commit {
    // SQLite has often rolled back by itself. A rollback only forgets, so it needs no disk.
    if !connection.is_autocommit() && connection.execute_batch("ROLLBACK").is_err() {
        return Commit::Unknown("a failed batch could not be rolled back".into());
    }
    let error = match failure {
        WriteFailure::Refused(words) => return Commit::Conflict(words),
        WriteFailure::Database(error) => error,
    };
    let words = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Commit::Conflict(words)
        }
        // A full disk is the only write failure without doubt: SQLite discards the frames, and the next commit
        // overwrites them. If the process dies before that, an unacknowledged batch may be found stored. The same
        // can happen if it dies between the sync and the acknowledgement.
        Some(ErrorCode::DiskFull) => Commit::NotNow("the disk is full".to_owned()),
        _ => Commit::Unknown(words),
    }
}

/// Everything in a transaction except its end.
fn insert_batch(
    connection: &Connection,
    known: &mut KnownRows,
    batch: &LogBatch,
) -> Result<Position, WriteFailure> {
    known.remember_all(connection)?;
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for document in &batch.documents {
        documents::store_document(connection, document.hash, &document.bytes)?;
    }
    let mut last = known.last;
    if !batch.records.is_empty() {
        let mut insert = connection.prepare_cached(INSERT_RECORD)?;
        for record in &batch.records {
            last = Position(last.0 + 1);
            insert_record(connection, &mut insert, known, last, record)?;
        }
    }
    let mut rows: Vec<(i64, &FoldRow)> = Vec::with_capacity(batch.rows.len());
    for row in &batch.rows {
        rows.push((known.number_thread(connection, &row.thread)?, row));
    }
    rows::set_rows(connection, &rows, batch.checkpoint)?;
    known.place_threads(connection, last)?;
    Ok(last)
}

const INSERT_RECORD: &str = "INSERT INTO record (pos, thread, seq, id, kind, sender, addressee, call, turn, \
     ordinal, cause, key, origin, time, config, code, salt, head, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

fn insert_record(
    connection: &Connection,
    insert: &mut CachedStatement<'_>,
    known: &mut KnownRows,
    position: Position,
    record: &Record,
) -> Result<(), WriteFailure> {
    let header = &record.header;
    let thread = match known.check_header(connection, header)? {
        Ok(thread) => thread,
        Err(rule) => return Err(WriteFailure::Refused(RuleBreach(rule, header).to_string())),
    };
    // The hash of a document would tell a guess of an erased value from a wrong one.
    let is_apart = record.body.len() > limits::LARGE_BODY && record.parts.values.is_empty();
    let body = match is_apart && !record.parts.has_erased() {
        true => store_large_body(connection, position, &record.body)?,
        false => &*record.body,
    };
    let inserted = insert.execute(params![
        to_signed(position.0)?,
        thread,
        to_signed(header.seq)?,
        header.id.0,
        known.number_word(connection, header.kind.as_str())?,
        known.number_word(connection, header.from.as_str())?,
        header.to.as_ref().map(|to| known.number_word(connection, to.as_str())).transpose()?,
        header.call.as_ref().map(|call| call.as_str()),
        header.turn,
        header.ordinal,
        header.cause.map(|cause| cause.0),
        header.key.as_ref().map(|key| key.as_str()),
        header.origin.map(|origin| origin.0),
        to_signed(header.time.0)?,
        known.number_config(connection, header.config)?,
        header.code.map(|code| known.number_word(connection, code.as_str())).transpose()?,
        to_bytes(&record.parts.rest),
        record.head.0,
        body,
    ]);
    match inserted {
        Ok(_) => store_parts(connection, position, &record.parts),
        Err(error) => {
            Err(breach_of(&error, record).map_or(WriteFailure::Database(error), WriteFailure::Refused))
        }
    }
}

/// Stores the places and seals of the sensitive values.
fn store_parts(connection: &Connection, position: Position, parts: &BodyParts) -> Result<(), WriteFailure> {
    if parts.values.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO part (pos, number, at, length, seal) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = connection.prepare_cached(sql)?;
    for (number, (hole, seal)) in (1_u32..).zip(&parts.values) {
        insert.execute(params![to_signed(position.0)?, number, hole.at, hole.length, to_bytes(seal)])?;
    }
    Ok(())
}

/// Stores a large body among the documents, where the same bytes are stored only once however often they are sent.
/// Returns what is stored in its place.
fn store_large_body(
    connection: &Connection,
    position: Position,
    body: &[u8],
) -> Result<&'static [u8], WriteFailure> {
    let hash = Digest::hash_bytes(body);
    documents::set_whole(connection, hash, body)?;
    let mut set = connection
        .prepare_cached("INSERT INTO large (pos, document) SELECT ?1, id FROM document WHERE hash = ?2")?;
    set.execute(params![to_signed(position.0)?, hash.0])?;
    Ok(&[])
}

/// The rule that a failed insert broke; `None` if it failed for another reason. SQLite names the columns of the
/// index in its message.
fn breach_of(error: &rusqlite::Error, record: &Record) -> Option<String> {
    if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
        return None;
    }
    let words = error.to_string();
    words.contains("record.key").then(|| RuleBreach(BatchRule::Key, &record.header).to_string())
}

fn to_signed(number: u64) -> Result<i64, WriteFailure> {
    i64::try_from(number)
        .map_err(|_| WriteFailure::Refused(format!("{number} is more than the log can number")))
}
