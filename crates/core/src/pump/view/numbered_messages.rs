//! The messages of a view in their order and with their numbers, as they are added.
//!
//! A view only grows at its end, and only what its due turn shows can change. So a view that is read on keeps what
//! was laid out before, and only its last part is laid out again. This file reads nothing and does not decide the
//! order.

use std::collections::{BTreeMap, HashMap};

use systole_wire::ask::MessageSpot;

use super::order::PlacedMessage;
use super::view_page::{PrecedingWords, View, ViewMessage};
use super::viewed_call::{NotedWords, ViewedCall, ViewedTurn};
use crate::types::ids::CallPath;

/// A view as far as it is laid out.
#[derive(Default)]
pub(super) struct LaidView {
    pub(super) view: View,
    /// The number of messages at its beginning that stay as they are.
    settled: usize,
    /// Where the words of models go after those messages.
    placing: MessagePlacement,
    /// The number of turns of the call itself among those messages; `None` before anything was laid out.
    turns: Option<usize>,
}

impl LaidView {
    /// Removes everything that was laid out.
    pub(super) fn begin_again(&mut self) {
        let began = self.view.began;
        *self = LaidView { view: View { began, ..View::default() }, ..LaidView::default() };
    }

    /// Adds a message.
    pub(super) fn put(&mut self, placed: &PlacedMessage<'_>, noted: &NotedWords) {
        let mut placing = std::mem::take(&mut self.placing);
        self.view.put_message(&mut placing, placed, noted);
        self.placing = placing;
    }

    /// Lays out the view of a call alone: the `earlier` calls once, then the finished turns of the call itself, then
    /// what its due turn shows. Returns `None` if a record is missing.
    pub(super) fn read_on<'t>(
        &mut self,
        earlier: impl Iterator<Item = &'t ViewedCall>,
        own: &'t ViewedCall,
        due: &'t ViewedTurn,
        noted: &mut HashMap<u64, NotedWords>,
    ) -> Option<()> {
        self.view.cut_to(self.settled);
        if self.turns.is_none() {
            for told in earlier {
                for (number, turn) in (0u32..).zip(&told.turns) {
                    // An earlier request belongs to the turn that answered it.
                    for placed in of_turn(told, turn, number != 1, false) {
                        self.put(&placed, noted.get(&placed.seq)?);
                    }
                }
            }
        }
        for turn in own.turns.iter().skip(self.turns.unwrap_or(0)) {
            for placed in of_turn(own, turn, true, true) {
                self.put(&placed, noted.get(&placed.seq)?);
                noted.remove(&placed.seq);
            }
        }
        (self.turns, self.settled) = (Some(own.turns.len()), self.view.messages.len());
        let mut placing = self.placing.clone();
        for placed in of_turn(own, due, true, true) {
            self.view.put_message(&mut placing, &placed, noted.get(&placed.seq)?);
        }
        Some(())
    }
}

/// The messages of one turn of one of the listener's own calls.
fn of_turn<'t>(
    told: &'t ViewedCall,
    turn: &'t ViewedTurn,
    begins: bool,
    is_whose: bool,
) -> impl Iterator<Item = PlacedMessage<'t>> {
    turn.iter().enumerate().map(move |(nth, (spot, seq))| PlacedMessage {
        seq: *seq,
        spot: *spot,
        shown: *spot,
        begins: begins && nth == 0,
        told,
        is_whose,
    })
}

impl View {
    /// Adds a message at the end.
    fn put_message(
        &mut self,
        placing: &mut MessagePlacement,
        placed: &PlacedMessage<'_>,
        noted: &NotedWords,
    ) {
        let PlacedMessage { seq, spot, shown, begins, told, is_whose } = *placed;
        let number = self.messages.len() as u64 + 1;
        if is_whose && spot == MessageSpot::Request {
            self.request = number;
        }
        // If a person amended a request, it is still its caller's.
        let from = if spot == MessageSpot::Request { &told.caller } else { &noted.from }.clone();
        // A listener may not read the bytes of others just because the core named those bytes to them.
        let to = (!told.is_own).then(|| told.find_whom(spot, noted.to.as_ref()));
        // Nor those that it names itself.
        let is_own_word = matches!(spot, MessageSpot::Said { .. });
        let names = if told.is_own && !is_own_word { noted.names.clone() } else { Vec::new() };
        let NotedWords { leaf, characters, is_note, .. } = *noted;
        self.messages.push(ViewMessage {
            seq,
            from,
            to,
            spot: shown,
            leaf,
            characters,
            is_note,
            names,
            begins,
        });
        placing.place_message(number, shown, told, &mut self.spoken);
    }

    /// Removes all messages after the first `count`.
    fn cut_to(&mut self, count: usize) {
        self.messages.truncate(count);
        // Words of a model before a removed message are removed too.
        self.spoken.split_off(&(count as u64 + 1));
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
