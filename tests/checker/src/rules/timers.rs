//! Checks that timers are set, fire and end as the log says.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerCall, LedgerFiring, LedgerStep, LedgerThread, LedgerTimer};
use crate::meaning::{OpenedThrough, RecordAct};
use crate::path;
use crate::tag::BodyTag;

/// The shortest span of a timer.
const LEAST_MS: u64 = 1_000;

/// The answer to its item sets or cancels a timer. It fires in the call that set it or, after that call, into a new
/// top call of its root. It never fires before it is due, unless the record says that the clock was set back, and
/// not again before a turn has shown its last firing. It is cancelled with its call. If a root's top call has left
/// it behind, it ends with the time of its message and then opens nothing. News of an outcome is about an open call
/// that a timer opened, and names that timer and the listener.
pub(crate) fn check_timer(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let thread = before.find_thread(&step.record.thread);
    if let Some(closes) = act.find_closed() {
        return find_left(thread?, closes).map(|id| format!("timer {id} of call {closes} is still set"));
    }
    match act {
        RecordAct::Answer { caller, turn, ordinal } => {
            let call = thread?.calls.get(caller)?;
            check_answer(thread?, call, step, turn, ordinal)
        }
        RecordAct::Fires { call } => check_firing(thread?, step, call, false),
        RecordAct::Opens { call, by: OpenedThrough::Timer, .. } => match thread {
            None => Some("a timer opens a thread".into()),
            Some(thread) => check_firing(thread, step, call, true),
        },
        RecordAct::Opens { by: OpenedThrough::Tell, .. } => check_notice(thread, step),
        RecordAct::Unset { call } => {
            let Some(id) = step.core_named("timer-cancelled").and_then(|tag| tag.find_attribute("id")) else {
                return Some("the record does not say which timer is cancelled".into());
            };
            let is_its = thread?.timers.get(id).is_some_and(|timer| timer.call == call);
            (!is_its).then(|| format!("timer {id} is none of call {call}"))
        }
        _ => None,
    }
}

/// Whether the time of a message is over: then its timers open nothing more, those that its calls left are cancelled,
/// and a call that has not begun ends.
pub(crate) fn is_out_of_time(thread: &LedgerThread, budget_use: u32) -> bool {
    let said = thread.clocks.get(&budget_use.to_string());
    said.is_some_and(|said| said.used_ms >= said.limit_ms)
}

/// A timer that a closing call would leave behind. A timer that has fired may be over.
fn find_left<'t>(thread: &'t LedgerThread, closes: &str) -> Option<&'t str> {
    let keeps = |timer: &LedgerTimer| thread.child.is_none() && path::is_top(&timer.call);
    let left = thread
        .timers
        .iter()
        .find(|(_, timer)| timer.call == closes && timer.fired.is_none() && !keeps(timer));
    left.map(|(id, _)| id.as_str())
}

fn check_answer(
    thread: &LedgerThread,
    call: &LedgerCall,
    step: &LedgerStep<'_>,
    turn: u32,
    ordinal: u32,
) -> Option<String> {
    let item = call.find_item(turn, ordinal)?;
    let (set, cancelled) = (step.core_named("timer-set"), step.core_named("timer-cancelled"));
    match (item.sets.is_some(), item.is_cancel, set, cancelled) {
        (true, _, Some(tag), _) => {
            let id = tag.find_attribute("id").unwrap_or_default();
            // A timer that has fired may be over.
            if thread.timers.get(id).is_some_and(|timer| timer.fired.is_none()) {
                return Some(format!("timer {id} is set, and is set again"));
            }
            let due = tag.find_attribute("due").and_then(crate::record::read_moment);
            let is_long = due.is_some_and(|due| due.saturating_sub(item.time_ms) >= LEAST_MS);
            (!is_long).then(|| format!("timer {id} is due less than a second after it was set"))
        }
        (_, true, _, Some(tag)) => {
            let id = tag.find_attribute("id").unwrap_or_default();
            (!thread.timers.contains_key(id)).then(|| format!("timer {id} is cancelled, and was not set"))
        }
        (true, ..) | (_, true, ..) => Some("an item about a timer is not answered by a word on it".into()),
        (false, false, None, None) => None,
        _ => Some("it answers about a timer, but its item asked for none".into()),
    }
}

fn check_firing(thread: &LedgerThread, step: &LedgerStep<'_>, call: &str, opens: bool) -> Option<String> {
    let Some(tag) = step.core_named("timer-fired") else { return Some("no timer fires in it".into()) };
    let id = tag.find_attribute("id").unwrap_or_default();
    let Some(timer) = thread.timers.get(id) else { return Some(format!("timer {id} fires and is not set")) };
    if step.record.cause != Some(timer.set) {
        return Some(format!("the firing of timer {id} is not caused by its setting"));
    }
    let is_open = thread.calls.contains_key(&timer.call);
    if opens && is_open {
        return Some(format!("timer {id} opens a call though call {}, which set it, is open", timer.call));
    }
    if opens && is_out_of_time(thread, timer.budget_use) {
        return Some(format!("timer {id} opens a call, and the time of its message is over"));
    }
    if opens && step.record.to.as_deref() != Some(&timer.listener) {
        return Some(format!("timer {id} was set by {} and opens a call of another", timer.listener));
    }
    if !opens && timer.call != call {
        return Some(format!("timer {id} was set by call {}, and fires in another", timer.call));
    }
    if let Some(LedgerFiring { call, settled }) = &timer.fired {
        let is_shown =
            thread.calls.get(call).is_none_or(|now| settled.is_some_and(|then| now.settled > then));
        if !is_shown {
            return Some(format!("timer {id} fires again before its last firing was shown"));
        }
    }
    check_early(timer, tag, id, step.record.time_ms, opens)
}

/// News of an outcome is about a call that a timer opened and that is still open: it closes in the same commit.
/// The news names the timer and the listener of that call.
fn check_notice(thread: Option<&LedgerThread>, step: &LedgerStep<'_>) -> Option<String> {
    let Some(tag) = step.core_named("timer-finished") else {
        return Some("it tells of no outcome of a timer".into());
    };
    let about = tag.find_attribute("call").unwrap_or_default();
    let call = thread.and_then(|thread| thread.calls.get(about));
    let Some((call, timer)) = call.and_then(|call| Some((call, call.timer.as_ref()?))) else {
        return Some(format!("it tells of call {about}, which no timer opened or which is over"));
    };
    let is_its =
        tag.find_attribute("id") == Some(timer) && tag.find_attribute("listener") == Some(&call.listener);
    let is_here = tag.find_attribute("thread") == Some(&step.record.thread);
    (!is_its || !is_here).then(|| format!("it does not tell of call {about} as it is"))
}

/// A firing that is early by its own time must say that the clock was set back. A firing that a call got but never
/// showed opens another call before its next moment.
fn check_early(
    timer: &LedgerTimer,
    tag: &BodyTag<'_>,
    id: &str,
    time_ms: u64,
    opens: bool,
) -> Option<String> {
    let told_and_lost = opens && timer.fired.as_ref().is_some_and(|fired| fired.settled.is_some());
    let is_early = time_ms < timer.due_ms;
    match (is_early, tag.find_attribute("clock") == Some("set-back")) {
        (true, false) if !told_and_lost => {
            Some(format!("timer {id} fires {} ms too early", timer.due_ms - time_ms))
        }
        // It is not known here whether it repeats, nor when a repeating timer is due.
        (false, true) if !told_and_lost => {
            Some(format!("timer {id} tells of a clock set back, and is not early by it"))
        }
        _ => None,
    }
}
