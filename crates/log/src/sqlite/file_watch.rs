//! Whether the file of an open log is still in its place. A log that is deleted stays readable and writable for the
//! process that has it open, and a backup that is copied over it is overwritten by the next checkpoint. Both lose what
//! is acknowledged afterwards, so each commit looks, and an idle writer looks each second.
//!
//! A path goes in; what happened to its file comes out. Only the write-ahead log is ever moved.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;

use rusqlite::{Connection, Row};
use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};

use super::layout::make_beside;
use super::lock::LogLock;
use super::pool::{OpenManner, connect_reading};
use super::{closing, io_fault, make_fault, wal};
use crate::limits;
use systole_core::types::ports::LogFault;

/// The file of an open log, as it was last seen.
pub(super) struct FileWatch {
    path: PathBuf,
    log: LogFileState,
    /// `None` until there is one.
    wal: Option<FileId>,
    /// The number of this opening.
    opening: i64,
    in_file: FileContent,
    /// As it was when the file was last seen.
    copied: Option<PartlyCopied>,
}

/// How far a checkpoint came that copied only a part of the write-ahead log, because a reader still needs the older form
/// of the rest. The pages in the file are of several moments then, so the file alone says nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PartlyCopied {
    frames: i64,
    /// Which write-ahead log it was: the salts in its header, which are others each time that it begins anew.
    salts: [u8; 8],
}

impl PartlyCopied {
    /// SQLite itself is asked: to open and close the file of its index would end the locks that it holds there.
    fn find_copied(path: &Path, connection: &Connection) -> Option<PartlyCopied> {
        let counts = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
        let (all, frames): (i64, i64) =
            connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], counts).ok()?;
        let mut header = [0; 24];
        File::open(make_beside(path, wal::ENDING)).and_then(|mut file| file.read_exact(&mut header)).ok()?;
        let salts = *header.last_chunk()?;
        (0 < frames && frames < all).then_some(PartlyCopied { frames, salts })
    }
}

/// What the file itself says, without its write-ahead log.
#[derive(Clone, Copy)]
struct FileContent {
    /// The number of an opening. Until the first checkpoint it may be missing, or an earlier one.
    opening: Option<i64>,
    /// The last position.
    last: i64,
    /// Whether the log was closed.
    is_closed: bool,
}

/// What became of the file.
pub(super) enum FileDisplacement {
    /// No file has its name.
    Gone,
    /// Another file has its name, or other bytes were written into it.
    Replaced,
    /// Another process opened it for writing, after the file of the lock was removed.
    Shared,
    /// Only its write-ahead log is not the one that was opened.
    WithoutWal,
}

impl FileDisplacement {
    /// What happened, in words, with the fix.
    pub(super) fn describe_loss(&self, log: &Path) -> String {
        let log = log.display();
        match self {
            FileDisplacement::Gone => format!(
                "{log} is gone: it was deleted or moved while it was in use, so nothing more is taken; put it back \
                 with the files beside it, or restore a backup"
            ),
            FileDisplacement::Replaced => format!(
                "{log} was replaced while it was in use, so nothing more is taken; the file there now is left as it is, \
                 and the last commits are kept in a file {log}-wal.lost-N"
            ),
            FileDisplacement::Shared => format!(
                "another process writes {log}, which only one may: this one ends, and nothing acknowledged is lost; \
                 stop the other one too, and never remove {log}.lock"
            ),
            FileDisplacement::WithoutWal => format!(
                "{log}-wal was deleted or replaced while it was in use, so nothing more is taken; everything \
                 acknowledged is written into {log} now"
            ),
        }
    }
}

/// A file by its place on its disk.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

/// What changes when a file is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LogFileState {
    id: FileId,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileId {
    fn from_metadata(found: &Metadata) -> FileId {
        FileId { device: found.dev(), number: found.ino() }
    }

    /// The file at a path that is written to all the time. Its times are not asked for: Linux keeps finer ones of a file
    /// whose times are looked at, and then each sync writes them to the disk as well, which takes a second wait.
    fn find_id(path: &Path) -> io::Result<FileId> {
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
        Ok(FileId { device: makedev(found.stx_dev_major, found.stx_dev_minor), number: found.stx_ino })
    }
}

impl LogFileState {
    fn from_metadata(found: &Metadata) -> LogFileState {
        LogFileState {
            id: FileId::from_metadata(found),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl FileWatch {
    /// Begins to watch a log that is open, by the number of its opening.
    pub(super) fn new(path: &Path, connection: &Connection, opening: i64) -> Result<FileWatch, LogFault> {
        let log = fs::metadata(path).map_err(|e| io_fault(path, &e))?;
        let wal = FileId::find_id(&make_beside(path, wal::ENDING)).ok();
        let copied = PartlyCopied::find_copied(path, connection);
        let in_file = match FileContent::read_content(path) {
            Err(fault) if fault.is_damage() && copied.is_some() => FileContent::UNKNOWN,
            found => found?,
        };
        Ok(FileWatch {
            path: path.to_owned(),
            log: LogFileState::from_metadata(&log),
            wal,
            opening,
            in_file,
            copied,
        })
    }

    /// What became of the file since it was opened; `None` if it is in its place. No writer may be in the middle of a
    /// commit.
    pub(super) fn find_displacement(
        &mut self,
        lock: &LogLock,
        connection: Option<&Connection>,
    ) -> Option<FileDisplacement> {
        let now = match fs::metadata(&self.path) {
            Ok(found) => LogFileState::from_metadata(&found),
            Err(e) if e.kind() == ErrorKind::NotFound => return Some(FileDisplacement::Gone),
            // That the path cannot be looked at says nothing about the file.
            Err(_) => return None,
        };
        if now.id != self.log.id {
            return Some(FileDisplacement::Replaced);
        }
        if now != self.log {
            // A checkpoint of our own, or bytes of another program.
            let copied = connection.and_then(|connection| PartlyCopied::find_copied(&self.path, connection));
            let came_further = copied.is_some() && copied != self.copied;
            match if came_further { Some(Some(self.in_file)) } else { self.read_content() } {
                Some(Some(found)) => (self.in_file, self.log, self.copied) = (found, now, copied),
                // That it cannot be read says nothing about the file: the next look reads it.
                Some(None) => {}
                None if lock.is_in_place() => return Some(FileDisplacement::Replaced),
                None => return Some(FileDisplacement::Shared),
            }
        }
        let is_other = match (self.wal, FileId::find_id(&make_beside(&self.path, wal::ENDING))) {
            (Some(wal), Ok(found)) => wal != found,
            (Some(_), Err(e)) => e.kind() == ErrorKind::NotFound,
            (None, found) => {
                self.wal = found.ok();
                false
            }
        };
        is_other.then_some(FileDisplacement::WithoutWal)
    }

    /// What is in the file now: `None` if it is no later form of this log, an inner `None` if it cannot be read.
    fn read_content(&self) -> Option<Option<FileContent>> {
        for read in 0..limits::UNFIT_READS {
            if read > 0 {
                sleep(limits::UNFIT_PAUSE);
            }
            match FileContent::read_content(&self.path) {
                Ok(found) if self.can_follow(found) => return Some(Some(found)),
                Err(fault) if !fault.is_damage() => return Some(None),
                Ok(_) | Err(_) => {}
            }
        }
        None
    }

    /// Whether a checkpoint of this opening can have written that: it takes no record out of the file. The number of an
    /// earlier opening may still be there, if that one left commits in the write-ahead log.
    fn can_follow(&self, found: FileContent) -> bool {
        let is_earlier = !self.in_file.is_closed && found.opening == self.in_file.opening;
        (found.opening == Some(self.opening) || is_earlier) && found.last >= self.in_file.last
    }

    /// Keeps the write-ahead log of a replaced file under another name: SQLite would apply it to the new file. The log
    /// must be closed.
    pub(super) fn set_wal_aside(&self) -> Result<(), LogFault> {
        let wal = make_beside(&self.path, wal::ENDING);
        if !FileId::find_id(&wal).is_ok_and(|found| self.wal == Some(found)) {
            return Ok(());
        }
        let kept = wal::free_name(&self.path)?;
        fs::rename(&wal, &kept).map_err(|e| io_fault(&wal, &e))?;
        // Its index is made again from what is there.
        let _left = fs::remove_file(make_beside(&self.path, "-shm"));
        Ok(())
    }
}

impl FileContent {
    /// Any form can follow it.
    const UNKNOWN: FileContent = FileContent { opening: None, last: 0, is_closed: false };

    fn read_content(path: &Path) -> Result<FileContent, LogFault> {
        let reading = connect_reading(path, OpenManner::Alone)?;
        let read = |connection: &Connection| {
            let last = "SELECT coalesce(max(pos), 0) FROM record";
            Ok(FileContent {
                opening: closing::read_opening(connection)?,
                last: connection.query_row(last, [], |row| row.get(0))?,
                is_closed: closing::was_closed(connection)?,
            })
        };
        read(&reading.connection).map_err(|e| make_fault(path, None, &e))
    }
}
