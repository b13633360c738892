//! Opening a log: for writing, or only to read.
//!
//! A log that is not ours, is newer than this version, or does not verify is refused before anything is opened for
//! writing. The file and everything next to it stay as they are, for the person who must find out what happened. A
//! path goes in; a writer, a reader and the secret come out, or the reason why not.

use std::path::Path;
use std::sync::Arc;

use super::copy::{self, LastBundle};
use super::layout::{LogFileKind, create_file};
use super::lock::LogLock;
use super::log_file::{choose_manner, does_exist, find_canonical, find_kind, kind_and_format, look_for};
use super::loss::JudgedFile;
use super::pool::{OpenManner, ReaderPool, connect_reading};
use super::read::SqliteReader;
use super::secret::LogSecret;
use super::tip::LogTip;
use super::wal::WalState;
use super::write::SqliteAppender;
use super::{closing, loss, make_fault, migrate, wal};
use systole_core::types::ports::{LogFault, LostRange};
use systole_core::types::record::FORMAT;

/// A log, open for its one writer.
pub struct OpenSqliteLog {
    /// The writing side; it holds the lock.
    pub writer: SqliteAppender,
    /// The reading side.
    pub reader: SqliteReader,
    /// The source of delivery tokens.
    pub secret: LogSecret,
    /// What a person should know about its condition.
    pub notes: Vec<String>,
}

/// Opens a log for writing, and makes it if there is none.
pub fn open_log(path: &Path) -> Result<OpenSqliteLog, LogFault> {
    HeldLog::new_held(path, LogFileKind::Log, None)?.open_held()
}

/// Opens the copy of a log that is stored elsewhere, and makes it if there is none.
pub fn open_copy(path: &Path) -> Result<OpenSqliteLog, LogFault> {
    HeldLog::new_held(path, LogFileKind::Copy, None)?.open_held()
}

/// Takes a log for its one writer, and leaves it as it is until it is opened. With given-up positions it continues
/// without them, and exactly those must be missing.
pub fn hold_log(path: &Path, given_up: Option<LostRange>) -> Result<HeldLog, LogFault> {
    HeldLog::new_held(path, LogFileKind::Log, given_up)
}

/// A log that no other process can open for writing, and in which nothing was changed yet.
pub struct HeldLog {
    pool: Arc<ReaderPool>,
    kind: LogFileKind,
    given_up: Option<LostRange>,
    lock: LogLock,
    found: JudgedFile,
    is_older: bool,
}

impl HeldLog {
    fn new_held(path: &Path, kind: LogFileKind, given_up: Option<LostRange>) -> Result<HeldLog, LogFault> {
        let path = find_canonical(path)?;
        let judged = || {
            if does_exist(&path)? {
                look_for(&path, kind)?;
            }
            loss::judge_file(&path, kind)?.accept_loss(&path, kind, given_up)
        };
        let was_there = does_exist(&path)?;
        // If a lock file exists, the lock is taken first, and the file is not yet written to. Writes of a running
        // organism must not look like damage.
        let early = LogLock::if_there(&path)?;
        let mut found = judged()?;
        let lock = match early {
            Some(lock) => lock.sign_lock()?,
            None => LogLock::make_lock(&path)?.sign_lock()?,
        };
        // Another process may have made the log, run and ended since the first look.
        if !was_there && does_exist(&path)? {
            found = judged()?;
        }
        let is_older = does_exist(&path)? && kind_and_format(&path)?.1 < FORMAT;
        let pool = Arc::new(ReaderPool::new(path, OpenManner::Live));
        Ok(HeldLog { pool, kind, given_up, lock, found, is_older })
    }

    /// Whether opening converts it to a newer format, which older versions of this program cannot read.
    pub fn is_older(&self) -> bool {
        self.is_older
    }

    /// The reading side, which stays valid when the log is opened.
    pub fn make_reader(&self) -> SqliteReader {
        SqliteReader::new(Arc::clone(&self.pool))
    }

    /// Opens it for writing.
    pub fn open_held(self) -> Result<OpenSqliteLog, LogFault> {
        let HeldLog { pool, kind, given_up, lock, found, .. } = self;
        let path = &pool.path;
        let mut notes = Vec::new();
        if given_up.is_some() {
            let kept = wal::set_aside(path)?;
            notes.extend(kept.map(|kept| format!("what the file -wal held is kept as {}", kept.display())));
        }
        if !does_exist(path)? {
            create_file(path, kind)?;
        }
        let tip = match (kind, given_up) {
            (LogFileKind::Copy, _) => None,
            (LogFileKind::Log, Some(_)) => Some(LogTip::new_replacing(path)),
            // This comes before the log gets a format whose logs have a tip.
            (LogFileKind::Log, None) => Some(LogTip::new(path, found.tip, found.end)?),
        };
        let format = migrate::migrate_forward(path, kind)?;
        if kind == LogFileKind::Log && format < FORMAT {
            notes.push(format!(
                "{} was converted from format {format} to format {FORMAT}, which older versions of systole cannot read",
                path.display()
            ));
        }
        let had_tip = format >= migrate::WITH_TIP;
        let without_tip = kind == LogFileKind::Log && had_tip && found.is_untold();
        notes.extend(found.to_note(path).filter(|_| kind == LogFileKind::Log && had_tip));
        // Positions and call numbers may be used again, so an answer to an old delivery must not fit a new one.
        let secret = match given_up.is_some() || without_tip {
            true => LogSecret::make_anew(path)?,
            false => LogSecret::read_secret(path)?,
        };
        let opening = (kind == LogFileKind::Log).then(|| closing::begin_opening(path)).transpose()?;
        let mut writer = SqliteAppender::new(Arc::clone(&pool), Arc::new(lock), kind, tip)?;
        // Half of what was lost may have been copied into the file.
        notes.extend(writer.heal_rows(given_up.is_some() || without_tip)?);
        if writer.is_unfinished()? {
            notes.push(match writer.rewrite_file() {
                Ok(()) => "an erasure was finished: the file was written anew".to_owned(),
                Err(fault) => format!("an erasure is not finished: {fault}"),
            });
        }
        if let Some(opening) = opening {
            writer.watch_file(opening)?;
        }
        Ok(OpenSqliteLog { writer, reader: SqliteReader::new(pool), secret, notes })
    }
}

/// Opens a log to read it, whether an organism runs on it or not.
pub fn open_reading(path: &Path) -> Result<SqliteReader, LogFault> {
    let path = find_canonical(path)?;
    let kind = find_kind(&path)?;
    loss::refuse_unreadable(&path, kind)?;
    let manner = choose_manner(&path);
    let pool = ReaderPool::new(path, manner);
    pool.with_connection(|_| Ok(()))?;
    Ok(SqliteReader::new(Arc::new(pool)))
}

/// Opens a log that no process writes to, and leaves nothing beside it: its folder may be write-protected. Commits that
/// cannot be read are left out, and `condition` names them.
pub fn open_still(path: &Path) -> Result<SqliteReader, LogFault> {
    let path = find_canonical(path)?;
    find_kind(&path)?;
    let manner =
        if wal::read_wal(&path)? == WalState::Corrupt { OpenManner::Alone } else { OpenManner::Still };
    let pool = ReaderPool::new(path, manner);
    let found = pool.with_connection(|connection| {
        migrate::read_number(connection).map_err(|e| make_fault(&pool.path, None, &e))
    })?;
    match found {
        found if found > FORMAT => {
            Err(LogFault::Newer { path: pool.path.display().to_string(), found, known: FORMAT })
        }
        _ => Ok(SqliteReader::new(Arc::new(pool))),
    }
}

/// How far the copy at a path goes; `None` if there is no copy, or it has followed nothing yet.
pub fn read_followed(path: &Path) -> Result<Option<LastBundle>, LogFault> {
    let path = find_canonical(path)?;
    if !does_exist(&path)? || find_kind(&path)? != LogFileKind::Copy {
        return Ok(None);
    }
    let reading = connect_reading(&path, choose_manner(&path))?;
    let found = copy::read_copy(&reading.connection).map_err(|e| make_fault(&path, None, &e))?;
    Ok(found.map(|copy| copy.followed).filter(|followed| followed.sequence > 0))
}

/// The format number of a log. A new number may be only in the write-ahead log.
pub fn read_format(path: &Path) -> Result<u32, LogFault> {
    let path = find_canonical(path)?;
    let kind = find_kind(&path)?;
    loss::refuse_unreadable(&path, kind)?;
    let reading = connect_reading(&path, choose_manner(&path))?;
    migrate::read_number(&reading.connection).map_err(|e| make_fault(&path, None, &e))
}
