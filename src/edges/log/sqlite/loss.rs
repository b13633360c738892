//! Whether a log that no process writes to still has its end: compares the log with its tip, and looks at the header
//! of its write-ahead log. Nothing is written.
//!
//! A log goes in. How it ends comes out, and which positions are missing, if any. A person decides whether it may
//! continue without them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::layout::{Sort, beside};
use super::lock::Lock;
use super::open::{canonical, exists, look, verify_tail};
use super::pool::{Manner, connect};
use super::tip::{self, End, Found};
use super::wal::{self, Wal};
use super::{closing, damaged, fault, migrate};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{GivenUp, LogFault, Position};
use systole_core::types::record::FORMAT;

/// How a log ends.
pub(super) struct Judged {
    /// Its last record.
    pub(super) end: End,
    /// What its tip says.
    pub(super) tip: Found,
    gone: Option<Gone>,
}

/// The positions that are missing, and the evidence.
struct Gone(GivenUp, String);

impl Gone {
    /// The fault for a log. A copy is made again from its source.
    fn fault(&self, path: &Path, sort: Sort) -> LogFault {
        let Gone(gone, why) = self;
        match sort {
            Sort::Copy => damaged(path, gone.first, why.clone()),
            Sort::Log => LogFault::Lost { path: path.display().to_string(), gone: *gone, why: why.clone() },
        }
    }
}

impl Judged {
    /// Whether no tip says where the log ended.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self.tip, Found::Nothing | Found::Corrupt) && self.end != End::EMPTY
    }

    /// What a person should know about its tip.
    pub(super) fn note(&self, path: &Path) -> Option<String> {
        let tip = beside(path, tip::ENDING).display().to_string();
        let what = match self.tip {
            Found::Nothing if self.end != End::EMPTY => "was not there",
            Found::Corrupt => "was corrupt",
            Found::At { is_whole: false, .. } => {
                return Some(format!("one of the two slots of {tip} was corrupt; the other one was used"));
            }
            Found::Nothing | Found::At { .. } => return None,
        };
        Some(format!(
            "{tip} {what}, so it is unknown whether the last records are there; the log ends at position {}. \
             The tip and the secret of the log are new: late answers to earlier deliveries are refused",
            self.end.position.0
        ))
    }

    /// The same, if nothing is missing or exactly the missing positions are given up.
    pub(super) fn accepted(
        self,
        path: &Path,
        sort: Sort,
        given_up: Option<GivenUp>,
    ) -> Result<Judged, LogFault> {
        match (&self.gone, given_up) {
            (None, None) => Ok(self),
            (None, Some(_)) => Err(LogFault::NothingLost { path: path.display().to_string() }),
            (Some(Gone(gone, _)), Some(given_up)) if *gone == given_up => Ok(self),
            (Some(gone), _) => Err(gone.fault(path, sort)),
        }
    }
}

/// Verifies the newest records of a log and looks at its end. A missing log counts as one without records.
pub(super) fn judge(path: &Path, sort: Sort) -> Result<Judged, LogFault> {
    let found = match sort {
        Sort::Log => tip::find(path)?,
        // What a copy lacks is read again.
        Sort::Copy => Found::Nothing,
    };
    let wal = wal::look(path)?;
    if !exists(path)? {
        if sort == Sort::Log && found == Found::Nothing && wal == Wal::Sound {
            let why = "there is a file -wal, but not the log that it belongs to";
            return Err(damaged(path, Position::default(), why));
        }
        let gone = missing(None, path, End::EMPTY, found, wal)?;
        return Ok(Judged { end: End::EMPTY, tip: found, gone });
    }
    let manner = if wal == Wal::Corrupt { Manner::Alone } else { Manner::Still };
    let (connection, last) = verify_tail(path, manner)?;
    let end = end_at(&connection, path, last)?;
    let gone = missing(Some(&connection), path, end, found, wal)?;
    Ok(Judged { end, tip: found, gone })
}

fn end_at(connection: &Connection, path: &Path, last: Position) -> Result<End, LogFault> {
    if last.0 == 0 {
        return Ok(End::EMPTY);
    }
    let head = head_at(connection, path, last)?.unwrap_or(End::EMPTY.head);
    Ok(End { position: last, head })
}

/// The head of the record at a position.
fn head_at(connection: &Connection, path: &Path, at: Position) -> Result<Option<Digest>, LogFault> {
    let pos = i64::try_from(at.0).unwrap_or(i64::MAX);
    let found = connection
        .prepare_cached("SELECT head FROM record WHERE pos = ?1")
        .and_then(|mut find| find.query_row([pos], |row| row.get(0)).optional());
    found.map(|head| head.map(Digest)).map_err(|e| fault(path, Some(at), &e))
}

/// Which positions are missing from a log that ends there, and the evidence.
fn missing(
    connection: Option<&Connection>,
    path: &Path,
    end: End,
    found: Found,
    wal: Wal,
) -> Result<Option<Gone>, LogFault> {
    let End { position: last, .. } = end;
    let next = Position(last.0 + 1);
    let name = |ending: &str| beside(path, ending).display().to_string();
    let (tip, log) = (name(tip::ENDING), name(wal::ENDING));
    let named = match found {
        Found::At { end, .. } => Some(end),
        Found::Nothing | Found::Corrupt => None,
    };
    if wal == Wal::Corrupt {
        let gone = GivenUp { first: next, last: named.map_or(next, |end| end.position.max(next)) };
        let told = named.map_or_else(String::new, |end| format!("; {tip} says {}", end.position.0));
        let why = format!(
            "the header of {log} is corrupt: the commits in it, after position {}, cannot be read{told}",
            last.0
        );
        return Ok(Some(Gone(gone, why)));
    }
    let Some(named) = named else { return Ok(None) };
    if named.position > last {
        let gone = GivenUp { first: next, last: named.position };
        let hint = match (connection, wal) {
            (None, _) => "there is no such file".to_owned(),
            (_, Wal::Nothing) => format!("there is no {log}"),
            (_, Wal::Empty) => format!("{log} is empty"),
            (_, Wal::Sound | Wal::Corrupt) => format!("{log} is damaged, or is not of this log"),
        };
        let why = format!(
            "acknowledged records are missing: it ends at position {}, but {tip} says {}; {hint}",
            last.0, named.position.0
        );
        return Ok(Some(Gone(gone, why)));
    }
    let Some(connection) = connection.filter(|_| named.position.0 > 0) else { return Ok(None) };
    if head_at(connection, path, named.position)? == Some(named.head) {
        return Ok(None);
    }
    let gone = GivenUp { first: named.position, last: named.position };
    let why = format!(
        "the record at position {} is not the one that was acknowledged there: {tip} has another head; \
         the log ends at position {}",
        named.position.0, last.0
    );
    Ok(Some(Gone(gone, why)))
}

/// Refuses a log whose write-ahead log cannot be read, if no process writes to it.
pub(super) fn refuse_unreadable(path: &Path, sort: Sort) -> Result<(), LogFault> {
    // While a writer runs, the header may be half written when it is read.
    if wal::look(path)? != Wal::Corrupt || Lock::is_held(path)? || wal::look(path)? != Wal::Corrupt {
        return Ok(());
    }
    let (connection, last) = verify_tail(path, Manner::Alone)?;
    let end = end_at(&connection, path, last)?;
    let found = tip::find(path)?;
    let gone = missing(Some(&connection), path, end, found, Wal::Corrupt)?;
    gone.map_or(Ok(()), |gone| Err(gone.fault(path, sort)))
}

/// The condition in which a log was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// What is missing at its end, if anything.
    pub lost: Option<LogFault>,
    /// What is wrong with its tip, in words.
    pub tip: Option<String>,
    /// The evidence that it was not closed, in words.
    pub unclosed: Option<String>,
}

/// Looks at the condition of a log. If an organism runs on it, only its end is looked at.
pub fn condition(path: &Path) -> Result<Condition, LogFault> {
    let path = canonical(path)?;
    let mut condition = Condition { lost: None, tip: None, unclosed: None };
    if look(&path)? == Sort::Copy {
        return Ok(condition);
    }
    // The tip comes first, and the lock after the header: what a writer does between two looks must not look like
    // loss.
    let found = tip::find(&path)?;
    let header = wal::look(&path)?;
    let is_running = Lock::is_held(&path)?;
    let wal = if is_running { Wal::Sound } else { header };
    let manner = match (is_running, wal) {
        (true, _) => Manner::Live,
        (false, Wal::Corrupt) => Manner::Alone,
        (false, _) => Manner::Still,
    };
    let connection = connect(&path, manner)?.connection;
    let ill = |e: rusqlite::Error| fault(&path, None, &e);
    let last: i64 = connection
        .query_row("SELECT coalesce(max(pos), 0) FROM record", [], |row| row.get(0))
        .map_err(ill)?;
    let end = end_at(&connection, &path, Position(last.unsigned_abs()))?;
    let log = path.display().to_string();
    let gone = missing(Some(&connection), &path, end, found, wal)?;
    condition.lost = gone.map(|gone| gone.fault(&path, Sort::Log));
    if is_running || migrate::number(&connection).map_err(ill)? < FORMAT {
        return Ok(condition);
    }
    let tip = beside(&path, tip::ENDING).display().to_string();
    condition.tip = match found {
        Found::At { is_whole: true, .. } => None,
        Found::At { .. } => Some(format!("one of the two slots of {tip} is corrupt; the other one is used")),
        Found::Corrupt => Some(format!("{tip} is corrupt: it is unknown whether the last records are there")),
        Found::Nothing if end == End::EMPTY => None,
        Found::Nothing => {
            Some(format!("there is no {tip}: it is unknown whether the last records are there"))
        }
    };
    let was_closed = closing::was_closed(&connection).map_err(ill)?;
    let is_missing_nothing = matches!(found, Found::At { .. }) && condition.lost.is_none();
    // A reader makes an empty -wal file if there is none.
    let has_commits = !matches!(wal, Wal::Nothing | Wal::Empty);
    condition.unclosed = match (was_closed, has_commits) {
        (true, _) => None,
        (false, true) => Some(format!("{log} was not closed cleanly: the process that wrote it was killed")),
        (false, false) if is_missing_nothing => Some(format!(
            "{log} was not closed cleanly and has no commits in a file -wal, but it holds everything up to its tip"
        )),
        (false, false) => Some(format!(
            "{log} was not closed cleanly and has no commits in a file -wal: it looks like a copy made without that \
             file, and the last commits are then missing"
        )),
    };
    Ok(condition)
}
