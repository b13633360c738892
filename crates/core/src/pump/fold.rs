//! `apply`: state as a fold of records. It decides nothing: the record itself says what it means, for every version
//! and configuration that reads it. Each record changes only its own thread, so a thread can be folded alone.
//! Recovery, replay and the running pump all use this code.

mod journal;
mod opened_calls;
mod reopening;
pub(super) mod settling;
mod takers;
mod timers;

use super::primitives;
use super::state::{
    Approval, BudgetUse, Child, InboxMessage, ItemAnswer, OpenedBy, OutageWait, PendingItem, PumpState,
    Question, RecentKey, Sort, Thread, ThreadOpener, WrapUp, reload,
};
use crate::rules::core_payload::AttemptState;
use crate::rules::{
    approval_payload, budget_payload, core_payload, labels, question, retry_payload, schedule_payload,
    view_payload,
};
use crate::types::budget::UsedAmounts;
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Digest};
use crate::types::limits;
use crate::types::person::QuestionRequest;
use crate::types::record::{
    ApprovalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};

use opened_calls::{budget_use_of, call_of, item_path, open_call};
use settling::{settle_kept, settle_unanswered, take_item};
pub(super) use takers::is_failure;

/// Folds one record into the state.
pub fn apply_record(state: &mut PumpState, record: &Record) {
    let id = &record.header.thread;
    let thread = state.threads.entry(id.clone()).or_insert_with(|| Thread::new_blank(id.clone()));
    apply_to(thread, record);
}

/// Folds one record into its thread.
pub fn apply_to(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    thread.seq = h.seq;
    thread.head = record.head;
    thread.touched = h.time;
    if h.seq == 1 && !thread.id.is_sys() {
        let body = Digest::hash_bytes(&record.body);
        thread.opener = Some(ThreadOpener { sender: h.from.clone(), key: h.key.clone(), body, first: h.id });
    }
    match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(role))) => fold_message(thread, record, role),
        (RecordKind::Refusal, mark) => {
            take_item(thread, h, ItemAnswer::Seq(h.seq));
            if let (Some(path), Some(_), Some(RecordCode::Code(code))) = (&h.call, h.ordinal, mark)
                && code != Code::MessagesBudget
            {
                thread.charge_call(path, UsedAmounts::REFUSED);
            }
            if matches!(mark, Some(RecordCode::ChildrenOpen | RecordCode::TodoOpen))
                && let Some(call) = h.call.as_ref().and_then(|path| thread.calls.get_mut(path))
            {
                call.nudged = true;
            }
        }
        (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => {}
        (RecordKind::Outcome, _) => fold_close(thread, record),
        (RecordKind::Attempt, _) => fold_attempt(thread, record),
        (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Set | TimerEffect::Cancel))) => {
            fold_item(thread, record);
        }
        (RecordKind::Timer, Some(RecordCode::Timing(timing))) => timers::fold_timer(thread, record, timing),
        (RecordKind::Terminal, _) => fold_end(thread),
        (RecordKind::Journal, _) => journal::fold_entry(thread, record),
        (RecordKind::Approval, Some(RecordCode::Approving(what))) => fold_approval(thread, record, what),
        (RecordKind::Steer, Some(RecordCode::Steering(what))) => match what {
            SteerEffect::Paused => thread.paused = Some(h.time),
            SteerEffect::Resumed => thread.paused = None,
            SteerEffect::Steered => fold_steer(thread, record),
            SteerEffect::Reopened => reopening::fold_reopened(thread, record),
        },
        (RecordKind::Message | RecordKind::Timer | RecordKind::Approval | RecordKind::Steer, _) => {}
    }
}

fn fold_message(thread: &mut Thread, record: &Record, role: MessageRole) {
    let h = &record.header;
    match role {
        MessageRole::Request | MessageRole::Begin => {
            thread.top_calls += 1;
            remember_key(thread, record);
            let held = !thread.calls.is_empty();
            let number = h.call.as_ref().map_or(0, CallPath::top_number);
            open_call(thread, h, h.call.clone(), OpenedBy::Request, held, number);
            let runs = (role == MessageRole::Request && !held).then_some(h.time);
            thread.budget_uses.insert(number, BudgetUse::new(h.config, runs));
        }
        MessageRole::Call => {
            take_item(thread, h, ItemAnswer::Open);
            let budget_use = budget_use_of(thread, h.call.as_ref());
            open_call(thread, h, item_path(h), OpenedBy::Request, false, budget_use);
            if let Some(caller) = &h.call {
                thread.charge_call(caller, UsedAmounts::CALL);
            }
            if let (Some(call), Some(to)) = (call_of(thread, h), &h.to) {
                call.rounds.note_call(h.turn.unwrap_or(0), to, &record.body);
            }
        }
        MessageRole::ToAll => takers::fold_taken(thread, record, false),
        MessageRole::ToFirst => takers::fold_taken(thread, record, true),
        MessageRole::Steer => settle_unanswered(thread, record),
        MessageRole::Note => settle_kept(thread, record),
        MessageRole::Final => fold_close(thread, record),
        MessageRole::Answer => {
            if let Some(path) = &h.call {
                answer_item(thread, path, record);
                fold_spawn(thread, path, record);
                fold_clear(thread, path, record);
                timers::fold_answer(thread, path, record);
            }
        }
        MessageRole::Inbox => fold_inbox(thread, record),
        MessageRole::WrapUp => wrap_up(thread, record),
        MessageRole::Tell => fold_notice(thread, record),
        MessageRole::Told => fold_news(thread, record),
        _ => fold_item(thread, record),
    }
}

/// Takes an item that the pump answers.
fn fold_item(thread: &mut Thread, record: &Record) {
    if let Some(one) = primitives::find_recorded(&record.header) {
        (one.fold)(thread, record);
    }
}

/// News for a listener. A request for approval is recorded below the call that waits. The outcome of a call that a
/// timer opened gets a top call, which the budget use of the timer's call pays for.
fn fold_notice(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let (about, held) = match h.call.as_ref().and_then(CallPath::caller) {
        Some((above, ..)) => (Some(above), false),
        None => {
            thread.top_calls += 1;
            (core_payload::finished_timer(&record.body), !thread.calls.is_empty())
        }
    };
    let budget_use = budget_use_of(thread, about.as_ref());
    open_call(thread, h, h.call.clone(), OpenedBy::Tell, held, budget_use);
}

/// What the core says beside all calls. Only news of schedules and of reloads is state.
fn fold_news(thread: &mut Thread, record: &Record) {
    if !thread.id.is_sys() {
        return;
    }
    if let Some(news) = schedule_payload::read_news(&record.body) {
        thread.schedules.entry(news.schedule.clone()).or_default().fold_news(news, record.header.time);
    } else {
        reload::fold_record(&mut thread.reload, &record.body);
    }
}

/// A call waits for a person, or no longer does. A rejected call waits until its outcome.
fn fold_approval(thread: &mut Thread, record: &Record, what: ApprovalEffect) {
    let h = &record.header;
    if thread.id.is_sys() {
        thread.person_requests +=
            u64::from(matches!(what, ApprovalEffect::Requested | ApprovalEffect::Asked));
        return;
    }
    if what == ApprovalEffect::Asked {
        return fold_question(thread, record);
    }
    let Some(call) = h.call.as_ref().and_then(|path| thread.calls.get_mut(path)) else { return };
    match what {
        ApprovalEffect::Requested => {
            let of_attempt = approval_payload::read_unknown(&record.body).is_some();
            if of_attempt {
                // From now on it waits for a person.
                (call.waits, call.away_since) = (None, None);
            }
            call.approval = approval_payload::read_requested(&record.body).map(|(id, hash, expires)| {
                let element = approval_payload::read_element(&record.body).unwrap_or_default();
                Approval { id, hash, asked: h.time, expires, seq: h.seq, element, of_attempt }
            });
        }
        ApprovalEffect::Amendment => call.request = h.seq,
        ApprovalEffect::Approved | ApprovalEffect::Amended => {
            // Every attempt at a turn shows the same, so another attempt does not change what is shown.
            if call.approval.take().is_some_and(|approval| !approval.of_attempt) {
                call.ready_after(h.seq, h.id, h.time);
            }
        }
        ApprovalEffect::Rejected | ApprovalEffect::Expired | ApprovalEffect::Asked => {}
    }
}

/// The item that the record names waits for a person.
fn fold_question(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let Some((caller, turn, ordinal)) = h.call.as_ref().and_then(CallPath::caller) else { return };
    let Some(request) = question::read_asked(&record.body) else { return };
    let call = thread.calls.get_mut(&caller).filter(|call| call.settled == turn);
    let item = call.and_then(|call| call.items.iter_mut().find(|item| item.ordinal == ordinal));
    if let Some(item) = item {
        let QuestionRequest { id, expires, choices, .. } = request;
        let hash = Digest::hash_bytes(&record.body);
        item.pending =
            PendingItem::Person(Question { id, hash, asked: h.time, expires, seq: h.seq, choices });
    }
}

fn remember_key(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    if let (Some(key), Some(call)) = (h.key.clone(), h.call.clone()) {
        let body = Digest::hash_bytes(&record.body);
        thread.recent.push_back(RecentKey { sender: h.from.clone(), key, body, seq: h.seq, id: h.id, call });
        if thread.recent.len() > limits::RECENT_KEYS {
            thread.recent.pop_front();
        }
    }
}

/// Answers the item that the path names, or one taker's part of it.
fn answer_item(thread: &mut Thread, path: &CallPath, record: &Record) {
    let h = &record.header;
    let Some((caller, turn, ordinal)) = path.caller() else { return };
    let Some(call) = thread.calls.get_mut(&caller).filter(|c| c.settled == turn) else { return };
    if let Some(item) = call.items.iter_mut().find(|i| i.ordinal == ordinal) {
        match path.taker_number() {
            Some(number) => takers::fold_answer(item, number, record),
            None => item.answer = ItemAnswer::Seq(h.seq),
        }
        call.ready_after(h.seq, h.id, h.time);
    }
}

/// Adds the child of a `<thread-spawned>` to its call.
fn fold_spawn(thread: &mut Thread, path: &CallPath, record: &Record) {
    let Some(child) = core_payload::spawned_child(&record.body) else { return };
    thread.spawns += 1;
    labels::remember_child(&mut thread.labels, &child);
    let Some((caller, ..)) = path.caller() else { return };
    thread.charge_call(&caller, UsedAmounts::SPAWN);
    if let Some(call) = thread.calls.get_mut(&caller) {
        let ceiling = budget_payload::read_ceiling(&record.body);
        call.children.push(Child { id: child, ended: None, ceiling });
    }
}

/// Notes from a `<context-cleared>` how much of the call's view is cleared.
fn fold_clear(thread: &mut Thread, path: &CallPath, record: &Record) {
    let Some((_, to)) = view_payload::cleared_range(&record.body) else { return };
    let caller = path.caller().and_then(|(caller, ..)| thread.calls.get_mut(&caller));
    if let Some(call) = caller {
        call.cleared = call.cleared.max(to);
    }
}

/// Adds a core payload to a call's inbox. For `<thread-finished>` it also notes that the child has ended, and what
/// the child had used.
fn fold_inbox(thread: &mut Thread, record: &Record) {
    let Some(path) = &record.header.call else { return };
    let Some(call) = thread.calls.get_mut(path) else { return };
    let seq = record.header.seq;
    let child = core_payload::finished_child(&record.body);
    let warning = budget_payload::read_warning(&record.body);
    let sort = match &child {
        Some(_) => Sort::Finished,
        None if warning.is_some() => Sort::Budget,
        None => Sort::Notice { attempt: call.attempts.max(1), said: Digest::hash_bytes(&record.body) },
    };
    call.inbox.push(InboxMessage { seq, sort });
    if retry_payload::is_retried(&record.body) {
        // The run of a workflow takes its turn again, now that it knows of the retry.
        call.ready_after(seq, record.header.id, record.header.time);
    }
    if let Some(child) = child.and_then(|id| call.children.iter_mut().find(|c| c.id == id)) {
        child.ended = Some(seq);
        thread.charge_call(path, budget_payload::used_by_child(&record.body));
    }
    if let Some(of) = warning {
        thread.note_warning(path, of);
    }
}

/// A budget is used up. If this follows from the reply that was just taken, the next turn shows it. If it happens
/// while a turn may be out, the turn after that shows it.
fn wrap_up(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let Some(what) = budget_payload::read_exceeded(&record.body) else { return };
    let Some(call) = call_of(thread, h) else { return };
    call.inbox.push(InboxMessage { seq: h.seq, sort: Sort::Budget });
    call.wrap_up = Some(WrapUp { what, seq: h.seq });
    if h.turn == Some(call.settled) {
        call.ready_after(h.seq, h.id, h.time);
    }
}

/// Adds a steering message to the inbox of a call, and remembers the sender's key if the message came from outside.
fn fold_steer(thread: &mut Thread, record: &Record) {
    remember_key(thread, record);
    if let Some(call) = call_of(thread, &record.header) {
        call.inbox.push(InboxMessage { seq: record.header.seq, sort: Sort::Steer });
    }
}

/// Closes a call with the record that is its outcome.
fn fold_close(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let Some(path) = &h.call else { return };
    let Some(call) = thread.calls.remove(path) else { return };
    let was_held = call.held;
    // The calls below were closed by records of their own. If the log is cut between those records and this one, the
    // calls are closed here.
    thread.calls.retain(|other, _| !other.is_within(path));
    // If items of the same reply have settled its turn, no turn has shown what is left in the inbox.
    let shown_up_to = if h.turn == Some(call.settled) { 0 } else { call.ready_seq };
    timers::fold_closed(thread, path, shown_up_to);
    answer_item(thread, path, record);
    if let Some(caller) = path.caller().and_then(|(caller, ..)| thread.calls.get_mut(&caller)) {
        caller.rounds.note_answer(&call.listener, &record.body);
    }
    if path.depth() > 0 {
        return;
    }
    if thread.id.parent().is_some() {
        fold_end(thread);
    } else {
        reopening::keep_failed(thread, path, call, record);
        thread.close_budget_uses(h.time);
    }
    let next = thread.calls.iter_mut().filter(|(p, _)| p.depth() == 0).min_by_key(|(p, _)| p.top_number());
    // The call that closed may have waited for a person while the now open call waited behind it. If it waited in the queue
    // itself, another call is at work.
    if let Some((_, next)) = next.filter(|(_, next)| next.held && !was_held) {
        next.held = false;
        // A turn that has gone out before shows the same again.
        if next.before_retry == 0 {
            next.ready_after(h.seq, h.id, h.time);
        }
    }
}

/// Nothing is open in a thread that has ended.
fn fold_end(thread: &mut Thread) {
    thread.calls.clear();
    thread.timers.clear();
    thread.failed = None;
    thread.ended = true;
}

fn fold_attempt(thread: &mut Thread, record: &Record) {
    let Some(call) = record.header.call.as_ref().and_then(|path| thread.calls.get_mut(path)) else { return };
    match core_payload::read_attempt_state(&record.body) {
        Some(AttemptState::Waits { outage, after, .. }) => {
            if after.is_some() {
                journal::next_attempt(call);
                call.attempts = call.attempts.max(1) + 1;
                (call.away, call.taken) = (call.away + 1, None);
            }
            let since = record.header.time;
            let is_sent = after.is_none() && limits::is_with_broker(&outage);
            call.waits = Some(OutageWait { outage, since, is_sent });
            call.away_since.get_or_insert(since);
        }
        Some(AttemptState::GoesOn(outage)) => {
            (call.waits, call.went_on) = (None, record.header.time);
            // Any other call that goes on only looks whether that one is back.
            if limits::is_queued(&outage) || limits::is_with_broker(&outage) {
                call.away_since = None;
            }
        }
        Some(AttemptState::Taken(at)) => {
            (call.taken, call.waits, call.away_since) = (Some(at), None, None);
        }
        None => {}
    }
    if let Some(attempt) = core_payload::read_attempt(&record.body) {
        (call.taken, call.waits, call.away_since) = (None, None, None);
        journal::next_attempt(call);
        // The record says how the previous attempt ended, which has a recorded number if there was one.
        call.deaths_on_record += u32::from(attempt.with_pump && call.attempts > 0);
        call.lost_with_pump += u32::from(attempt.with_pump);
        call.has_unknown |= attempt.code.is_some_and(Code::leaves_unknown);
        call.attempts = attempt.number;
        call.not_before = attempt.due;
    }
}
