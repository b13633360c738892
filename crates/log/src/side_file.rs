//! A file of SQLite beside a log that can be made again from it: how such a file is made, opened and removed.
//!
//! The file comes from the folder of a log, so it may be anything: it is used only if its tables are exactly ours.

use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::OFlags;

use systole_system::system::describe_error;

/// What a file beside a log is.
pub(crate) struct SideFile {
    /// What its name has behind that of the log.
    pub(crate) ending: &'static str,
    /// The application id in SQLite's header.
    pub(crate) application_id: u32,
    /// The number of its form: files with another one are made again.
    pub(crate) form: u32,
    /// Its tables.
    pub(crate) tables: &'static str,
    /// Whether others may read it while one writes it, and small commits wait for no disk.
    pub(crate) is_shared: bool,
}

/// Why a file cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenFault {
    /// Another process holds it.
    Held,
    /// Another reason, in words.
    Other(String),
}

impl fmt::Display for OpenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenFault::Held => f.write_str("another process writes it"),
            OpenFault::Other(why) => f.write_str(why),
        }
    }
}

impl From<std::io::Error> for OpenFault {
    fn from(error: std::io::Error) -> OpenFault {
        OpenFault::Other(describe_error(&error))
    }
}

impl From<rusqlite::Error> for OpenFault {
    fn from(error: rusqlite::Error) -> OpenFault {
        if is_held(&error) { OpenFault::Held } else { OpenFault::Other(error.to_string()) }
    }
}

impl SideFile {
    /// Its path for a log.
    pub(crate) fn to_path(&self, log: &Path) -> PathBuf {
        // The file is beside the log itself, not beside a link to it.
        let mut path = fs::canonicalize(log).unwrap_or_else(|_| log.to_owned()).into_os_string();
        path.push(self.ending);
        path.into()
    }

    /// Opens it for writing, and makes it if there is none. It waits that long for another process that writes it.
    pub(crate) fn open_file(&self, path: &Path, wait: Duration) -> Result<Connection, OpenFault> {
        // A link would lead to a file of something else, and opening a pipe would wait.
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
        let mut options = File::options();
        // What a log says is for its owner alone. SQLite gives its own file beside it the same mode.
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
        let file = match options.open(path) {
            // As on the machine of an auditor: a file that is up to date is as good as one that can be written.
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                return self.open_reading(path, wait).map_err(|_| error.into());
            }
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(OpenFault::Other("it is no ordinary file".to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Option<Connection>> {
            let connection = Connection::open_with_flags(path, flags)?;
            check_layout(&connection, wait)?;
            // SQLite keeps the pages that a statement changes until it has ended: in memory, not in a file.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            self.create_layout(&connection)?;
            Ok(self.is_ours(&connection)?.then_some(connection))
        };
        match open() {
            Ok(Some(connection)) => return Ok(connection),
            Err(error) if !is_of_file(&error) => return Err(error.into()),
            Ok(None) | Err(_) => {}
        }
        // It is a cache: whatever is in its place is made again.
        remove_file(path)?;
        drop(options.create_new(true).open(path)?);
        open()?.ok_or_else(|| OpenFault::Other("another program writes there too".to_owned()))
    }

    /// Opens a file that is there, to read it alone.
    fn open_reading(&self, path: &Path, wait: Duration) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        check_layout(&connection, wait)?;
        if self.is_ours(&connection)? { Ok(connection) } else { Err(rusqlite::Error::InvalidQuery) }
    }

    /// The same in memory, for a folder that nothing can be written to. A large one goes to a temporary file that has no
    /// name.
    pub(crate) fn in_memory(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open("")?;
        check_layout(&connection, Duration::ZERO)?;
        self.lay_tables(&connection)?;
        Ok(connection)
    }

    /// Lays the tables into an empty file. Only one process does.
    fn create_layout(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.lay_tables(connection)?;
        if self.is_shared {
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        }
        Ok(())
    }

    fn lay_tables(&self, connection: &Connection) -> rusqlite::Result<()> {
        let is_empty =
            || connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0));
        if is_empty()? {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            if is_empty()? {
                connection.pragma_update(None, "application_id", self.application_id)?;
                connection.pragma_update(None, "user_version", self.form)?;
                connection.execute_batch(self.tables)?;
            }
            connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    /// Whether the file has exactly our tables, in this form.
    fn is_ours(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
        if number("application_id")? != self.application_id || number("user_version")? != self.form {
            return Ok(false);
        }
        let fresh = Connection::open_in_memory()?;
        fresh.execute_batch(self.tables)?;
        Ok(list_objects(&fresh)? == list_objects(connection)?)
    }
}

/// Removes a file and what SQLite keeps beside it. Returns whether there was one.
pub(crate) fn remove_file(path: &Path) -> std::io::Result<bool> {
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

fn check_layout(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(wait)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Negative means KB.
    connection.pragma_update(None, "cache_size", -65_536)
}

fn list_objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Whether an error says that another process holds the file.
pub(crate) fn is_held(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether an error says that the content of the file is wrong.
pub(crate) fn is_of_file(error: &rusqlite::Error) -> bool {
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
