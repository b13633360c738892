//! What models said in the calls of a view, as the journals of its listener have it: which words went into which
//! turn. For each turn it is the last result of the attempt whose reply was taken. An attempt that began no model
//! call used what earlier attempts had bought.
//!
//! It never reads a body and decides nothing. Records come in as the fold takes them; the places of results go out.

use std::collections::BTreeMap;

use crate::pump::state::{Call, EntryKind};
use crate::types::record::{Header, JournalEffect, RecordCode, RecordKind};

/// What models said in one call.
#[derive(Default)]
pub(super) struct BoughtTokens {
    /// The newest result of the due turn.
    newest: Option<u64>,
    /// The result of each turn that was replied to.
    pub(super) taken: BTreeMap<u32, u64>,
    /// The turn whose reply ended the call without a message, and its result.
    pub(super) last: Option<(u32, u64)>,
}

impl BoughtTokens {
    /// Takes a record of the call that is about to be folded; `turn` is the turn of the reply that the record
    /// belongs to.
    pub(super) fn take_record(&mut self, call: &Call, h: &Header, turn: Option<u32>) {
        let is_new = |turn: &u32| *turn > call.settled;
        match (h.kind, h.code) {
            (RecordKind::Journal, Some(RecordCode::Journaling(JournalEffect::Result))) => {
                self.newest = Some(h.seq)
            }
            (RecordKind::Outcome, Some(RecordCode::Handled)) => {
                self.last = h.turn.filter(is_new).zip(self.find_used(call));
            }
            _ => {
                if let Some(turn) = turn.filter(is_new) {
                    let used = self.find_used(call);
                    self.taken.extend(used.map(|seq| (turn, seq)));
                    self.newest = None;
                }
            }
        }
    }

    /// The result that the due attempt uses.
    fn find_used(&self, call: &Call) -> Option<u64> {
        let own = &call.journal.own;
        let is_result = |sort: &EntryKind| *sort == EntryKind::Result;
        let bought = || own.iter().rev().find(|entry| is_result(&entry.sort)).map(|entry| entry.seq);
        if own.is_empty() { self.newest } else { bought() }
    }
}
