//! Whether the records of a log are the ones that were written: each record of a stretch is hashed again and must
//! continue the chain of its thread.
//!
//! A file goes in; the amount that was checked comes out, or the first position that does not fit. Nothing is
//! written, and memory does not grow with the log. The file alone cannot show that records were cleanly cut off at
//! the end of the log.

use std::path::Path;

use rusqlite::Connection;

use super::column::{StoredRecord, UnfitRow, read_stored, records_where};
use super::documents::put_together;
use super::places::NewestPlaces;
use super::pool::{OpenManner, connect_reading};
use super::recent::RecentMap;
use super::rows::FoldMarks;
use super::{make_damage, make_fault};
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::{Record, head_zero};

/// A walk along consecutive positions.
pub(super) struct VerifyWalk<'c> {
    connection: &'c Connection,
    path: &'c Path,
    next: Position,
    newest: &'c mut NewestPlaces,
    heads: RecentMap<ThreadId, (u64, Digest)>,
}

impl<'c> VerifyWalk<'c> {
    /// A walk that begins after a position.
    pub(super) fn new_after(
        connection: &'c Connection,
        newest: &'c mut NewestPlaces,
        path: &'c Path,
        position: Position,
    ) -> VerifyWalk<'c> {
        let next = Position(position.0.saturating_add(1));
        VerifyWalk { connection, path, next, newest, heads: RecentMap::new(crate::limits::KNOWN_THREADS) }
    }

    /// Verifies every record from here to the end of the log, and passes each on.
    pub(super) fn finish_walk(&mut self, each: impl FnMut(Record)) -> Result<(), LogFault> {
        self.walk_until(Position(u64::MAX), each)
    }

    /// Verifies every record from here to that position, or to the end of the log.
    fn walk_until(&mut self, end: Position, mut each: impl FnMut(Record)) -> Result<(), LogFault> {
        let sql = records_where!("WHERE r.pos >= ?1 AND r.pos <= ?2 ORDER BY r.pos");
        let signed = |position: Position| i64::try_from(position.0).unwrap_or(i64::MAX);
        let (from, to) = (signed(self.next), signed(end));
        let connection = self.connection;
        let mut statement = connection.prepare_cached(sql).map_err(|e| self.make_fault(&e))?;
        let mut rows = statement.query([from, to]).map_err(|e| self.make_fault(&e))?;
        while let Some(row) = rows.next().map_err(|e| self.make_fault(&e))? {
            let stored = read_stored(row).map_err(|UnfitRow(why)| self.make_damage(why))?;
            each(self.take_step(stored)?.1);
        }
        Ok(())
    }

    /// Takes the record at the next position.
    pub(super) fn take_step(&mut self, stored: StoredRecord) -> Result<(Position, Record), LogFault> {
        if stored.position != self.next {
            return Err(self.make_damage(format!("the next record is at position {}", stored.position.0)));
        }
        let linked = self.link_record(stored)?;
        self.next = Position(self.next.0 + 1);
        Ok(linked)
    }

    /// The position before the next record.
    pub(super) fn last(&self) -> Position {
        Position(self.next.0 - 1)
    }

    /// Takes a record anywhere in the log: it must continue the previous record of its thread.
    pub(super) fn link_record(&mut self, stored: StoredRecord) -> Result<(Position, Record), LogFault> {
        self.next = stored.position;
        let thread = stored.header.thread.clone();
        let seq = stored.header.seq;
        let before = self.head_before(&thread, stored.thread, seq)?;
        let Some((position, record)) = stored.into_proved(before) else {
            let why = format!("record {seq} of thread {thread} does not continue its hash chain");
            return Err(self.make_damage(why));
        };
        self.heads.insert(thread, (seq, record.head));
        Ok((position, record))
    }

    /// The head that the thread had before its record `seq`, which is at the next position.
    fn head_before(&mut self, thread: &ThreadId, number: i64, seq: u64) -> Result<Digest, LogFault> {
        let broken = |last: u64| format!("record {seq} of thread {thread} comes after record {last}");
        if let Some((last, head)) = self.heads.get(thread) {
            let (last, head) = (*last, *head);
            return if last.checked_add(1) == Some(seq) {
                Ok(head)
            } else {
                Err(self.make_damage(broken(last)))
            };
        }
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let here = (signed(seq), signed(self.next.0));
        let before = self.newest.find_before(self.connection, number, here);
        let before = before.map_err(|e| self.make_fault(&e))?;
        match before {
            None if seq == 1 => Ok(head_zero(thread)),
            Some((last, head)) if last.unsigned_abs() + 1 == seq => Ok(Digest(head)),
            other => Err(self.make_damage(broken(other.map_or(0, |(last, _)| last.unsigned_abs())))),
        }
    }

    fn make_damage(&self, why: String) -> LogFault {
        make_damage(self.path, self.next, why)
    }

    fn make_fault(&self, error: &rusqlite::Error) -> LogFault {
        make_fault(self.path, Some(self.next), error)
    }
}

/// The log's last position, and its marks if they can be trusted. Their checkpoint cannot come after the last
/// position.
pub(super) fn read_ends(
    connection: &Connection,
    path: &Path,
) -> Result<(Position, Option<FoldMarks>), LogFault> {
    let last: rusqlite::Result<i64> =
        connection.query_row("SELECT coalesce(max(pos), 0) FROM record", [], |row| row.get(0));
    let last = Position(last.map_err(|e| make_fault(path, None, &e))?.unsigned_abs());
    let marks = FoldMarks::read_marks(connection).map_err(|e| make_fault(path, None, &e))?;
    if let Some(FoldMarks { checkpoint, .. }) = marks
        && checkpoint > last
    {
        let why = format!("records up to the checkpoint at position {} are gone", checkpoint.0);
        return Err(make_damage(path, Position(last.0 + 1), why));
    }
    Ok((last, marks))
}

/// Verifies the newest `count` records of a log whose last position is `last`.
pub(super) fn verify_tail(
    connection: &Connection,
    path: &Path,
    last: Position,
    count: u64,
) -> Result<(), LogFault> {
    verify_stretch(connection, path, Position(last.0.saturating_sub(count)), last)
}

/// Verifies the records after one position up to another. All of them must be there.
pub(super) fn verify_stretch(
    connection: &Connection,
    path: &Path,
    after: Position,
    end: Position,
) -> Result<(), LogFault> {
    let mut newest = NewestPlaces::default();
    let mut walk = VerifyWalk::new_after(connection, &mut newest, path, after);
    walk.walk_until(end, |_| {})?;
    if walk.next.0 != end.0 + 1 {
        return Err(walk.make_damage(format!("records up to position {} should follow", end.0)));
    }
    Ok(())
}

/// Whether every document of a log that no process writes to has the hash under which it is stored.
pub(super) fn verify_documents(path: &Path) -> Result<(), LogFault> {
    count_documents(&connect_reading(path, OpenManner::Still)?.connection, path).map(drop)
}

/// The message for a document whose bytes do not match its hash.
pub(super) fn other_document(hash: Digest) -> String {
    format!("it keeps other bytes under {hash}")
}

/// Counts the documents; each must have the hash under which it is stored.
pub(super) fn count_documents(connection: &Connection, path: &Path) -> Result<u64, LogFault> {
    let as_fault = |e: rusqlite::Error| make_fault(path, None, &e);
    let mut statement = connection.prepare("SELECT hash, bytes FROM document").map_err(as_fault)?;
    let mut rows = statement.query([]).map_err(as_fault)?;
    let mut count = 0;
    while let Some(row) = rows.next().map_err(as_fault)? {
        let hash = Digest(row.get(0).map_err(as_fault)?);
        let bytes = row.get(1).and_then(|row| put_together(connection, hash, row)).map_err(as_fault)?;
        // Without bytes it is erased.
        if !bytes.is_empty() && Digest::hash_bytes(&bytes) != hash {
            return Err(make_damage(path, Position::default(), other_document(hash)));
        }
        count += 1;
    }
    Ok(count)
}
