//! Proof files of C2SP (`c2sp.org/tlog-proof@v1`): the place of one entry, its inclusion proof and a checkpoint.

use std::fmt;

use thiserror::Error;

use crate::checkpoint::{CheckpointFault, SignedCheckpoint};
use crate::encoding::{decode_base64, encode_base64, hash_of, parse_number, split_at_empty_line};
use crate::key::VerifierKey;
use crate::limits;
use crate::policy::{PolicyFault, PolicyVerdict, TrustPolicy};
use crate::tree::{TreeFault, TreeHash, verify_inclusion};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Why a proof file is refused or does not prove anything.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProofFileFault {
    /// The file is too long.
    #[error("the proof has {0} bytes: {most} at most", most = limits::PROOF_FILE_BYTES)]
    TooLong(usize),
    /// A line is refused.
    #[error("line {line}: {what}")]
    Line {
        /// The line of the file, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The extra part is too long.
    #[error("the extra part has {0} bytes: {most} at most", most = limits::EXTRA_BYTES)]
    Extra(usize),
    /// The checkpoint is refused.
    #[error("in the checkpoint after the empty line: {0}")]
    Checkpoint(#[from] CheckpointFault),
    /// The policy does not accept the checkpoint.
    #[error("in the checkpoint after the empty line: {0}")]
    Policy(#[from] PolicyFault),
    /// The entry is not in the tree of the checkpoint.
    #[error("the entry is not proved: {0}")]
    Tree(#[from] TreeFault),
}

/// A proof that an entry is in a log. `Display` writes the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryProof {
    /// What the application needs besides, for example to compute the leaf. Nothing proves it.
    extra: Option<Vec<u8>>,
    index: u64,
    hashes: Vec<TreeHash>,
    checkpoint: SignedCheckpoint,
}

impl EntryProof {
    /// A proof from its parts. The leaf is counted from 0.
    ///
    /// # Errors
    /// If the extra part or the list of hashes is too long.
    pub fn new(
        extra: Option<Vec<u8>>,
        index: u64,
        hashes: Vec<TreeHash>,
        checkpoint: SignedCheckpoint,
    ) -> Result<Self, ProofFileFault> {
        let length = extra.as_ref().map_or(0, Vec::len);
        if length > limits::EXTRA_BYTES {
            return Err(ProofFileFault::Extra(length));
        }
        if hashes.len() > limits::PROOF_HASHES {
            let fault = TreeFault::WrongLength { found: hashes.len(), expected: limits::PROOF_HASHES };
            return Err(fault.into());
        }
        Ok(Self { extra, index, hashes, checkpoint })
    }

    /// Reads a file. Nothing is verified.
    ///
    /// # Errors
    /// If a line or the checkpoint does not have the form of the format.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofFileFault> {
        if bytes.len() > limits::PROOF_FILE_BYTES {
            return Err(ProofFileFault::TooLong(bytes.len()));
        }
        let at = |line, what| ProofFileFault::Line { line, what };
        let (above, note) = split_at_empty_line(bytes).ok_or(at(1, "no empty line before a checkpoint"))?;
        let above =
            str::from_utf8(above).map_err(|_| at(1, "the lines above the checkpoint are not UTF-8"))?;
        let mut lines = (1..).zip(above.split_terminator('\n')).peekable();
        if lines.next().is_none_or(|(_, first)| first != FIRST_LINE) {
            return Err(at(1, "the first line is not c2sp.org/tlog-proof@v1"));
        }
        let mut extra = None;
        if let Some((line, text)) = lines.next_if(|(_, text)| text.starts_with("extra ")) {
            let decoded = text.strip_prefix("extra ").and_then(decode_base64);
            extra = Some(decoded.ok_or(at(line, "the extra part is not canonical base64"))?);
        }
        let index = lines.next().and_then(|(_, text)| parse_number(text.strip_prefix("index ")?));
        let line = if extra.is_some() { 3 } else { 2 };
        let index = index.ok_or(at(line, "not index, a space and a decimal number without leading zeros"))?;
        let mut hashes = Vec::new();
        for (line, text) in lines {
            if hashes.len() == limits::PROOF_HASHES {
                return Err(at(line, "more than 63 hashes"));
            }
            hashes.push(hash_of(text).ok_or(at(line, "not a hash of 32 bytes in canonical base64"))?);
        }
        Self::new(extra, index, hashes, SignedCheckpoint::parse(note)?)
    }

    /// What the application needs besides. Nothing proves it.
    #[must_use]
    pub fn extra(&self) -> Option<&[u8]> {
        self.extra.as_deref()
    }

    /// The leaf of the entry, counted from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The hashes from the leaf up to the root.
    #[must_use]
    pub fn hashes(&self) -> &[TreeHash] {
        &self.hashes
    }

    /// The checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }

    /// Checks that the entry with this leaf hash is in the log, and says what the policy thinks of the checkpoint.
    /// The caller computes the leaf hash from the entry itself. See [`TrustPolicy::judge_checkpoint`] for `log`.
    ///
    /// # Errors
    /// If the log did not sign the checkpoint, a known signature is wrong, or the hashes do not lead from the leaf to
    /// the root. Too few cosignatures are no error.
    pub fn verify_leaf(
        &self,
        leaf: &TreeHash,
        log: Option<&VerifierKey>,
        policy: &TrustPolicy,
    ) -> Result<PolicyVerdict, ProofFileFault> {
        let verdict = policy.judge_checkpoint(&self.checkpoint, log)?;
        let checkpoint = self.checkpoint.checkpoint();
        verify_inclusion(leaf, self.index, checkpoint.size(), &self.hashes, checkpoint.root())?;
        Ok(verdict)
    }
}

impl fmt::Display for EntryProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", encode_base64(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        self.hashes.iter().try_for_each(|hash| writeln!(f, "{}", encode_base64(hash)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}
