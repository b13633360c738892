//! Makes a copy again, next to the old one. When the new copy is complete, it replaces the old one in one step.
//!
//! Until then nothing of the old copy changes, however this ends. A killed process leaves a file with another name,
//! which the next remake removes. The lock of the copy is held from beginning to end. This file knows nothing about
//! the source of the records.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copy::{self, LogCopy};
use super::layout::{LogFileKind, connect_writing, create_file, make_beside, sync_folder};
use super::lock::LogLock;
use super::log_file::{choose_manner, does_exist, find_canonical, look_for};
use super::open::open_reading;
use super::pool::{OpenManner, ReaderPool, connect_reading};
use super::read::SqliteReader;
use super::verify;
use super::write::SqliteAppender;
use super::{io_fault, make_fault};
use crate::limits::{self, OLD_COPIES};
use systole_core::types::ports::{LogFault, LogReader, Position};

/// The first difference between two copies of one log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyDifference {
    /// The position; 0 means the file as a whole.
    pub position: Position,
    /// The difference, in words about the old copy.
    pub why: String,
}

/// A copy that is being made again.
pub struct CopyRemake {
    path: PathBuf,
    draft: PathBuf,
    lock: Arc<LogLock>,
    has_old: bool,
}

impl CopyRemake {
    /// Takes the lock. The path must hold a copy, or nothing.
    pub fn begin_remake(path: &Path) -> Result<CopyRemake, LogFault> {
        let path = find_canonical(path)?;
        if does_exist(&path)? {
            look_for(&path, LogFileKind::Copy)?;
        }
        let lock = Arc::new(LogLock::make_lock(&path)?.sign_lock()?);
        // Another process may have made it, run and ended since the first look.
        let has_old = does_exist(&path)?;
        if has_old {
            look_for(&path, LogFileKind::Copy)?;
        }
        let remaking = CopyRemake { draft: make_beside(&path, ".again"), path, lock, has_old };
        remaking.remove_draft()?;
        Ok(remaking)
    }

    /// What the old copy says about itself; `None` if there is no old copy, or it has followed nothing, or cannot be
    /// read.
    pub fn find_old(&self) -> Option<LogCopy> {
        if !self.has_old {
            return None;
        }
        let reading = connect_reading(&self.path, choose_manner(&self.path)).ok()?;
        let found = copy::read_copy(&reading.connection).ok().flatten();
        found.filter(|copy| copy.followed.sequence > 0)
    }

    /// Makes the new copy, which is empty.
    pub fn open_draft(&self) -> Result<(SqliteAppender, SqliteReader), LogFault> {
        create_file(&self.draft, LogFileKind::Copy)?;
        let pool = Arc::new(ReaderPool::new(self.draft.clone(), OpenManner::Live));
        let writer = SqliteAppender::new(Arc::clone(&pool), Arc::clone(&self.lock), LogFileKind::Copy, None)?;
        Ok((writer, SqliteReader::new(pool)))
    }

    /// Compares the records of the old copy with those of the new copy, which is closed. If `should_hold` is known,
    /// the old copy must hold that many. Returns how many it holds, and the first difference.
    pub fn compare_copies(
        &self,
        should_hold: Option<Position>,
    ) -> Result<Option<(u64, Option<CopyDifference>)>, LogFault> {
        if !self.has_old {
            return Ok(None);
        }
        let new = open_reading(&self.draft)?;
        let (mut at, differs) = (Position(0), |position, why: String| Some(CopyDifference { position, why }));
        let old = match open_reading(&self.path) {
            Ok(old) => old.as_claimed(),
            Err(as_fault @ LogFault::Damaged { .. }) => {
                return Ok(Some((0, differs(at, as_fault.to_string()))));
            }
            Err(fault) => return Err(fault),
        };
        let (old, new): (&dyn LogReader, &dyn LogReader) = (&old, &new);
        let mut news = new.records_after(at);
        for placed in old.records_after(at) {
            let (position, record) = match placed {
                Ok(placed) => placed,
                Err(LogFault::Damaged { position, why, .. }) => {
                    return Ok(Some((at.0, differs(position.max(Position(at.0 + 1)), why))));
                }
                Err(fault) => return Err(fault),
            };
            let of = || {
                let (seq, thread) = (record.header.seq.to_string(), record.header.thread.as_str());
                format!("record {seq} of thread {thread}")
            };
            let there = news.next().transpose()?;
            let why = match &there {
                None => format!("{} is in no bundle of the stream", of()),
                Some((there, _)) if *there != position => "there is no record".to_owned(),
                Some((_, new)) if new.leaf != record.leaf => format!("{} has other bytes", of()),
                Some((_, new)) if new.head != record.head => {
                    format!("{} has another head of its thread's chain", of())
                }
                Some(_) => {
                    at = position;
                    continue;
                }
            };
            let first = there.map_or(position, |(there, _)| there.min(position));
            return Ok(Some((first.0 - 1, differs(first, why))));
        }
        if should_hold.is_some_and(|should| should > at) {
            return Ok(Some((at.0, differs(Position(at.0 + 1), "there is no record".to_owned()))));
        }
        match verify::verify_documents(&self.path) {
            Ok(()) => Ok(Some((at.0, None))),
            Err(LogFault::Damaged { position, why, .. }) => Ok(Some((at.0, differs(position, why)))),
            Err(fault) => Err(fault),
        }
    }

    /// Replaces the old copy with the new one, which is closed. If the old copy is wanted, it is kept under another
    /// name, which is returned.
    pub fn take_place(self, keeps_old: bool) -> Result<Option<PathBuf>, LogFault> {
        if fs::metadata(make_beside(&self.draft, "-wal")).is_ok_and(|left| left.len() > 0) {
            let why = "what was written is not in it yet: another program has it open".to_owned();
            return Err(LogFault::Io { path: self.draft.display().to_string(), why });
        }
        let kept = if self.has_old { self.part_from_old(keeps_old)? } else { None };
        File::open(&self.draft).and_then(|new| new.sync_all()).map_err(|e| io_fault(&self.draft, &e))?;
        fs::rename(&self.draft, &self.path).map_err(|e| io_fault(&self.path, &e))?;
        sync_folder(&self.path)?;
        Ok(kept)
    }

    /// Makes the old copy complete in a single file: the files next to it would be taken for the new copy's.
    fn part_from_old(&self, keeps_old: bool) -> Result<Option<PathBuf>, LogFault> {
        let rights = fs::metadata(&self.path).map(|old| old.permissions());
        let rights = rights.and_then(|rights| fs::set_permissions(&self.draft, rights));
        rights.map_err(|e| io_fault(&self.draft, &e))?;
        let folded = self.fold_old();
        let kept = if keeps_old { Some(self.keep_old()?) } else { None };
        // If the checkpoint fails, nothing is lost as long as the old copy is kept as it is.
        if kept.is_none() {
            folded?;
        }
        for ending in ["-wal", "-shm"] {
            remove_draft(&make_beside(&self.path, ending))?;
        }
        Ok(kept)
    }

    fn fold_old(&self) -> Result<(), LogFault> {
        let as_fault = |e: rusqlite::Error| make_fault(&self.path, None, &e);
        let connection = connect_writing(&self.path, LogFileKind::Copy).map_err(as_fault)?;
        let busy: i64 = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(as_fault)?;
        connection.close().map_err(|(_, e)| as_fault(e))?;
        if busy != 0 {
            let why = "another process reads it just now, and keeps its place".to_owned();
            return Err(LogFault::Io { path: self.path.display().to_string(), why });
        }
        Ok(())
    }

    /// Gives the old copy a second name, with the files next to it.
    fn keep_old(&self) -> Result<PathBuf, LogFault> {
        for number in 1..=limits::OLD_COPIES {
            let kept = make_beside(&self.path, &format!(".was-{number}"));
            match fs::hard_link(&self.path, &kept) {
                Ok(()) => {
                    let (from, to) = (make_beside(&self.path, "-wal"), make_beside(&kept, "-wal"));
                    if fs::metadata(&from).is_ok_and(|left| left.len() > 0) {
                        fs::copy(&from, &to).map_err(|e| io_fault(&to, &e))?;
                    }
                    sync_folder(&kept)?;
                    return Ok(kept);
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(io_fault(&kept, &e)),
            }
        }
        let why = format!("{OLD_COPIES} old copies are kept beside it already; move some of them away");
        Err(LogFault::Io { path: self.path.display().to_string(), why })
    }

    fn remove_draft(&self) -> Result<(), LogFault> {
        // A draft that was being made has yet another name.
        let names = [self.draft.clone(), make_beside(&self.draft, ".new")];
        let endings = ["", "-wal", "-shm", "-journal"];
        names.iter().try_for_each(|name| {
            endings.iter().try_for_each(|ending| remove_draft(&make_beside(name, ending)))
        })
    }
}

impl Drop for CopyRemake {
    fn drop(&mut self) {
        // After a replacement nothing is left to remove; what cannot be removed now is removed by the next remake.
        let _left = self.remove_draft();
    }
}

/// Removes a file if it exists.
fn remove_draft(path: &Path) -> Result<(), LogFault> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io_fault(path, &e)),
        _ => Ok(()),
    }
}
