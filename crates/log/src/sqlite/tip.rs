//! `<log>.tip`: the last acknowledged position, and the head of the record there. A log that lost its end verifies
//! like any other; its tip reveals the loss.
//!
//! The tip is written after each commit and before anyone hears of the commit, without a sync. So it may be behind
//! the log: by one commit after the process was killed, by more after a power failure. It is never ahead of a
//! complete log, because the commit was synced first. Two slots with a checksum each are written in turn, so that an
//! incomplete write leaves the other slot. The tip protects against accidents: a process that can write the log can
//! write its tip too.

use std::path::{Path, PathBuf};

use super::io_fault;
use super::layout::make_beside;
use crate::slot_file::{self, FoundSlots, LogMark, SlotFile};
use systole_core::types::ports::LogFault;

/// The file's ending.
pub(super) const ENDING: &str = ".tip";
/// What a slot begins with.
const MAGIC: &[u8; 8] = b"systtip1";

/// The end of a log.
pub(super) type TipEnd = LogMark;

/// What is known about the tip of a log.
pub(super) type FoundTip = FoundSlots;

/// Reads the tip of a log.
pub(super) fn find_tip(log: &Path) -> Result<FoundTip, LogFault> {
    let path = make_beside(log, ENDING);
    slot_file::find_slots(&path, MAGIC).map_err(|e| io_fault(&path, &e))
}

/// The tip of a log that is open for writing.
pub(super) struct LogTip {
    path: PathBuf,
    /// `None` until the first commit if the existing tip must be replaced: it names records that were given up, and
    /// has to do so until the log records that.
    slots: Option<SlotFile>,
}

impl LogTip {
    /// The tip of a log that ends there, made or brought up to date.
    pub(super) fn new(log: &Path, found: FoundTip, end: TipEnd) -> Result<LogTip, LogFault> {
        let path = make_beside(log, ENDING);
        let open = || match found {
            FoundTip::At { end: was, is_whole: true, next, .. } => {
                let mut slots = SlotFile::open(&path, MAGIC, next)?;
                if was != end {
                    slots.put_end(end)?;
                }
                Ok(slots)
            }
            FoundTip::Nothing | FoundTip::Corrupt | FoundTip::At { is_whole: false, .. } => {
                SlotFile::make_anew(&path, MAGIC, end)
            }
        };
        let slots = open().map_err(|e| io_fault(&path, &e))?;
        Ok(LogTip { path, slots: Some(slots) })
    }

    /// A tip that replaces the existing one with the first commit.
    pub(super) fn new_replacing(log: &Path) -> LogTip {
        LogTip { path: make_beside(log, ENDING), slots: None }
    }

    /// Writes how far the log goes now. A tip that cannot be written stays behind, which does not harm the log, and
    /// is written again with the next commit.
    pub(super) fn put_end(&mut self, end: TipEnd) -> Result<(), LogFault> {
        let written = match &mut self.slots {
            Some(slots) => slots.put_end(end),
            None => SlotFile::make_anew(&self.path, MAGIC, end).map(|slots| self.slots = Some(slots)),
        };
        written.map_err(|e| io_fault(&self.path, &e))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::slot_file::{PLACES, SLOT};
    use systole_core::types::ids::Digest;
    use systole_core::types::ports::Position;

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
                let Ok(FoundTip::At { end: found, is_whole: false, next, .. }) = find_tip(&log) else {
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
        let mut tip = LogTip { path: path.clone(), slots: Some(SlotFile::read_only(&path, MAGIC)) };
        let fault = tip.put_end(end(2)).unwrap_err().to_string();
        assert!(fault.contains("organism.db.tip: "), "{fault}");
        assert!(matches!(find_tip(&log), Ok(FoundTip::At { end: found, .. }) if found == end(1)));
        tip.slots = Some(SlotFile::open(&path, MAGIC, 0).unwrap());
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
