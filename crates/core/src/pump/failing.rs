//! Deciding on attempts that ended without a reply: the next attempt, recorded before it is made, or a
//! dead letter and a failed call, whose caller gets the reason.

use super::closing::close_failed;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use super::state::Call;
use super::wrapping;
use crate::rules::core_payload::{self, AttemptRecord, AttemptState};
use crate::types::codes::Code;
use crate::types::composition::Composition;
use crate::types::delivery::work_key;
use crate::types::flow::PumpFailure;
use crate::types::ids::{AttemptId, CallPath, ThreadId};
use crate::types::ports::CallBack;
use crate::types::record::{RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use crate::types::time::{Millis, spell_duration};

/// The model call that the due attempt began and that has no result: its outcome is unknown.
pub(super) fn find_begun(call: &Call) -> Option<u64> {
    call.journal.open().next().map(|entry| entry.id)
}

/// The turn's attempt failed: there is another attempt if one is left, else the call closes. An attempt
/// that died with the pump is repeated at once, because a pause would spare nothing.
pub(super) fn fail_attempt(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    failing: &PumpFailure,
    more: bool,
    with_pump: bool,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let (attempt, own) = (call.attempts.max(1), call.own_attempt());
    let (turn, config, to) = (call.settled + 1, call.config, call.listener.clone());
    if more {
        let pause = d.find_listener(config, &to).map_or(0, |l| l.retry.pause_ms(own + 1));
        let due = d.at().add_ms(if with_pump { 0 } else { pause });
        let (code, words) = (Some(failing.code), failing.words.clone());
        let next = AttemptRecord { number: attempt + 1, due, code, with_pump, words };
        record_attempt(d, thread, path, turn, &next);
        return;
    }
    dead_letter(d, thread, path);
    // The listener of a call with a single turn did not know that the turn is the last.
    let is_single = d.find_listener(config, &to).is_none_or(|listener| listener.turns <= 1);
    let is_over = |call: &Call| call.is_wrapping_up() || call.wrap_up.is_some() && is_single;
    if d.find_call(thread, path).is_some_and(is_over) {
        return wrapping::close_wrapping(d, thread, path, turn);
    }
    let words = format!("{}: {}", to.as_str(), failing.words);
    let mut refusal = Refusal::new(failing.code, words);
    refusal.first_code = failing.first_code.clone().map(String::into_boxed_str);
    close_failed(d, thread, path, &refusal);
}

/// Records that the due delivery of a call is not tried again; the outcome of the call follows.
pub(super) fn dead_letter(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some(call) = d.find_call(thread, path) else { return };
    let (turn, attempt) = (call.settled + 1, call.attempts.max(1));
    let body = core_payload::dead_letter(&work_key(thread, path, turn), attempt);
    let letter = RecordFact::from_core(RecordKind::Outcome, RecordCode::DeadLetter, body)
        .with_addressee(&call.listener.clone())
        .with_call(path);
    let mut letter = letter.with_cause(call.ready_cause).with_config(call.config);
    letter.turn = Some(turn);
    d.add_record(thread, letter);
}

/// Makes one more attempt at once, because a person decided so.
pub(super) fn retry_turn(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, words: String) {
    let Some(call) = d.find_call(thread, path) else { return };
    let code = if find_begun(call).is_some() { Code::UnknownOutcome } else { Code::ListenerLost };
    let (turn, number) = (call.settled + 1, call.attempts.max(1) + 1);
    let next = AttemptRecord { number, due: d.at(), code: Some(code), with_pump: false, words };
    record_attempt(d, thread, path, turn, &next);
}

/// The first attempt for a listener whose attempts are recorded before they are sent.
pub(super) fn record_sending(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, turn: u32) {
    if d.find_call(thread, path).is_some_and(|c| c.is_due(turn, 1) && c.attempts == 0) {
        let first =
            AttemptRecord { number: 1, due: d.at(), code: None, with_pump: false, words: String::new() };
        record_attempt(d, thread, path, turn, &first);
    }
}

/// Records what happens to the due attempt of a call.
pub(super) fn goes_through(d: &mut DecisionBuilder<'_>, id: &AttemptId, state: &AttemptState) {
    let Some(call) = d.due_call(id) else { return };
    let is_news = match state {
        AttemptState::Waits { outage, .. } => call.waits.as_ref().is_none_or(|wait| wait.outage != *outage),
        AttemptState::GoesOn(_) => call.waits.is_some(),
        AttemptState::Taken(_) => call.taken.is_none(),
    };
    if !is_news {
        return;
    }
    let is_next = matches!(state, AttemptState::Waits { after: Some(_), .. });
    let number = id.attempt + u32::from(is_next);
    let body = core_payload::attempt_state(number, call.not_before, state);
    let code = RecordCode::Attempting(state.effect());
    let mut fact = RecordFact::from_core(RecordKind::Attempt, code, body)
        .with_addressee(&call.listener.clone())
        .with_call(&id.call)
        .with_cause(call.ready_cause)
        .with_config(call.config);
    fact.turn = Some(id.turn);
    d.add_record(&id.thread, fact);
}

/// An attempt found that someone is away: the next one waits, and this one counts in no limit. Returns false if the
/// call may not wait.
pub(super) fn wait_for_outage(
    d: &mut DecisionBuilder<'_>,
    id: &AttemptId,
    outage: &str,
    failing: &PumpFailure,
) -> bool {
    let Some(call) = d.due_call(id).filter(|call| find_begun(call).is_none()) else { return false };
    if wait_left_ms(d, call) == 0 {
        return false;
    }
    let (outage, words) = (outage.to_owned(), failing.words.clone());
    goes_through(d, id, &AttemptState::Waits { outage, after: Some(failing.code), words });
    true
}

/// How long a call may wait for someone who is away. If the file lets none wait, a delivery that lies with the broker
/// has its timeout.
pub(super) fn longest_wait_ms(page: Option<&Composition>, call: &Call) -> u64 {
    let Some(page) = page else { return 0 };
    let is_sent = call.waits.as_ref().is_some_and(|wait| wait.is_sent);
    match page.outage_ms {
        0 if is_sent => page.find_listener(&call.listener).map_or(0, |listener| listener.timeout_ms),
        most_ms => most_ms,
    }
}

fn wait_left_ms(d: &DecisionBuilder<'_>, call: &Call) -> u64 {
    let waited_ms = call.away_since.map_or(0, |since| d.at().count_since(since));
    longest_wait_ms(d.find_composition(call.config), call).saturating_sub(waited_ms)
}

/// A call has waited for as long as it may: it fails.
pub(super) fn end_wait(d: &mut DecisionBuilder<'_>, id: &AttemptId, since: Millis, words: &str) {
    let Some(call) = d.due_call(id).filter(|call| call.away_since == Some(since)) else { return };
    let Some(wait) = &call.waits else { return };
    let page = d.find_composition(call.config);
    let by = if page.is_some_and(|page| page.outage_ms > 0) { "`limits.outage`" } else { "its timeout" };
    let words =
        format!("{words} for {}, as long as {by} allows", spell_duration(longest_wait_ms(page, call)));
    let (is_sent, code) = match wait.is_sent {
        true => (true, Code::ListenerTimeout),
        false => (false, Code::ListenerDown),
    };
    fail_attempt(d, &id.thread, &id.call, &PumpFailure { code, first_code: None, words }, false, false);
    if is_sent {
        let (thread, call, why) = (id.thread.clone(), id.call.clone(), CallBack::TimedOut);
        d.add_effect(Effect::CallBack { thread, call, why });
    }
}

fn record_attempt(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    turn: u32,
    attempt: &AttemptRecord,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let mark = attempt.code.map(RecordCode::Code);
    let mut fact =
        RecordFact::from_core(RecordKind::Attempt, RecordCode::Handled, core_payload::write_attempt(attempt))
            .with_addressee(&call.listener.clone())
            .with_call(path)
            .with_cause(call.ready_cause)
            .with_config(call.config);
    fact.code = mark;
    fact.turn = Some(turn);
    d.add_record(thread, fact);
}
