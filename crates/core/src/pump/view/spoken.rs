//! What models said in the calls of a view, as the journals of its listener have it: which words went into which
//! turn. For each turn it is the last result of the attempt whose reply was taken. An attempt that began no model
//! call used what earlier attempts had bought.
//!
//! It never reads a body and decides nothing. Records come in as the fold takes them; the places of results go out.

use std::collections::BTreeMap;

use systole_wire::ask::MessageSpot;

use super::ViewedCall;
use crate::pump::state::{Call, EntryKind};
use crate::types::ids::CallPath;
use crate::types::record::{Header, JournalEffect, RecordCode, RecordKind};

/// Words of a model that come before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrecedingWords {
    /// The turn whose reply used them.
    pub turn: u32,
    /// The record of the result.
    pub seq: u64,
    /// The message that they are cleared with.
    pub with: u64,
}

/// What models said in one call.
#[derive(Default)]
pub(super) struct BoughtTokens {
    /// The newest result of the due turn.
    newest: Option<u64>,
    /// The result of each turn that was replied to.
    taken: BTreeMap<u32, u64>,
    /// The turn whose reply ended the call without a message, and its result.
    last: Option<(u32, u64)>,
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

/// Puts the words of models before the messages, one after the other.
#[derive(Clone, Default)]
pub(super) struct MessagePlacement {
    /// The newest turn of this call that was reached.
    turn: u32,
    /// The last own call of the listener that was reached, and what it ended with.
    call: Option<CallPath>,
    last: Option<(u32, u64)>,
}

impl MessagePlacement {
    /// Takes the next message of the view, of that call. Words that come before the message are stored under its
    /// number.
    pub(super) fn place_message(
        &mut self,
        number: u64,
        spot: MessageSpot,
        told: &ViewedCall,
        placed: &mut BTreeMap<u64, PrecedingWords>,
    ) {
        let bought = &told.bought;
        if self.call.as_ref().is_some_and(|call| *call != told.path)
            && !matches!(spot, MessageSpot::Thread { turn: Some(_) })
        {
            let with = number.saturating_sub(1);
            let last = self.last.take();
            placed.extend(last.map(|(turn, seq)| (number, PrecedingWords { turn, seq, with })));
            self.call = None;
        }
        if told.is_own {
            self.call = Some(told.path.clone());
            self.last = bought.last;
        }
        match spot {
            MessageSpot::Request => self.turn = 0,
            MessageSpot::Said { turn, .. } | MessageSpot::Answer { turn, .. } if turn > self.turn => {
                self.turn = turn;
                let taken = bought.taken.get(&turn);
                placed.extend(taken.map(|seq| (number, PrecedingWords { turn, seq: *seq, with: number })));
            }
            MessageSpot::Said { .. }
            | MessageSpot::Answer { .. }
            | MessageSpot::Inbox { .. }
            | MessageSpot::Thread { .. } => {}
        }
    }
}
