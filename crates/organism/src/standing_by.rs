//! The note of a standby pump, `<log>.stands-by`: it tells readers of the copy who writes the log. It is a hint and
//! not a lock: a note is ignored if its process does not hold the copy.
//!
//! Input: a log's path and a text. Output: a file is written, read or removed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::limits;

/// Who writes the log, as the standby pump sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StandbyStatus {
    /// The standby process.
    pub pid: u32,
    /// Who writes the log, as text.
    pub leader: String,
}

/// A note of this process, removed when it is dropped.
#[must_use = "the note is removed when this is dropped"]
#[derive(Debug)]
pub struct StandbyNote(PathBuf);

impl Drop for StandbyNote {
    fn drop(&mut self) {
        // A note that stays behind names a process that does not hold the copy.
        let _left = std::fs::remove_file(&self.0);
    }
}

fn find_path(log: &Path) -> PathBuf {
    let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    let mut path = log.into_os_string();
    path.push(".stands-by");
    path.into()
}

impl StandbyStatus {
    /// Writes the note next to the copy and replaces an older one.
    pub fn write_note(&self, log: &Path) -> std::io::Result<StandbyNote> {
        let path = find_path(log);
        let mut fresh = path.clone().into_os_string();
        fresh.push(".new");
        std::fs::write(&fresh, serde_json::to_vec(self)?)?;
        std::fs::rename(&fresh, &path)?;
        Ok(StandbyNote(path))
    }

    /// The note of the process that holds the copy. `None` if that process is not on standby.
    pub fn read_note(log: &Path, pid: u32) -> Option<StandbyStatus> {
        let file = std::fs::File::open(find_path(log)).ok()?;
        let read: StandbyStatus =
            serde_json::from_reader(std::io::Read::take(file, limits::NOTE_BYTES)).ok()?;
        (read.pid == pid).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_for_the_process_that_holds_the_copy_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        std::fs::write(&log, "").unwrap();
        let note = |leader: &str| StandbyStatus { pid: 7, leader: leader.to_owned() };
        let first = note("process 1 on a").write_note(&log).unwrap();
        assert_eq!(StandbyStatus::read_note(&log, 7), Some(note("process 1 on a")));
        assert_eq!(StandbyStatus::read_note(&log, 8), None);
        drop(first);
        assert_eq!(StandbyStatus::read_note(&log, 7), None);
        let _second = note("process 2 on b").write_note(&log).unwrap();
        std::fs::write(find_path(&log), "{").unwrap();
        assert_eq!(StandbyStatus::read_note(&log, 7), None, "half a note says nothing");
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "the log and its note");
    }
}
