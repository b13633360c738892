//! The note of a pump that stands by, `<log>.stands-by`: whoever comes to its copy reads there who has the log. It is a
//! hint and no lock: one whose process is not the one that holds the copy says nothing.
//!
//! A log's path and words go in; a file is written, read or removed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Largest note that is read: the file may be anybody's.
const BYTES: u64 = 4096;

/// Who has the log, as whoever stands by heard it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StandingBy {
    /// The process that stands by.
    pub pid: u32,
    /// Who has the log, in words.
    pub leader: String,
}

/// A note of this process, removed when it is dropped.
#[must_use = "the note is removed when this is dropped"]
#[derive(Debug)]
pub struct Noted(PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        // One that stays behind names a process that does not hold the copy.
        let _left = std::fs::remove_file(&self.0);
    }
}

fn path(log: &Path) -> PathBuf {
    let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    let mut path = log.into_os_string();
    path.push(".stands-by");
    path.into()
}

impl StandingBy {
    /// Writes it beside the copy, in place of an older one.
    pub fn note(&self, log: &Path) -> std::io::Result<Noted> {
        let path = path(log);
        let mut fresh = path.clone().into_os_string();
        fresh.push(".new");
        std::fs::write(&fresh, serde_json::to_vec(self)?)?;
        std::fs::rename(&fresh, &path)?;
        Ok(Noted(path))
    }

    /// What the process noted that holds the copy; none where it does not stand by.
    pub fn of(log: &Path, pid: u32) -> Option<StandingBy> {
        let file = std::fs::File::open(path(log)).ok()?;
        let read: StandingBy = serde_json::from_reader(std::io::Read::take(file, BYTES)).ok()?;
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
        let note = |leader: &str| StandingBy { pid: 7, leader: leader.to_owned() };
        let first = note("process 1 on a").note(&log).unwrap();
        assert_eq!(StandingBy::of(&log, 7), Some(note("process 1 on a")));
        assert_eq!(StandingBy::of(&log, 8), None);
        drop(first);
        assert_eq!(StandingBy::of(&log, 7), None);
        let _second = note("process 2 on b").note(&log).unwrap();
        std::fs::write(path(&log), "{").unwrap();
        assert_eq!(StandingBy::of(&log, 7), None, "half a note says nothing");
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "the log and its note");
    }
}
