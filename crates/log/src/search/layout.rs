//! The tables of a search file, and how such a file is made and opened.
//!
//! The file comes from the folder of a log, so it may be anything: it is used only if its tables are exactly ours.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::OFlags;

use systole_system::system::describe_error;

use crate::limits::{PIECE_BYTES, SEARCH_WAIT};

/// The application id in SQLite's header: "sysf".
const APPLICATION_ID: u32 = 0x7379_7366;
/// The number of the form. A change of the tables, of what counts as a word or of the terms, needs a new number: files with another
/// one are made again.
const FORM: u32 = 2;

// The words and terms alone: the text is in the log. The tokenizer sees words that were already split and folded, so it
// only has to split at blanks.
const TABLES: &str = "
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, head BLOB NOT NULL
) STRICT;
CREATE TABLE span (
  last INTEGER PRIMARY KEY, first INTEGER NOT NULL, earliest INTEGER NOT NULL, latest INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE entry USING fts5(words, terms, content='', columnsize=0, tokenize='ascii');
";

/// The path of the search file of a log.
pub(super) fn to_path(log: &Path) -> PathBuf {
    // The file is beside the log itself, not beside a link to it.
    let mut path = fs::canonicalize(log).unwrap_or_else(|_| log.to_owned()).into_os_string();
    path.push(".find");
    path.into()
}

/// Removes a search file and what SQLite keeps beside it. Returns whether there was one.
pub(super) fn remove_file(path: &Path) -> std::io::Result<bool> {
    let mut was_there = false;
    for ending in ["-journal", "-wal", "-shm", ""] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        match fs::remove_file(PathBuf::from(file)) {
            Ok(()) => was_there = true,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(was_there)
}

/// Opens the search file for writing, and makes it if there is none. The error is in words.
pub(super) fn open_file(path: &Path) -> Result<Connection, String> {
    // A link would lead to a file of something else, and opening a pipe would wait.
    let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    // The words of a log are for its owner alone. SQLite gives its own file beside it the same mode.
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = match options.open(path) {
        // As on the machine of an auditor: a file that is up to date is as good as one that can be written.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            return open_reading(path).map_err(|_| describe_error(&error));
        }
        opened => opened.map_err(|error| describe_error(&error))?,
    };
    if !file.metadata().map_err(|error| describe_error(&error))?.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Option<Connection>> {
        let connection = Connection::open_with_flags(path, flags)?;
        check_layout(&connection)?;
        create_layout(&connection)?;
        Ok(is_ours(&connection)?.then_some(connection))
    };
    match open() {
        Ok(Some(connection)) => return Ok(connection),
        Err(error) if !is_of_file(&error) => return Err(error.to_string()),
        Ok(None) | Err(_) => {}
    }
    // It is a cache: whatever is in its place is made again.
    remove_file(path).map_err(|error| describe_error(&error))?;
    drop(options.create_new(true).open(path).map_err(|error| describe_error(&error))?);
    match open() {
        Ok(Some(connection)) => Ok(connection),
        Ok(None) => Err("another program writes there too".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Opens a search file that is there, to read it alone.
fn open_reading(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    check_layout(&connection)?;
    if is_ours(&connection)? { Ok(connection) } else { Err(rusqlite::Error::InvalidQuery) }
}

/// A search file in memory, for a folder that nothing can be written to. A large one goes to a temporary file that has
/// no name.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open("")?;
    check_layout(&connection)?;
    create_layout(&connection)?;
    Ok(connection)
}

/// Lays the tables into an empty file. Only one process does.
fn create_layout(connection: &Connection) -> rusqlite::Result<()> {
    let is_empty = || connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0));
    if is_empty()? {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        if is_empty()? {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", FORM)?;
            connection.execute_batch(TABLES)?;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

fn check_layout(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(SEARCH_WAIT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Negative means KB.
    connection.pragma_update(None, "cache_size", -65_536)
}

/// Lets new entries wait in memory until there are many: one large sorted piece is cheaper than many small ones.
pub(super) fn add_words(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO entry (entry, rank) VALUES ('hashsize', ?1)", [PIECE_BYTES]).map(drop)
}

/// Whether the file has exactly our tables, in this form.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    if number("application_id")? != APPLICATION_ID || number("user_version")? != FORM {
        return Ok(false);
    }
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(TABLES)?;
    Ok(list_objects(&fresh)? == list_objects(connection)?)
}

fn list_objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Whether an error says that the content of the file is wrong.
pub(super) fn is_of_file(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::Unknown
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
        ),
        // A value of another type than ours.
        None => true,
    }
}
