//! Deciding on timers: due, and cancelled with their call. A timer fires into the inbox of the call that set it. If a
//! root's top call has left it, the timer opens a new top call for the same listener.
//!
//! The recorded moment is on the wall clock, for people and for the next start. The event says how late a
//! timer is, measured on the monotonic clock; this file reads no clock. If the wall clock was set back
//! while the timer waited, the firing says so. Otherwise a reader of the log would find its time too
//! early.

use super::awaiting;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, Effects};
use super::state::{Thread, Timer};
use super::thread_before::ThreadBefore;
use super::turn::Turn;
use crate::rules::{core_payload, outage_words};
use crate::types::ids::{CallPath, MessageId, ThreadId, TimerId};
use crate::types::record::{Record, RecordCode, RecordKind, TimerEffect};

/// The timers of a thread as the reply to a turn finds them.
pub(super) fn list_standing<'t>(
    thread: &'t Thread,
    turn: &Turn<'_>,
) -> impl Iterator<Item = (&'t TimerId, &'t Timer)> {
    thread.timers.iter().filter(|(_, timer)| !thread.is_spent(turn.path, turn.number, timer))
}

/// A timer is due. If it was cancelled or set again while the log was asked, nothing happens.
pub(super) fn fire_due(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    id: &TimerId,
    set: &Record,
    late_ms: u64,
) {
    let Some(state) = d.find_thread(thread) else { return };
    let Some(timer) = state.timers.get(id).filter(|t| t.set == set.header.seq && state.may_fire(t)) else {
        return;
    };
    let missed = if timer.pace.repeats { late_ms / timer.pace.span_ms.max(1) } else { 0 };
    let is_set_back = d.at() < timer.due;
    let (away, note) = (away_below(d, thread, Some(&timer.call)), core_payload::timer_note(&set.body));
    let body = core_payload::timer_fired(id, missed, is_set_back, away.as_deref(), &note);
    let (listener, setter) = (timer.listener.clone(), timer.call.clone());
    let (timing, path, config) = match state.calls.get(&setter) {
        Some(call) => (TimerEffect::Fired, setter, call.config),
        None => (TimerEffect::Opens, CallPath::new_top(state.top_calls + 1), d.current_config()),
    };
    let fact = RecordFact::from_core(RecordKind::Timer, RecordCode::Timing(timing), body)
        .with_addressee(&listener)
        .with_call(&path)
        .with_config(config);
    d.add_record(thread, fact.with_cause(set.header.id));
    awaiting::note_arrival(d, thread, &path);
}

/// Who keeps work waiting that is open in a thread, in words; with a call, only work that this call has given away.
fn away_below(d: &DecisionBuilder<'_>, thread: &ThreadId, below: Option<&CallPath>) -> Option<String> {
    let calls = &d.find_thread(thread)?.calls;
    let mut open = calls.iter().filter(|(path, _)| below.is_none_or(|above| path.is_within(above)));
    open.find_map(|(path, call)| {
        let wait = call.waits.as_ref().filter(|_| below != Some(path));
        let words = wait.map(|wait| outage_words(&wait.outage, &call.listener));
        words.or_else(|| call.running().find_map(|child| away_below(d, child, None)))
    })
}

/// Cancels the timers of a call that is about to close, except those that outlive it.
pub(super) fn cancel_with(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some(state) = d.find_thread(thread).filter(|t| !t.timers.is_empty()) else { return };
    let Some((config, cause)) = state.calls.get(path).map(|call| (call.config, call.ready_cause)) else {
        return;
    };
    let over: Vec<TimerId> =
        state.timers_of(path).filter(|(_, timer)| !state.can_keep(timer)).map(|(id, _)| id.clone()).collect();
    for id in over {
        let fact = RecordFact::from_core(
            RecordKind::Timer,
            RecordCode::Timing(TimerEffect::Cancelled),
            core_payload::timer_cancelled(&id),
        );
        d.add_record(thread, fact.with_call(path).with_cause(cause).with_config(config));
    }
}

/// Cancels the timers that earlier calls of a message have left, because the message's time is over: a
/// call that they open could not work.
pub(super) fn cancel_left(d: &mut DecisionBuilder<'_>, root: &ThreadId, budget_use: u32, because: MessageId) {
    let Some(state) = d.find_thread(root) else { return };
    let Some(config) = state.budget_uses.get(&budget_use).map(|budget_use| budget_use.config) else { return };
    let is_left = |timer: &Timer| timer.budget_use == budget_use && !state.calls.contains_key(&timer.call);
    let left = state.timers.iter().filter(|(_, timer)| is_left(timer));
    let left: Vec<(TimerId, CallPath)> = left.map(|(id, timer)| (id.clone(), timer.call.clone())).collect();
    for (id, setter) in left {
        let fact = RecordFact::from_core(
            RecordKind::Timer,
            RecordCode::Timing(TimerEffect::Cancelled),
            core_payload::timer_cancelled(&id),
        );
        d.add_record(root, fact.with_call(&setter).with_cause(because).with_config(config));
    }
}

/// The timers that must be waited for after a decision and were not before, and those that no longer
/// must.
pub(super) fn note_changes(before: &ThreadBefore, after: &Thread, effects: &mut Effects) {
    let effect =
        |timer: &TimerId, until| Effect::Wait { thread: after.id.clone(), timer: timer.clone(), until };
    for (id, timer) in &after.timers {
        let now = after.timer_due(timer);
        if !before.timers.iter().any(|(other, then)| other == id && *then == now) {
            effects.push(effect(id, Some(now)));
        }
    }
    for (id, _) in &before.timers {
        if !after.timers.contains_key(id) {
            effects.push(effect(id, None));
        }
    }
}
