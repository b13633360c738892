//! Closing calls and ending threads. A call closes in one commit with everything below it, in this order: its open
//! nested calls, its running children and its timers; then, if a timer opened the call, the news for the listeners
//! that get its outcome; then the record that is its outcome; then, if the call was the one top call of a child, the
//! news for the parent.

use super::awaiting;
use super::budget_use;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use super::fold::is_failure;
use super::state::{CHILD, OpenedBy, PendingItem, ThreadState};
use super::timers;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::ports::CallBack;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// How a child's call ended, as the parent reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallOutcome {
    Answered,
    Handled,
    Failed,
    Rejected,
    Expired,
    Cancelled,
    Budget,
}

impl CallOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            CallOutcome::Answered => "answered",
            CallOutcome::Handled => "handled",
            CallOutcome::Failed => "failed",
            CallOutcome::Rejected => "rejected",
            CallOutcome::Expired => "expired",
            CallOutcome::Cancelled => "cancelled",
            CallOutcome::Budget => "budget",
        }
    }
}

/// Closes a call with the fact that is its outcome.
pub(super) fn close_call(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    outcome: CallOutcome,
    fact: RecordFact,
) {
    let by = Name::new_core();
    cancel_below(d, thread, path, &by);
    settle_item(d, thread, path, &fact);
    let body = fact.body.clone();
    let payload = (outcome != CallOutcome::Handled).then_some(&*body);
    tell_of_timer(d, thread, path, outcome, payload);
    d.add_record(thread, fact);
    if path.depth() == 0 && thread.parent().is_some() {
        tell_parent(d, thread, outcome, payload);
    }
}

/// Queues news for the listeners that get the outcome of a call that a timer opened: one top call for each. The news
/// is recorded just before the call closes, while its budget use can still pay for it.
fn tell_of_timer(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    outcome: CallOutcome,
    payload: Option<&[u8]>,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let OpenedBy::Timer(fired) = &call.opened_by else { return };
    let (config, cause, listener) = (call.config, call.ready_cause, call.listener.clone());
    let Some(tell) = d.find_listener(config, &listener).map(|l| &l.timer_tell) else { return };
    let timer = (&fired.id, &*fired.note);
    let body = core_payload::timer_finished(timer, (thread, path, &listener), outcome.as_str(), payload);
    for to in tell {
        let next = CallPath::new_top(d.find_thread(thread).map_or(0, |thread| thread.top_calls) + 1);
        let news =
            RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Tell), body.clone())
                .with_addressee(to)
                .with_call(&next);
        d.add_record(thread, news.with_cause(cause).with_config(config));
    }
}

/// Closes a call as failed. The refusal that says why is the answer to the caller.
pub(super) fn close_failed(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refusal: &Refusal,
) {
    if let Some(fact) = refused_outcome(d, thread, path, refusal) {
        close_call(d, thread, path, CallOutcome::Failed, fact);
    }
}

/// Closes a call as cancelled, and calls its delivery back.
pub(super) fn close_cancelled(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refusal: &Refusal,
) {
    if let Some(fact) = refused_outcome(d, thread, path, refusal) {
        d.add_effect(Effect::CallBack {
            thread: thread.clone(),
            call: path.clone(),
            why: CallBack::Cancelled,
        });
        close_call(d, thread, path, CallOutcome::Cancelled, fact);
    }
}

/// The outcome of a call whose caller gets a refusal.
fn refused_outcome(
    d: &DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refusal: &Refusal,
) -> Option<RecordFact> {
    let call = d.find_call(thread, path)?;
    let body = core_payload::system_error(refusal);
    let fact = RecordFact::from_core(RecordKind::Outcome, RecordCode::Code(refusal.code), body);
    Some(
        fact.with_addressee(&call.caller.clone())
            .with_call(path)
            .with_cause(call.ready_cause)
            .with_config(call.config),
    )
}

/// Cancels what is open below a call: nested calls, running children and its timers.
fn cancel_below(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, by: &Name) {
    let words = "cancelled, because the call that waited for it is over";
    cancel_within(d, thread, path, by, &Refusal::new(Code::CancelledThread, words), true);
}

/// Cancels the nested calls that a call waits for, and what is open below those. The call's own children keep
/// running.
pub(super) fn cancel_items(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let words = "cancelled, because a budget of the call that waited for it is used up";
    let refusal = Refusal::new(Code::CancelledThread, words);
    cancel_within(d, thread, path, &Name::new_core(), &refusal, false);
}

/// Cancels within a call, deepest first. The nested calls end with that refusal. `with_own` says whether the call's
/// own children and timers are cancelled too.
fn cancel_within(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    by: &Name,
    refusal: &Refusal,
    with_own: bool,
) {
    let Some(state) = d.find_thread(thread) else { return };
    let mut within: Vec<CallPath> = state.calls.keys().filter(|p| p.is_within(path)).cloned().collect();
    within.sort_by_key(|p| std::cmp::Reverse(p.depth()));
    for call in within.into_iter().filter(|call| with_own || call != path) {
        let children: Vec<ThreadId> =
            d.find_call(thread, &call).map(|c| c.running().cloned().collect()).unwrap_or_default();
        for child in children {
            end_thread(d, &child, by);
        }
        timers::cancel_with(d, thread, &call);
        if call != *path {
            end_cancelled(d, thread, &call, refusal);
        }
    }
}

/// Cancels a call that another call has made unnecessary, and all that is open below it.
pub(super) fn cancel_call(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refusal: &Refusal,
) {
    cancel_below(d, thread, path, &Name::new_core());
    end_cancelled(d, thread, path, refusal);
}

/// Closes one call as cancelled. Nothing is open below it.
fn end_cancelled(d: &mut DecisionBuilder<'_>, thread: &ThreadId, call: &CallPath, refusal: &Refusal) {
    let Some(fact) = refused_outcome(d, thread, call, refusal) else { return };
    d.add_effect(Effect::CallBack { thread: thread.clone(), call: call.clone(), why: CallBack::Cancelled });
    d.add_record(thread, fact);
}

/// Why an order about a thread cannot be carried out; `None` if the thread is alive.
pub(super) fn not_alive(life: Option<ThreadState>, order: &str) -> Option<Refusal> {
    match life {
        Some(ThreadState::Working | ThreadState::Resting) => None,
        Some(ThreadState::Ended) => {
            let words = format!("the thread has ended; there is nothing to {order}");
            Some(Refusal::new(Code::EndedThread, words))
        }
        None => Some(Refusal::new(Code::UnknownThread, "there is no such thread")),
    }
}

/// Cancels a thread and all threads below it, and tells the parent if it is alive. Returns the number of threads that
/// ended.
pub(super) fn end_thread(d: &mut DecisionBuilder<'_>, thread: &ThreadId, by: &Name) -> usize {
    let Some(state) = d.find_thread(thread).filter(|t| !t.ended) else { return 0 };
    let calls: Vec<CallPath> = state.calls.keys().cloned().collect();
    let config = state.calls.values().next().map_or_else(|| d.current_config(), |c| c.config);
    let children: Vec<ThreadId> = state.calls.values().flat_map(|c| c.running().cloned()).collect();
    let threads = 1 + children.iter().map(|child| end_thread(d, child, by)).sum::<usize>();
    for call in calls {
        d.add_effect(Effect::CallBack { thread: thread.clone(), call, why: CallBack::Cancelled });
    }
    let body = core_payload::thread_cancelled(thread, threads);
    d.add_record(
        thread,
        RecordFact::from_core(RecordKind::Terminal, RecordCode::Code(Code::CancelledThread), body)
            .with_addressee(by)
            .with_config(config),
    );
    tell_parent(d, thread, CallOutcome::Cancelled, None);
    threads
}

/// Puts `<thread-finished>` into the parent's chain and the inbox of the call that spawned the child.
fn tell_parent(d: &mut DecisionBuilder<'_>, child: &ThreadId, outcome: CallOutcome, payload: Option<&[u8]>) {
    let Some((parent, state)) = child.parent().and_then(|id| Some((id.clone(), d.find_thread(&id)?))) else {
        return;
    };
    let spawner = state.calls.iter().find(|(_, c)| c.running().any(|id| id == child));
    let Some((path, listener, config)) = spawner.map(|(p, c)| (p.clone(), c.listener.clone(), c.config))
    else {
        return;
    };
    let Some(head) = d.find_thread(child).map(|t| t.head) else { return };
    let budgets = budget_use::find_budgets(d, &parent, &path);
    let used = budget_use::count_used(d, child, CHILD).count_under(budgets);
    let cause = d.last_id();
    let body = core_payload::thread_finished(child, outcome.as_str(), head, used, payload);
    let mut fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Inbox), body)
        .with_addressee(&listener)
        .with_call(&path)
        .with_config(config);
    fact.cause = cause;
    d.add_record(&parent, fact);
    awaiting::note_arrival(d, &parent, &path);
}

/// A call is about to close with that fact. If one answer is enough and this is the first, the other calls
/// are cancelled.
fn settle_item(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, fact: &RecordFact) {
    if path.taker_number().is_none() || is_failure(fact.kind, fact.code, &fact.body) {
        return;
    }
    let Some((caller, turn, ordinal)) = path.caller() else { return };
    let Some(call) = d.find_call(thread, &caller) else { return };
    let item = call.items.iter().find(|item| item.ordinal == ordinal);
    let Some(PendingItem::Takers(takers)) = item.map(|item| &item.pending) else { return };
    if !takers.first_is_enough {
        return;
    }
    let item = caller.append_item(turn, ordinal);
    let others: Vec<CallPath> = (0u32..)
        .zip(&takers.answers)
        .map(|(number, _)| item.append_taker(number))
        .filter(|o| o != path)
        .collect();
    let words = format!("{} answered first", fact.from.as_str());
    let refusal = Refusal::new(Code::CancelledThread, words);
    for other in others {
        cancel_call(d, thread, &other, &refusal);
    }
}
