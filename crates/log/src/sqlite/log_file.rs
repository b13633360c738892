//! The file of a log: its one path, what it is by its first bytes, and whether its newest records verify.
//!
//! Nothing is written. A path goes in; what is there comes out, or why it is no log of ours.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::thread;

use rusqlite::Connection;

use super::layout::LogFileKind;
use super::pool::{OpenManner, connect_reading};
use super::{io_fault, make_fault, migrate, verify};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::FORMAT;

/// If SQLite cannot make its files next to a log, no process can write the log either.
pub(super) fn choose_manner(path: &Path) -> OpenManner {
    if connect_reading(path, OpenManner::Live).is_ok() { OpenManner::Live } else { OpenManner::Still }
}

/// The one path of a log: links resolved, so that the same file is not locked under two names, and absolute, so
/// that no name has a special meaning for SQLite.
pub(super) fn find_canonical(path: &Path) -> Result<PathBuf, LogFault> {
    let resolved = match fs::canonicalize(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::canonicalize(folder).map(|folder| folder.join(path.file_name().unwrap_or_default()))
        }
        resolved => resolved,
    };
    let resolved = resolved.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let why = "the folder for the log does not exist".to_owned();
            LogFault::Io { path: path.display().to_string(), why }
        }
        _ => io_fault(path, &e),
    })?;
    // Opening a pipe would block forever, without any message.
    if fs::metadata(&resolved).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let why = "it is a pipe, a socket or a device, not a file".to_owned();
        return Err(LogFault::Foreign { path: path.display().to_string(), why });
    }
    Ok(resolved)
}

pub(super) fn does_exist(path: &Path) -> Result<bool, LogFault> {
    path.try_exists().map_err(|e| io_fault(path, &e))
}

/// Like `look`, and checks that the file is of the wanted kind.
pub(super) fn look_for(path: &Path, wanted: LogFileKind) -> Result<(), LogFault> {
    let why = match (find_kind(path)?, wanted) {
        (LogFileKind::Copy, LogFileKind::Log) => {
            "it is the copy of a log that is kept in NATS, where log.nats says it is"
        }
        (LogFileKind::Log, LogFileKind::Copy) => {
            "it is a log itself; the copy of a log in NATS needs another path"
        }
        (LogFileKind::Log, LogFileKind::Log) | (LogFileKind::Copy, LogFileKind::Copy) => return Ok(()),
    };
    Err(LogFault::Foreign { path: path.display().to_string(), why: why.to_owned() })
}

/// Looks at the first bytes of a file: is it a log of ours, in a known format?
pub(super) fn find_kind(path: &Path) -> Result<LogFileKind, LogFault> {
    kind_and_format(path).map(|(kind, _)| kind)
}

/// The same, with the format number in the file. A newer number may be only in the write-ahead log.
pub(super) fn kind_and_format(path: &Path) -> Result<(LogFileKind, u32), LogFault> {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut header));
    read.map_err(|e| io_fault(path, &e))?;
    let foreign = |why: &str| LogFault::Foreign { path: path.display().to_string(), why: why.into() };
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
        bytes.map(u32::from_be_bytes).ok_or_else(|| foreign("it is shorter than a database"))
    };
    if header.is_empty() {
        return Err(foreign("it is empty"));
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(foreign("it is not an SQLite database"));
    }
    // Where SQLite keeps `user_version` and `application_id`.
    let (format, application) = (number(60)?, number(68)?);
    let Some(kind) = LogFileKind::from_application(application) else {
        return Err(foreign("it is the database of another program"));
    };
    match format {
        0 => Err(foreign("it has no format number")),
        found if found > FORMAT => {
            Err(LogFault::Newer { path: path.display().to_string(), found, known: FORMAT })
        }
        _ => Ok((kind, format)),
    }
}

/// Verifies the newest records of a log that no process writes to, without touching it; returns the last position.
pub(super) fn verify_tail(path: &Path, manner: OpenManner) -> Result<(Connection, Position), LogFault> {
    let connection = connect_reading(path, manner)?.connection;
    let as_fault = |e: rusqlite::Error| make_fault(path, None, &e);
    // After a crash a newer number may be only in the write-ahead log, where `look` does not see it.
    let found = migrate::read_number(&connection).map_err(as_fault)?;
    if found > FORMAT {
        return Err(LogFault::Newer { path: path.display().to_string(), found, known: FORMAT });
    }
    let (last, marks) = verify::read_ends(&connection, path)?;
    let newest = Position(last.0.saturating_sub(crate::limits::VERIFIED_AT_OPEN));
    let after = marks.map_or(newest, |marks| marks.checkpoint.min(newest));
    let middle = Position(after.0.midpoint(last.0));
    // Half each on two threads: these hashes take most of the time of opening a large log.
    thread::scope(|scope| {
        let older = scope.spawn(|| {
            verify::verify_stretch(&connect_reading(path, manner)?.connection, path, after, middle)
        });
        let newer = verify::verify_stretch(&connection, path, middle, last);
        older.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(newer)
    })?;
    Ok((connection, last))
}
