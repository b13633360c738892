//! Deciding on attempts that ended without a reply: the next attempt, recorded before it is made, or
//! a dead letter and a failed call whose caller is told.

use super::closing::close_failed;
use super::draft::{Draft, Fact};
use super::event::Lost;
use super::state::Call;
use super::wrapping;
use crate::rules::core_payload::{self, Attempt};
use crate::words::codes::Code;
use crate::words::composition::OnUnknown;
use crate::words::flow::Failing;
use crate::words::ids::{CallPath, ThreadId};
use crate::words::limits;
use crate::words::record::{Kind, Mark};
use crate::words::refusal::Refusal;

/// An attempt is over without a reply. One that is no longer due was settled by what came first.
pub(super) fn lost(d: &mut Draft<'_>, lost: &Lost) {
    let Some(call) = d.call(&lost.thread, &lost.call).filter(|c| c.is_due(lost.turn, lost.attempt)) else {
        return;
    };
    let listener = d.listener(call.config, &call.listener);
    // A failure that the listener itself reports, or its exit code, is a known outcome.
    let known = matches!(lost.code, Code::ListenerFailed | Code::ListenerSilent | Code::ListenerDown);
    let may_retry = known || listener.is_none_or(|l| l.on_unknown == OnUnknown::Retry);
    // The pump's deaths and the listener's failures are counted apart: neither uses up what the other may.
    let allowed = listener.map_or(1, |l| l.retry.attempts);
    let is_left = if lost.with_pump {
        call.lost_with_pump + 1 < allowed.max(limits::LOST_WITH_PUMP)
    } else {
        call.own_attempt() < allowed
    };
    let failing = Failing { code: lost.code, words: lost.words.clone() };
    // Trying again changes nothing about an addressee that is not there, or a thread that cannot be read.
    let hopeless = matches!(lost.code, Code::Unavailable | Code::DamagedThread);
    let more = may_retry && !hopeless && is_left;
    failed(d, &lost.thread, &lost.call, &failing, more, lost.with_pump);
}

/// The turn's attempt failed: another one if there may be more, else the call closes. One that died with
/// the pump is made again at once: there is nothing that a pause would spare.
pub(super) fn failed(
    d: &mut Draft<'_>,
    thread: &ThreadId,
    path: &CallPath,
    failing: &Failing,
    more: bool,
    with_pump: bool,
) {
    let Some(call) = d.call(thread, path) else { return };
    let (attempt, own) = (call.attempts.max(1), call.own_attempt());
    let (turn, cause, config, to) = (call.settled + 1, call.ready_cause, call.config, call.listener.clone());
    if more {
        let pause = d.listener(config, &to).map_or(0, |l| l.retry.pause_ms(own + 1));
        let due = d.at().plus(if with_pump { 0 } else { pause });
        let (code, words) = (Some(failing.code), failing.words.clone());
        let next = Attempt { number: attempt + 1, due, code, with_pump, words };
        record_attempt(d, thread, path, turn, &next);
        return;
    }
    let key = work_key(thread, path, turn);
    let letter = Fact::core(Kind::Outcome, Mark::DeadLetter, core_payload::dead_letter(&key, attempt))
        .on(path)
        .because(cause)
        .under(config);
    let mut letter = letter.to(&to);
    letter.turn = Some(turn);
    d.record(thread, letter);
    if d.call(thread, path).is_some_and(Call::is_wrapping_up) {
        return wrapping::close(d, thread, path, turn);
    }
    let words = [to.as_str(), ": ", &failing.words].concat();
    close_failed(d, thread, path, &Refusal::new(failing.code, words));
}

/// The first attempt of a listener whose attempts are recorded before they are sent.
pub(super) fn sending(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath, turn: u32) {
    if d.call(thread, path).is_some_and(|c| c.is_due(turn, 1) && c.attempts == 0) {
        let first = Attempt { number: 1, due: d.at(), code: None, with_pump: false, words: String::new() };
        record_attempt(d, thread, path, turn, &first);
    }
}

fn record_attempt(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath, turn: u32, attempt: &Attempt) {
    let Some(call) = d.call(thread, path) else { return };
    let mark = attempt.code.map(Mark::Code);
    let mut fact = Fact::core(Kind::Attempt, Mark::Handled, core_payload::attempt(attempt))
        .to(&call.listener.clone())
        .on(path)
        .because(call.ready_cause)
        .under(call.config);
    fact.code = mark;
    fact.turn = Some(turn);
    d.record(thread, fact);
}

/// The name of a piece of work, equal over its attempts: what a listener may use as the idempotency
/// key of an effect outside.
pub(super) fn work_key(thread: &ThreadId, call: &CallPath, turn: u32) -> String {
    [thread.as_str(), ":", call.as_str(), ":", &turn.to_string()].concat()
}
