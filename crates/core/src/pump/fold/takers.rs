//! Folding items that went to several takers. Each function takes one record into its thread or item, and
//! decides nothing: the records say how many takers there are and whether the first answer is enough.

use super::opened_calls::{budget_use_of, open_call};
use super::settling::settle_item;
use crate::pump::state::{ItemAnswer, ItemState, OpenedBy, PendingItem, TakerState, Thread};
use crate::rules::core_payload;
use crate::types::budget::UsedAmounts;
use crate::types::ids::CallPath;
use crate::types::record::{Record, RecordCode, RecordKind};

/// Opens the call to one of the takers of an item. The first such record counts as the item's own record.
pub(super) fn fold_taken(thread: &mut Thread, record: &Record, first_is_enough: bool) {
    let h = &record.header;
    let Some((path, turn, ordinal)) = h.call.as_ref().and_then(CallPath::caller) else { return };
    let Some(call) = thread.calls.get(&path) else { return };
    let is_begun = call.settled == turn && call.items.last().is_some_and(|item| item.ordinal == ordinal);
    if !is_begun {
        settle_item(thread, (&path, turn, ordinal), h, ItemAnswer::Open);
    }
    open_call(thread, h, h.call.clone(), OpenedBy::Request, false, budget_use_of(thread, Some(&path)));
    thread.charge_call(&path, UsedAmounts::CALL);
    let Some(call) = thread.calls.get_mut(&path) else { return };
    if let Some(item) = call.items.last_mut() {
        match &mut item.pending {
            PendingItem::Takers(takers) => takers.answers.push(None),
            pending => *pending = PendingItem::Takers(TakerState { first_is_enough, answers: vec![None] }),
        }
    }
    if let Some(to) = &h.to {
        call.rounds.note_call(h.turn.unwrap_or(0), to, &record.body);
    }
}

/// Takes the answer of one taker.
pub(super) fn fold_answer(item: &mut ItemState, number: u32, record: &Record) {
    let PendingItem::Takers(takers) = &mut item.pending else { return };
    let h = &record.header;
    let place = usize::try_from(number).ok().and_then(|number| takers.answers.get_mut(number));
    place.into_iter().for_each(|answer| *answer = Some(h.seq));
    if takers.first_is_enough && !is_failure(h.kind, h.code, &record.body) {
        item.answer = ItemAnswer::Seq(h.seq);
    } else if takers.answers.iter().all(Option::is_some) {
        item.answer = ItemAnswer::Each;
    }
}

/// Whether the outcome of a call gives its caller nothing to continue with.
pub(in crate::pump) fn is_failure(kind: RecordKind, code: Option<RecordCode>, body: &[u8]) -> bool {
    match (kind, code) {
        (RecordKind::Message, _) => core_payload::is_failed_report(body),
        (_, Some(RecordCode::Handled)) => false,
        _ => true,
    }
}
