//! A backup: a copy of a log in one new file, taken while an organism may run on it.
//!
//! It is made under another name, verified from its first record to its last, synced, and only then named. So a file
//! with the wanted name is complete, and a file that was there is never replaced. A path goes in; a verified file comes
//! out, or nothing.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::layout::{LogFileKind, check_layout, make_beside, sync_folder, write_ahead};
use super::log_file::{choose_manner, find_canonical, look_for};
use super::pool::connect_reading;
use super::verify_all::{VerifySummary, verify_all};
use super::{closing, io_fault, loss, make_damage, make_fault, migrate, verify};
use systole_core::types::ports::{LogFault, Position};

/// A backup under its draft name. If it is dropped, it is removed.
pub struct BackupDraft {
    draft: PathBuf,
    to: PathBuf,
    /// What the verification of the copy found.
    pub summary: VerifySummary,
    is_named: bool,
}

/// Copies a log, as of one moment, into a new file beside `to`, and verifies the copy.
pub fn back_up(log: &Path, to: &Path) -> Result<BackupDraft, LogFault> {
    let log = find_canonical(log)?;
    look_for(&log, LogFileKind::Log)?;
    loss::refuse_unreadable(&log, LogFileKind::Log)?;
    let draft = make_beside(to, &format!(".unfinished-{}", std::process::id()));
    let made = File::options().write(true).create_new(true).mode(0o600).open(&draft);
    drop(made.map_err(|error| io_fault(&draft, &error))?);
    let summary = VerifySummary::default();
    let mut backup = BackupDraft { draft, to: to.to_owned(), summary, is_named: false };
    let least = backup.copy_log(&log)?;
    backup.close_draft()?;
    backup.summary = verify_all(&backup.draft)?;
    if backup.summary.last < least {
        let why = format!("the copy ends before position {}", least.0);
        return Err(make_damage(&log, Position(backup.summary.last.0 + 1), why));
    }
    File::open(&backup.draft).and_then(|file| file.sync_all()).map_err(|e| io_fault(&backup.draft, &e))?;
    Ok(backup)
}

impl BackupDraft {
    /// Copies what the log has at one moment, and returns the last position before that moment. Free pages are left
    /// out, and with them what was erased.
    fn copy_log(&self, log: &Path) -> Result<Position, LogFault> {
        let connection = connect_reading(log, choose_manner(log))?.connection;
        let (last, _) = verify::read_ends(&connection, log)?;
        let to = self.draft.to_str().ok_or_else(|| LogFault::Io {
            path: self.draft.display().to_string(),
            why: "SQLite needs a path in UTF-8".to_owned(),
        })?;
        connection.execute("VACUUM INTO ?1", [to]).map_err(|error| self.copy_fault(log, &error))?;
        Ok(last)
    }

    /// A fault of the disk is one of the copy, any other one of the log.
    fn copy_fault(&self, log: &Path, error: &rusqlite::Error) -> LogFault {
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure,
            ) => LogFault::Io { path: self.draft.display().to_string(), why: error.to_string() },
            _ => make_fault(log, None, error),
        }
    }

    /// Makes the copy a log that was closed. A copy of an open log would look like one that lost its last commits.
    fn close_draft(&self) -> Result<(), LogFault> {
        let closed = || -> rusqlite::Result<()> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&self.draft, flags)?;
            check_layout(&connection)?;
            // The copy has the journal of other databases; a log has a write-ahead log.
            write_ahead(&connection)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            if migrate::read_number(&connection)? >= migrate::WITH_TIP {
                closing::end_opening(&connection)?;
            }
            // Closing the last connection copies the write-ahead log into the file and removes it.
            connection.close().map_err(|(_, error)| error)
        };
        closed().map_err(|error| make_fault(&self.draft, None, &error))
    }

    /// Gives the backup its name, if no file has it. Returns whether it has the name now.
    pub fn name_draft(mut self) -> Result<bool, LogFault> {
        match name_new(&self.draft, &self.to) {
            Ok(()) => {
                self.is_named = true;
                sync_folder(&std::path::absolute(&self.to).unwrap_or_else(|_| self.to.clone()))?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(io_fault(&self.to, &error)),
        }
    }
}

/// Renames a file, and replaces none.
pub fn name_new(from: &Path, to: &Path) -> std::io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // This file system does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        renamed => renamed.map_err(Into::into),
    }
}

impl Drop for BackupDraft {
    fn drop(&mut self) {
        if !self.is_named {
            for ending in ["", "-wal", "-shm", "-journal"] {
                // What stays has a name that says what it is.
                let _left = fs::remove_file(make_beside(&self.draft, ending));
            }
        }
    }
}
