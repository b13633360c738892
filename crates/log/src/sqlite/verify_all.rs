//! Verifies a whole log: every record, every document, and SQLite's own structures. Nothing is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lock::LogLock;
use super::log_file::{find_canonical, find_kind};
use super::places::NewestPlaces;
use super::pool::{OpenManner, ReaderPool, connect_reading};
use super::read::SqliteReader;
use super::verify::{VerifyWalk, count_documents, read_ends};
use super::{loss, make_damage, make_fault, places};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::Record;

/// The result of a walk through a whole log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VerifySummary {
    /// Records, all of them verified.
    pub records: u64,
    /// Threads.
    pub threads: u64,
    /// Documents, all of them verified.
    pub documents: u64,
    /// The log's last position.
    pub last: Position,
}

/// Verifies a whole log, whether an organism runs on it or not: every record, every document, and SQLite's own
/// structures. Changes no byte of it.
pub fn verify_all(path: &Path) -> Result<VerifySummary, LogFault> {
    verify_each(path, || (), |(), _| ()).map(|(summary, ())| summary)
}

/// The same, and gathers something from every record, in the order of positions. `start` begins the gathering; it
/// begins anew if an organism starts to write the log in the middle of it.
pub fn verify_each<T>(
    path: &Path,
    start: impl Fn() -> T,
    each: impl Fn(&mut T, &Record),
) -> Result<(VerifySummary, T), LogFault> {
    let path = find_readable(path)?;
    in_least_manner(&path, |manner| {
        let mut gathered = start();
        let summary = walk_all(&path, manner, |record| each(&mut gathered, record))?;
        Ok((summary, gathered))
    })
}

/// Reads a log, whether an organism runs on it or not. If none does, nothing is left beside the log. `read` begins anew
/// if an organism starts to write in the middle of it.
pub fn read_least<T>(
    path: &Path,
    read: impl Fn(&SqliteReader) -> Result<T, LogFault>,
) -> Result<T, LogFault> {
    let path = find_readable(path)?;
    in_least_manner(&path, |manner| read(&SqliteReader::new(Arc::new(ReaderPool::new(path.clone(), manner)))))
}

fn find_readable(path: &Path) -> Result<PathBuf, LogFault> {
    let path = find_canonical(path)?;
    let kind = find_kind(&path)?;
    loss::refuse_unreadable(&path, kind)?;
    Ok(path)
}

fn in_least_manner<T>(path: &Path, read: impl Fn(OpenManner) -> Result<T, LogFault>) -> Result<T, LogFault> {
    if LogLock::is_held(path)? {
        return read(OpenManner::Live);
    }
    match read(OpenManner::Still) {
        // If a process began to write during a walk without locks, what the walk saw is no damage.
        Err(_) if LogLock::is_held(path)? => read(OpenManner::Live),
        walked => walked,
    }
}

fn walk_all(
    path: &Path,
    manner: OpenManner,
    mut each: impl FnMut(&Record),
) -> Result<VerifySummary, LogFault> {
    let connection = connect_reading(path, manner)?.connection;
    let as_fault = |e: rusqlite::Error| make_fault(path, None, &e);
    // One transaction: a log that is being written to is judged as of one moment.
    let moment = connection.unchecked_transaction().map_err(as_fault)?;
    let mut summary = VerifySummary::default();
    let mut newest = NewestPlaces::default();
    let mut walk = VerifyWalk::new_after(&moment, &mut newest, path, Position(0));
    walk.finish_walk(|record| {
        summary.records += 1;
        each(&record);
    })?;
    summary.last = walk.last();
    // After the walk: a record that was taken out of the middle is reported where the next one does not fit.
    read_ends(&moment, path)?;
    summary.documents = count_documents(&moment, path)?;
    // The walk began at position 1, and such a record could still be read by its number in its thread.
    let sql = "SELECT EXISTS (SELECT 1 FROM record WHERE pos < 1)";
    if moment.query_row(sql, [], |row| row.get(0)).map_err(as_fault)? {
        return Err(make_damage(path, Position::default(), "there are records before position 1"));
    }
    let threads: i64 = moment
        .query_row("SELECT count(*) FROM thread WHERE id IN (SELECT thread FROM record)", [], |row| {
            row.get(0)
        })
        .map_err(as_fault)?;
    summary.threads = threads.unsigned_abs();
    if let Some(why) = places::find_fault(&moment).map_err(as_fault)? {
        return Err(make_damage(path, Position::default(), format!("{why}; {}", places::CURE)));
    }
    if let Some(position) = places::repeated_item(&moment).map_err(as_fault)? {
        return Err(make_damage(path, position, "its item is recorded before it"));
    }
    let verdict: String =
        moment.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(as_fault)?;
    if verdict != "ok" {
        return Err(make_damage(path, Position::default(), verdict));
    }
    Ok(summary)
}
