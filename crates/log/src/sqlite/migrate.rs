//! Migrates from one format number to the next. Each step is one transaction that ends with the new number, so a
//! crash leaves the log as it was or as it will be.
//!
//! Only the holder of a log's lock migrates it, and only after its newest records were verified. A reader of an older
//! log gets the missing parts in memory, and changes no byte.

use std::path::Path;

use rusqlite::Connection;

use super::documents::PIECE;
use super::layout::{LARGE, LINE, LogFileKind, PART, connect_writing};
use super::make_fault;
use super::places::{self, PLACES, STAND_INS, WITHOUT_INDEXES_BEFORE};
use super::rows::{self, FOLD};
use systole_core::types::ports::LogFault;
use systole_core::types::record::FORMAT;

/// The first format whose logs have a tip beside them, and checksums in their cache.
pub(super) const WITH_TIP: u32 = 3;

/// Migrates a log to the newest format; returns the one it had.
pub(super) fn migrate_forward(path: &Path, kind: LogFileKind) -> Result<u32, LogFault> {
    let as_fault = |e: rusqlite::Error| make_fault(path, None, &e);
    let connection = connect_writing(path, kind).map_err(as_fault)?;
    let found = read_number(&connection).map_err(as_fault)?;
    if found < FORMAT {
        connection.execute_batch("BEGIN IMMEDIATE").map_err(as_fault)?;
        if found < 2 {
            let steps = format!("{LARGE}DROP VIEW IF EXISTS line;{LINE}");
            connection.execute_batch(&steps).map_err(as_fault)?;
        }
        if found < 3 {
            // Its rows have no checksum, so a changed row cannot be detected, and every thread is folded again.
            connection.execute_batch(&format!("DROP TABLE fold;{FOLD}")).map_err(as_fault)?;
            rows::remove_rows(&connection).map_err(as_fault)?;
        }
        if found < 4 {
            connection.execute_batch(PLACES).map_err(as_fault)?;
            places::run_all(&connection).map_err(as_fault)?;
            connection.execute_batch(WITHOUT_INDEXES_BEFORE).map_err(as_fault)?;
        }
        if found < 5 {
            connection.execute_batch(PART).map_err(as_fault)?;
        }
        // What an older log has whole stays whole.
        if found < 6 {
            connection.execute_batch(PIECE).map_err(as_fault)?;
        }
        connection.pragma_update(None, "user_version", FORMAT).map_err(as_fault)?;
        connection.execute_batch("COMMIT").map_err(as_fault)?;
    }
    connection.close().map_err(|(_, e)| as_fault(e))?;
    Ok(found)
}

/// The format number, as the newest commit has it.
pub(super) fn read_number(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(Some("main"), "user_version", |row| row.get(0))
}

/// Adds what an older log lacks, in memory, for one connection. Returns whether the log is older.
pub(super) fn make_beside(connection: &Connection) -> rusqlite::Result<bool> {
    let found = read_number(connection)?;
    let is_older = found < FORMAT;
    if is_older {
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        if found < 2 {
            connection.execute_batch(&LARGE.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1))?;
        }
        if found < 3 {
            // An empty table that hides the older one, whose rows are not trusted.
            connection.execute_batch("CREATE TEMP TABLE fold (thread, seq, working, bytes, sum);")?;
        }
        if found < 4 {
            connection.execute_batch(STAND_INS)?;
            places::set_placed(connection, places::EVERYTHING)?;
        }
        if found < 5 {
            connection.execute_batch(&PART.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1))?;
        }
        if found < 6 {
            connection.execute_batch(&PIECE.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1))?;
        }
    }
    Ok(is_older)
}
