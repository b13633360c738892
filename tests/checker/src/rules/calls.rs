//! Checks that calls open, move and close in order, and between the right parties.

use super::{RunSettings, timers};
use crate::ledger::{CheckLedger, LedgerCall, LedgerStep, LedgerThread};
use crate::meaning::{ItemSort, OpenedThrough, RecordAct};
use crate::path;
use crate::record::LogLine;
use crate::tag;

/// The records of a call are between its opening and its outcome.
pub(crate) fn call_open(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let (path, thread) = (act.call()?, &step.record.thread);
    if before.find_thread(thread).is_some_and(|thread| thread.ended.is_some()) {
        return None;
    }
    let Some(call) = before.find_call(thread, path) else {
        return match before.first_outcome(thread, path) {
            // Another rule finds a second outcome of one call.
            Some(_) if act.find_closed().is_some() => None,
            Some(_) if goes_with_its_time(before, step) => None,
            Some(over) => Some(format!("call {path} is over since position {over}")),
            None => Some(format!("call {path} was never opened")),
        };
    };
    let RecordAct::Answer { turn, ordinal, .. } = act else { return None };
    let is_there = call.find_item(turn, ordinal).is_some();
    (!is_there).then(|| format!("no item {} waits for an answer", path::of_item(path, turn, ordinal)))
}

/// Whether the record cancels a timer that its call left, because the time of its message is over.
fn goes_with_its_time(before: &CheckLedger, step: &LedgerStep<'_>) -> bool {
    let id = step.core_named("timer-cancelled").and_then(|tag| tag.find_attribute("id"));
    let thread = before.find_thread(&step.record.thread);
    let timer = id.and_then(|id| Some((thread?, thread?.timers.get(id)?)));
    matches!(step.act, Some(RecordAct::Unset { .. }))
        && timer.is_some_and(|(thread, timer)| timers::is_out_of_time(thread, timer.budget_use))
}

/// A thread's top calls count from 1 and are answered one at a time, in order; a child has one. Only a call that
/// has not begun ends before its turn: if its message has used up its time, or a client stops it.
pub(crate) fn top_order(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let record = step.record;
    let thread = before.find_thread(&record.thread);
    if let RecordAct::Opens { call, by, .. } = act {
        let due = thread.map_or(0, |thread| thread.top_calls).saturating_add(1);
        if !path::is_top(call) || path::find_top(call) != due {
            return Some(format!("call {call} is opened, where call {due} is due"));
        }
        let is_child = record.thread.contains('.');
        return match (is_child, by) {
            (true, OpenedThrough::Client) => Some("a child is asked from outside".into()),
            (true, OpenedThrough::Timer | OpenedThrough::Tell) => {
                Some("a child has one top call, and no timer opens another".into())
            }
            (false, OpenedThrough::Spawn) => Some("a thread without a parent begins as a child".into()),
            (true, OpenedThrough::Spawn) if record.seq != 1 => {
                Some("a child begins after its first record".into())
            }
            _ => None,
        };
    }
    // A request that waits for a person may be rejected before the call's turn.
    if record.code.as_deref().is_some_and(|code| code.starts_with("approval.")) {
        return None;
    }
    // A listener that is notified of a request for approval may answer at any time.
    let aside = matches!(
        act,
        RecordAct::Asks { .. }
            | RecordAct::Tell { .. }
            | RecordAct::Amends { .. }
            | RecordAct::Decides { .. }
    );
    if aside || act.call().is_some_and(path::is_told) {
        return None;
    }
    // The time of its message may be over before its turn.
    if let (RecordAct::Wraps { call } | RecordAct::Outcome { call }, Some(thread)) = (act, thread)
        && thread.calls.get(call).is_some_and(|call| ends_unbegun(thread, call) || is_stopped(record, call))
    {
        return None;
    }
    // News may reach a call that waits for its turn, and another rule finds a call that is not open.
    let moves =
        !matches!(act, RecordAct::Inbox { .. } | RecordAct::Fires { .. }) && before.call_of(step).is_some();
    let (path, first) = (act.call().filter(|_| moves)?, thread?.first_top()?);
    (path::find_top(path) > first).then(|| format!("call {path} moves while call {first} is open"))
}

/// Whether a call that has not begun ends, because a timer opened it and the time of its message is over.
fn ends_unbegun(thread: &LedgerThread, call: &LedgerCall) -> bool {
    call.settled == 0 && call.attempts.is_none() && timers::is_out_of_time(thread, call.budget_use)
}

/// Whether a client stops a call that has not begun.
fn is_stopped(record: &LogLine, call: &LedgerCall) -> bool {
    let words = tag::parse_root(&record.body);
    let words = words.as_ref().and_then(|tag| tag.find_attribute("message"));
    call.settled == 0
        && call.attempts.is_none()
        && record.code.as_deref() == Some("thread.cancelled")
        && words.is_some_and(|words| words.starts_with("cancelled by "))
}

/// Nothing is appended to a thread that has ended.
pub(crate) fn check_end(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let over = before.find_thread(&step.record.thread)?.ended?;
    Some(format!("the thread ended at position {over}"))
}

/// When a call closes or a thread ends, nothing below it is left open.
pub(crate) fn closed_below(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let thread = before.find_thread(&step.record.thread)?;
    let running = |call: &LedgerCall| call.children.iter().find(|child| before.is_running(child)).cloned();
    if act == RecordAct::Terminal {
        return thread.calls.values().find_map(running).map(|child| format!("child {child} still runs"));
    }
    let closes = act.find_closed()?;
    let call = thread.calls.get(closes)?;
    if let Some(below) = find_below(thread, closes) {
        return Some(format!("call {below} is still open under call {closes}"));
    }
    running(call).map(|child| format!("child {child} of call {closes} still runs"))
}

fn find_below<'t>(thread: &'t LedgerThread, call: &str) -> Option<&'t str> {
    thread.calls.keys().map(String::as_str).find(|other| path::is_below(other, call))
}

/// Records have the right sender and receiver: an item comes from the listener of its call, an outcome
/// goes to its caller, and core messages come from the core.
pub(crate) fn check_party(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let call = before.call_of(step);
    let (from, to) = (step.record.from.as_str(), step.record.to.as_deref());
    let listener = call.map(|call| call.listener.as_str());
    let caller = call.map(|call| call.caller.as_str());
    let (sender, addressee) = match act {
        RecordAct::Opens { by: OpenedThrough::Timer | OpenedThrough::Tell, .. }
        | RecordAct::Unset { .. }
        | RecordAct::Clocks { .. } => (Some("core"), None),
        RecordAct::Asks { .. }
        | RecordAct::Questions { .. }
        | RecordAct::Tell { .. }
        | RecordAct::Decides { .. } => (Some("core"), None),
        RecordAct::Amends { .. } => (None, listener),
        RecordAct::Opens { by: OpenedThrough::Client, .. } => {
            return (from == "core").then(|| "the core asks itself".into());
        }
        RecordAct::Opens { by: OpenedThrough::Spawn, .. } => {
            let spawn = step.record.cause.and_then(|cause| before.spawns.get(&cause));
            (spawn.map(|spawn| spawn.from.as_str()), None)
        }
        RecordAct::Item { sort: ItemSort::Final, .. } => (listener, caller),
        RecordAct::Item { sort: ItemSort::Refused, .. } => (Some("core"), listener),
        RecordAct::Item { .. } | RecordAct::Takes { .. } | RecordAct::Writes { .. } => (listener, None),
        RecordAct::Denies { .. } => (Some("core"), listener),
        RecordAct::Outcome { .. } if step.record.code.as_deref() == Some("handled") => (listener, caller),
        RecordAct::Outcome { .. } => (Some("core"), caller),
        RecordAct::Answer { .. }
        | RecordAct::Inbox { .. }
        | RecordAct::Wraps { .. }
        | RecordAct::Fires { .. }
        | RecordAct::DeadLetter { .. }
        | RecordAct::Marks { .. }
        | RecordAct::Attempt { .. } => (Some("core"), listener),
        RecordAct::Steers { .. } => (None, listener),
        RecordAct::Terminal
        | RecordAct::Pauses
        | RecordAct::Resumes
        | RecordAct::Reopens { .. }
        | RecordAct::Aside => (Some("core"), None),
    };
    if let Some(sender) = sender.filter(|sender| *sender != from) {
        return Some(format!("it comes from {from}, where {sender} has to say it"));
    }
    let addressee = addressee.filter(|addressee| Some(*addressee) != to)?;
    Some(match to {
        Some(to) => format!("it goes to {to}, and is for {addressee}"),
        None => format!("it has no addressee, and is for {addressee}"),
    })
}
