//! What a call's listener has on record about models for the due turn, as the fold has it. Bodies are not
//! here: what a model said stands in the log, and is read there when a later attempt asks for it.

use serde::{Deserialize, Serialize};

use crate::types::budget::Use;
use crate::types::ids::Digest;

/// The journal of the due turn.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// The records that earlier attempts at the turn made.
    pub past: Vec<u64>,
    /// The entries of the due attempt.
    pub own: Vec<Entry>,
}

/// An entry of the due attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its record.
    pub seq: u64,
    /// Its number.
    pub id: u64,
    /// The hash of its record's body: the same number with other bytes is another entry.
    pub body: Digest,
    /// What it stands for.
    pub sort: Entered,
}

/// What an entry stands for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Entered {
    /// A model call without a result so far, and what is kept for it.
    Open(Use),
    /// A model call that has its result.
    Answered,
    /// A result.
    Result,
}

impl Journal {
    /// The entry of the due attempt with that number.
    pub fn entry(&self, id: u64) -> Option<&Entry> {
        self.own.iter().find(|entry| entry.id == id)
    }

    /// The model calls of the due attempt without a result.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.own.iter().filter(|entry| matches!(entry.sort, Entered::Open(_)))
    }
}
