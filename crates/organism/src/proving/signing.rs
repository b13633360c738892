//! Signs checkpoints of a log as it grows. Between two checkpoints it keeps one hash for each level of the tree, so that
//! only new records are read.
//!
//! A key that signed a checkpoint never signs another history: the log has to begin with the records of the last
//! checkpoint, before anything is signed and before an organism starts.

use std::path::PathBuf;

use systole_proof::checkpoint::{Checkpoint, CheckpointFault, SignedCheckpoint};
use systole_proof::key::{SignerKey, VerifierKey};
use systole_proof::tree::Frontier;

use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_log::checkpoint_file;
use systole_system::system::FileFault;

/// Why nothing is signed.
#[derive(Debug, thiserror::Error)]
pub enum SigningFault {
    /// The checkpoints beside the log cannot be read or written.
    #[error("{}", .0.words)]
    Notes(FileFault),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The key does not sign checkpoints of this log.
    #[error(transparent)]
    Key(#[from] CheckpointFault),
    /// The log does not begin with the records of the last checkpoint.
    #[error(
        "the last checkpoint of {origin} has {size} records, and the log does not begin with them: it has {records}{}",
        if .records < .size { "" } else { ", others" }
    )]
    OtherHistory {
        /// The name of the log.
        origin: String,
        /// The records of the last checkpoint.
        size: u64,
        /// The records of the log.
        records: u64,
    },
}

/// Signs checkpoints of one log.
pub struct LogSigner {
    key: SignerKey,
    notes: PathBuf,
    tree: Frontier,
    last: Option<SignedCheckpoint>,
}

impl LogSigner {
    /// Goes on after the last checkpoint beside the log. `logs` are further keys whose checkpoints count.
    pub fn open(
        key: SignerKey,
        logs: &[VerifierKey],
        notes: PathBuf,
        reader: &dyn LogReader,
    ) -> Result<LogSigner, SigningFault> {
        let keys = [std::slice::from_ref(key.verifier()), logs].concat();
        let last = find_last(checkpoint_file::read_notes(&notes).map_err(SigningFault::Notes)?, &keys);
        let mut tree = Frontier::new();
        if let Some(last) = &last {
            let checkpoint = last.checkpoint();
            for placed in reader.records_after(Position(0)).up_to(Position(checkpoint.size())) {
                tree.push(placed?.1.leaf.0);
            }
            if tree.size() < checkpoint.size() || tree.root() != *checkpoint.root() {
                let (origin, size) = (checkpoint.origin().to_owned(), checkpoint.size());
                let records = reader.read_last()?.0;
                return Err(SigningFault::OtherHistory { origin, size, records });
            }
        }
        Ok(LogSigner { key, notes, tree, last })
    }

    /// The tree of the last checkpoint.
    pub fn tree(&self) -> &Frontier {
        &self.tree
    }

    /// The last checkpoint.
    pub fn last_checkpoint(&self) -> Option<&SignedCheckpoint> {
        self.last.as_ref()
    }

    /// Signs and stores a checkpoint of everything that is in the log now. Returns whether there was something new.
    pub fn sign_log(&mut self, reader: &dyn LogReader) -> Result<bool, SigningFault> {
        let mut tree = self.tree.clone();
        for placed in reader.records_after(Position(tree.size())).up_to(reader.read_last()?) {
            tree.push(placed?.1.leaf.0);
        }
        if tree.size() == self.tree.size() {
            return Ok(false);
        }
        let checkpoint = Checkpoint::new(self.key.verifier().name(), tree.size(), tree.root())?;
        let signed = SignedCheckpoint::sign_with(checkpoint, &self.key)?;
        checkpoint_file::append_checkpoint(&self.notes, &signed).map_err(SigningFault::Notes)?;
        (self.tree, self.last) = (tree, Some(signed));
        Ok(true)
    }

    /// Stores the last checkpoint once more, with the cosignatures of witnesses.
    pub fn store_cosigned(&mut self, cosigned: SignedCheckpoint) -> Result<(), SigningFault> {
        checkpoint_file::append_checkpoint(&self.notes, &cosigned).map_err(SigningFault::Notes)?;
        self.last = Some(cosigned);
        Ok(())
    }
}

/// The largest checkpoint that one of these keys signed.
pub fn find_last(found: Vec<checkpoint_file::FoundNote>, keys: &[VerifierKey]) -> Option<SignedCheckpoint> {
    let own = found.into_iter().filter_map(|(_, read)| read.ok());
    let own = own.filter(|one| keys.iter().any(|key| one.verify_with(key).is_ok()));
    own.max_by_key(|one| one.checkpoint().size())
}
