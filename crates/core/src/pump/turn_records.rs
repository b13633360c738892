//! Which records a turn shows: the request, or the answers to the last reply. The record after which a turn was
//! ready fixes what the turn shows, so every attempt carries the same, and a restart changes nothing.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::state::{Call, ItemAnswer, ItemState, PendingItem};
use crate::types::delivery::{ItemRecord, RecordedTurn, ShownRecords};
use crate::types::record::Record;
use crate::types::time::Millis;

/// The records that the due turn of a call shows, by their seq in the thread, in the order in which the
/// turn shows them.
pub(super) fn list_shown(call: &Call) -> Vec<u64> {
    if call.settled == 0 {
        return vec![call.request];
    }
    list_answers(call).map(|(_, seq)| seq).chain(list_inbox(call)).collect()
}

/// The items of the last reply in their order. A wait is recorded after the other items, wherever its
/// sender put it.
pub(super) fn list_items(call: &Call) -> SmallVec<[&ItemState; 4]> {
    let mut items: SmallVec<[&ItemState; 4]> = call.items.iter().collect();
    items.sort_by_key(|item| item.ordinal);
    items
}

/// The records that answer those items, each with the item's ordinal, in the same order.
pub(super) fn list_answers(call: &Call) -> impl Iterator<Item = (u32, u64)> {
    list_items(call).into_iter().flat_map(|item| {
        let ordinal = item.ordinal;
        answers_of(item).into_iter().flatten().map(move |seq| (ordinal, seq))
    })
}

/// The records that answer an item: one, or one for each of its takers. An element is `None` if recording
/// the item was the answer.
fn answers_of(item: &ItemState) -> SmallVec<[Option<u64>; 1]> {
    match (item.answer, &item.pending) {
        (ItemAnswer::Seq(seq), _) => smallvec![Some(seq)],
        (ItemAnswer::Each, PendingItem::Takers(takers)) => takers.answers.iter().copied().collect(),
        (ItemAnswer::Open | ItemAnswer::Recorded | ItemAnswer::Each, _) => smallvec![None],
    }
}

/// What the due turn shows of the inbox: first the ends of children in order of spawning, so that it does
/// not matter which ended first; then the rest, in order of the log.
pub(super) fn list_inbox(call: &Call) -> Vec<u64> {
    let place = |seq| call.children.iter().position(|child| child.ended == Some(seq)).unwrap_or(usize::MAX);
    let mut shown: Vec<u64> = call.shown_inbox().collect();
    shown.sort_by_key(|seq| (place(*seq), *seq));
    shown
}

/// What the due turn of a call shows. `found` gives the records that `shown` named. Returns `None` if a record is
/// missing; then the thread is damaged.
pub fn collect_turn(
    call: &Call,
    deadline: Option<Millis>,
    found: impl Fn(u64) -> Option<Arc<Record>>,
) -> Option<RecordedTurn> {
    let shows = if call.settled == 0 {
        ShownRecords::Request(found(call.request)?)
    } else {
        let mut shown = SmallVec::new();
        for item in list_items(call) {
            for answer in answers_of(item) {
                let (seq, answer) = match answer {
                    Some(seq) => (seq, Some(found(seq)?)),
                    None => (item.seq, None),
                };
                shown.push(ItemRecord { ordinal: item.ordinal, seq, answer });
            }
        }
        let inbox = list_inbox(call).into_iter().map(found).collect::<Option<_>>()?;
        let wrap_up = call.wrap_up.filter(|_| call.is_wrapping_up()).map(|of| of.what.code());
        ShownRecords::Answers { wrap_up, items: shown, inbox }
    };
    let journal = u32::try_from(call.journal.past.len()).ok().filter(|entries| *entries > 0);
    Some(RecordedTurn { caller: call.caller.clone(), deadline, journal, request: call.request, shows })
}
