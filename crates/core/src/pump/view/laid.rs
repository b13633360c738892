//! Messages of a view in their order and with their numbers, as they are added.
//!
//! A view only grows at its end, and all but what its due turn shows stays as it is. So a view that is read on keeps
//! what was laid out before, and only its last part is laid out again. It reads nothing and knows no order.

use std::collections::HashMap;

use systole_wire::ask::Spot;

use super::order::Placed;
use super::spoken::Placing;
use super::{Message, Noted, Told, Turn, View};

/// A view as far as it was laid out.
#[derive(Default)]
pub(super) struct Laid {
    pub(super) view: View,
    /// Number of messages at its beginning that stay as they are.
    settled: usize,
    /// Where the words of models are, after those.
    placing: Placing,
    /// Number of turns of the call itself that are among those; none before anything was laid out.
    turns: Option<usize>,
}

impl Laid {
    /// Takes everything away that was laid out.
    pub(super) fn begin_again(&mut self) {
        let began = self.view.began;
        *self = Laid { view: View { began, ..View::default() }, ..Laid::default() };
    }

    /// Adds a message.
    pub(super) fn put(&mut self, placed: &Placed<'_>, noted: &Noted) {
        let mut placing = std::mem::take(&mut self.placing);
        self.view.put(&mut placing, placed, noted);
        self.placing = placing;
    }

    /// Lays out the view of a call alone: `earlier` calls once, and of the call itself the turns that are over by now
    /// and, behind them, what its due turn shows. None where a record is missing.
    pub(super) fn read_on<'t>(
        &mut self,
        earlier: impl Iterator<Item = &'t Told>,
        own: &'t Told,
        due: &'t Turn,
        noted: &mut HashMap<u64, Noted>,
    ) -> Option<()> {
        self.view.cut(self.settled);
        if self.turns.is_none() {
            for told in earlier {
                for (number, turn) in (0u32..).zip(&told.turns) {
                    // An earlier request goes with the turn that it was answered in.
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
            self.view.put(&mut placing, &placed, noted.get(&placed.seq)?);
        }
        Some(())
    }
}

/// The messages of one turn of a call of the listener itself.
fn of_turn<'t>(
    told: &'t Told,
    turn: &'t Turn,
    begins: bool,
    is_whose: bool,
) -> impl Iterator<Item = Placed<'t>> {
    turn.iter().enumerate().map(move |(nth, (spot, seq))| Placed {
        seq: *seq,
        spot: *spot,
        shown: *spot,
        begins: begins && nth == 0,
        told,
        is_whose,
    })
}

impl View {
    /// Adds a message behind the others.
    fn put(&mut self, placing: &mut Placing, placed: &Placed<'_>, noted: &Noted) {
        let Placed { seq, spot, shown, begins, told, is_whose } = *placed;
        let number = self.messages.len() as u64 + 1;
        if is_whose && spot == Spot::Request {
            self.request = number;
        }
        // Where a person amended a request it is still its caller's.
        let from = if spot == Spot::Request { &told.caller } else { &noted.from }.clone();
        // What others were told about bytes of theirs entitles nobody else to those.
        let (to, names) =
            if told.is_own { (None, noted.names) } else { (Some(told.whom(spot, noted.to.as_ref())), None) };
        let Noted { leaf, characters, is_note, .. } = *noted;
        self.messages.push(Message { seq, from, to, spot: shown, leaf, characters, is_note, names, begins });
        placing.message(number, shown, told, &mut self.spoken);
    }

    /// Takes away all messages behind the first so many.
    fn cut(&mut self, count: usize) {
        self.messages.truncate(count);
        // What stands before a message goes with it.
        self.spoken.split_off(&(count as u64 + 1));
    }
}
