//! Checks that everything happened once, and in order.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep, is_nudge};
use crate::meaning::{ItemSort, RecordAct};
use crate::path;

/// Call, turn and ordinal name one item of a thread.
pub(crate) fn item_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Item { call, turn, ordinal, .. } = step.act? else { return None };
    let first = before.first_item(&step.record.thread, call, turn, ordinal)?;
    Some(format!("item {} already stands at position {first}", path::of_item(call, turn, ordinal)))
}

/// A sender's key is bound once in a thread, and opens one root.
pub(crate) fn key_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let record = step.record;
    let key = record.key.as_deref()?;
    if let Some(first) = before.first_key(record) {
        return Some(format!("{} already used key {key} in this thread, at position {first}", record.from));
    }
    let first = before.first_root(record).filter(|_| record.seq == 1)?;
    Some(format!("{} already opened a thread with key {key}, at position {first}", record.from))
}

/// A call has one outcome.
pub(crate) fn outcome_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let call = step.act?.find_closed()?;
    let first = before.first_outcome(&step.record.thread, call)?;
    Some(format!("call {call} already has its outcome, at position {first}"))
}

/// An item has one answer: from the core, or the outcome of the call that it made.
pub(crate) fn answer_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let (caller, turn, ordinal) = match act {
        RecordAct::Answer { caller, turn, ordinal } => (caller, turn, ordinal),
        _ => path::split_item(act.find_closed()?)?,
    };
    let item = before.find_call(&step.record.thread, caller)?.find_item(turn, ordinal)?;
    // Another rule finds a second outcome of one call.
    let is_second =
        act.find_closed().is_some_and(|call| before.first_outcome(&step.record.thread, call).is_some());
    (item.is_answered && !is_second)
        .then(|| format!("item {} already has its answer", path::of_item(caller, turn, ordinal)))
}

/// A turn goes out when every item of the last reply has its answer, and one complete reply comes back.
pub(crate) fn turn_due(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let (RecordAct::Item { turn, .. }
    | RecordAct::Takes { turn, .. }
    | RecordAct::DeadLetter { turn, .. }
    | RecordAct::Attempt { turn, .. }) = act
    else {
        return None;
    };
    let call = before.call_of(step)?;
    if let (RecordAct::Item { ordinal, .. } | RecordAct::Takes { ordinal, .. }, Some(first)) =
        (act, call.items.first())
        && turn == call.settled
    {
        // One reply is decided at one moment and from one state, so its items share both.
        let is_same = (first.cause, first.time_ms) == (step.record.cause, step.record.time_ms);
        return (!is_same)
            .then(|| format!("item {ordinal} comes after the reply to turn {turn} was recorded"));
    }
    let due = call.settled.saturating_add(1);
    if turn != due {
        return Some(format!("the record belongs to turn {turn}, where turn {due} is due"));
    }
    let open = call.open_items();
    (open > 0)
        .then(|| format!("turn {turn} is not due: {open} items of turn {} have no answer", call.settled))
}

/// A call gets one notice that children run or steps are open; its next final is accepted.
pub(crate) fn nudge_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let is_second = is_nudge(step.record) && before.call_of(step)?.is_nudged;
    is_second.then(|| "a second final is answered by a word on what is open".into())
}

/// Only notes accompany a final, or refused items in a turn that may only answer.
pub(crate) fn final_alone(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Item { turn, sort: ItemSort::Final, .. } = step.act? else { return None };
    let call = before.call_of(step)?;
    let beside = call.items.iter().filter(|item| call.settled == turn && !item.is_note);
    let is_last = call.wraps_up.is_some();
    let beside = beside.filter(|item| !is_last || !item.is_answered).count();
    (beside > 0).then(|| format!("{beside} other items stand beside the final"))
}

/// The number of deaths of the pump after which a turn is not retried, if its listener may not fail more
/// often.
const DEATHS_OF_THE_PUMP: u32 = 5;

/// Attempts at a turn ascend by one and pass no limit. Those that died with the pump, or found that someone is
/// away, do not count. If the terms say that no listener is over NATS, no attempt follows the fifth that had a
/// record and died with the pump, or a later one if more attempts are allowed. No attempt follows a dead letter,
/// which counts them right. The first is in the log only if it had to be recorded before it was made, so the first
/// recorded attempt is 1 or 2.
pub(crate) fn check_attempt(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    terms: &RunSettings,
) -> Option<String> {
    let call = before.call_of(step)?;
    match step.act? {
        RecordAct::Attempt { .. } => {
            let Some(number) = step.core_named("attempt").and_then(|tag| tag.read_number("number")) else {
                return Some("the record does not say which attempt it is".into());
            };
            let fits = match call.attempts {
                None => matches!(number, 1 | 2),
                Some(last) => last.checked_add(1) == Some(number),
            };
            if !fits {
                return Some(format!("attempt {number} comes after attempt {}", call.attempts.unwrap_or(1)));
            }
            if call.is_dead {
                return Some(format!("attempt {number} comes after the turn's dead letter"));
            }
            let lost = call.lost_with_pump + u32::from(step.tells_of_a_death_of_the_pump());
            let uncounted = lost + call.away + call.before_retry;
            let (own, most) = (number.saturating_sub(uncounted), terms.attempts);
            if own > most {
                return Some(format!("attempt {number}, the listener's own {own}, is over {most}"));
            }
            let most = if terms.is_local { most.max(DEATHS_OF_THE_PUMP) } else { u32::MAX };
            // An unrecorded attempt may never have been handed out.
            let counts = step.tells_of_a_death_of_the_pump() && call.attempts.is_some();
            let deaths = call.deaths_on_record + u32::from(counts);
            (deaths >= most).then(|| format!("attempt {number} comes after {deaths} deaths of the pump"))
        }
        RecordAct::Marks { .. } => {
            let tag = step.core_named("attempt")?;
            let is_next = u32::from(tag.find_attribute("code").is_some());
            let (number, last) = (tag.read_number("number")?, call.attempts.unwrap_or(1));
            (number != last + is_next)
                .then(|| format!("what happens to attempt {number} is recorded after attempt {last}"))
        }
        RecordAct::DeadLetter { .. } => {
            let told = step.core_named("dead-letter").and_then(|tag| tag.read_number("attempts"));
            let made = call.attempts.unwrap_or(1);
            (told != Some(made))
                .then(|| format!("the dead letter does not tell of {made} attempts, as many as were made"))
        }
        _ => None,
    }
}
