//! What a listener is handed: the envelope around its request, or around the answers to its last
//! reply. Composed from records; what a turn shows is fixed by the record after which it was ready,
//! so every attempt at it carries the same, and a restart changes nothing.

use std::sync::Arc;

use systole_kit::answers::{self, Answers, write_answers};
use systole_kit::envelope::{Delivered, Stamp};
use systole_kit::payload::Payload;

use super::failing::work_key;
use super::state::{Answer, Call, Item, Thread, Wish};
use crate::rules::core_payload;
use crate::words::ids::{CallPath, Name};
use crate::words::ports::Lease;
use crate::words::record::Record;
use crate::words::time::Millis;

/// The records that the due turn of a call shows, by their place in the thread.
pub(super) fn needed(call: &Call) -> Vec<u64> {
    if call.settled == 0 {
        return vec![call.request];
    }
    call.items.iter().flat_map(answers_of).flatten().chain(call.shown_inbox()).collect()
}

/// The records that answer an item: one, or one for each of its takers; nothing where recording it was
/// the answer.
fn answers_of(item: &Item) -> Vec<Option<u64>> {
    match (item.answer, &item.wish) {
        (Answer::Seq(seq), _) => vec![Some(seq)],
        (Answer::Each, Wish::Takers(takers)) => takers.answers.clone(),
        (Answer::Open | Answer::Recorded | Answer::Each, _) => vec![None],
    }
}

/// What a delivery carries. `found` gives the records that `needed` named; none if one is missing
/// or its body is no payload, and then the thread is damaged.
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
        turn: lease.turn,
        attempt: lease.attempt,
        delivery: lease.token.0.to_string(),
        key: work_key(&thread.id, path, lease.turn),
        deadline: Some(deadline.to_string()),
        journal: u32::try_from(call.journal.past.len()).ok().filter(|entries| *entries > 0),
        ..Stamp::default()
    };
    if call.settled == 0 {
        let request = found(call.request)?;
        let h = &request.header;
        stamp.id = Some(h.id.to_string());
        stamp.seq = Some(h.seq);
        stamp.at = Some(h.time.to_string());
        stamp.cause = h.cause.map(|c| c.to_string());
        stamp.sha256 = Some(crate::words::ids::Digest::of(&request.body).to_string());
        let payload = Payload::trusted(request.body.clone()).ok()?;
        // Where a person amended it, the record is that person's and the request still its caller's.
        return Some(addressed(&call.caller, call, thread, stamp, payload));
    }
    let mut items = Vec::with_capacity(call.items.len());
    for item in &call.items {
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
    // A wait is recorded after the items beside it, wherever its sender put it.
    items.sort_by_key(|item| item.ordinal);
    let inbox = inbox(call, found)?;
    let wrap_up = call.wrap_up.filter(|_| call.is_wrapping_up()).map(|of| of.what.code().to_string());
    let answers = write_answers(&Answers { turn: lease.turn, wrap_up, items, inbox });
    Some(addressed(&Name::core(), call, thread, stamp, answers))
}

/// Children's ends first, in order of spawning, so that what is shown does not depend on which ended
/// first; then the rest, in order of the log.
fn inbox(call: &Call, found: impl Fn(u64) -> Option<Arc<Record>>) -> Option<Vec<Payload>> {
    let mut shown = Vec::new();
    for seq in call.shown_inbox() {
        let body = found(seq)?.body.clone();
        let child = core_payload::finished_child(&body);
        let place = child.and_then(|id| call.children.iter().position(|c| c.id == id)).unwrap_or(usize::MAX);
        shown.push((place, seq, Payload::trusted(body).ok()?));
    }
    shown.sort_by_key(|(place, seq, _)| (*place, *seq));
    Some(shown.into_iter().map(|(.., payload)| payload).collect())
}

fn addressed(from: &Name, call: &Call, thread: &Thread, stamp: Stamp, payload: Payload) -> Delivered {
    let (to, thread) = (Some(call.listener.to_string()), thread.id.to_string());
    Delivered { from: from.to_string(), to, thread, stamp, payload }
}
