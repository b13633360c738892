//! The cursor of a follower: `<log>.follow/NAME`, the last record that its receiver took or that it does not send, with
//! the head of that record.
//!
//! A cursor that does not fit the log is never guessed at: a person says where the follower goes on. A command moves a
//! cursor by putting a new file in its place, which a running follower notices.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use systole_core::rules::follower_payload::{self, FollowerChange, FollowerNews};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::time::Millis;
use systole_log::slot_file::{self, FoundSlots, LogMark, SlotFile};
use systole_system::system::describe_error;

use crate::settings::FollowerSettings;
use crate::status::{FollowerState, FollowerStatus};

/// The ending of the folder beside a log.
const ENDING: &str = ".follow";
/// What a slot begins with.
const MAGIC: &[u8; 8] = b"systfol1";

/// The folder of a log's cursors. It is beside the log itself, not beside a link to it.
fn find_folder(log: &Path) -> PathBuf {
    let mut path = fs::canonicalize(log).unwrap_or_else(|_| log.to_owned()).into_os_string();
    path.push(ENDING);
    path.into()
}

pub(crate) fn find_path(log: &Path, follower: &Name) -> PathBuf {
    find_folder(log).join(follower.as_str())
}

/// The followers of a log on which no organism runs.
pub fn read_statuses(log: &Path, followers: &[FollowerSettings], last: Position) -> Vec<FollowerStatus> {
    let status = |follower: &FollowerSettings| {
        let (position, error) = match read_cursor(log, &follower.name) {
            Ok(FoundSlots::At { end, .. }) => (Some(end.position), None),
            Ok(FoundSlots::Nothing) => (None, None),
            Ok(FoundSlots::Corrupt) => (None, Some("its cursor is corrupt".to_owned())),
            Err(error) => (None, Some(describe_error(&error))),
        };
        FollowerStatus { error, ..FollowerStatus::new(follower, FollowerState::Waits, position, last) }
    };
    followers.iter().map(status).collect()
}

/// Reads the cursor of a follower.
pub(crate) fn read_cursor(log: &Path, follower: &Name) -> io::Result<FoundSlots> {
    slot_file::find_slots(&find_path(log, follower), MAGIC)
}

/// The followers of a log that have a cursor.
pub fn list_cursors(log: &Path) -> io::Result<Vec<Name>> {
    let found = match fs::read_dir(find_folder(log)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let mut names = Vec::new();
    for entry in found {
        // Another file there is not ours.
        names.extend(entry?.file_name().to_str().and_then(|name| Name::parse(name).ok()));
    }
    names.sort();
    Ok(names)
}

/// Makes the cursor of a follower, or moves it, to a record of the log. A running follower goes on after that record.
pub fn move_cursor(log: &Path, follower: &Name, mark: LogMark) -> io::Result<()> {
    make_cursor(log, follower, mark).map(drop)
}

fn make_cursor(log: &Path, follower: &Name, mark: LogMark) -> io::Result<SlotFile> {
    let path = find_path(log, follower);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    SlotFile::make_anew(&path, MAGIC, mark)
}

/// The record at a position, as a cursor names it; `None` if the log has none there.
pub fn find_mark(reader: &dyn LogReader, position: Position) -> Result<Option<LogMark>, LogFault> {
    let Some(before) = position.0.checked_sub(1) else { return Ok(Some(LogMark::EMPTY)) };
    let found = reader.read_after(Position(before), 1)?.into_iter().find(|(at, _)| *at == position);
    Ok(found.map(|(position, record)| LogMark { position, head: record.head }))
}

/// The position after which a follower sends again what happened since a time: never one behind its cursor, as nothing
/// may be left out.
pub fn find_resend_position(
    log: &Path,
    follower: &Name,
    reader: &dyn LogReader,
    since: Millis,
) -> Result<Position, LogFault> {
    let first = find_first_since(reader, since)?;
    match read_cursor(log, follower) {
        Ok(FoundSlots::At { end, .. }) if find_mark(reader, end.position)? == Some(end) => {
            Ok(first.min(end.position))
        }
        _ => Ok(first),
    }
}

/// The position before the first record of that time or later. A clock that was set back may hide earlier ones.
fn find_first_since(reader: &dyn LogReader, since: Millis) -> Result<Position, LogFault> {
    let (mut low, mut high) = (0, reader.read_last()?.0);
    while low < high {
        let middle = low + (high - low) / 2;
        // Positions that were lost are passed over.
        match reader.read_after(Position(middle), 1)?.first() {
            Some((position, record)) if record.header.time < since => low = position.0,
            _ => high = middle,
        }
    }
    Ok(Position(low))
}

/// An open cursor.
pub(crate) struct OpenCursor {
    /// Where it is.
    pub(crate) mark: LogMark,
    /// Whether the log may not say yet that the follower begins there.
    pub(crate) is_new: bool,
    file: SlotFile,
    written: Position,
}

impl OpenCursor {
    /// Opens the cursor of a follower. A follower that the log does not know begins at its end. The error says in words why
    /// a person has to say where it goes on.
    pub(crate) fn open(log: &Path, follower: &Name, reader: &dyn LogReader) -> Result<OpenCursor, String> {
        let path = find_path(log, follower);
        let wrap_io = |error: io::Error| format!("{}: {}", path.display(), describe_error(&error));
        let wrap_log = |fault: LogFault| fault.to_string();
        let (mark, next) = match slot_file::find_slots(&path, MAGIC).map_err(wrap_io)? {
            FoundSlots::Nothing if has_begun(reader, follower, None).map_err(wrap_log)? => {
                return Err(format!("its cursor is gone: there is no {}", path.display()));
            }
            FoundSlots::Nothing => {
                let last = reader.read_last().map_err(wrap_log)?;
                let mark = find_mark(reader, last).map_err(wrap_log)?.unwrap_or(LogMark::EMPTY);
                let file = make_cursor(log, follower, mark).map_err(wrap_io)?;
                return Ok(OpenCursor { mark, is_new: true, file, written: mark.position });
            }
            FoundSlots::Corrupt => return Err(format!("its cursor {} is corrupt", path.display())),
            FoundSlots::At { end, is_new, next, .. } => ((end, is_new), next),
        };
        let (mark, is_new) = mark;
        if find_mark(reader, mark.position).map_err(wrap_log)? != Some(mark) {
            return Err(format!(
                "the log has not the record at position {} up to which was sent: it is an older copy or another log",
                mark.position.0
            ));
        }
        let file = SlotFile::open(&path, MAGIC, next).map_err(wrap_io)?;
        Ok(OpenCursor { mark, is_new, file, written: mark.position })
    }

    /// Notes how far everything is sent. It is written if something was sent, or after many records that are not.
    pub(crate) fn put_mark(&mut self, mark: LogMark, is_sent: bool) -> io::Result<()> {
        let passed = mark.position.0.saturating_sub(self.written.0);
        if passed > 0 && (is_sent || passed >= crate::limits::CURSOR_STRIDE) {
            self.file.put_end(mark)?;
            self.written = mark.position;
        }
        self.mark = mark;
        Ok(())
    }

    /// Whether a person moved it.
    pub(crate) fn is_moved(&self) -> bool {
        self.file.is_replaced()
    }
}

/// Whether the log says that a follower began: anywhere, or at that position.
pub(crate) fn has_begun(
    reader: &dyn LogReader,
    follower: &Name,
    position: Option<Position>,
) -> Result<bool, LogFault> {
    for placed in reader.records_of(&ThreadId::new_sys(), 1) {
        let news = follower_payload::read_news(&placed?.1.body);
        let is_it = |news: &FollowerNews| {
            news.follower == *follower
                && news.change == FollowerChange::Began
                && position.is_none_or(|position| news.position == position)
        };
        if news.as_ref().is_some_and(is_it) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The id of the event of a record.
pub(crate) fn make_event_id(leaf: &Digest) -> String {
    leaf.to_string().chars().take(32).collect()
}
