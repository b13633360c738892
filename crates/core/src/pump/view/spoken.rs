//! What models said in the calls of a view, as the journals of its listener have it: which words went into which
//! turn. Of a turn it is the last result of the attempt whose reply was taken. An attempt that began no call of a
//! model used what those before it had bought.
//!
//! It never reads a body and decides nothing. Records come in as the fold takes them; the places of results go out.

use std::collections::BTreeMap;

use systole_wire::ask::Spot;

use super::Told;
use crate::pump::state::{Call, Entered};
use crate::types::ids::CallPath;
use crate::types::record::{Header, Journaling, Kind, Mark};

/// Words of a model that stand before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spoken {
    /// The turn in whose reply they went.
    pub turn: u32,
    /// The record of the result.
    pub seq: u64,
    /// The message with which they are cleared.
    pub with: u64,
}

/// What was said by models in one call.
#[derive(Default)]
pub(super) struct Bought {
    /// The newest result of the due turn.
    newest: Option<u64>,
    /// Of each turn that was replied to, the result.
    taken: BTreeMap<u32, u64>,
    /// Of the turn by whose reply the call ended without a word.
    last: Option<(u32, u64)>,
}

impl Bought {
    /// Takes a record of the call that is about to be folded; `turn` is that of the reply it belongs to.
    pub(super) fn take(&mut self, call: &Call, h: &Header, turn: Option<u32>) {
        let is_new = |turn: &u32| *turn > call.settled;
        match (h.kind, h.code) {
            (Kind::Journal, Some(Mark::Journaling(Journaling::Result))) => self.newest = Some(h.seq),
            (Kind::Outcome, Some(Mark::Handled)) => {
                self.last = h.turn.filter(is_new).zip(self.used(call));
            }
            _ => {
                if let Some(turn) = turn.filter(is_new) {
                    let used = self.used(call);
                    self.taken.extend(used.map(|seq| (turn, seq)));
                    self.newest = None;
                }
            }
        }
    }

    /// The result that the due attempt goes by.
    fn used(&self, call: &Call) -> Option<u64> {
        let own = &call.journal.own;
        let is_result = |sort: &Entered| *sort == Entered::Result;
        let bought = || own.iter().rev().find(|entry| is_result(&entry.sort)).map(|entry| entry.seq);
        if own.is_empty() { self.newest } else { bought() }
    }
}

/// Puts the words of one call after the other before messages.
#[derive(Clone, Default)]
pub(super) struct Placing {
    /// The newest turn of this call that was come to.
    turn: u32,
    /// The call of the listener that was come to last, and what it ended with.
    call: Option<CallPath>,
    last: Option<(u32, u64)>,
}

impl Placing {
    /// The next message of the view, of that call. What stands before it is put under its number.
    pub(super) fn message(
        &mut self,
        number: u64,
        spot: Spot,
        told: &Told,
        placed: &mut BTreeMap<u64, Spoken>,
    ) {
        let bought = &told.bought;
        if self.call.as_ref().is_some_and(|call| *call != told.path)
            && !matches!(spot, Spot::Thread { turn: Some(_) })
        {
            let with = number.saturating_sub(1);
            let last = self.last.take();
            placed.extend(last.map(|(turn, seq)| (number, Spoken { turn, seq, with })));
            self.call = None;
        }
        if told.is_own {
            self.call = Some(told.path.clone());
            self.last = bought.last;
        }
        match spot {
            Spot::Request => self.turn = 0,
            Spot::Said { turn, .. } | Spot::Answer { turn, .. } if turn > self.turn => {
                self.turn = turn;
                let taken = bought.taken.get(&turn);
                placed.extend(taken.map(|seq| (number, Spoken { turn, seq: *seq, with: number })));
            }
            Spot::Said { .. } | Spot::Answer { .. } | Spot::Inbox { .. } | Spot::Thread { .. } => {}
        }
    }
}
