//! The mark that a log is open. It is in the file itself while an organism runs. So a copy of the file alone, or a
//! log that was not closed, can be distinguished from one that was closed.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::fault;
use super::layout::{LogFileKind, connect_writing};
use systole_core::types::ports::LogFault;

/// Marks a log as open, in the file itself and not only in the write-ahead log. Only the holder of the lock may call
/// this.
pub(super) fn begin(path: &Path) -> Result<(), LogFault> {
    let mark = |checkpoint: &str| -> rusqlite::Result<()> {
        let connection = connect_writing(path, LogFileKind::Log)?;
        set(&connection, true)?;
        connection.query_row(checkpoint, [], |_| Ok(()))?;
        connection.close().map_err(|(_, e)| e)
    };
    // If readers are in the way, the mark stays in the write-ahead log, and nothing waits for the readers.
    let marked = mark("PRAGMA wal_checkpoint(PASSIVE)");
    // After a failed sync the mark must not stay there: what is read back from memory need not be on the disk.
    let marked = marked.or_else(|_| mark("PRAGMA wal_checkpoint(TRUNCATE)"));
    marked.map_err(|e| fault(path, None, &e))
}

/// Marks the log as closed. The checkpoint of closing brings the mark into the file.
pub(super) fn end(connection: &Connection) -> rusqlite::Result<()> {
    set(connection, false)
}

/// Whether it was closed when it was last used.
pub(super) fn was_closed(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT value FROM mark WHERE name = 'open'";
    let open: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    Ok(open != Some(1))
}

fn set(connection: &Connection, is_open: bool) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO mark (name, value) VALUES ('open', ?1)";
    connection.execute(sql, [is_open]).map(drop)
}
