//! Whether a log that no process writes to still has its end: compares the log with its tip, and looks at the header
//! of its write-ahead log. Nothing is written.
//!
//! A log goes in. How it ends comes out, and which positions are missing, if any. A person decides whether it may
//! continue without them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::layout::{LogFileKind, make_beside};
use super::lock::LogLock;
use super::log_file::{does_exist, verify_tail};
use super::pool::OpenManner;
use super::tip::{self, FoundTip, TipEnd};
use super::wal::{self, WalState};
use super::{make_damage, make_fault};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LostRange, Position};

/// How a log ends.
pub(super) struct JudgedFile {
    /// Its last record.
    pub(super) end: TipEnd,
    /// What its tip says.
    pub(super) tip: FoundTip,
    gone: Option<LostTail>,
}

/// The positions that are missing, and the evidence.
pub(super) struct LostTail(LostRange, String);

impl LostTail {
    /// The fault for a log. A copy is made again from its source.
    pub(super) fn to_fault(&self, path: &Path, kind: LogFileKind) -> LogFault {
        let LostTail(gone, why) = self;
        match kind {
            LogFileKind::Copy => make_damage(path, gone.first, why.clone()),
            LogFileKind::Log => {
                LogFault::Lost { path: path.display().to_string(), gone: *gone, why: why.clone() }
            }
        }
    }
}

impl JudgedFile {
    /// Whether no tip says where the log ended.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self.tip, FoundTip::Nothing | FoundTip::Corrupt) && self.end != TipEnd::EMPTY
    }

    /// What a person should know about its tip.
    pub(super) fn to_note(&self, path: &Path) -> Option<String> {
        let tip = make_beside(path, tip::ENDING).display().to_string();
        let what = match self.tip {
            FoundTip::Nothing if self.end != TipEnd::EMPTY => "was not there",
            FoundTip::Corrupt => "was corrupt",
            FoundTip::At { is_whole: false, .. } => {
                return Some(format!("one of the two slots of {tip} was corrupt; the other one was used"));
            }
            FoundTip::Nothing | FoundTip::At { .. } => return None,
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
    ) -> Result<JudgedFile, LogFault> {
        match (&self.gone, given_up) {
            (None, None) => Ok(self),
            (None, Some(_)) => Err(LogFault::NothingLost { path: path.display().to_string() }),
            (Some(LostTail(gone, _)), Some(given_up)) if *gone == given_up => Ok(self),
            (Some(gone), _) => Err(gone.to_fault(path, kind)),
        }
    }
}

/// Verifies the newest records of a log and looks at its end. A missing log counts as one without records.
pub(super) fn judge_file(path: &Path, kind: LogFileKind) -> Result<JudgedFile, LogFault> {
    let found = match kind {
        LogFileKind::Log => tip::find_tip(path)?,
        // What a copy lacks is read again.
        LogFileKind::Copy => FoundTip::Nothing,
    };
    let wal = wal::read_wal(path)?;
    if !does_exist(path)? {
        if kind == LogFileKind::Log && found == FoundTip::Nothing && wal == WalState::Sound {
            let why = "there is a file -wal, but not the log that it belongs to";
            return Err(make_damage(path, Position::default(), why));
        }
        let gone = find_missing(None, path, TipEnd::EMPTY, found, wal)?;
        return Ok(JudgedFile { end: TipEnd::EMPTY, tip: found, gone });
    }
    let manner = if wal == WalState::Corrupt { OpenManner::Alone } else { OpenManner::Still };
    let (connection, last) = verify_tail(path, manner)?;
    let end = end_at(&connection, path, last)?;
    let gone = find_missing(Some(&connection), path, end, found, wal)?;
    Ok(JudgedFile { end, tip: found, gone })
}

pub(super) fn end_at(connection: &Connection, path: &Path, last: Position) -> Result<TipEnd, LogFault> {
    if last.0 == 0 {
        return Ok(TipEnd::EMPTY);
    }
    let head = head_at(connection, path, last)?.unwrap_or(TipEnd::EMPTY.head);
    Ok(TipEnd { position: last, head })
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
    end: TipEnd,
    found: FoundTip,
    wal: WalState,
) -> Result<Option<LostTail>, LogFault> {
    let TipEnd { position: last, .. } = end;
    let next = Position(last.0 + 1);
    let name = |ending: &str| make_beside(path, ending).display().to_string();
    let (tip, log) = (name(tip::ENDING), name(wal::ENDING));
    let named = match found {
        FoundTip::At { end, .. } => Some(end),
        FoundTip::Nothing | FoundTip::Corrupt => None,
    };
    if wal == WalState::Corrupt {
        let gone = LostRange { first: next, last: named.map_or(next, |end| end.position.max(next)) };
        let told = named.map_or_else(String::new, |end| format!("; {tip} says {}", end.position.0));
        let why = format!(
            "the header of {log} is corrupt: the commits in it, after position {}, cannot be read{told}",
            last.0
        );
        return Ok(Some(LostTail(gone, why)));
    }
    let Some(named) = named else { return Ok(None) };
    if named.position > last {
        let gone = LostRange { first: next, last: named.position };
        let hint = match (connection, wal) {
            (None, _) => "there is no such file".to_owned(),
            (_, WalState::Nothing) => format!("there is no {log}"),
            (_, WalState::Empty) => format!("{log} is empty"),
            (_, WalState::Sound | WalState::Corrupt) => format!("{log} is damaged, or is not of this log"),
        };
        let why = format!(
            "acknowledged records are missing: it ends at position {}, but {tip} says {}; {hint}",
            last.0, named.position.0
        );
        return Ok(Some(LostTail(gone, why)));
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
    Ok(Some(LostTail(gone, why)))
}

/// The header of the write-ahead log, and whether a process writes to the log. A writer that begins or ends between
/// two looks can leave half a header in one of them. So the header counts if it is the same before and after the lock
/// was found free.
pub(super) fn wait_until_settled(
    mut look: impl FnMut() -> Result<WalState, LogFault>,
    mut is_held: impl FnMut() -> Result<bool, LogFault>,
) -> Result<(WalState, bool), LogFault> {
    let mut before = look()?;
    loop {
        if is_held()? {
            return Ok((WalState::Sound, true));
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
    if look()? != WalState::Corrupt
        || wait_until_settled(look, || LogLock::is_held(path))?.0 != WalState::Corrupt
    {
        return Ok(());
    }
    let (connection, last) = verify_tail(path, OpenManner::Alone)?;
    let end = end_at(&connection, path, last)?;
    let found = tip::find_tip(path)?;
    let gone = find_missing(Some(&connection), path, end, found, WalState::Corrupt)?;
    gone.map_or(Ok(()), |gone| Err(gone.to_fault(path, kind)))
}

#[cfg(test)]
mod tests {
    use super::{WalState, wait_until_settled};

    #[test]
    fn a_header_that_was_half_written_is_looked_at_again() {
        let seen = |looks: &[WalState], locks: &[bool]| {
            let (mut looks, mut locks) = (looks.iter().copied(), locks.iter().copied());
            wait_until_settled(|| Ok(looks.next().unwrap()), || Ok(locks.next().unwrap())).unwrap()
        };
        // A writer ended after the first look.
        assert_eq!(
            seen(&[WalState::Corrupt, WalState::Sound, WalState::Sound], &[false, false]),
            (WalState::Sound, false)
        );
        // One began after the lock was found free.
        assert_eq!(seen(&[WalState::Empty, WalState::Corrupt], &[false, true]), (WalState::Sound, true));
        assert_eq!(seen(&[WalState::Corrupt, WalState::Corrupt], &[false]), (WalState::Corrupt, false));
    }
}
