//! What a witness has cosigned, in one file: the last checkpoint of each log, with the cosignature. So the file shows
//! by itself that the witness wrote it. It is stored before a cosignature is given out, and only one process has it.
//!
//! A log that the witness no longer serves stays in the file, so that it cannot begin another history later.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::key::{SignerKey, VerifierKey};
use systole_proof::note::NoteFault;
use systole_proof::witness::{self, WitnessAnswer, WitnessedLog};

use systole_core::types::ids::Digest;
use systole_log::checkpoint_file;
use systole_system::system::{self, FileFault};

const WHAT: &str = "what the witness has cosigned";

/// A witness and what it has cosigned.
pub struct WitnessBook {
    key: SignerKey,
    path: PathBuf,
    /// The checkpoints of the file.
    cosigned: Vec<SignedCheckpoint>,
    /// The logs that are served.
    logs: Vec<(String, WitnessedLog)>,
    /// Held as long as this process has the file.
    _lock: File,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WitnessBookFault {
    /// The file was not written, so nothing was cosigned.
    #[error("{}", .0.words)]
    Unwritten(FileFault),
    /// The witness cannot cosign.
    #[error(transparent)]
    Key(#[from] NoteFault),
}

impl WitnessBook {
    /// Opens the file, or begins one. Every checkpoint in it has to be cosigned by this key.
    pub fn open_book(key: SignerKey, logs: &[VerifierKey], path: PathBuf) -> Result<WitnessBook, FileFault> {
        let lock = lock_file(&path)?;
        let mut cosigned = Vec::new();
        for (line, read) in checkpoint_file::read_notes(&path)? {
            let bad = |why: String| FileFault {
                words: format!("{}:{line}: {why}", path.display()),
                fix: "the file as this witness wrote it; a new file would cosign another history",
            };
            let checkpoint = read.map_err(|fault| bad(fault.to_string()))?;
            let own = checkpoint.note().verify_with(std::slice::from_ref(key.verifier()));
            own.map_err(|_| bad(format!("{} did not cosign this checkpoint", key.verifier().name())))?;
            let origin = checkpoint.checkpoint().origin();
            if cosigned.iter().any(|other: &SignedCheckpoint| other.checkpoint().origin() == origin) {
                return Err(bad(format!("a second checkpoint of {origin}")));
            }
            cosigned.push(checkpoint);
        }
        let mut known: Vec<(String, WitnessedLog)> = Vec::new();
        for log in logs {
            match known.iter_mut().find(|(origin, _)| origin == log.name()) {
                Some((_, known)) => known.keys.push(log.clone()),
                None => known.push((log.name().to_owned(), WitnessedLog::new(vec![log.clone()]))),
            }
        }
        for (origin, log) in &mut known {
            let last = cosigned.iter().map(SignedCheckpoint::checkpoint).find(|one| one.origin() == origin);
            if let Some(last) = last {
                (log.size, log.root) = (last.size(), *last.root());
            }
        }
        Ok(WitnessBook { key, path, cosigned, logs: known, _lock: lock })
    }

    /// The logs that are served, each with the size of its last checkpoint.
    pub fn logs(&self) -> impl Iterator<Item = (&str, u64)> {
        self.logs.iter().map(|(origin, log)| (origin.as_str(), log.size))
    }

    /// The last checkpoint of a log, by the SHA-256 of its name.
    pub fn find_last(&self, origin: Digest) -> Option<&SignedCheckpoint> {
        self.cosigned.iter().find(|one| Digest::hash_bytes(one.checkpoint().origin().as_bytes()) == origin)
    }

    /// Answers a request. What is cosigned is on disk before this returns. Blocks.
    pub fn answer_request(&mut self, body: &[u8], seconds: u64) -> Result<WitnessAnswer, WitnessBookFault> {
        let of = |origin: &str| self.logs.iter().find(|(known, _)| known == origin).map(|(_, log)| log);
        let answer = witness::answer_request(body, &self.key, seconds, of)?;
        if let WitnessAnswer::Cosigned(checkpoint) = &answer {
            self.store_checkpoint(checkpoint).map_err(WitnessBookFault::Unwritten)?;
        }
        Ok(answer)
    }

    fn store_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), FileFault> {
        let new = checkpoint.checkpoint();
        let is_other = |one: &&SignedCheckpoint| one.checkpoint().origin() != new.origin();
        let mut cosigned: Vec<SignedCheckpoint> = self.cosigned.iter().filter(is_other).cloned().collect();
        cosigned.push(checkpoint.clone());
        let text: String = cosigned.iter().map(ToString::to_string).collect();
        system::write_whole(&self.path, text.as_bytes())
            .map_err(|error| system::report_unwritten(&self.path, WHAT, &error))?;
        self.cosigned = cosigned;
        if let Some((_, log)) = self.logs.iter_mut().find(|(origin, _)| origin == new.origin()) {
            (log.size, log.root) = (new.size(), *new.root());
        }
        Ok(())
    }
}

/// Takes the file for this process. The kernel gives it back with the end of the process.
fn lock_file(path: &Path) -> Result<File, FileFault> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let beside = PathBuf::from(beside);
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(false).mode(0o600);
    let file = open
        .open(&beside)
        .map_err(|error| system::report_unwritten(&beside, "the lock of a witness", &error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(FileFault {
            words: format!("{}: another witness uses it", path.display()),
            fix: "one process for all logs, with --add for each; or --state FILE for another witness",
        }),
    }
}
