//! The journal: what is about to be written, what was written, and what files held before.
//!
//! Each change set has a folder, and the name of the record in it says how far it came. Records come in and are on
//! disk when a function returns. It knows nothing of the folder that is changed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::order::is_change;

/// The folder of the journal, locked for this process.
#[derive(Debug)]
pub(crate) struct ChangeJournal {
    changes: PathBuf,
    _lock: File,
}

/// What a change set does to files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangeRecord {
    pub(crate) change: String,
    /// The hash of the order that it comes from.
    pub(crate) order: String,
    pub(crate) is_dangerous: bool,
    pub(crate) elements: Vec<String>,
    /// For each element, what its edits did. None if it has no edits.
    pub(crate) edited: Vec<Option<String>>,
    pub(crate) files: Vec<RecordedFile>,
    /// Folders that it makes, from the root, outer ones first.
    pub(crate) folders: Vec<String>,
}

/// A file of a change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedFile {
    pub(crate) path: String,
    /// The hashes. None if there is no file.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) mode: u32,
    /// The name, in the same folder, of the new content until it is in place, and of the old one after that.
    pub(crate) beside: String,
}

/// How far a change set came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeStage {
    /// New content may be beside its places, and no file is changed.
    Open,
    /// All new content is beside its places, and some files may be changed.
    Writing,
    /// All files are changed; what they held may still be beside them.
    Closing,
    /// All files are changed.
    Complete,
    /// No file is changed.
    RolledBack,
    /// A file could not be taken back, and it is not reported yet.
    Left,
    /// The same, reported.
    LeftReported,
}

impl ChangeStage {
    const ALL: [ChangeStage; 7] = [
        ChangeStage::Open,
        ChangeStage::Writing,
        ChangeStage::Closing,
        ChangeStage::Complete,
        ChangeStage::RolledBack,
        ChangeStage::Left,
        ChangeStage::LeftReported,
    ];

    fn name(self) -> &'static str {
        match self {
            ChangeStage::Open => "open.json",
            ChangeStage::Writing => "writing.json",
            ChangeStage::Closing => "closing.json",
            ChangeStage::Complete => "complete.json",
            ChangeStage::RolledBack => "rolled-back.json",
            ChangeStage::Left => "left.json",
            ChangeStage::LeftReported => "left-reported.json",
        }
    }
}

/// The number of the command that was begun last.
const BEGUN: &str = "begun";
const RESULT: &str = "result.xml";
/// Why files were left as they are.
const REPORT: &str = "report.txt";

impl ChangeJournal {
    /// Opens the journal and locks it.
    pub(crate) fn open(state: &Path) -> io::Result<ChangeJournal> {
        use std::os::unix::fs::DirBuilderExt as _;
        let changes = state.join("changes");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&changes)?;
        let lock = File::options().create(true).truncate(false).write(true).open(state.join("lock"))?;
        // A process that has just ended, or one that is being started, may hold it for a moment.
        for left in (0..limits::LOCK_TRIES).rev() {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(_) if left > 0 => std::thread::sleep(limits::LOCK_WAIT),
                Err(error) => {
                    let held = format!(
                        "another process works in this workspace ({}); stop that organism, or send the request to it",
                        io::Error::from(error)
                    );
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, held));
                }
            }
        }
        Ok(ChangeJournal { changes, _lock: lock })
    }

    fn folder_of(&self, change: &str) -> PathBuf {
        self.changes.join(change)
    }

    /// Where the bytes are kept that a file held before.
    pub(crate) fn backup_path(&self, change: &str, number: usize) -> PathBuf {
        self.folder_of(change).join(format!("before.{number}"))
    }

    /// Puts down what is about to happen, with the bytes that each file holds.
    pub(crate) fn begin_change(&self, record: &ChangeRecord, before: &[Option<&[u8]>]) -> io::Result<()> {
        let folder = self.folder_of(&record.change);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(&folder)?,
        }
        sync_folder(&self.changes)?;
        for (number, bytes) in before.iter().enumerate() {
            if let Some(bytes) = bytes {
                let mut file = File::create_new(self.backup_path(&record.change, number))?;
                file.write_all(bytes)?;
                file.sync_all()?;
            }
        }
        put_file(&folder, ChangeStage::Open.name(), &serde_json::to_vec(record)?)
    }

    /// Notes how far a change set came.
    pub(crate) fn advance_stage(&self, change: &str, from: ChangeStage, to: ChangeStage) -> io::Result<()> {
        let folder = self.folder_of(change);
        fs::rename(folder.join(from.name()), folder.join(to.name()))?;
        sync_folder(&folder)
    }

    /// How far a change set came, and its record.
    pub(crate) fn find_change(&self, change: &str) -> io::Result<Option<(ChangeStage, ChangeRecord)>> {
        if !is_change(change) {
            return Ok(None);
        }
        for stage in ChangeStage::ALL {
            let Some(bytes) = read_file(&self.folder_of(change).join(stage.name()))? else { continue };
            return Ok(Some((stage, serde_json::from_slice(&bytes)?)));
        }
        Ok(None)
    }

    /// The change sets that are neither complete nor taken back, with how far they came.
    pub(crate) fn list_unsettled(&self) -> io::Result<Vec<(ChangeStage, ChangeRecord)>> {
        let mut found = Vec::new();
        for change in self.list_all()? {
            if let Some((
                stage @ (ChangeStage::Open | ChangeStage::Writing | ChangeStage::Closing | ChangeStage::Left),
                record,
            )) = self.find_change(&change)?
            {
                found.push((stage, record));
            }
        }
        Ok(found)
    }

    fn list_all(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.changes)? {
            let name = entry?.file_name();
            names.extend(name.to_str().filter(|name| is_change(name)).map(str::to_owned));
        }
        Ok(names)
    }

    /// Notes that a command is about to run.
    pub(crate) fn begin_command(&self, change: &str, of: usize) -> io::Result<()> {
        put_file(&self.folder_of(change), BEGUN, of.to_string().as_bytes())
    }

    /// The element whose command was begun last.
    pub(crate) fn last_begun(&self, change: &str) -> io::Result<Option<usize>> {
        let bytes = read_file(&self.folder_of(change).join(BEGUN))?;
        Ok(bytes.and_then(|bytes| String::from_utf8_lossy(&bytes).trim().parse().ok()))
    }

    /// Keeps the result of a change set.
    pub(crate) fn put_result(&self, change: &str, payload: &[u8]) -> io::Result<()> {
        put_file(&self.folder_of(change), RESULT, payload)
    }

    pub(crate) fn read_result(&self, change: &str) -> io::Result<Option<Vec<u8>>> {
        if is_change(change) { read_file(&self.folder_of(change).join(RESULT)) } else { Ok(None) }
    }

    pub(crate) fn put_report(&self, change: &str, words: &str) -> io::Result<()> {
        put_file(&self.folder_of(change), REPORT, words.as_bytes())
    }

    pub(crate) fn read_report(&self, change: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&read_file(&self.folder_of(change).join(REPORT))?.unwrap_or_default())
            .into_owned())
    }

    /// Forgets the oldest change sets that are settled, so that at most [`limits::KEPT_CHANGES`] are kept.
    pub(crate) fn prune_settled(&self) -> io::Result<()> {
        let all = self.list_all()?;
        let Some(surplus) = all.len().checked_sub(limits::KEPT_CHANGES).filter(|surplus| *surplus > 0) else {
            return Ok(());
        };
        let mut by_age = Vec::new();
        for change in all {
            by_age.push((fs::metadata(self.folder_of(&change))?.modified()?, change));
        }
        by_age.sort();
        let mut removed = 0;
        for (_, change) in by_age {
            let stage = self.find_change(&change)?.map(|(stage, _)| stage);
            if removed < surplus
                && !matches!(
                    stage,
                    Some(ChangeStage::Open | ChangeStage::Writing | ChangeStage::Closing | ChangeStage::Left)
                )
            {
                fs::remove_dir_all(self.folder_of(&change))?;
                removed += 1;
            }
        }
        Ok(())
    }
}

/// Writes a file so that it is there whole or not at all.
fn put_file(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = folder.join(format!("{name}.new"));
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, folder.join(name))?;
    sync_folder(folder)
}

fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(limits::JOURNAL_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
