//! The verdict on a log that is shown without an organism, as its pages say it.
//!
//! It is made where the log is verified, and carried to the pages.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use systole_core::types::ports::Position;
use systole_export::verdict::AuditAnswer;

/// What the pages say of a log at rest.
#[derive(Clone, Debug)]
pub struct RestingVerdict {
    /// The file that is shown.
    pub file: PathBuf,
    /// The same as a shell reads it.
    pub typed: String,
    /// Whether it verifies.
    pub is_sound: bool,
    /// The verdict, and what the file lacks.
    pub words: String,
    /// The last position before the damage; `None` if all is shown.
    pub readable: Option<Position>,
    /// The log when it was verified; `None` for an export, which is read as a whole.
    pub seen: Option<FileState>,
    /// What proves an export; `None` for a log, which its page verifies again.
    pub exported: Option<ExportedProof>,
}

/// What proves an export.
#[derive(Clone, Debug)]
pub struct ExportedProof {
    /// The verdict alone.
    pub verdict: String,
    /// What it has, each with its name.
    pub facts: Vec<(&'static str, String)>,
    /// Its checkpoints and its signers, in words.
    pub checkpoints: Vec<String>,
    /// Whether it has no record of the log's own thread, with starts, requests to persons and decisions.
    pub lacks_own_thread: bool,
    /// Whether requests to models are left out, and so their costs and prompts.
    pub lacks_requests: bool,
    /// The answers to an auditor's questions.
    pub answers: Vec<AuditAnswer>,
    /// The parts that were left out, in words.
    pub holes: Vec<String>,
    /// What was not checked, in words.
    pub not_checked: Vec<String>,
}

impl RestingVerdict {
    /// Whether the file is not any more what was verified.
    pub fn is_outdated(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| *seen != FileState::read_state(&self.file))
    }

    /// Whether it is an export.
    pub fn is_export(&self) -> bool {
        self.exported.is_some()
    }
}

/// A log's file and its write-ahead log at a moment. A write changes one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileState([Option<StampedFile>; 2]);

/// Which file it is, its bytes, and when it was written.
type StampedFile = (u64, u64, u64, i64, i64);

impl FileState {
    /// The state of a log.
    pub fn read_state(log: &Path) -> FileState {
        let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
        let mut wal = log.clone().into_os_string();
        wal.push("-wal");
        FileState([log, wal.into()].map(|file| {
            let found = std::fs::metadata(file).ok()?;
            Some((found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
        }))
    }
}
