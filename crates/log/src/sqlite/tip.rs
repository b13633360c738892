//! `<log>.tip`: the last acknowledged position, and the head of the record there. A log that lost its end verifies
//! like any other; its tip reveals the loss.
//!
//! The tip is written after each commit and before anyone hears of the commit, without a sync. So it may be behind
//! the log: by one commit after the process was killed, by more after a power failure. It is never ahead of a
//! complete log, because the commit was synced first. Two slots with a checksum each are written in turn, so that an
//! incomplete write leaves the other slot. The tip protects against accidents: a process that can write the log can
//! write its tip too.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::io_fault;
use super::layout::{make_beside, sync_folder};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, Position};

/// The file's ending.
pub(super) const ENDING: &str = ".tip";
/// What a slot begins with.
const MAGIC: &[u8; 8] = b"systtip1";
/// Bytes of a slot: the magic, the position, the head, and the first half of a hash over these three.
const SLOT: usize = 64;
/// The places of the slots: a page apart, so that one bad disk block does not destroy both.
const PLACES: [u64; 2] = [0, 4096];

/// The end of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TipEnd {
    /// The last position; 0 for a log without records.
    pub(super) position: Position,
    /// The head of the record there; zeros if there is no record.
    pub(super) head: Digest,
}

impl TipEnd {
    /// The end of a log without records.
    pub(super) const EMPTY: TipEnd = TipEnd { position: Position(0), head: Digest([0; 32]) };
}

/// What is known about the tip of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoundTip {
    /// There is no such file.
    Nothing,
    /// No slot of it can be read.
    Corrupt,
    /// The newest slot that can be read.
    At {
        /// Its content.
        end: TipEnd,
        /// Whether both slots can be read.
        is_whole: bool,
        /// The slot to be written next.
        next: usize,
    },
}

/// Reads the tip of a log.
pub(super) fn find_tip(log: &Path) -> Result<FoundTip, LogFault> {
    let path = make_beside(log, ENDING);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(FoundTip::Nothing),
        Err(e) => return Err(io_fault(&path, &e)),
    };
    Ok(match PLACES.map(|place| slot_at(&bytes, place)) {
        [Some(first), Some(second)] => {
            let is_second = second.position > first.position;
            let (end, next) = if is_second { (second, 0) } else { (first, 1) };
            FoundTip::At { end, is_whole: true, next }
        }
        [Some(end), None] => FoundTip::At { end, is_whole: false, next: 1 },
        [None, Some(end)] => FoundTip::At { end, is_whole: false, next: 0 },
        [None, None] => FoundTip::Corrupt,
    })
}

fn slot_at(bytes: &[u8], place: u64) -> Option<TipEnd> {
    let slot: &[u8; SLOT] = bytes.get(usize::try_from(place).ok()?..)?.first_chunk()?;
    let (position, rest) = slot.strip_prefix(MAGIC)?.split_first_chunk()?;
    let end =
        TipEnd { position: Position(u64::from_be_bytes(*position)), head: Digest(*rest.first_chunk()?) };
    (slot_of(end) == *slot).then_some(end)
}

fn slot_of(end: TipEnd) -> [u8; SLOT] {
    let said = [&MAGIC[..], &end.position.0.to_be_bytes(), &end.head.0].concat();
    let hash = Sha256::digest(&said);
    let mut slot = [0; SLOT];
    slot.iter_mut().zip(said.into_iter().chain(hash)).for_each(|(to, from)| *to = from);
    slot
}

/// The tip of a log that is open for writing.
pub(super) struct LogTip {
    path: PathBuf,
    /// `None` until the first commit if the existing tip must be replaced: it names records that were given up, and
    /// has to do so until the log records that.
    slots: Option<TipSlots>,
}

struct TipSlots {
    file: File,
    next: usize,
}

impl LogTip {
    /// The tip of a log that ends there, made or brought up to date.
    pub(super) fn new(log: &Path, found: FoundTip, end: TipEnd) -> Result<LogTip, LogFault> {
        let path = make_beside(log, ENDING);
        let slots = match found {
            FoundTip::At { end: was, is_whole: true, next } => {
                let file = File::options().write(true).open(&path).map_err(|e| io_fault(&path, &e))?;
                let mut slots = TipSlots { file, next };
                if was != end {
                    slots.put_end(end).map_err(|e| io_fault(&path, &e))?;
                }
                slots
            }
            FoundTip::Nothing | FoundTip::Corrupt | FoundTip::At { is_whole: false, .. } => {
                TipSlots::make_anew(&path, end)?
            }
        };
        Ok(LogTip { path, slots: Some(slots) })
    }

    /// A tip that replaces the existing one with the first commit.
    pub(super) fn new_replacing(log: &Path) -> LogTip {
        LogTip { path: make_beside(log, ENDING), slots: None }
    }

    /// Writes how far the log goes now. A tip that cannot be written stays behind, which does not harm the log, and
    /// is written again with the next commit.
    pub(super) fn put_end(&mut self, end: TipEnd) -> Result<(), LogFault> {
        match &mut self.slots {
            Some(slots) => slots.put_end(end).map_err(|e| io_fault(&self.path, &e))?,
            None => self.slots = Some(TipSlots::make_anew(&self.path, end)?),
        }
        Ok(())
    }
}

impl TipSlots {
    /// Writes under another name first: a crash must not leave an unreadable tip.
    fn make_anew(path: &Path, end: TipEnd) -> Result<TipSlots, LogFault> {
        let draft = make_beside(path, ".new");
        let write = || {
            let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            for place in PLACES {
                file.write_all_at(&slot_of(end), place)?;
            }
            file.sync_all()?;
            fs::rename(&draft, path)?;
            Ok(file)
        };
        let file = write().map_err(|e| io_fault(path, &e))?;
        sync_folder(path)?;
        Ok(TipSlots { file, next: 0 })
    }

    /// A slot that could not be written is tried again: the other one is still good.
    fn put_end(&mut self, end: TipEnd) -> std::io::Result<()> {
        let [first, second] = PLACES;
        self.file.write_all_at(&slot_of(end), if self.next == 0 { first } else { second })?;
        self.next = 1 - self.next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("systole-tip-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        folder
    }

    fn end(n: u8) -> TipEnd {
        TipEnd { position: Position(u64::from(n)), head: Digest([n; 32]) }
    }

    #[test]
    fn the_newest_slot_counts_and_a_flipped_bit_leaves_the_other_one() {
        let folder = folder("slots");
        let log = folder.join("organism.db");
        let mut tip = LogTip::new(&log, find_tip(&log).unwrap(), end(1)).unwrap();
        for n in 2..9 {
            tip.put_end(end(n)).unwrap();
            assert!(
                matches!(find_tip(&log), Ok(FoundTip::At { end: found, is_whole: true, .. }) if found == end(n))
            );
        }
        let whole = fs::read(log.with_extension("db.tip")).unwrap();
        let slots = PLACES.map(|place| usize::try_from(place).unwrap());
        for bit in 0..SLOT * 8 {
            for (which, place) in slots.into_iter().enumerate() {
                let mut bytes = whole.clone();
                bytes[place + bit / 8] ^= 1 << (bit % 8);
                fs::write(log.with_extension("db.tip"), &bytes).unwrap();
                let Ok(FoundTip::At { end: found, is_whole: false, next }) = find_tip(&log) else {
                    panic!("{bit}")
                };
                assert!(
                    next == which && found.position >= Position(7),
                    "bit {bit} of slot {which}: {found:?}"
                );
                // The next start fixes this.
                drop(LogTip::new(&log, find_tip(&log).unwrap(), end(8)).unwrap());
                assert!(
                    matches!(find_tip(&log), Ok(FoundTip::At { end: found, is_whole: true, .. }) if found == end(8))
                );
            }
        }
        fs::write(log.with_extension("db.tip"), b"").unwrap();
        assert_eq!(find_tip(&log), Ok(FoundTip::Corrupt));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_slot_that_cannot_be_written_is_an_error_and_is_tried_again() {
        let folder = folder("unwritable");
        let log = folder.join("organism.db");
        drop(LogTip::new(&log, FoundTip::Nothing, end(1)).unwrap());
        let path = log.with_extension("db.tip");
        // Opened for reading alone, as if the disk had become read-only.
        let slots = TipSlots { file: File::open(&path).unwrap(), next: 0 };
        let mut tip = LogTip { path: path.clone(), slots: Some(slots) };
        let fault = tip.put_end(end(2)).unwrap_err().to_string();
        assert!(fault.contains("organism.db.tip: "), "{fault}");
        assert!(matches!(find_tip(&log), Ok(FoundTip::At { end: found, .. }) if found == end(1)));
        tip.slots = Some(TipSlots { file: File::options().write(true).open(&path).unwrap(), next: 0 });
        tip.put_end(end(3)).unwrap();
        assert!(matches!(find_tip(&log), Ok(FoundTip::At { end: found, .. }) if found == end(3)));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_given_up_stays_named_until_the_next_commit() {
        let folder = folder("replacing");
        let log = folder.join("organism.db");
        drop(LogTip::new(&log, FoundTip::Nothing, end(9)).unwrap());
        let mut tip = LogTip::new_replacing(&log);
        assert!(matches!(find_tip(&log), Ok(FoundTip::At { end: found, .. }) if found == end(9)));
        for n in [4, 5] {
            tip.put_end(end(n)).unwrap();
            assert!(matches!(find_tip(&log), Ok(FoundTip::At { end: found, .. }) if found == end(n)));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
