//! Opening a log: for writing, or only to read.
//!
//! A log that is not ours, is newer than this version, or does not verify is refused before anything is opened for
//! writing. The file and everything next to it stay as they are, for the person who must find out what happened. A
//! path goes in; a writer, a reader and the secret come out, or the reason why not.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rusqlite::Connection;

use super::copy::{self, Followed};
use super::layout::{Sort, create};
use super::lock::Lock;
use super::pool::{Manner, Pool, connect};
use super::read::Reader;
use super::secret::Secret;
use super::tip::Tip;
use super::verify;
use super::write::Appender;
use super::{closing, fault, io_fault, loss, migrate, wal};
use systole_core::types::ports::{GivenUp, LogFault, Position};
use systole_core::types::record::FORMAT;

/// How many of the newest records are verified before a log is opened for writing, in addition to those that
/// opening folds. A crash or a failing disk damages what was written last. The rest is left to `verify_all`, which
/// takes its time, and to readers.
const VERIFIED_AT_OPEN: u64 = 10_000;

/// A log, open for its one writer.
pub struct Opened {
    /// The writing side; it holds the lock.
    pub writer: Appender,
    /// The reading side.
    pub reader: Reader,
    /// The source of delivery tokens.
    pub secret: Secret,
    /// What a person should know about its condition.
    pub notes: Vec<String>,
}

/// Opens a log for writing, and makes it if there is none.
pub fn open(path: &Path) -> Result<Opened, LogFault> {
    opened(path, Sort::Log, None)
}

/// Opens the copy of a log that is stored elsewhere, and makes it if there is none.
pub fn open_copy(path: &Path) -> Result<Opened, LogFault> {
    opened(path, Sort::Copy, None)
}

/// Opens a log for writing that continues without the given-up positions. Exactly those must be missing.
pub fn open_without(path: &Path, given_up: GivenUp) -> Result<Opened, LogFault> {
    opened(path, Sort::Log, Some(given_up))
}

fn opened(path: &Path, sort: Sort, given_up: Option<GivenUp>) -> Result<Opened, LogFault> {
    let path = canonical(path)?;
    let judged = || {
        if exists(&path)? {
            look_for(&path, sort)?;
        }
        loss::judge(&path, sort)?.accepted(&path, sort, given_up)
    };
    let was_there = exists(&path)?;
    // If a lock file exists, the lock is taken first, and the file is not yet written to. Writes of a running
    // organism must not look like damage.
    let early = Lock::if_there(&path)?;
    let mut found = judged()?;
    let lock = match early {
        Some(lock) => lock.sign()?,
        None => Lock::make(&path)?.sign()?,
    };
    // Another process may have made the log, run and ended since the first look.
    if !was_there && exists(&path)? {
        found = judged()?;
    }
    let mut notes = Vec::new();
    if given_up.is_some() {
        let kept = wal::set_aside(&path)?;
        notes.extend(kept.map(|kept| format!("what the file -wal held is kept as {}", kept.display())));
    }
    if !exists(&path)? {
        create(&path, sort)?;
    }
    let tip = match (sort, given_up) {
        (Sort::Copy, _) => None,
        (Sort::Log, Some(_)) => Some(Tip::replacing(&path)),
        // This comes before the log gets a format whose logs have a tip.
        (Sort::Log, None) => Some(Tip::of(&path, found.tip, found.end)?),
    };
    let is_older = migrate::forward(&path, sort)?;
    let without_tip = sort == Sort::Log && !is_older && found.is_untold();
    notes.extend(found.note(&path).filter(|_| sort == Sort::Log && !is_older));
    // Positions and call numbers may be used again, so an answer to an old delivery must not fit a new one.
    let secret = match given_up.is_some() || without_tip {
        true => Secret::anew(&path)?,
        false => Secret::of(&path)?,
    };
    if sort == Sort::Log {
        closing::begin(&path)?;
    }
    let pool = Arc::new(Pool::new(path, Manner::Live));
    let mut writer = Appender::new(Arc::clone(&pool), Arc::new(lock), sort, tip)?;
    notes.extend(writer.heal()?);
    Ok(Opened { writer, reader: Reader::new(pool), secret, notes })
}

/// Opens a log to read it, whether an organism runs on it or not.
pub fn open_reading(path: &Path) -> Result<Reader, LogFault> {
    let path = canonical(path)?;
    let sort = look(&path)?;
    loss::refuse_unreadable(&path, sort)?;
    let manner = manner(&path);
    let pool = Pool::new(path, manner);
    pool.read(|_| Ok(()))?;
    Ok(Reader::new(Arc::new(pool)))
}

/// How far the copy at a path goes; `None` if there is no copy, or it has followed nothing yet.
pub fn followed(path: &Path) -> Result<Option<Followed>, LogFault> {
    let path = canonical(path)?;
    if !exists(&path)? || look(&path)? != Sort::Copy {
        return Ok(None);
    }
    let reading = connect(&path, manner(&path))?;
    let found = copy::read(&reading.connection).map_err(|e| fault(&path, None, &e))?;
    Ok(found.map(|copy| copy.followed).filter(|followed| followed.sequence > 0))
}

/// If SQLite cannot make its files next to a log, no process can write the log either.
pub(super) fn manner(path: &Path) -> Manner {
    if connect(path, Manner::Live).is_ok() { Manner::Live } else { Manner::Still }
}

/// The one path of a log: links resolved, so that the same file is not locked under two names, and absolute, so
/// that no name has a special meaning for SQLite.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, LogFault> {
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

pub(super) fn exists(path: &Path) -> Result<bool, LogFault> {
    path.try_exists().map_err(|e| io_fault(path, &e))
}

/// Like `look`, and checks that the file is of the wanted sort.
pub(super) fn look_for(path: &Path, wanted: Sort) -> Result<(), LogFault> {
    let why = match (look(path)?, wanted) {
        (Sort::Copy, Sort::Log) => "it is the copy of a log that is kept in NATS, where log.nats says it is",
        (Sort::Log, Sort::Copy) => "it is a log itself; the copy of a log in NATS needs another path",
        (Sort::Log, Sort::Log) | (Sort::Copy, Sort::Copy) => return Ok(()),
    };
    Err(LogFault::Foreign { path: path.display().to_string(), why: why.to_owned() })
}

/// Looks at the first bytes of a file: is it a log of ours, in a known format?
pub(super) fn look(path: &Path) -> Result<Sort, LogFault> {
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
    let Some(sort) = Sort::of(application) else {
        return Err(foreign("it is the database of another program"));
    };
    match format {
        0 => Err(foreign("it has no format number")),
        found if found > FORMAT => {
            Err(LogFault::Newer { path: path.display().to_string(), found, known: FORMAT })
        }
        _ => Ok(sort),
    }
}

/// The format number of a log. A new number may be only in the write-ahead log.
pub fn format(path: &Path) -> Result<u32, LogFault> {
    let path = canonical(path)?;
    let sort = look(&path)?;
    loss::refuse_unreadable(&path, sort)?;
    let reading = connect(&path, manner(&path))?;
    migrate::number(&reading.connection).map_err(|e| fault(&path, None, &e))
}

/// Verifies the newest records of a log that no process writes to, without touching it; returns the last position.
pub(super) fn verify_tail(path: &Path, manner: Manner) -> Result<(Connection, Position), LogFault> {
    let connection = connect(path, manner)?.connection;
    let ill = |e: rusqlite::Error| fault(path, None, &e);
    // After a crash a newer number may be only in the write-ahead log, where `look` does not see it.
    let found = migrate::number(&connection).map_err(ill)?;
    if found > FORMAT {
        return Err(LogFault::Newer { path: path.display().to_string(), found, known: FORMAT });
    }
    let (last, marks) = verify::ends(&connection, path)?;
    let newest = Position(last.0.saturating_sub(VERIFIED_AT_OPEN));
    let after = marks.map_or(newest, |marks| marks.checkpoint.min(newest));
    let middle = Position(after.0.midpoint(last.0));
    // Half each on two threads: these hashes take most of the time of opening a large log.
    thread::scope(|scope| {
        let older = scope.spawn(|| verify::stretch(&connect(path, manner)?.connection, path, after, middle));
        let newer = verify::stretch(&connection, path, middle, last);
        older.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(newer)
    })?;
    Ok((connection, last))
}
