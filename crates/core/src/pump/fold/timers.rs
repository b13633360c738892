//! Folding timers. Each function takes one record into its thread, and decides nothing.

use super::opened_calls::{call_of, open_call};
use crate::pump::state::{
    FiringTarget, InboxMessage, OpenedBy, PendingItem, Sort, Thread, Timer, TimerFiring,
};
use crate::rules::{budget_payload, core_payload};
use crate::types::ids::{CallPath, TimerId};
use crate::types::limits;
use crate::types::record::{Record, TimerEffect};

/// Takes a record of kind `timer`.
pub(super) fn fold_timer(thread: &mut Thread, record: &Record, timing: TimerEffect) {
    let h = &record.header;
    match timing {
        // The pump answers them as items.
        TimerEffect::Set | TimerEffect::Cancel => {}
        TimerEffect::Fired => {
            if let Some(call) = call_of(thread, h) {
                call.inbox.push(InboxMessage { seq: h.seq, sort: Sort::Timer });
            }
            fold_firing(thread, record, FiringTarget::Told(h.seq));
        }
        TimerEffect::Opens => {
            thread.top_calls += 1;
            let held = !thread.calls.is_empty();
            let id = core_payload::read_timer_fired(&record.body).map(|(id, _)| id);
            let budget_use =
                id.as_ref().and_then(|id| thread.timers.get(id)).map_or(0, |timer| timer.budget_use);
            let opener = id.map(|id| TimerFiring { id, note: read_note(&record.body) });
            let opened_by = opener.map_or(OpenedBy::Request, OpenedBy::Timer);
            open_call(thread, h, h.call.clone(), opened_by, held, budget_use);
            if let Some(call) = h.call.clone() {
                fold_firing(thread, record, FiringTarget::Opened(call));
            }
        }
        TimerEffect::Cancelled => fold_cancel(thread, record),
        TimerEffect::Wall => {
            let number = h.call.as_ref().map_or(0, CallPath::top_number);
            let clocked = budget_payload::read_time(&record.body);
            if let (Some(budget_use), Some(clocked)) = (thread.budget_uses.get_mut(&number), clocked) {
                budget_use.add_time(&clocked, h.time);
            }
        }
    }
}

/// The note in a `<timer-fired>`, cut to the part that the outcome of its call repeats.
fn read_note(fired: &[u8]) -> String {
    let note = core_payload::timer_note(fired);
    match note.char_indices().nth(limits::TIMER_NOTE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &note[..end]),
        None => note,
    }
}

/// Notes a firing. A timer that fires once is removed when it has opened a call. A firing in an inbox
/// may still be lost with its call, so there the timer stays until a turn has shown the firing.
fn fold_firing(thread: &mut Thread, record: &Record, firing: FiringTarget) {
    let Some((id, missed)) = core_payload::read_timer_fired(&record.body) else { return };
    let Some(timer) = thread.timers.get_mut(&id) else { return };
    if timer.pace.repeats {
        timer.due = timer.due_after(record.header.time, missed);
    } else if matches!(firing, FiringTarget::Opened(_)) {
        thread.timers.remove(&id);
        return;
    }
    timer.fired = Some(firing);
}

/// Takes the core's answer to an item that sets or cancels a timer.
pub(super) fn fold_answer(thread: &mut Thread, path: &CallPath, record: &Record) {
    let Some((caller, turn, ordinal)) = path.caller() else { return };
    let Some(call) = thread.calls.get(&caller).filter(|call| call.settled == turn) else { return };
    let Some(item) = call.items.iter().find(|item| item.ordinal == ordinal) else { return };
    match (&item.pending, core_payload::read_timer_set(&record.body)) {
        (PendingItem::Timer(pace), Some((id, due))) => {
            let (set, listener, budget_use) = (item.seq, call.listener.clone(), call.budget_use);
            let timer = Timer { set, call: caller, listener, budget_use, due, pace: *pace, fired: None };
            thread.timers.insert(id, timer);
        }
        _ => fold_cancel(thread, record),
    }
}

fn fold_cancel(thread: &mut Thread, record: &Record) {
    if let Some(id) = core_payload::cancelled_timer(&record.body) {
        thread.timers.remove(&id);
    }
}

/// Removes one-time timers whose firing a settled turn of their call has shown.
pub(super) fn fold_shown(thread: &mut Thread, path: &CallPath, up_to: u64) {
    let is_shown = |timer: &Timer| {
        let seen = matches!(timer.fired, Some(FiringTarget::Told(seq)) if seq <= up_to);
        seen && !timer.pace.repeats && timer.call == *path
    };
    thread.timers.retain(|_: &TimerId, timer| !is_shown(timer));
}

/// A call closed: its timers and those of the calls below it are removed. The timers of a root's top
/// call stay; a firing that no turn has shown fires once more.
pub(super) fn fold_closed(thread: &mut Thread, path: &CallPath, shown_up_to: u64) {
    if thread.timers.is_empty() {
        return;
    }
    fold_shown(thread, path, shown_up_to);
    let mut timers = std::mem::take(&mut thread.timers);
    timers.retain(|_, timer| !timer.call.is_within(path) || thread.can_keep(timer));
    thread.timers = timers;
}
