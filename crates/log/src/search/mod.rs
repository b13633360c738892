//! The search file of a log, `<log>.find`: which words and terms each record has, by position.
//!
//! It is a cache and no evidence. It keeps no text, can be removed at any time, and is made again from the log when it
//! is damaged or belongs to another log. The caller reads each hit from the log itself. Entries come in; positions
//! go out. Nothing here knows what a record means.

mod query;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, params};

pub use query::{LogQuery, SearchEntry, SearchField, SearchTerm};

use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, Position};

use crate::limits::{self, PIECE_BYTES, SEARCH_WAIT};
use crate::side_file::{self, SideFile};

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

/// The application id in SQLite's header: "sysf".
const APPLICATION_ID: u32 = 0x7379_7366;
/// The number of the form. A change of the tables, of what counts as a word or of the terms, needs a new number: files with another
/// one are made again.
const FORM: u32 = 2;

const SIDE_FILE: SideFile = SideFile {
    ending: ".find",
    application_id: APPLICATION_ID,
    form: FORM,
    tables: TABLES,
    is_shared: false,
};

/// Why a search file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchFault {
    /// The log cannot be read.
    Log(LogFault),
    /// The file is damaged, or belongs to another log: it must be made again.
    Stale(String),
    /// The file cannot be written, in words.
    Unwritable(String),
}

impl From<LogFault> for SearchFault {
    fn from(fault: LogFault) -> SearchFault {
        SearchFault::Log(fault)
    }
}

impl From<rusqlite::Error> for SearchFault {
    fn from(error: rusqlite::Error) -> SearchFault {
        if side_file::is_of_file(&error) {
            SearchFault::Stale(error.to_string())
        } else {
            SearchFault::Unwritable(error.to_string())
        }
    }
}

/// Reads the entries after a position; none at the end of the log.
pub type ReadEntries<'a> = &'a mut dyn FnMut(Position) -> Result<Vec<SearchEntry>, LogFault>;

/// An open search file.
pub struct SearchFile {
    connection: Connection,
    /// Its path; `None` if it is in memory.
    path: Option<PathBuf>,
}

impl SearchFile {
    /// Opens the search file of a log, and makes it if there is none. The error is in words.
    pub fn open_file(log: &Path) -> Result<SearchFile, String> {
        let path = SIDE_FILE.to_path(log);
        let connection =
            SIDE_FILE.open_file(&path, SEARCH_WAIT).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(SearchFile { connection, path: Some(path) })
    }

    /// An empty one in memory, which nothing outlives.
    pub fn in_memory() -> Result<SearchFile, SearchFault> {
        Ok(SearchFile { connection: SIDE_FILE.in_memory()?, path: None })
    }

    /// Its path; `None` if it is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The last position that it has, and the head of the record there; `None` if it has none.
    pub fn read_end(&self) -> Result<Option<(Position, Digest)>, SearchFault> {
        let found: Option<(i64, [u8; 32])> = self
            .connection
            .prepare_cached("SELECT position, head FROM state")
            .and_then(|mut find| find.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional())?;
        Ok(found.map(|(position, head)| (Position(position.unsigned_abs()), Digest(head))))
    }

    /// Adds what the log has after the end of the file. `told` gets each position that is on disk. Another process may
    /// add at the same time: each commit begins where the file then ends.
    pub fn extend_file(
        &mut self,
        read: ReadEntries<'_>,
        told: &mut dyn FnMut(Position),
    ) -> Result<(), SearchFault> {
        // New entries wait in memory until there are many: one large sorted piece is cheaper than many small ones.
        let sql = "INSERT INTO entry (entry, rank) VALUES ('hashsize', ?1)";
        self.connection.execute(sql, [PIECE_BYTES])?;
        loop {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            let added = self.add_entries(read, told);
            if added.is_err() {
                self.connection.execute_batch("ROLLBACK")?;
            } else {
                self.connection.execute_batch("COMMIT")?;
            }
            if added? {
                return Ok(());
            }
        }
    }

    /// Adds the records of one commit, and returns whether these were the last ones.
    fn add_entries(
        &self,
        read: ReadEntries<'_>,
        told: &mut dyn FnMut(Position),
    ) -> Result<bool, SearchFault> {
        let from = self.read_end()?.map_or(Position(0), |(position, _)| position);
        let mut end = None;
        let mut at = from;
        let sql = "INSERT INTO entry (rowid, words, terms) VALUES (?1, ?2, ?3)";
        let mut insert = self.connection.prepare_cached(sql)?;
        while at.0 - from.0 < limits::INDEX_RECORDS {
            let entries = read(at)?;
            let Some(last) = entries.last() else { break };
            for entry in &entries {
                insert.execute(params![to_signed(entry.position), entry.words, entry.join_terms()])?;
            }
            let times = || entries.iter().map(|entry| i64::try_from(entry.time.0).unwrap_or(i64::MAX));
            let (earliest, latest) = (times().min().unwrap_or(0), times().max().unwrap_or(i64::MAX));
            let sql = "INSERT INTO span (last, first, earliest, latest) VALUES (?1, ?2, ?3, ?4)";
            let mut span = self.connection.prepare_cached(sql)?;
            span.execute(params![to_signed(last.position), to_signed(at) + 1, earliest, latest])?;
            at = last.position;
            end = Some((last.position, last.head));
            told(at);
        }
        if let Some((position, head)) = end {
            let sql = "INSERT OR REPLACE INTO state (id, position, head) VALUES (1, ?1, ?2)";
            self.connection.prepare_cached(sql)?.execute(params![to_signed(position), head.0])?;
        }
        Ok(at.0 - from.0 < limits::INDEX_RECORDS)
    }

    /// At most `limit` positions that fit a query, before a position, newest first. Times are only as exact as the
    /// spans of the file: the record decides.
    pub fn find_newest(
        &self,
        query: &LogQuery,
        before: Position,
        limit: usize,
    ) -> Result<Vec<Position>, SearchFault> {
        let Some((first, last)) = self.find_range(query)? else { return Ok(Vec::new()) };
        let last = last.min(to_signed(before).saturating_sub(1));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found: Vec<i64> = match query.to_expression() {
            None => (first..=last).rev().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect(),
            Some(expression) => {
                let sql = "SELECT rowid FROM entry WHERE entry MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
                     ORDER BY rowid DESC LIMIT ?4";
                let mut find = self.connection.prepare_cached(sql)?;
                let rows = find.query_map(params![expression, first, last, limit], |row| row.get(0))?;
                rows.collect::<Result<_, _>>()?
            }
        };
        Ok(found.into_iter().map(|position| Position(position.unsigned_abs())).collect())
    }

    /// The first and the last position that can be in a query's time. A clock may have been set back, so positions are
    /// not in the order of their times.
    fn find_range(&self, query: &LogQuery) -> Result<Option<(i64, i64)>, SearchFault> {
        let time = |at: Option<systole_core::types::time::Millis>, none: i64| {
            at.map_or(none, |at| i64::try_from(at.0).unwrap_or(i64::MAX))
        };
        let sql = "SELECT min(first), max(last) FROM span WHERE latest >= ?1 AND earliest < ?2";
        let range: (Option<i64>, Option<i64>) = self
            .connection
            .prepare_cached(sql)?
            .query_row([time(query.since, 0), time(query.until, i64::MAX)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        Ok(range.0.zip(range.1))
    }
}

fn to_signed(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// Removes the search file of a log, and every word in it. Call this after a text was erased from the log: the next
/// search makes the file again, from what the log then says. Returns whether there was one.
pub fn forget_file(log: &Path) -> std::io::Result<bool> {
    side_file::remove_file(&SIDE_FILE.to_path(log))
}
