//! The tables, the pragmas, and how a new log is made.
//!
//! The tables are a published format: `docs/reference/log.md` describes them, a test opens a fixture of every
//! format number, and a change needs a new number. Nothing here reads or writes a record. A path goes in; a
//! complete empty log comes out, or no log at all.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::documents::PIECE;
use super::places::{self, PLACES};
use super::rows::{self, FOLD};
use super::{io_fault, make_fault};
use crate::limits;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::FORMAT;

/// The application id in SQLite's header, which says whose file it is: "syst".
pub(super) const APPLICATION_ID: u32 = 0x7379_7374;
/// The application id for the copy of a log that is stored elsewhere: "sysc". So no one takes a copy for a log to
/// write to.
pub(super) const COPY_ID: u32 = 0x7379_7363;

// No table names another by REFERENCES: SQLite would check each one at every insert, and the verifier does that
// once, on request. In `record` the body is the last column, so that reading the other columns of a large record
// never walks its overflow pages.
const TABLES: &str = "
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE config (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE thread (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE record (
  pos INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, id BLOB NOT NULL,
  kind INTEGER NOT NULL, sender INTEGER NOT NULL, addressee INTEGER,
  call TEXT, turn INTEGER, ordinal INTEGER, cause BLOB, key TEXT, origin BLOB,
  time INTEGER NOT NULL, config INTEGER NOT NULL, code INTEGER,
  salt BLOB NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX record_key ON record (thread, sender, key) WHERE key IS NOT NULL;
CREATE TABLE document (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
CREATE TABLE mark (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";

/// The place of a large record's body; the record's own body is then empty. Since format 2.
pub(super) const LARGE: &str =
    "CREATE TABLE large (pos INTEGER PRIMARY KEY, document INTEGER NOT NULL) STRICT;";

/// The sensitive values of bodies. Since format 5.
pub(super) const PART: &str = "
CREATE TABLE part (
  pos INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL, seal BLOB NOT NULL,
  PRIMARY KEY (pos, number)
) STRICT, WITHOUT ROWID;
";

/// Records with their words in place, for people who look at the file with SQL.
pub(super) const LINE: &str = "
CREATE VIEW line AS
  SELECT r.pos, t.text AS thread, r.seq, lower(hex(r.id)) AS id, k.text AS kind, s.text AS sender,
         a.text AS addressee, r.call, r.turn, r.ordinal, lower(hex(r.cause)) AS cause, r.key,
         lower(hex(r.origin)) AS origin, strftime('%Y-%m-%dT%H:%M:%fZ', r.time / 1000.0, 'unixepoch') AS time,
         lower(hex(c.hash)) AS config, m.text AS code, lower(hex(r.head)) AS head,
         CAST(coalesce(d.bytes, r.body) AS TEXT) AS body
  FROM record r JOIN thread t ON t.id = r.thread JOIN word k ON k.id = r.kind
  JOIN word s ON s.id = r.sender LEFT JOIN word a ON a.id = r.addressee
  JOIN config c ON c.id = r.config LEFT JOIN word m ON m.id = r.code
  LEFT JOIN large l ON l.pos = r.pos LEFT JOIN document d ON d.id = l.document;
";

/// How far a copy goes: which copy it is, of what, and its last bundle.
const FOLLOWED: &str = "
CREATE TABLE followed (
  id INTEGER PRIMARY KEY CHECK (id = 1), node BLOB NOT NULL, source TEXT NOT NULL,
  sequence INTEGER NOT NULL, bundle BLOB NOT NULL
) STRICT;
";

/// Whether a file is the log, or a copy of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogFileKind {
    /// The log itself.
    Log,
    /// A copy that can be made again.
    Copy,
}

impl LogFileKind {
    /// The kind for an `application_id`.
    pub(super) fn from_application(application: u32) -> Option<LogFileKind> {
        match application {
            APPLICATION_ID => Some(LogFileKind::Log),
            COPY_ID => Some(LogFileKind::Copy),
            _ => None,
        }
    }

    const fn application(self) -> u32 {
        match self {
            LogFileKind::Log => APPLICATION_ID,
            LogFileKind::Copy => COPY_ID,
        }
    }

    /// When a commit is on disk. A copy needs no sync: what it lacks after a power cut is read again.
    const fn synchronous(self) -> &'static str {
        match self {
            LogFileKind::Log => "FULL",
            LogFileKind::Copy => "NORMAL",
        }
    }
}

/// The path with an ending added to its last part: `organism.db` becomes `organism.db.lock`.
pub(super) fn make_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Makes an empty log. It is made under another name and renamed, so that a crash leaves no half-made log that a
/// later opening would have to guess about. Only the holder of the lock of `path` may call this.
pub(super) fn create_file(path: &Path, kind: LogFileKind) -> Result<(), LogFault> {
    let draft = make_beside(path, ".new");
    for ending in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(make_beside(&draft, ending)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io_fault(&draft, &e)),
            _ => {}
        }
    }
    // What people and agents say is for the owner alone. SQLite gives its own files next to the log the same
    // mode.
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(|e| io_fault(&draft, &e))?;
    lay_out(&draft, kind).map_err(|e| make_fault(&draft, None, &e))?;
    fs::rename(&draft, path).map_err(|e| io_fault(path, &e))?;
    sync_folder(path)
}

/// Makes a rename or a new file in the folder of `path` durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), LogFault> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::File::open(folder).and_then(|f| f.sync_all()).map_err(|e| io_fault(folder, &e))
}

fn lay_out(draft: &Path, kind: LogFileKind) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(draft, flags)?;
    connection.pragma_update(None, "page_size", limits::PAGE_BYTES)?;
    // Both are stored in the header of the file, so every later connection finds them there.
    write_ahead(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.pragma_update(None, "application_id", kind.application())?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    connection.execute_batch(&list_objects(kind))?;
    rows::remove_rows(&connection)?;
    places::set_placed(&connection, Position(0))?;
    connection.execute_batch("COMMIT")?;
    // Closing the last connection copies the write-ahead log into the file and syncs it.
    connection.close().map_err(|(_, e)| e)
}

/// Lets a file have a write-ahead log. If a disk fails at this moment, SQLite keeps the journal of other databases and
/// reports no error.
pub(super) fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") {
        return Ok(());
    }
    let words = format!("it cannot have a write-ahead log there: its journal is `{mode}`");
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    Err(rusqlite::Error::SqliteFailure(code, Some(words)))
}

/// The SQL of everything in a new file.
pub(super) fn list_objects(kind: LogFileKind) -> String {
    let followed = if kind == LogFileKind::Copy { FOLLOWED } else { "" };
    [TABLES, PLACES, FOLD, LARGE, PART, PIECE, LINE, followed].concat()
}

/// Opens an existing log for the one writer.
pub(super) fn connect_writing(path: &Path, kind: LogFileKind) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    check_layout(&connection)?;
    connection.pragma_update(None, "synchronous", kind.synchronous())?;
    connection.pragma_update(None, "wal_autocheckpoint", limits::CHECKPOINT_PAGES)?;
    // Negative means KB. Index pages that commits touch at random stay in this cache.
    connection.pragma_update(None, "cache_size", -32_768)?;
    // After an unknown commit the log is closed and opened again to see what the disk has. Copying the
    // write-ahead log into the file at the close would hide that.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Settings for every connection: a log from elsewhere must not run its own code.
pub(super) fn check_layout(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(limits::STATEMENT_WAIT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Otherwise a statement that is kept is planned anew whenever other values are bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_a_write_ahead_log_is_an_error_of_the_disk() {
        // A database in memory cannot have one, and SQLite reports no error.
        let refused = write_ahead(&Connection::open_in_memory().unwrap()).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::SystemIoFailure));
        assert!(refused.to_string().contains("its journal is `memory`"), "{refused}");
        let folder = tempfile::tempdir().unwrap();
        write_ahead(&Connection::open(folder.path().join("a.db")).unwrap()).unwrap();
    }
}
