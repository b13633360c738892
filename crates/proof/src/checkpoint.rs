//! Checkpoints of C2SP: the name of a log, the size of its tree and the root, as the text of a signed note.

use std::fmt;

use thiserror::Error;

use crate::encoding::{encode_base64, hash_of, parse_number};
use crate::key::{SignatureKind, SignerKey, VerifierKey, check_name};
use crate::limits;
use crate::note::{NoteFault, SignedNote, VerifiedSignature};
use crate::tree::TreeHash;

/// Why a checkpoint is refused or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointFault {
    /// The note around it is refused.
    #[error(transparent)]
    Note(#[from] NoteFault),
    /// The origin is refused.
    #[error("line 1: the origin {0}")]
    Origin(&'static str),
    /// A line is missing or wrong.
    #[error("line {line}: {what}")]
    Line {
        /// The line of the checkpoint, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The checkpoint is of another log than the key.
    #[error("line 1: the origin is {origin}, and the key is that of {key}")]
    OtherLog {
        /// The origin.
        origin: String,
        /// The name of the key.
        key: String,
    },
    /// The key is no key of a log.
    #[error("{0} is the key of a witness (type 0x04); a log signs with a key of type 0x01")]
    NotALogKey(String),
}

/// What a checkpoint says about a log. `Display` writes its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: TreeHash,
    /// The lines after the root, each with its line break. We write none.
    extension: String,
}

impl Checkpoint {
    /// A checkpoint of this tree, without extension lines.
    ///
    /// # Errors
    /// If the origin is refused or the tree is too large.
    pub fn new(origin: &str, size: u64, root: TreeHash) -> Result<Self, CheckpointFault> {
        check_name(origin).map_err(CheckpointFault::Origin)?;
        if size > limits::TREE_SIZE {
            return Err(make_fault(2, "the tree is too large: 2^62 leaves at most"));
        }
        Ok(Self { origin: origin.to_owned(), size, root, extension: String::new() })
    }

    /// Reads the text of a checkpoint.
    ///
    /// # Errors
    /// If a line is missing or not written as the format says.
    pub fn parse(text: &str) -> Result<Self, CheckpointFault> {
        let mut lines = text.split_inclusive('\n');
        let mut next = |number, what| {
            let found = lines.next().and_then(|found| found.strip_suffix('\n'));
            found.ok_or_else(|| make_fault(number, what))
        };
        let origin = next(1, "no origin")?;
        let size = next(2, "no size of the tree")?;
        let root = next(3, "no root")?;
        let size = parse_number(size)
            .ok_or(make_fault(2, "the size is not a decimal number without leading zeros"))?;
        let root = hash_of(root).ok_or(make_fault(3, "the root is not 32 bytes in canonical base64"))?;
        let mut checkpoint = Self::new(origin, size, root)?;
        for (number, extension) in (4..).zip(lines) {
            if extension == "\n" || !extension.ends_with('\n') {
                return Err(make_fault(
                    number,
                    "an extension line is empty or does not end with a line break",
                ));
            }
            checkpoint.extension.push_str(extension);
        }
        Ok(checkpoint)
    }

    /// The name of the log.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The leaves of the tree.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> &TreeHash {
        &self.root
    }

    /// The lines after the root, each with its line break. They are signed, but say nothing about the tree.
    #[must_use]
    pub fn extension(&self) -> &str {
        &self.extension
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, size, root, extension } = self;
        write!(f, "{origin}\n{size}\n{}\n{extension}", encode_base64(root))
    }
}

/// A checkpoint and the note that signs it. `Display` writes the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    note: SignedNote,
    checkpoint: Checkpoint,
}

impl SignedCheckpoint {
    /// Signs a checkpoint with the key of its log.
    ///
    /// # Errors
    /// If the key makes cosignatures or has another name than the origin.
    pub fn sign_with(checkpoint: Checkpoint, key: &SignerKey) -> Result<Self, CheckpointFault> {
        checkpoint.check_key(key.verifier())?;
        let mut note = SignedNote::from_text(&checkpoint.to_string())?;
        note.sign_with(key)?;
        Ok(Self { note, checkpoint })
    }

    /// Reads a signed checkpoint. Its signatures are not verified.
    ///
    /// # Errors
    /// If it is no note, or the text of the note is no checkpoint.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointFault> {
        Self::from_note(SignedNote::parse(bytes)?)
    }

    /// The checkpoint that a note holds.
    ///
    /// # Errors
    /// If the text of the note is no checkpoint.
    pub fn from_note(note: SignedNote) -> Result<Self, CheckpointFault> {
        let checkpoint = Checkpoint::parse(note.text())?;
        Ok(Self { note, checkpoint })
    }

    /// What it says. This proves nothing before the signatures are verified.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The note with all signatures.
    #[must_use]
    pub fn note(&self) -> &SignedNote {
        &self.note
    }

    /// Adds the cosignature of a witness. The time is in seconds since 1970.
    ///
    /// # Errors
    /// If the key makes no cosignatures, the time is out of range, or the note is full.
    pub fn add_cosignature(&mut self, key: &SignerKey, seconds: u64) -> Result<(), NoteFault> {
        self.note.add_cosignature(key, seconds)
    }

    /// The checkpoint with only the signatures at these places.
    pub(crate) fn with_only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        Self { note: self.note.with_only(is_kept), checkpoint: self.checkpoint.clone() }
    }

    /// Checks that the log signed with this key.
    ///
    /// # Errors
    /// If the key is of another log or of a witness, or the signature is missing or wrong.
    pub fn verify_with(&self, key: &VerifierKey) -> Result<Vec<VerifiedSignature>, CheckpointFault> {
        self.checkpoint.check_key(key)?;
        Ok(self.note.verify_with(std::slice::from_ref(key))?)
    }
}

impl Checkpoint {
    /// Checks that a key is of the log that the origin names.
    fn check_key(&self, key: &VerifierKey) -> Result<(), CheckpointFault> {
        if key.kind() != SignatureKind::Plain {
            return Err(CheckpointFault::NotALogKey(key.name().to_owned()));
        }
        if key.name() != self.origin {
            let (origin, key) = (self.origin.clone(), key.name().to_owned());
            return Err(CheckpointFault::OtherLog { origin, key });
        }
        Ok(())
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

fn make_fault(line: usize, what: &'static str) -> CheckpointFault {
    CheckpointFault::Line { line, what }
}
