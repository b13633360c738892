//! Folding an item of a reply: its call takes it, and the first item of a new turn settles that turn.

use super::timers;
use crate::pump::state::{Call, ItemAnswer, ItemState, Journal, PendingItem, StepCount, Thread};
use crate::rules::todo;
use crate::types::ids::{CallPath, Digest, MessageId};
use crate::types::record::{Header, Record};
use crate::types::time::Millis;

/// Takes an item that waits for its answer.
pub(in crate::pump) fn settle_unanswered(thread: &mut Thread, record: &Record) {
    take_item(thread, &record.header, ItemAnswer::Open);
}

/// Takes an item whose record is its answer, with the todo lists in it.
pub(in crate::pump) fn settle_kept(thread: &mut Thread, record: &Record) {
    take_item(thread, &record.header, ItemAnswer::Recorded);
    fold_todos(thread, record);
}

/// Takes an item of a reply, which its record names by call, turn and ordinal.
pub(super) fn take_item(thread: &mut Thread, h: &Header, answer: ItemAnswer) {
    if let (Some(path), Some(turn), Some(ordinal)) = (&h.call, h.turn, h.ordinal) {
        settle_item(thread, (path, turn, ordinal), h, answer);
    }
}

/// Takes an item of a reply. The first item of a new turn settles that turn.
pub(super) fn settle_item(
    thread: &mut Thread,
    (path, turn, ordinal): (&CallPath, u32, u32),
    h: &Header,
    answer: ItemAnswer,
) {
    let Some(call) = thread.calls.get_mut(path) else { return };
    // The first turn shows only the request, even if more arrived while the request waited for a person.
    let shown = if call.settled == 0 { 0 } else { call.ready_seq };
    let is_first = turn > call.settled;
    if is_first {
        call.inbox.retain(|arrival| arrival.seq > shown);
        forget_shown_ends(call, shown);
        call.settled = turn;
        (call.attempts, call.lost_with_pump, call.away, call.deaths_on_record) = (0, 0, 0, 0);
        (call.before_retry, call.has_unknown) = (0, false);
        call.not_before = Millis(0);
        (call.taken, call.waits, call.away_since) = (None, None, None);
        call.journal = Journal::default();
        call.items.clear();
    }
    call.items.push(ItemState {
        ordinal,
        seq: h.seq,
        id: h.id,
        to: h.to.clone(),
        answer,
        pending: PendingItem::Other,
    });
    call.ready_after(h.seq, h.id, h.time);
    if is_first && !thread.timers.is_empty() {
        timers::fold_shown(thread, path, shown);
    }
}

/// Drops the children whose end the turn has shown, so that ended children do not make the row grow.
fn forget_shown_ends(call: &mut Call, shown: u64) {
    let before = call.children.len();
    call.children.retain(|child| child.ended.is_none_or(|end| end > shown));
    let dropped = before.saturating_sub(call.children.len());
    call.shown_ends = call.shown_ends.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
}

/// Takes the todo lists of a note, or a single list. The newest list replaces an older one with the same condition.
fn fold_todos(thread: &mut Thread, record: &Record) {
    let Ok(lists) = todo::read_lists(&record.body) else { return };
    let Some(call) = record.header.call.as_ref().and_then(|path| thread.calls.get_mut(path)) else { return };
    for list in lists {
        let done = list.steps.iter().filter(|step| step.is_done).count() as u64;
        let total = list.steps.len() as u64;
        let steps = StepCount { open: total - done, total };
        call.todos.insert(Digest::hash_bytes(list.condition.as_bytes()), steps);
    }
}

impl Call {
    /// Notes that this record is the last one that the due turn shows.
    pub(super) fn ready_after(&mut self, seq: u64, id: MessageId, at: Millis) {
        (self.ready_seq, self.ready_cause, self.ready_at) = (seq, id, at);
    }
}
