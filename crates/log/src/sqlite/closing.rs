//! The marks that a log is open, and by which opening. They are in the file itself while an organism runs. So a copy
//! of the file alone, or a log that was not closed, can be distinguished from one that was closed, and an organism
//! notices another file in the place of its log.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::layout::{LogFileKind, connect_writing};
use super::{io_fault, make_fault};
use systole_core::types::ports::LogFault;
use systole_system::clock::draw_random_bytes;

/// Marks a log as open, in the file itself and not only in the write-ahead log, and numbers this opening. Only the
/// holder of the lock may call this.
pub(super) fn begin_opening(path: &Path) -> Result<i64, LogFault> {
    let drawn = draw_random_bytes::<8>().map_err(|e| io_fault(path, &e))?;
    let opening = i64::from_be_bytes(drawn);
    let mark = |checkpoint: &str| -> rusqlite::Result<()> {
        let connection = connect_writing(path, LogFileKind::Log)?;
        set_opening(&connection, 1, opening)?;
        connection.query_row(checkpoint, [], |_| Ok(()))?;
        connection.close().map_err(|(_, e)| e)
    };
    // If readers are in the way, the mark stays in the write-ahead log, and nothing waits for the readers.
    let marked = mark("PRAGMA wal_checkpoint(PASSIVE)");
    // After a failed sync the mark must not stay there: what is read back from memory need not be on the disk.
    let marked = marked.or_else(|_| mark("PRAGMA wal_checkpoint(TRUNCATE)"));
    marked.map(|()| opening).map_err(|e| make_fault(path, None, &e))
}

/// Marks the log as closed, and takes out the number of its opening: a backup is made of an open log. The checkpoint
/// of closing brings the mark into the file.
pub(super) fn end_opening(connection: &Connection) -> rusqlite::Result<()> {
    set_opening(connection, 0, 0)
}

/// The random number of the opening that has the log; 0 if it was closed, `None` if none was ever numbered.
pub(super) fn read_opening(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT value FROM mark WHERE name = 'opening'";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

/// Whether it was closed when it was last used.
pub(super) fn was_closed(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT value FROM mark WHERE name = 'open'";
    let open: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    Ok(open != Some(1))
}

/// Sets both marks in one commit.
fn set_opening(connection: &Connection, is_open: i64, opening: i64) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO mark (name, value) VALUES ('open', ?1), ('opening', ?2)";
    connection.execute(sql, [is_open, opening]).map(drop)
}
