//! A witness of C2SP without HTTP: it takes the body of `POST …/add-checkpoint`, compares the checkpoint with the last
//! one of the log, and says what to answer and what to remember.
//!
//! A caller has to store the new state before it sends the answer, and has to answer the requests for one log one
//! after another: otherwise two answers could follow from the same state.

use std::fmt;

use thiserror::Error;

use crate::checkpoint::{CheckpointFault, SignedCheckpoint};
use crate::encoding::{encode_base64, hash_of, parse_number, split_at_empty_line};
use crate::key::{SignerKey, VerifierKey};
use crate::limits;
use crate::note::NoteFault;
use crate::tree::{TreeFault, TreeHash, compute_empty_root, verify_consistency};

/// Why a request is refused before it is judged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WitnessRequestFault {
    /// The request is too long.
    #[error("the request has {0} bytes: {most} at most", most = limits::REQUEST_BYTES)]
    TooLong(usize),
    /// A line is refused.
    #[error("line {line}: {what}")]
    Line {
        /// The line of the request, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The checkpoint is refused.
    #[error("in the checkpoint after the empty line: {0}")]
    Checkpoint(#[from] CheckpointFault),
}

/// A request for a cosignature. `Display` writes its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size of the last checkpoint that the witness cosigned, as far as the sender knows.
    pub old: u64,
    /// The proof that the new tree continues the one of that size.
    pub proof: Vec<TreeHash>,
    /// The new checkpoint.
    pub checkpoint: SignedCheckpoint,
}

impl AddCheckpoint {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// If a line or the checkpoint does not have the form of the protocol.
    pub fn parse(body: &[u8]) -> Result<Self, WitnessRequestFault> {
        if body.len() > limits::REQUEST_BYTES {
            return Err(WitnessRequestFault::TooLong(body.len()));
        }
        let at = |line, what| WitnessRequestFault::Line { line, what };
        let (above, note) = split_at_empty_line(body).ok_or(at(1, "no empty line before a checkpoint"))?;
        let above =
            str::from_utf8(above).map_err(|_| at(1, "the lines above the checkpoint are not UTF-8"))?;
        let mut lines = (1..).zip(above.split_terminator('\n'));
        let old = lines.next().and_then(|(_, text)| parse_number(text.strip_prefix("old ")?));
        let old = old.ok_or(at(1, "not old, a space and a decimal number without leading zeros"))?;
        let mut proof = Vec::new();
        for (line, text) in lines {
            if proof.len() == limits::PROOF_HASHES {
                return Err(at(line, "more than 63 hashes"));
            }
            proof.push(hash_of(text).ok_or(at(line, "not a hash of 32 bytes in canonical base64"))?);
        }
        Ok(Self { old, proof, checkpoint: SignedCheckpoint::parse(note)? })
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        self.proof.iter().try_for_each(|hash| writeln!(f, "{}", encode_base64(hash)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

/// What a witness knows about a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedLog {
    /// The keys of the log. Their name is the origin.
    pub keys: Vec<VerifierKey>,
    /// The size of the last checkpoint that the witness cosigned; 0 if there is none.
    pub size: u64,
    /// The root of that checkpoint.
    pub root: TreeHash,
}

impl WitnessedLog {
    /// A log of which no checkpoint was cosigned.
    #[must_use]
    pub fn new(keys: Vec<VerifierKey>) -> Self {
        Self { keys, size: 0, root: compute_empty_root() }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WitnessAnswer {
    /// The checkpoint with the signatures of its log and the cosignature, which is the last one. Its size and root
    /// are the new state, to be stored before the answer is sent.
    Cosigned(Box<SignedCheckpoint>),
    /// The request does not have the form of the protocol.
    Malformed(WitnessRequestFault),
    /// The old size is larger than the new one.
    Shrinks(TreeFault),
    /// No trusted key signed, or its signature is wrong.
    Untrusted(NoteFault),
    /// The witness does not know the log.
    UnknownOrigin(String),
    /// The old size is not that of the last checkpoint, which is this one.
    Conflict(u64),
    /// The tree does not continue that of the last checkpoint.
    Inconsistent(TreeFault),
}

impl WitnessAnswer {
    /// The status of HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Cosigned(_) => 200,
            Self::Malformed(_) | Self::Shrinks(_) => 400,
            Self::Untrusted(_) => 403,
            Self::UnknownOrigin(_) => 404,
            Self::Conflict(_) => 409,
            Self::Inconsistent(_) => 422,
        }
    }

    /// The type of the body.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "text/x.tlog.size",
            _ => "text/plain; charset=utf-8",
        }
    }

    /// The body: the line of the cosignature, the size, or a sentence for a person.
    #[must_use]
    pub fn body(&self) -> String {
        match self {
            Self::Cosigned(checkpoint) => {
                checkpoint.note().signatures().last().map(ToString::to_string).unwrap_or_default()
            }
            Self::Malformed(fault) => format!("{fault}\n"),
            Self::Shrinks(fault) | Self::Inconsistent(fault) => format!("{fault}\n"),
            Self::Untrusted(fault) => format!("{fault}\n"),
            Self::UnknownOrigin(origin) => format!("this witness does not know the log {origin}\n"),
            Self::Conflict(size) => format!("{size}\n"),
        }
    }
}

/// Judges a request. `log` returns what the witness knows about an origin.
///
/// # Errors
/// Only if the witness itself cannot cosign: its key is that of a log, or the time is out of range.
pub fn answer_request<'a>(
    body: &[u8],
    key: &SignerKey,
    seconds: u64,
    log: impl FnOnce(&str) -> Option<&'a WitnessedLog>,
) -> Result<WitnessAnswer, NoteFault> {
    let request = match AddCheckpoint::parse(body) {
        Ok(request) => request,
        Err(fault) => return Ok(WitnessAnswer::Malformed(fault)),
    };
    let checkpoint = request.checkpoint.checkpoint();
    let Some(log) = log(checkpoint.origin()) else {
        return Ok(WitnessAnswer::UnknownOrigin(checkpoint.origin().to_owned()));
    };
    let verified = match request.checkpoint.note().verify_with(&log.keys) {
        Ok(verified) => verified,
        Err(fault) => return Ok(WitnessAnswer::Untrusted(fault)),
    };
    let (old, new) = (request.old, checkpoint.size());
    if old > new {
        return Ok(WitnessAnswer::Shrinks(TreeFault::Shrinks { old, new }));
    }
    if old != log.size {
        return Ok(WitnessAnswer::Conflict(log.size));
    }
    if let Err(fault) = verify_consistency(old, &log.root, new, checkpoint.root(), &request.proof) {
        return Ok(WitnessAnswer::Inconsistent(fault));
    }
    // One signature of each key: a log that fills its note leaves room for the cosignature.
    let first_of = |key| verified.iter().find(|signature| signature.key == key);
    let is_kept = |place| verified.iter().any(|one| one.place == place && first_of(one.key) == Some(one));
    let mut cosigned = request.checkpoint.with_only(is_kept);
    cosigned.add_cosignature(key, seconds)?;
    Ok(WitnessAnswer::Cosigned(Box::new(cosigned)))
}

/// Adds the cosignatures of an answer to a checkpoint: those that known witnesses made, one of each. All others are left
/// out.
///
/// # Errors
/// If the answer has no such cosignature, has a wrong one, or consists of something else than signatures.
pub fn take_cosignatures(
    checkpoint: &SignedCheckpoint,
    answer: &[u8],
    witnesses: &[VerifierKey],
) -> Result<SignedCheckpoint, CheckpointFault> {
    let before = checkpoint.note().signatures().len();
    // An empty line in the answer would make the old signatures a part of the text, and that is no checkpoint.
    let both = SignedCheckpoint::parse(&[checkpoint.to_string().as_bytes(), answer].concat())?;
    let verified = both.note().verify_with(witnesses)?;
    let is_known = |place: usize| verified.iter().any(|signature| signature.place == place);
    if !(before..both.note().signatures().len()).any(is_known) {
        return Err(NoteFault::Unsigned.into());
    }
    // An answer that repeats a line leaves room for the other witnesses.
    let is_first = |place: usize| {
        let known = verified.iter().find(|signature| signature.place == place);
        let first = |key| verified.iter().find(|signature| signature.key == key);
        known.is_some_and(|known| first(known.key).is_some_and(|first| first.place == place))
    };
    Ok(both.with_only(|place| place < before || is_first(place)))
}
