//! Composes what a listener is handed: the envelope around its request, or around the answers to its last
//! reply. Everything comes from records. The record after which a turn was ready fixes what the turn
//! shows, so every attempt carries the same, and a restart changes nothing.

use std::sync::Arc;

use systole_wire::answers::{self, Answers, write_answers};
use systole_wire::envelope::{Delivered, Stamp};
use systole_wire::payload::Payload;

use super::state::{Call, ItemAnswer, ItemState, PendingItem, Thread};
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::ports::Lease;
use crate::types::record::Record;
use crate::types::time::Millis;

/// The records that the due turn of a call shows, by their seq in the thread, in the order in which the
/// turn shows them.
pub(super) fn shown(call: &Call) -> Vec<u64> {
    if call.settled == 0 {
        return vec![call.request];
    }
    answers(call).map(|(_, seq)| seq).chain(inbox(call)).collect()
}

/// The items of the last reply in their order. A wait is recorded after the other items, wherever its
/// sender put it.
pub(super) fn items(call: &Call) -> Vec<&ItemState> {
    let mut items: Vec<&ItemState> = call.items.iter().collect();
    items.sort_by_key(|item| item.ordinal);
    items
}

/// The records that answer those items, each with the item's ordinal, in the same order.
pub(super) fn answers(call: &Call) -> impl Iterator<Item = (u32, u64)> {
    items(call).into_iter().flat_map(|item| {
        let ordinal = item.ordinal;
        answers_of(item).into_iter().flatten().map(move |seq| (ordinal, seq))
    })
}

/// The records that answer an item: one, or one for each of its takers. An element is `None` if recording
/// the item was the answer.
fn answers_of(item: &ItemState) -> Vec<Option<u64>> {
    match (item.answer, &item.pending) {
        (ItemAnswer::Seq(seq), _) => vec![Some(seq)],
        (ItemAnswer::Each, PendingItem::Takers(takers)) => takers.answers.clone(),
        (ItemAnswer::Open | ItemAnswer::Recorded | ItemAnswer::Each, _) => vec![None],
    }
}

/// What the due turn shows of the inbox: first the ends of children in order of spawning, so that it does
/// not matter which ended first; then the rest, in order of the log.
pub(super) fn inbox(call: &Call) -> Vec<u64> {
    let place = |seq| call.children.iter().position(|child| child.ended == Some(seq)).unwrap_or(usize::MAX);
    let mut shown: Vec<u64> = call.shown_inbox().collect();
    shown.sort_by_key(|seq| (place(*seq), *seq));
    shown
}

/// What a delivery carries. `found` gives the records that `needed` named. Returns `None` if a record is
/// missing or its body is no payload; then the thread is damaged.
pub fn envelope(
    thread: &Thread,
    path: &CallPath,
    call: &Call,
    lease: &Lease,
    deadline: Millis,
    found: impl Fn(u64) -> Option<Arc<Record>>,
) -> Option<Delivered> {
    let mut stamp = Stamp {
        call: path.as_str().to_owned(),
        turn: lease.id.turn,
        attempt: lease.id.attempt,
        delivery: lease.token.0.to_string(),
        key: work_key(&thread.id, path, lease.id.turn),
        deadline: Some(deadline.to_string()),
        journal: u32::try_from(call.journal.past.len()).ok().filter(|entries| *entries > 0),
        request: Some(call.request),
        ..Stamp::default()
    };
    if call.settled == 0 {
        let request = found(call.request)?;
        let h = &request.header;
        stamp.id = Some(h.id.to_string());
        stamp.seq = Some(h.seq);
        stamp.at = Some(h.time.to_string());
        stamp.cause = h.cause.map(|c| c.to_string());
        stamp.sha256 = Some(crate::types::ids::Digest::of(&request.body).to_string());
        let payload = Payload::trusted(request.body.clone()).ok()?;
        // If a person amended the payload, that person wrote the record, but the request is still the
        // caller's.
        return Some(addressed(&call.caller, call, thread, stamp, payload));
    }
    let mut items = Vec::with_capacity(call.items.len());
    for item in self::items(call) {
        for answer in answers_of(item) {
            let (from, seq, payload) = match answer {
                Some(seq) => {
                    let record = found(seq)?;
                    let payload = Payload::trusted(record.body.clone()).ok()?;
                    (record.header.from.clone(), seq, Some(payload))
                }
                None => (Name::core(), item.seq, None),
            };
            let from = Some(from.as_str().to_owned());
            items.push(answers::Answer { ordinal: item.ordinal, from, seq: Some(seq), payload });
        }
    }
    let inbox = inbox(call).into_iter().map(|seq| Payload::trusted(found(seq)?.body.clone()).ok());
    let inbox = inbox.collect::<Option<Vec<Payload>>>()?;
    let wrap_up = call.wrap_up.filter(|_| call.is_wrapping_up()).map(|of| of.what.code().to_string());
    let answers = write_answers(&Answers { turn: lease.id.turn, wrap_up, items, inbox });
    Some(addressed(&Name::core(), call, thread, stamp, answers))
}

fn addressed(from: &Name, call: &Call, thread: &Thread, stamp: Stamp, payload: Payload) -> Delivered {
    let (to, thread) = (Some(call.listener.to_string()), thread.id.to_string());
    Delivered { from: from.to_string(), to, thread, stamp, payload }
}

/// The name of a piece of work, equal for all its attempts: a listener may use it as the idempotency key
/// of an outside effect.
pub(super) fn work_key(thread: &ThreadId, call: &CallPath, turn: u32) -> String {
    format!("{}:{}:{turn}", thread.as_str(), call.as_str())
}
