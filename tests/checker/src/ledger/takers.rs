//! Items for several takers in the ledger: each taker has its own call, and the item is answered when
//! all of those are closed. If the first answer is enough, it closes the others.

use super::thread::{ItemTaker, ItemTakers, LedgerItem};
use super::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;
use crate::path;
use crate::record::RecordHash;

impl CheckLedger {
    /// Takes a call to one of the takers.
    pub(super) fn note_takers(&mut self, step: &LedgerStep<'_>, act: RecordAct<'_>) {
        let RecordAct::Takes { caller, turn, ordinal, call: path, to, first_is_enough } = act else { return };
        let (record, Some(number)) = (step.record, path::find_taker(path)) else { return };
        self.firsts.put(&["item", &record.thread, &path::of_item(caller, turn, ordinal)], record.position);
        let mut is_new = true;
        self.with_call(&record.thread, caller, |call| {
            call.settle_turn(turn);
            call.moved = record.position;
            if turn != call.settled {
                return;
            }
            let taker = ItemTaker { number, name: to.to_owned(), is_closed: false };
            if let Some(item) = call.item_mut(turn, ordinal) {
                let Some(takers) = &mut item.takers else { return };
                is_new = takers.all.iter().all(|known| known.number != number);
                return takers.all.extend(is_new.then_some(taker));
            }
            let request = RecordHash::hash_bytes(&record.body);
            call.items.push(LedgerItem {
                ordinal,
                is_note: false,
                is_wait: false,
                is_end: false,
                steers: None,
                sets: None,
                is_cancel: false,
                is_clear: false,
                is_recall: false,
                is_person: false,
                question: None,
                is_answered: false,
                spawn: None,
                cause: record.cause,
                time_ms: record.time_ms,
                takers: Some(ItemTakers { first_is_enough, request, all: vec![taker] }),
            });
        });
        if is_new {
            self.add_use(&record.thread, 1, 0);
            self.charge_use(&record.thread, 1, 0);
            self.open_call(record, path.to_owned(), to);
        }
    }

    /// The call to one of the takers has closed.
    pub(super) fn note_taken(
        &mut self,
        thread: &str,
        (caller, turn, ordinal): (&str, u32, u32),
        number: u32,
    ) {
        self.note_move(thread, caller);
        self.with_call(thread, caller, |call| {
            let Some(item) = call.item_mut(turn, ordinal) else { return };
            let Some(takers) = &mut item.takers else { return };
            let closed = takers.all.iter_mut().filter(|taker| taker.number == number);
            closed.for_each(|taker| taker.is_closed = true);
            item.is_answered = takers.all.iter().all(|taker| taker.is_closed);
        });
    }
}
