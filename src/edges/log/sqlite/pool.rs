//! Connections that read. Each is used by one thread at a time, so there are as many as threads that
//! read at the same moment, and a few wait to be used again.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};

use super::layout::{beside, guard};
use super::{fault, io_fault, migrate};
use systole_core::types::ports::LogFault;
use systole_core::types::record::FORMAT;

/// Connections kept open between reads: the pump's, the console's, and two to spare. Each holds a
/// page cache of up to 2 MB.
const KEPT: usize = 4;

/// How a connection meets the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// Beside a writer that may be at work: takes SQLite's read locks, in the `-shm` file.
    Live,
    /// While nobody writes: takes no lock and changes no byte of the file or of those beside it.
    Still,
    /// The same without the write-ahead log, which cannot be read.
    Alone,
}

/// Where connections to one log are borrowed.
pub(super) struct Pool {
    pub(super) path: PathBuf,
    manner: Manner,
    idle: Mutex<Vec<Reading>>,
}

/// A connection that can only read.
pub(super) struct Reading {
    pub(super) connection: Connection,
    /// Whether the log had an older format when it was opened.
    is_older: bool,
}

impl Reading {
    /// Whether somebody has brought the log forward since.
    fn is_outdated(&self) -> rusqlite::Result<bool> {
        Ok(self.is_older && migrate::number(&self.connection)? == FORMAT)
    }
}

impl Pool {
    pub(super) fn new(path: PathBuf, manner: Manner) -> Pool {
        Pool { path, manner, idle: Mutex::new(Vec::new()) }
    }

    /// Reads with a connection of the pool.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, LogFault>,
    ) -> Result<T, LogFault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let outdated = |held: &Reading| held.is_outdated().map_err(|e| fault(&self.path, None, &e));
        let held = match idle {
            Some(held) if !outdated(&held)? => held,
            _ => connect(&self.path, self.manner)?,
        };
        // A connection whose read failed is not used again: what is wrong may be with it alone.
        let found = read(&held.connection)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(held);
        }
        Ok(found)
    }

    /// Closes every connection that is not being used.
    pub(super) fn close_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Opens a connection that can only read.
pub(super) fn connect(path: &Path, manner: Manner) -> Result<Reading, LogFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || match manner {
        Manner::Live => Connection::open_with_flags(path, flags),
        Manner::Still => {
            Connection::open_with_flags(still_uri(path, has_wal(path)), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        Manner::Alone => {
            Connection::open_with_flags(still_uri(path, false), flags | OpenFlags::SQLITE_OPEN_URI)
        }
    };
    let _stand_in = if manner == Manner::Still { StandIn::where_needed(path)? } else { None };
    let connection = open().map_err(|e| fault(path, None, &e))?;
    guard(&connection).map_err(|e| fault(path, None, &e))?;
    // The first read is where SQLite opens what lies beside the file.
    let first = connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0));
    first.map_err(|e| fault(path, None, &e))?;
    let is_older = migrate::beside(&connection).map_err(|e| fault(path, None, &e))?;
    Ok(Reading { connection, is_older })
}

/// Bytes of the header of a write-ahead log.
const WAL_HEADER: u64 = 32;

/// Whether commits are left in the write-ahead log, as after a crash. One that has only its header holds
/// none, and SQLite does not get past it where it may not write the `-shm` file.
fn has_wal(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|file| file.len() > WAL_HEADER)
}

/// The address under which SQLite reads a log and touches nothing. After a crash what was committed
/// last is still in the write-ahead log, which an immutable file would leave out: then the index of it
/// is built in memory instead of in the `-shm` file, which SQLite does where it may not write that one.
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
    uri.push_str(if with_wal { "?mode=ro&readonly_shm=1" } else { "?mode=ro&immutable=1" });
    uri
}

/// An empty `-shm` file for as long as SQLite needs to open it: a log that was copied with its `-wal`
/// file alone is whole, but SQLite does not read it so without one.
struct StandIn(PathBuf);

impl StandIn {
    fn where_needed(path: &Path) -> Result<Option<StandIn>, LogFault> {
        let index = beside(path, "-shm");
        if !has_wal(path) || index.exists() {
            return Ok(None);
        }
        std::fs::File::create_new(&index).map_err(|e| io_fault(&index, &e))?;
        Ok(Some(StandIn(index)))
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // A file that stays behind is empty and in nobody's way.
        let _left = std::fs::remove_file(&self.0);
    }
}
