//! The cursor of a follower: the last record that its receiver took or that it does not send, with the head of that
//! record. It is a file `<log>.follow/NAME`. Of a log in NATS it is at the broker, where the pump that takes over finds it.
//!
//! A cursor that does not fit the log is never guessed at: a person says where the follower goes on. A command moves a
//! cursor by putting a new one in its place, which a running follower notices.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use systole_bus::{AppendResult, Broker, BrokerFault};
use systole_core::rules::follower_payload::{self, FollowerChange, FollowerNews};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::time::Millis;
use systole_log::slot_file::{self, FoundSlots, LogMark, SlotFile};
use systole_system::system::{FileFault, report_unwritten};

use crate::settings::FollowerSettings;
use crate::status::{FollowerState, FollowerStatus};

/// The ending of the folder beside a log.
const ENDING: &str = ".follow";
/// What a slot begins with.
const MAGIC: &[u8; 8] = b"systfol1";

/// Where the cursors of a log are.
#[derive(Clone)]
pub enum CursorPlace {
    /// In a folder beside this file of the log.
    Beside(Arc<Path>),
    /// At the broker that keeps the log.
    Broker(Arc<Broker>),
}

/// Why a cursor was not read or not written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{words}")]
pub struct CursorFault {
    /// What is wrong.
    pub words: String,
    /// The fix.
    pub fix: String,
    /// Whether it may be over by itself.
    pub(crate) may_pass: bool,
}

impl CursorFault {
    fn of_file(path: &Path, error: &io::Error) -> CursorFault {
        let FileFault { words, fix } = report_unwritten(path, "the cursor of a follower", error);
        CursorFault { words, fix: fix.to_owned(), may_pass: false }
    }

    fn of_broker(fault: &BrokerFault) -> CursorFault {
        CursorFault { words: fault.to_string(), fix: fault.fix(), may_pass: fault.may_pass() }
    }

    /// The broker may not have taken it, for this reason.
    fn of_append(words: String) -> CursorFault {
        CursorFault { words, fix: "the same again, once the broker answers".to_owned(), may_pass: true }
    }
}

/// What is known of the cursor of a follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FoundCursor {
    /// There is none.
    Nothing,
    /// It cannot be read.
    Corrupt,
    /// It is there.
    At {
        /// Where it is.
        mark: LogMark,
        /// Whether it was not written since it was made.
        is_new: bool,
        /// The slot that is written next, or its place at the broker.
        version: u64,
    },
}

/// A cursor at the broker.
#[derive(Serialize, Deserialize)]
struct StoredMark {
    position: u64,
    head: String,
    /// Whether it was not written since it was made.
    new: bool,
}

impl StoredMark {
    fn write(mark: LogMark, new: bool) -> Vec<u8> {
        let stored = StoredMark { position: mark.position.0, head: mark.head.to_string(), new };
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    fn read(bytes: &[u8], version: u64) -> FoundCursor {
        let stored = serde_json::from_slice(bytes).ok();
        let found = stored.and_then(|StoredMark { position, head, new: is_new }| {
            let mark = LogMark { position: Position(position), head: Digest::parse(&head).ok()? };
            Some(FoundCursor::At { mark, is_new, version })
        });
        found.unwrap_or(FoundCursor::Corrupt)
    }
}

impl CursorPlace {
    /// The file of a cursor. It is beside the log itself, not beside a link to it.
    fn find_path(log: &Path, follower: &Name) -> PathBuf {
        let mut path = fs::canonicalize(log).unwrap_or_else(|_| log.to_owned()).into_os_string();
        path.push(ENDING);
        PathBuf::from(path).join(follower.as_str())
    }

    /// Where the cursor of a follower is, in words.
    fn describe_cursor(&self, follower: &Name) -> String {
        match self {
            CursorPlace::Beside(log) => CursorPlace::find_path(log, follower).display().to_string(),
            CursorPlace::Broker(broker) => {
                format!("{} at {}", broker.subjects().name_mark(follower), broker.address())
            }
        }
    }

    /// Reads the cursor of a follower.
    pub(crate) async fn read_cursor(&self, follower: &Name) -> Result<FoundCursor, CursorFault> {
        match self {
            CursorPlace::Beside(log) => {
                let path = CursorPlace::find_path(log, follower);
                let found = slot_file::find_slots(&path, MAGIC);
                Ok(match found.map_err(|error| CursorFault::of_file(&path, &error))? {
                    FoundSlots::Nothing => FoundCursor::Nothing,
                    FoundSlots::Corrupt => FoundCursor::Corrupt,
                    FoundSlots::At { end: mark, is_new, next, .. } => {
                        FoundCursor::At { mark, is_new, version: next as u64 }
                    }
                })
            }
            CursorPlace::Broker(broker) => {
                let stored =
                    broker.read_mark(follower).await.map_err(|fault| CursorFault::of_broker(&fault))?;
                Ok(stored
                    .map_or(FoundCursor::Nothing, |found| StoredMark::read(&found.bytes, found.sequence)))
            }
        }
    }

    /// How the followers of a log fare on which no organism runs.
    pub async fn read_statuses(&self, followers: &[FollowerSettings], last: Position) -> Vec<FollowerStatus> {
        let mut statuses = Vec::new();
        for follower in followers {
            let (position, error) = match self.read_cursor(&follower.name).await {
                Ok(FoundCursor::At { mark, .. }) => (Some(mark.position), None),
                Ok(FoundCursor::Nothing) => (None, None),
                Ok(FoundCursor::Corrupt) => (None, Some("its cursor is corrupt".to_owned())),
                Err(fault) => (None, Some(format!("its cursor is not read: {fault}"))),
            };
            let status = FollowerStatus::new(follower, FollowerState::Waits, position, last);
            statuses.push(FollowerStatus { error, ..status });
        }
        statuses
    }

    /// Makes the cursor of a follower, or moves it, to a record of the log. A running follower goes on after that record.
    pub async fn move_cursor(&self, follower: &Name, mark: LogMark) -> Result<(), CursorFault> {
        self.put_anew(follower, mark, None).await.map(drop)
    }

    /// Makes a cursor. At the broker, one that is there is replaced only if no place is expected.
    async fn put_anew(
        &self,
        follower: &Name,
        mark: LogMark,
        expected: Option<u64>,
    ) -> Result<Option<CursorFile>, CursorFault> {
        match self {
            CursorPlace::Beside(log) => {
                let path = CursorPlace::find_path(log, follower);
                let made = path
                    .parent()
                    .map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder));
                let file = made.and_then(|()| SlotFile::make_anew(&path, MAGIC, mark));
                file.map(|file| Some(CursorFile::Slots(path.clone(), file)))
                    .map_err(|error| CursorFault::of_file(&path, &error))
            }
            CursorPlace::Broker(broker) => {
                let (broker, follower) = (broker.clone(), follower.clone());
                match broker.put_mark(&follower, StoredMark::write(mark, true), expected).await {
                    AppendResult::At(at) => Ok(Some(CursorFile::Stored { broker, follower, at })),
                    AppendResult::Stale => Ok(None),
                    AppendResult::Refused(why) | AppendResult::Unknown(why) => {
                        Err(CursorFault::of_append(why))
                    }
                }
            }
        }
    }

    /// The position after which a follower sends again what happened since a time: never one behind its cursor, as
    /// nothing may be left out.
    pub async fn find_resend_position(
        &self,
        follower: &Name,
        reader: &dyn LogReader,
        since: Millis,
    ) -> Result<Result<Position, LogFault>, CursorFault> {
        let found = self.read_cursor(follower).await?;
        Ok(find_first_since(reader, since).and_then(|first| match found {
            FoundCursor::At { mark, .. } if find_mark(reader, mark.position)? == Some(mark) => {
                Ok(first.min(mark.position))
            }
            _ => Ok(first),
        }))
    }
}

/// The record at a position, as a cursor names it; `None` if the log has none there.
pub fn find_mark(reader: &dyn LogReader, position: Position) -> Result<Option<LogMark>, LogFault> {
    let Some(before) = position.0.checked_sub(1) else { return Ok(Some(LogMark::EMPTY)) };
    let found = reader.read_after(Position(before), 1)?.into_iter().find(|(at, _)| *at == position);
    Ok(found.map(|(position, record)| LogMark { position, head: record.head }))
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

/// Where a follower begins to send.
#[derive(Clone, Copy)]
pub(crate) struct CursorStart {
    mark: LogMark,
    is_new: bool,
    /// The version of the cursor that is there; `None` if it has to be made.
    version: Option<u64>,
}

/// Where a follower with such a cursor begins. One that the log does not know begins at its end. The error says in words
/// why a person has to say where it goes on.
pub(crate) fn find_start(
    (place, follower): (&CursorPlace, &Name),
    found: &FoundCursor,
    reader: &dyn LogReader,
) -> Result<CursorStart, String> {
    let wrap_log = |fault: LogFault| fault.to_string();
    match *found {
        FoundCursor::Nothing if list_begun(reader).map_err(wrap_log)?.contains(follower) => {
            Err(format!("its cursor is gone: there is no {}", place.describe_cursor(follower)))
        }
        FoundCursor::Nothing => {
            let last = reader.read_last().map_err(wrap_log)?;
            let mark = find_mark(reader, last).map_err(wrap_log)?.unwrap_or(LogMark::EMPTY);
            Ok(CursorStart { mark, is_new: true, version: None })
        }
        FoundCursor::Corrupt => Err(format!("its cursor {} is corrupt", place.describe_cursor(follower))),
        FoundCursor::At { mark, .. } if find_mark(reader, mark.position).map_err(wrap_log)? != Some(mark) => {
            Err(format!(
                "the log has not the record at position {} up to which was sent: it is an older copy or another log",
                mark.position.0
            ))
        }
        FoundCursor::At { mark, is_new, version } => Ok(CursorStart { mark, is_new, version: Some(version) }),
    }
}

/// What holds an open cursor.
enum CursorFile {
    Slots(PathBuf, SlotFile),
    Stored { broker: Arc<Broker>, follower: Name, at: u64 },
}

/// An open cursor.
pub(crate) struct OpenCursor {
    /// Where it is.
    pub(crate) mark: LogMark,
    /// Whether the log may not say yet that the follower begins there.
    pub(crate) is_new: bool,
    file: CursorFile,
    written: Position,
}

impl OpenCursor {
    /// Opens the cursor of a follower, or makes it; `None` if another program made it just now.
    pub(crate) async fn open(
        place: &CursorPlace,
        follower: &Name,
        CursorStart { mark, is_new, version }: CursorStart,
    ) -> Result<Option<OpenCursor>, CursorFault> {
        let file = match (version, place) {
            (None, place) => place.put_anew(follower, mark, Some(0)).await?,
            (Some(next), CursorPlace::Beside(log)) => {
                let path = CursorPlace::find_path(log, follower);
                let opened = SlotFile::open(&path, MAGIC, usize::from(next != 0));
                let file = opened.map_err(|error| CursorFault::of_file(&path, &error))?;
                Some(CursorFile::Slots(path, file))
            }
            (Some(at), CursorPlace::Broker(broker)) => {
                Some(CursorFile::Stored { broker: broker.clone(), follower: follower.clone(), at })
            }
        };
        Ok(file.map(|file| OpenCursor { mark, is_new, file, written: mark.position }))
    }

    /// Notes how far everything is sent. It is written if something was sent, or after many records that are not. Returns
    /// whether it is still the cursor that counts.
    pub(crate) async fn put_mark(&mut self, mark: LogMark, is_sent: bool) -> Result<bool, CursorFault> {
        let passed = mark.position.0.saturating_sub(self.written.0);
        let mut counts = true;
        if passed > 0 && (is_sent || passed >= crate::limits::CURSOR_STRIDE) {
            counts = self.file.put(mark).await?;
            self.written = mark.position;
        }
        self.mark = mark;
        Ok(counts)
    }

    /// Whether a person moved it.
    pub(crate) async fn is_moved(&self) -> bool {
        match &self.file {
            CursorFile::Slots(_, file) => file.is_replaced(),
            CursorFile::Stored { broker, follower, at } => {
                let found = broker.read_mark(follower).await;
                found.is_ok_and(|found| found.is_none_or(|found| found.sequence != *at))
            }
        }
    }
}

impl CursorFile {
    /// Writes the cursor, and returns whether it is the one that counts.
    async fn put(&mut self, mark: LogMark) -> Result<bool, CursorFault> {
        match self {
            CursorFile::Slots(path, file) => {
                file.put_end(mark).map_err(|error| CursorFault::of_file(path, &error))?;
                Ok(!file.is_replaced())
            }
            CursorFile::Stored { broker, follower, at } => {
                match broker.put_mark(follower, StoredMark::write(mark, false), Some(*at)).await {
                    AppendResult::At(place) => *at = place,
                    AppendResult::Stale => return Ok(false),
                    // If it was written all the same, the next one is stale, and the cursor is read again.
                    AppendResult::Refused(why) | AppendResult::Unknown(why) => {
                        return Err(CursorFault::of_append(why));
                    }
                }
                Ok(true)
            }
        }
    }
}

/// The followers that began, as the log says.
pub fn list_begun(reader: &dyn LogReader) -> Result<Vec<Name>, LogFault> {
    let began = list_beginnings(reader)?;
    let mut names: Vec<Name> = began.into_iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Where followers began, oldest first.
pub(crate) fn list_beginnings(reader: &dyn LogReader) -> Result<Vec<(Name, Position)>, LogFault> {
    let mut began = Vec::new();
    for placed in reader.records_of(&ThreadId::new_sys(), 1) {
        let news = follower_payload::read_news(&placed?.1.body);
        if let Some(FollowerNews { follower, position, change: FollowerChange::Began }) = news {
            began.push((follower, position));
        }
    }
    Ok(began)
}

/// The id of the event of a record.
pub(crate) fn make_event_id(leaf: &Digest) -> String {
    leaf.to_string().chars().take(32).collect()
}
