//! Deciding on timers: set, cancelled, due. A timer fires into the inbox of the call that set it. If a
//! root's top call has left it, the timer opens a new top call for the same listener.
//!
//! The recorded moment is on the wall clock, for people and for the next start. The event says how late a
//! timer is, measured on the monotonic clock; this file reads no clock. If the wall clock was set back
//! while the timer waited, the firing says so. Otherwise a reader of the log would find its time too
//! early.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::awaiting;
use super::decision_builder::{DecisionBuilder, Fact};
use super::event::{Effect, Until};
use super::replying::{Turn, refuse_item};
use super::state::{Thread, Timer};
use crate::rules::{core_payload, primitive};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, MessageId, ThreadId, TimerId};
use crate::types::limits;
use crate::types::primitive::SetTimer;
use crate::types::record::{Kind, Mark, Record, Role, Timing};
use crate::types::refusal::Refusal;

/// Sets a timer, and tells the sender its id and its time.
pub(super) fn set(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    wanted: &SetTimer,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    let thread = d.thread(turn.thread)?;
    let timers: BTreeSet<&TimerId> = standing(thread, turn).map(|(id, _)| id).collect();
    let refusal = match &wanted.id {
        Some(id) if timers.contains(id) => Some(
            Refusal::new(Code::Invalid, format!("a timer {} is set in this thread", id.as_str()))
                .of_element("set-timer")
                .in_place("/set-timer/@id")
                .fixed_by("leave id out, choose another, or cancel that timer first"),
        ),
        _ if timers.len() >= limits::TIMERS => Some(
            Refusal::new(Code::ThreadLimit, "32 timers are set in this thread, the most allowed")
                .fixed_by("cancel one, or wait until one has fired"),
        ),
        _ => None,
    };
    if let Some(refusal) = refusal {
        return Some(refuse_item(d, turn, ordinal, refusal, Some(item)));
    }
    let id = wanted.id.clone().unwrap_or_else(|| TimerId::free(|id| timers.contains(id)));
    let due = d.at().plus(wanted.pace.span_ms);
    answered(d, turn, ordinal, Timing::Set, item, core_payload::timer_set(&id, due));
    None
}

/// The timers of a thread as the reply to a turn finds them.
fn standing<'t>(thread: &'t Thread, turn: &Turn<'_>) -> impl Iterator<Item = (&'t TimerId, &'t Timer)> {
    thread.timers.iter().filter(|(_, timer)| !thread.is_spent(turn.path, turn.number, timer))
}

/// Cancels a timer of the sender.
pub(super) fn cancel(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    id: &TimerId,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    let thread = d.thread(turn.thread)?;
    let own = standing(thread, turn).filter(|(_, timer)| thread.may_cancel(turn.path, &turn.sender, timer));
    let set: Vec<&str> = own.map(|(id, _)| id.as_str()).collect();
    if !set.contains(&id.as_str()) {
        let words = format!("no timer {} of yours is set", id.as_str());
        let expected = if set.is_empty() { "none is set".to_owned() } else { set.join(", ") };
        let refusal = Refusal::new(Code::UnknownTimer, words)
            .of_element("cancel-timer")
            .in_place("/cancel-timer/@id")
            .expecting(expected);
        return Some(refuse_item(d, turn, ordinal, refusal, Some(item)));
    }
    answered(d, turn, ordinal, Timing::Cancel, item, core_payload::timer_cancelled(id));
    None
}

/// Records an item about a timer and the core's answer to it.
fn answered(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    timing: Timing,
    item: &Arc<[u8]>,
    answer: Arc<[u8]>,
) {
    let mut fact = turn.item(ordinal, Kind::Timer, Mark::Timing(timing), item.clone());
    fact.from = turn.sender.clone();
    let (_, cause) = d.record(turn.thread, fact);
    let answer = Fact::core(Kind::Message, Mark::Role(Role::Answer), answer)
        .to(&turn.sender)
        .on(&turn.path.item(turn.number, ordinal))
        .because(cause)
        .under(turn.config);
    d.record(turn.thread, answer);
}

/// A timer is due. If it was cancelled or set again while the log was asked, nothing happens.
pub(super) fn due(d: &mut DecisionBuilder<'_>, thread: &ThreadId, id: &TimerId, set: &Record, late_ms: u64) {
    let Some(state) = d.thread(thread) else { return };
    let Some(timer) = state.timers.get(id).filter(|t| t.set == set.header.seq && state.may_fire(t)) else {
        return;
    };
    let missed = if timer.pace.repeats { late_ms / timer.pace.span_ms.max(1) } else { 0 };
    let is_set_back = d.at() < timer.due;
    let body = core_payload::timer_fired(id, missed, is_set_back, &primitive::timer_note(&set.body));
    let (listener, setter) = (timer.listener.clone(), timer.call.clone());
    let (timing, path, config) = match state.calls.get(&setter) {
        Some(call) => (Timing::Fired, setter, call.config),
        None => (Timing::Opens, CallPath::top(state.top_calls + 1), d.current_config()),
    };
    let fact = Fact::core(Kind::Timer, Mark::Timing(timing), body).to(&listener).on(&path).under(config);
    d.record(thread, fact.because(set.header.id));
    awaiting::arrived(d, thread, &path);
}

/// Cancels the timers of a call that is about to close, except those that outlive it.
pub(super) fn cancel_with(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some(state) = d.thread(thread).filter(|t| !t.timers.is_empty()) else { return };
    let Some((config, cause)) = state.calls.get(path).map(|call| (call.config, call.ready_cause)) else {
        return;
    };
    let over: Vec<TimerId> =
        state.timers_of(path).filter(|(_, timer)| !state.keeps(timer)).map(|(id, _)| id.clone()).collect();
    for id in over {
        let fact =
            Fact::core(Kind::Timer, Mark::Timing(Timing::Cancelled), core_payload::timer_cancelled(&id));
        d.record(thread, fact.on(path).because(cause).under(config));
    }
}

/// Cancels the timers that earlier calls of a message have left, because the message's time is over: a
/// call that they open could not work.
pub(super) fn cancel_left(d: &mut DecisionBuilder<'_>, root: &ThreadId, budget_use: u32, because: MessageId) {
    let Some(state) = d.thread(root) else { return };
    let Some(config) = state.purses.get(&budget_use).map(|budget_use| budget_use.config) else { return };
    let is_left = |timer: &Timer| timer.budget_use == budget_use && !state.calls.contains_key(&timer.call);
    let left = state.timers.iter().filter(|(_, timer)| is_left(timer));
    let left: Vec<(TimerId, CallPath)> = left.map(|(id, timer)| (id.clone(), timer.call.clone())).collect();
    for (id, setter) in left {
        let fact =
            Fact::core(Kind::Timer, Mark::Timing(Timing::Cancelled), core_payload::timer_cancelled(&id));
        d.record(root, fact.on(&setter).because(because).under(config));
    }
}

/// The timers that must be waited for after a decision and were not before, and those that no longer
/// must.
pub(super) fn changes(before: Option<&Thread>, after: &Thread, effects: &mut Vec<Effect>) {
    let effect =
        |timer: &TimerId, until| Effect::Wait { thread: after.id.clone(), timer: timer.clone(), until };
    for (id, timer) in &after.timers {
        let now = until(after, timer);
        let then = before.and_then(|thread| Some(until(thread, thread.timers.get(id)?)));
        if then != Some(now) {
            effects.push(effect(id, Some(now)));
        }
    }
    for id in before.iter().flat_map(|thread| thread.timers.keys()) {
        if !after.timers.contains_key(id) {
            effects.push(effect(id, None));
        }
    }
}

/// Until when the pump must wait for a timer.
pub(super) fn until(thread: &Thread, timer: &Timer) -> Until {
    let may_fire = thread.may_fire(timer);
    Until { set: timer.set, due: timer.due, most_ms: timer.pace.span_ms, may_fire }
}
