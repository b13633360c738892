//! The condition in which a log was left: what is missing at its end, and whether it was closed. Nothing is written.

use std::path::Path;

use super::layout::{LogFileKind, make_beside};
use super::lock::LogLock;
use super::log_file::{find_canonical, find_kind};
use super::loss::{self, end_at, find_missing, wait_until_settled};
use super::pool::{OpenManner, connect_reading};
use super::tip::{self, FoundTip, TipEnd};
use super::wal::{self, WalState};
use super::{closing, make_fault, migrate};
use systole_core::types::ports::{LogFault, Position};

/// The condition in which a log was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogCondition {
    /// What is missing at its end, if anything.
    pub lost: Option<LogFault>,
    /// What is wrong with its tip, in words.
    pub tip: Option<String>,
    /// Whether no tip says where it ended, so that it may have lost its last records.
    pub is_end_unknown: bool,
    /// The evidence that it was not closed, in words.
    pub unclosed: Option<String>,
}

/// What is lost with a log that is not there; `None` if nothing says that there was one.
pub fn lost_whole(path: &Path) -> Option<LogFault> {
    let judged = loss::judge_file(path, LogFileKind::Log);
    judged.and_then(|judged| judged.accept_loss(path, LogFileKind::Log, None)).err()
}

/// Looks at the condition of a log. If an organism runs on it, only its end is looked at.
pub fn read_condition(path: &Path) -> Result<LogCondition, LogFault> {
    let path = find_canonical(path)?;
    let mut condition = LogCondition { lost: None, tip: None, is_end_unknown: false, unclosed: None };
    if find_kind(&path)? == LogFileKind::Copy {
        return Ok(condition);
    }
    // The tip comes first: what a writer does between two looks must not look like loss.
    let found = tip::find_tip(&path)?;
    let (wal, is_running) = wait_until_settled(|| wal::read_wal(&path), || LogLock::is_held(&path))?;
    let manner = match (is_running, wal) {
        (true, _) => OpenManner::Live,
        (false, WalState::Corrupt) => OpenManner::Alone,
        (false, _) => OpenManner::Still,
    };
    let connection = connect_reading(&path, manner)?.connection;
    let as_fault = |e: rusqlite::Error| make_fault(&path, None, &e);
    let last: i64 = connection
        .query_row("SELECT coalesce(max(pos), 0) FROM record", [], |row| row.get(0))
        .map_err(as_fault)?;
    let end = end_at(&connection, &path, Position(last.unsigned_abs()))?;
    let log = path.display().to_string();
    let gone = find_missing(Some(&connection), &path, end, found, wal)?;
    condition.lost = gone.map(|gone| gone.to_fault(&path, LogFileKind::Log));
    condition.is_end_unknown = matches!(found, FoundTip::Nothing | FoundTip::Corrupt);
    if is_running || migrate::read_number(&connection).map_err(as_fault)? < migrate::WITH_TIP {
        return Ok(condition);
    }
    let tip = make_beside(&path, tip::ENDING).display().to_string();
    condition.tip = match found {
        FoundTip::At { is_whole: true, .. } => None,
        FoundTip::At { .. } => {
            Some(format!("one of the two slots of {tip} is corrupt; the other one is used"))
        }
        FoundTip::Corrupt => {
            Some(format!("{tip} is corrupt: it is unknown whether the last records are there"))
        }
        FoundTip::Nothing if end == TipEnd::EMPTY => None,
        FoundTip::Nothing => {
            Some(format!("there is no {tip}: it is unknown whether the last records are there"))
        }
    };
    let was_closed = closing::was_closed(&connection).map_err(as_fault)?;
    let is_missing_nothing = matches!(found, FoundTip::At { .. }) && condition.lost.is_none();
    // A reader makes an empty -wal file if there is none.
    let has_commits = !matches!(wal, WalState::Nothing | WalState::Empty);
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
