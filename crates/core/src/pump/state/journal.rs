//! The journal of a call's listener for the due turn, as the fold has it. Bodies are not here: what a
//! model said is in the log, and is read there when a later attempt asks for it.

use serde::{Deserialize, Serialize};

use crate::types::budget::UsedAmounts;
use crate::types::ids::Digest;

/// The journal of the due turn.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// The records that earlier attempts at the turn made.
    pub past: Vec<u64>,
    /// The entries of the due attempt.
    pub own: Vec<AttemptEntry>,
}

/// An entry of the due attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AttemptEntry {
    /// Its record.
    pub seq: u64,
    /// Its number.
    pub id: u64,
    /// The hash of its record's body: the same number with other bytes is a different entry.
    pub body: Digest,
    /// What kind of entry it is.
    pub sort: EntryKind,
}

/// The kinds of entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EntryKind {
    /// A model call without a result so far, and its reservation.
    Open(UsedAmounts),
    /// A model call that has its result.
    Answered,
    /// A result.
    Result,
}

impl Journal {
    /// Whether no attempt at the due turn has made an entry.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty() && self.own.is_empty()
    }

    /// The entry of the due attempt with that number.
    pub fn find_entry(&self, id: u64) -> Option<&AttemptEntry> {
        self.own.iter().find(|entry| entry.id == id)
    }

    /// The model calls of the due attempt without a result.
    pub fn open(&self) -> impl Iterator<Item = &AttemptEntry> {
        self.own.iter().filter(|entry| matches!(entry.sort, EntryKind::Open(_)))
    }
}
