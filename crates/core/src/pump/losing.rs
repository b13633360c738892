//! Deciding on attempts that were lost: another attempt, a person decides, or the call closes.

use super::approving;
use super::decision_builder::DecisionBuilder;
use super::event::{Effect, LostAttempt};
use super::failing::{fail_attempt, find_begun, wait_for_outage};
use crate::types::codes::Code;
use crate::types::composition::OnUnknown;
use crate::types::flow::PumpFailure;
use crate::types::limits;

/// An attempt ended without a reply. If the attempt is no longer due, an earlier event has settled it.
pub(super) fn lose_attempt(d: &mut DecisionBuilder<'_>, lost: &LostAttempt) {
    if let Some(effect) = &lost.then {
        d.add_effect(Effect::clone(effect));
    }
    let Some(call) = d.due_call(&lost.id) else { return };
    let listener = d.find_listener(call.config, &call.listener);
    let begun = find_begun(call);
    // An exit code is a known outcome, unless the attempt had begun a model call that may have been paid.
    let known = begun.is_none()
        && matches!(lost.code, Code::ListenerFailed | Code::ListenerSilent | Code::ListenerDown);
    let may_retry = known || listener.is_none_or(|l| l.on_unknown == OnUnknown::Retry);
    // The pump's deaths and the listener's failures are counted separately, so neither uses up the limit
    // of the other.
    let asks = listener.is_some_and(|l| l.on_unknown == OnUnknown::Ask);
    let allowed = listener.map_or(1, |l| l.retry.attempts);
    let is_elsewhere = listener.is_some_and(|l| l.reach.is_over_broker());
    let is_left = if lost.with_pump {
        // An attempt without a record may never have gone out: it waited like all others. Nor is it known of one on
        // another machine.
        is_elsewhere || call.attempts == 0 || call.deaths_on_record + 1 < allowed.max(limits::LOST_WITH_PUMP)
    } else {
        call.own_attempt() < allowed
    };
    let failing = make_failure(lost, begun);
    if lost.outage.as_deref().is_some_and(|outage| wait_for_outage(d, &lost.id, outage, &failing)) {
        return;
    }
    // Another attempt does not help if the addressee is missing or the thread cannot be read.
    let hopeless = matches!(lost.code, Code::Unavailable | Code::DamagedThread);
    if let Some(request) = lost.request.as_deref().filter(|_| asks && !known && !hopeless) {
        return approving::hold_for_attempt(d, (&lost.id.thread, &lost.id.call), request, &failing);
    }
    let more = may_retry && !hopeless && is_left;
    fail_attempt(d, &lost.id.thread, &lost.id.call, &failing, more, lost.with_pump);
}

fn make_failure(lost: &LostAttempt, begun: Option<u64>) -> PumpFailure {
    let Some(entry) = begun else {
        return PumpFailure { code: lost.code, first_code: None, words: lost.words.clone() };
    };
    let words = format!(
        "lost after its model call began, which may have been paid: entry {entry} has no result; {}: {}",
        lost.code.as_str(),
        lost.words
    );
    PumpFailure { code: Code::UnknownOutcome, first_code: None, words }
}
