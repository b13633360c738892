//! A small file that says a position of a log and the head of the record there, and is written again and again.
//!
//! Two slots with a checksum each are written in turn, so that an incomplete write leaves the other slot. Nothing is
//! synced but a new file: after a power failure it may say an earlier position. Paths and positions come in; what the
//! file says goes out. What the position means is the caller's.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::limits::SLOT_FILE_BYTES;
use systole_core::types::ids::Digest;
use systole_core::types::ports::Position;
use systole_system::system;

/// Bytes of a slot: the magic, the position, the head, and the first half of a hash over these three.
pub(crate) const SLOT: usize = 64;
/// The places of the slots: a page apart, so that one bad disk block does not destroy both.
pub(crate) const PLACES: [u64; 2] = [0, 4096];

/// A position of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogMark {
    /// The position; 0 before the first record.
    pub position: Position,
    /// The head of the record there; zeros if there is no record.
    pub head: Digest,
}

impl LogMark {
    /// The place before the first record.
    pub const EMPTY: LogMark = LogMark { position: Position(0), head: Digest([0; 32]) };
}

/// What a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundSlots {
    /// There is no such file.
    Nothing,
    /// No slot of it can be read.
    Corrupt,
    /// The newest slot that can be read.
    At {
        /// Its content.
        end: LogMark,
        /// Whether both slots can be read.
        is_whole: bool,
        /// Whether both slots say the same: nothing was written since the file was made.
        is_new: bool,
        /// The slot to be written next.
        next: usize,
    },
}

/// Reads a file whose slots begin with these bytes.
pub fn find_slots(path: &Path, magic: &[u8; 8]) -> io::Result<FoundSlots> {
    let bytes = match system::read_bounded(path, SLOT_FILE_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FoundSlots::Nothing),
        read => read?,
    };
    Ok(match PLACES.map(|place| slot_at(&bytes, place, magic)) {
        [Some(first), Some(second)] => {
            let is_second = second.position > first.position;
            let (end, next) = if is_second { (second, 0) } else { (first, 1) };
            FoundSlots::At { end, is_whole: true, is_new: first == second, next }
        }
        [Some(end), None] => FoundSlots::At { end, is_whole: false, is_new: false, next: 1 },
        [None, Some(end)] => FoundSlots::At { end, is_whole: false, is_new: false, next: 0 },
        [None, None] => FoundSlots::Corrupt,
    })
}

fn slot_at(bytes: &[u8], place: u64, magic: &[u8; 8]) -> Option<LogMark> {
    let slot: &[u8; SLOT] = bytes.get(usize::try_from(place).ok()?..)?.first_chunk()?;
    let (position, rest) = slot.strip_prefix(magic)?.split_first_chunk()?;
    let said =
        LogMark { position: Position(u64::from_be_bytes(*position)), head: Digest(*rest.first_chunk()?) };
    (slot_of(said, magic) == *slot).then_some(said)
}

fn slot_of(end: LogMark, magic: &[u8; 8]) -> [u8; SLOT] {
    let said = [&magic[..], &end.position.0.to_be_bytes(), &end.head.0].concat();
    let hash = Sha256::digest(&said);
    let mut slot = [0; SLOT];
    slot.iter_mut().zip(said.into_iter().chain(hash)).for_each(|(to, from)| *to = from);
    slot
}

/// A file that is open for writing.
pub struct SlotFile {
    magic: &'static [u8; 8],
    path: PathBuf,
    file: File,
    next: usize,
}

impl SlotFile {
    /// Makes the file, or replaces it. It is written under another name first: a crash must not leave an unreadable one.
    pub fn make_anew(path: &Path, magic: &'static [u8; 8], end: LogMark) -> io::Result<SlotFile> {
        let mut draft = OsString::from(path);
        // No name of a party ends like this.
        draft.push("~");
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        for at in PLACES {
            file.write_all_at(&slot_of(end, magic), at)?;
        }
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
        Ok(SlotFile { magic, path: path.to_owned(), file, next: 0 })
    }

    /// Opens a file whose slots are both readable. `next` is the slot that `find_slots` names.
    pub fn open(path: &Path, magic: &'static [u8; 8], next: usize) -> io::Result<SlotFile> {
        let file = File::options().write(true).open(path)?;
        Ok(SlotFile { magic, path: path.to_owned(), file, next })
    }

    /// Writes a position. A slot that could not be written is tried again: the other one is still good.
    pub fn put_end(&mut self, end: LogMark) -> io::Result<()> {
        let [first, second] = PLACES;
        let at = if self.next == 0 { first } else { second };
        self.file.write_all_at(&slot_of(end, self.magic), at)?;
        self.next = 1 - self.next;
        Ok(())
    }

    /// One whose file was opened for reading alone, as if the disk had become read-only.
    #[cfg(test)]
    pub(crate) fn read_only(path: &Path, magic: &'static [u8; 8]) -> SlotFile {
        SlotFile { magic, path: path.to_owned(), file: File::open(path).unwrap(), next: 0 }
    }

    /// Whether its path names another file by now, or none.
    pub fn is_replaced(&self) -> bool {
        let number = |found: io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        number(fs::symlink_metadata(&self.path)) != number(self.file.metadata())
    }
}
