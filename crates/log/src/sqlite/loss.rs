//! Whether a log that no process writes to still has its end: compares the log with its tip, and looks at the header
//! of its write-ahead log. Nothing is written.
//!
//! A log goes in. How it ends comes out, and which positions are missing, if any. A person decides whether it may
//! continue without them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::layout::{LogFileKind, make_beside};
use super::lock::Lock;
use super::log_file::{does_exist, verify_tail};
use super::pool::Manner;
use super::tip::{self, End, Found};
use super::wal::{self, Wal};
use super::{make_damage, make_fault};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LostRange, Position};

/// How a log ends.
pub(super) struct Judged {
    /// Its last record.
    pub(super) end: End,
    /// What its tip says.
    pub(super) tip: Found,
    gone: Option<Gone>,
}

/// The positions that are missing, and the evidence.
pub(super) struct Gone(LostRange, String);

impl Gone {
    /// The fault for a log. A copy is made again from its source.
    pub(super) fn to_fault(&self, path: &Path, kind: LogFileKind) -> LogFault {
        let Gone(gone, why) = self;
        match kind {
            LogFileKind::Copy => make_damage(path, gone.first, why.clone()),
            LogFileKind::Log => {
                LogFault::Lost { path: path.display().to_string(), gone: *gone, why: why.clone() }
            }
        }
    }
}

impl Judged {
    /// Whether no tip says where the log ended.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self.tip, Found::Nothing | Found::Corrupt) && self.end != End::EMPTY
    }

    /// What a person should know about its tip.
    pub(super) fn to_note(&self, path: &Path) -> Option<String> {
        let tip = make_beside(path, tip::ENDING).display().to_string();
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
    pub(super) fn accept_loss(
        self,
        path: &Path,
        kind: LogFileKind,
        given_up: Option<LostRange>,
    ) -> Result<Judged, LogFault> {
        match (&self.gone, given_up) {
            (None, None) => Ok(self),
            (None, Some(_)) => Err(LogFault::NothingLost { path: path.display().to_string() }),
            (Some(Gone(gone, _)), Some(given_up)) if *gone == given_up => Ok(self),
            (Some(gone), _) => Err(gone.to_fault(path, kind)),
        }
    }
}

/// Verifies the newest records of a log and looks at its end. A missing log counts as one without records.
pub(super) fn judge_file(path: &Path, kind: LogFileKind) -> Result<Judged, LogFault> {
    let found = match kind {
        LogFileKind::Log => tip::find_tip(path)?,
        // What a copy lacks is read again.
        LogFileKind::Copy => Found::Nothing,
    };
    let wal = wal::read_wal(path)?;
    if !does_exist(path)? {
        if kind == LogFileKind::Log && found == Found::Nothing && wal == Wal::Sound {
            let why = "there is a file -wal, but not the log that it belongs to";
            return Err(make_damage(path, Position::default(), why));
        }
        let gone = find_missing(None, path, End::EMPTY, found, wal)?;
        return Ok(Judged { end: End::EMPTY, tip: found, gone });
    }
    let manner = if wal == Wal::Corrupt { Manner::Alone } else { Manner::Still };
    let (connection, last) = verify_tail(path, manner)?;
    let end = end_at(&connection, path, last)?;
    let gone = find_missing(Some(&connection), path, end, found, wal)?;
    Ok(Judged { end, tip: found, gone })
}

pub(super) fn end_at(connection: &Connection, path: &Path, last: Position) -> Result<End, LogFault> {
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
    found.map(|head| head.map(Digest)).map_err(|e| make_fault(path, Some(at), &e))
}

/// Which positions are missing from a log that ends there, and the evidence.
pub(super) fn find_missing(
    connection: Option<&Connection>,
    path: &Path,
    end: End,
    found: Found,
    wal: Wal,
) -> Result<Option<Gone>, LogFault> {
    let End { position: last, .. } = end;
    let next = Position(last.0 + 1);
    let name = |ending: &str| make_beside(path, ending).display().to_string();
    let (tip, log) = (name(tip::ENDING), name(wal::ENDING));
    let named = match found {
        Found::At { end, .. } => Some(end),
        Found::Nothing | Found::Corrupt => None,
    };
    if wal == Wal::Corrupt {
        let gone = LostRange { first: next, last: named.map_or(next, |end| end.position.max(next)) };
        let told = named.map_or_else(String::new, |end| format!("; {tip} says {}", end.position.0));
        let why = format!(
            "the header of {log} is corrupt: the commits in it, after position {}, cannot be read{told}",
            last.0
        );
        return Ok(Some(Gone(gone, why)));
    }
    let Some(named) = named else { return Ok(None) };
    if named.position > last {
        let gone = LostRange { first: next, last: named.position };
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
    let gone = LostRange { first: named.position, last: named.position };
    let why = format!(
        "the record at position {} is not the one that was acknowledged there: {tip} has another head; \
         the log ends at position {}",
        named.position.0, last.0
    );
    Ok(Some(Gone(gone, why)))
}

/// The header of the write-ahead log, and whether a process writes to the log. A writer that begins or ends between
/// two looks can leave half a header in one of them. So the header counts if it is the same before and after the lock
/// was found free.
pub(super) fn wait_until_settled(
    mut look: impl FnMut() -> Result<Wal, LogFault>,
    mut is_held: impl FnMut() -> Result<bool, LogFault>,
) -> Result<(Wal, bool), LogFault> {
    let mut before = look()?;
    loop {
        if is_held()? {
            return Ok((Wal::Sound, true));
        }
        let after = look()?;
        if after == before {
            return Ok((after, false));
        }
        before = after;
    }
}

/// Refuses a log whose write-ahead log cannot be read, if no process writes to it.
pub(super) fn refuse_unreadable(path: &Path, kind: LogFileKind) -> Result<(), LogFault> {
    let look = || wal::read_wal(path);
    // If the header is sound, no lock is taken: an organism that starts at that moment would have to wait.
    if look()? != Wal::Corrupt || wait_until_settled(look, || Lock::is_held(path))?.0 != Wal::Corrupt {
        return Ok(());
    }
    let (connection, last) = verify_tail(path, Manner::Alone)?;
    let end = end_at(&connection, path, last)?;
    let found = tip::find_tip(path)?;
    let gone = find_missing(Some(&connection), path, end, found, Wal::Corrupt)?;
    gone.map_or(Ok(()), |gone| Err(gone.to_fault(path, kind)))
}

#[cfg(test)]
mod tests {
    use super::{Wal, wait_until_settled};

    #[test]
    fn a_header_that_was_half_written_is_looked_at_again() {
        let seen = |looks: &[Wal], locks: &[bool]| {
            let (mut looks, mut locks) = (looks.iter().copied(), locks.iter().copied());
            wait_until_settled(|| Ok(looks.next().unwrap()), || Ok(locks.next().unwrap())).unwrap()
        };
        // A writer ended after the first look.
        assert_eq!(seen(&[Wal::Corrupt, Wal::Sound, Wal::Sound], &[false, false]), (Wal::Sound, false));
        // One began after the lock was found free.
        assert_eq!(seen(&[Wal::Empty, Wal::Corrupt], &[false, true]), (Wal::Sound, true));
        assert_eq!(seen(&[Wal::Corrupt, Wal::Corrupt], &[false]), (Wal::Corrupt, false));
    }
}
