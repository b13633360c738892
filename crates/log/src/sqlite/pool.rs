//! Connections for reading. Only one thread uses a connection at a time. So there are as many as threads
//! that read at that moment, plus a few that are kept for later.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::layout::{check_layout, make_beside};
use super::places::NewestPlaces;
use super::{make_fault, migrate};
use systole_core::types::ports::LogFault;
use systole_core::types::record::FORMAT;

/// How a connection opens the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpenManner {
    /// Next to a writer that may be running: takes SQLite's read locks, in the `-shm` file.
    Live,
    /// While no process writes: takes no lock and changes no byte of the file or of the files next to
    /// it.
    Still,
    /// Like `Still`, without the write-ahead log, which cannot be read.
    Alone,
}

/// Lends connections to one log.
pub(super) struct ReaderPool {
    pub(super) path: PathBuf,
    manner: OpenManner,
    idle: Mutex<Vec<PooledReader>>,
}

/// A connection that can only read.
pub(super) struct PooledReader {
    pub(super) connection: Connection,
    /// What it knows of the records that have no entries of places yet.
    pub(super) newest: NewestPlaces,
    /// Whether the log had an older format when it was opened.
    is_older: bool,
}

impl PooledReader {
    /// Whether the log has been migrated since.
    fn is_outdated(&self) -> rusqlite::Result<bool> {
        Ok(self.is_older && migrate::read_number(&self.connection)? == FORMAT)
    }
}

impl ReaderPool {
    pub(super) fn new(path: PathBuf, manner: OpenManner) -> ReaderPool {
        ReaderPool { path, manner, idle: Mutex::new(Vec::new()) }
    }

    /// Reads with a connection of the pool.
    pub(super) fn with_connection<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, LogFault>,
    ) -> Result<T, LogFault> {
        self.read_with(|reading| read(&reading.connection))
    }

    /// Reads with a connection of the pool and what it knows.
    pub(super) fn read_with<T>(
        &self,
        read: impl FnOnce(&mut PooledReader) -> Result<T, LogFault>,
    ) -> Result<T, LogFault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let outdated = |held: &PooledReader| held.is_outdated().map_err(|e| make_fault(&self.path, None, &e));
        let mut held = match idle {
            Some(held) if !outdated(&held)? => held,
            _ => connect_reading(&self.path, self.manner)?,
        };
        // A connection whose read failed is not used again: the fault may be only in the connection.
        let found = read(&mut held)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < crate::limits::CONNECTIONS {
            idle.push(held);
        }
        Ok(found)
    }

    /// Closes every connection that is not in use.
    pub(super) fn close_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Opens a connection that can only read.
pub(super) fn connect_reading(path: &Path, manner: OpenManner) -> Result<PooledReader, LogFault> {
    let connection = open_connection(path, manner).map_err(|e| make_fault(path, None, &e))?;
    // SQLite opens the files next to the log at the first read.
    let first = connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0));
    first.map_err(|e| make_fault(path, None, &e))?;
    let is_older = migrate::make_beside(&connection).map_err(|e| make_fault(path, None, &e))?;
    Ok(PooledReader { connection, newest: NewestPlaces::default(), is_older })
}

fn open_connection(path: &Path, manner: OpenManner) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let with_wal = manner == OpenManner::Still && has_wal(path);
    let connection = match manner {
        OpenManner::Live => Connection::open_with_flags(path, flags),
        OpenManner::Still | OpenManner::Alone => {
            Connection::open_with_flags(still_uri(path, with_wal), flags | OpenFlags::SQLITE_OPEN_URI)
        }
    }?;
    check_layout(&connection)?;
    if with_wal {
        // Before the first read, SQLite then keeps its index of the write-ahead log in memory.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    Ok(connection)
}

/// Whether there are commits in the write-ahead log, as after a crash. A write-ahead log with only a
/// header holds none.
fn has_wal(path: &Path) -> bool {
    std::fs::metadata(make_beside(path, "-wal")).is_ok_and(|file| file.len() > super::wal::HEADER as u64)
}

/// The address under which SQLite reads a log and touches nothing. After a crash the last commits are
/// still in the write-ahead log, which an immutable file would leave out. Then SQLite reads both
/// without locks, and so without a `-shm` file.
fn still_uri(path: &Path, with_wal: bool) -> String {
    let mut uri = String::from("file:");
    for byte in std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            _ => {
                use std::fmt::Write as _;
                // Writing into a String cannot fail.
                let _infallible = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str(if with_wal { "?mode=ro&vfs=unix-none" } else { "?mode=ro&immutable=1" });
    uri
}
