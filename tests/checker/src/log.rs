//! Reads a log file, also while a pump writes it.
//!
//! The file is opened read-only, in its state at one moment. The shape of every column is checked, and
//! an unreadable row is reported and not skipped. The input is a path; the output is records in order
//! of position, one at a time, so memory does not grow with the log.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, OpenFlags, Row};

use crate::record::{LAST_MOMENT_MS, LogLine, PartHash, RecordHash, RecordId};

/// SQLite's application id in a log's header: "syst".
const APPLICATION_ID: u32 = 0x7379_7374;
/// The same for a copy: a log that is stored elsewhere, with the same tables.
const COPY_ID: u32 = 0x7379_7363;

/// The newest number of the log's format that this judge knows.
const FORMAT: u32 = 8;

/// How long a read waits while another program locks the file.
const BUSY: Duration = Duration::from_secs(5);

/// The joins are outer joins: a row without its words is damage that must be reported.
///
/// Since format 2 a body of more than 64 KB is stored among the documents, and an empty one in its
/// record.
const RECORDS: &str = "SELECT r.pos, t.text, r.seq, r.id, k.text, s.text, r.addressee, a.text, r.call, r.turn, \
    r.ordinal, r.cause, r.key, r.origin, r.time, c.hash, r.code, m.text, r.salt, r.head, \
    CASE WHEN big.pos IS NULL THEN r.body ELSE d.bytes END, \
    (SELECT group_concat(p.at || ' ' || p.length || ' ' || hex(p.seal), ',' ORDER BY p.number) FROM part p WHERE p.pos = r.pos) \
    FROM record r LEFT JOIN large big ON big.pos = r.pos LEFT JOIN document d ON d.id = big.document LEFT JOIN thread t ON t.id = r.thread LEFT JOIN word k ON k.id = r.kind \
    LEFT JOIN word s ON s.id = r.sender LEFT JOIN word a ON a.id = r.addressee \
    LEFT JOIN config c ON c.id = r.config LEFT JOIN word m ON m.id = r.code ORDER BY r.pos";

/// A log, in its state at the first read.
pub struct LogSnapshot {
    connection: Connection,
}

/// Why a file cannot be judged.
#[derive(Debug)]
pub enum LogFileFault {
    /// SQLite cannot read it.
    Unreadable(rusqlite::Error),
    /// It is a database, but not a log of a known format.
    Foreign(String),
}

impl fmt::Display for LogFileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFileFault::Unreadable(error) => write!(f, "the file cannot be read: {error}"),
            LogFileFault::Foreign(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for LogFileFault {}

impl From<rusqlite::Error> for LogFileFault {
    fn from(error: rusqlite::Error) -> LogFileFault {
        LogFileFault::Unreadable(error)
    }
}

/// A row that is not a record: its position, and the column that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadRow {
    /// Its position, if that is readable.
    pub position: u64,
    /// What does not fit.
    pub why: String,
}

impl LogSnapshot {
    /// Opens a log for reading, with or without a running organism.
    pub fn open_file(path: &Path) -> Result<LogSnapshot, LogFileFault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // A foreign log must not run code.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0));
        if ![APPLICATION_ID, COPY_ID].contains(&number("application_id")?) {
            return Err(LogFileFault::Foreign("the file is the database of another program".into()));
        }
        let format = number("user_version")?;
        if !(1..=FORMAT).contains(&format) {
            return Err(LogFileFault::Foreign(format!(
                "the log has format {format}; this judge knows formats up to {FORMAT}"
            )));
        }
        if format == 1 {
            connection.execute_batch(
                "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE large (pos INTEGER PRIMARY KEY, document INTEGER);",
            )?;
        }
        if format < 5 {
            connection.execute_batch(
                "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE part (pos INTEGER, number INTEGER, at INTEGER, length INTEGER, seal BLOB);",
            )?;
        }
        // One transaction: records that are appended later are not judged.
        connection.execute_batch("BEGIN")?;
        Ok(LogSnapshot { connection })
    }

    /// Passes on every record, in order of position.
    pub fn read_each(&self, mut take: impl FnMut(Result<LogLine, UnreadRow>)) -> Result<(), LogFileFault> {
        let mut statement = self.connection.prepare(RECORDS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(
                read_record(row)
                    .map_err(|why| UnreadRow { position: read_natural(row, 0, "pos").unwrap_or(0), why }),
            );
        }
        Ok(())
    }
}

fn read_record(row: &Row<'_>) -> Result<LogLine, String> {
    let time_ms = read_natural(row, 14, "time")?;
    if time_ms > LAST_MOMENT_MS {
        return Err(format!("time: {time_ms} lies after the year 9999"));
    }
    // An interned value is either absent by its number or present by its text; otherwise a number
    // without a text would read as absent.
    for (number, text, column) in [(6, 7, "addressee"), (16, 17, "code")] {
        if read_cell(row, number, column)? != ValueRef::Null
            && read_cell(row, text, column)? == ValueRef::Null
        {
            return Err(format!("{column}: its word is not in the log"));
        }
    }
    Ok(LogLine {
        position: read_natural(row, 0, "pos")?,
        thread: require_value(read_text(row, 1, "thread")?, "thread")?,
        seq: read_natural(row, 2, "seq")?,
        id: RecordId(require_value(read_optional(row, 3, "id")?, "id")?),
        kind: require_value(read_text(row, 4, "kind")?, "kind")?,
        from: require_value(read_text(row, 5, "sender")?, "sender")?,
        to: read_text(row, 7, "addressee")?,
        call: read_text(row, 8, "call")?,
        turn: read_optional(row, 9, "turn")?,
        ordinal: read_optional(row, 10, "ordinal")?,
        cause: read_optional(row, 11, "cause")?.map(RecordId),
        key: read_text(row, 12, "key")?,
        origin: read_optional(row, 13, "origin")?.map(RecordHash),
        time_ms,
        config: RecordHash(require_value(read_optional(row, 15, "config")?, "config")?),
        code: read_text(row, 17, "code")?,
        seal: require_value(
            read_optional::<Vec<u8>>(row, 18, "salt")?.as_deref().and_then(PartHash::from_bytes),
            "salt",
        )?,
        values: read_values(row)?,
        head: RecordHash(require_value(read_optional(row, 19, "head")?, "head")?),
        body: require_value(read_optional(row, 20, "body")?, "body")?,
    })
}

/// The sensitive values, in order and apart, as the format has them.
fn read_values(row: &Row<'_>) -> Result<Vec<(u64, u64, PartHash)>, String> {
    let mut values = Vec::new();
    let mut end = 0;
    for part in read_text(row, 21, "part")?.iter().flat_map(|list| list.split(',')) {
        let mut words = part.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (at, length) = (require_value(number(), "part")?, require_value(number(), "part")?);
        let seal = words.next().and_then(|hex| PartHash::from_bytes(&decode_hex(hex)?));
        if at < end || length == 0 {
            return Err(format!("part: the value at {at} overlaps another one, or is empty"));
        }
        end = at.saturating_add(length);
        values.push((at, length, require_value(seal, "part")?));
    }
    Ok(values)
}

fn decode_hex(hex: &str) -> Option<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

fn read_cell<'r>(row: &'r Row<'_>, at: usize, column: &str) -> Result<ValueRef<'r>, String> {
    row.get_ref(at).map_err(|e| format!("{column}: {e}"))
}

fn read_optional<T: FromSql>(row: &Row<'_>, at: usize, column: &str) -> Result<Option<T>, String> {
    match read_cell(row, at, column)? {
        ValueRef::Null => Ok(None),
        value => T::column_result(value).map(Some).map_err(|e| format!("{column}: {e}")),
    }
}

/// An empty text has the same hash as an absent one, so a row may contain only one of the two.
fn read_text(row: &Row<'_>, at: usize, column: &str) -> Result<Option<String>, String> {
    match read_optional::<String>(row, at, column)? {
        Some(text) if text.is_empty() => Err(format!("{column}: is empty")),
        text => Ok(text),
    }
}

fn require_value<T>(value: Option<T>, column: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("{column}: is missing"))
}

fn read_natural(row: &Row<'_>, at: usize, column: &str) -> Result<u64, String> {
    let number: i64 = require_value(read_optional(row, at, column)?, column)?;
    u64::try_from(number).map_err(|_| format!("{column}: {number} is less than 0"))
}
