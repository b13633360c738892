//! Deciding on orders to try a failed root again. Its last top call is open again as its closing left it, and the turn
//! that failed goes out once more: under the same key, and with the next number of an attempt. A run of a workflow is
//! told so, and starts again what had failed.
//!
//! An order is refused if nothing of the call is due, if a person or a budget ended it, or if effects outside could
//! happen twice.

use super::approving;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, RetryOrder};
use super::refusing::{may_act, refuse_asker};
use super::state::{Call, FailedCall, Thread, ThreadState};
use crate::rules::retry_payload::{self, RetryTerms};
use crate::types::client::Role;
use crate::types::codes::Code;
use crate::types::composition::{Composition, Listener, OnUnknown};
use crate::types::flow::Refused;
use crate::types::ids::{Digest, Name};
use crate::types::record::{MessageRole, RecordCode, RecordKind, SteerEffect};
use crate::types::refusal::Refusal;

/// The codes with which a failure says that a person decided it.
const DECIDED: [&str; 3] =
    [Code::RejectedApproval.as_str(), Code::CancelledThread.as_str(), "workflow.stopped"];

/// Opens the failed call of a root again, or says why not.
pub(super) fn reopen_call(d: &mut DecisionBuilder<'_>, order: &RetryOrder) {
    match check_order(d, order) {
        Ok(config) => record_reopening(d, order, config),
        Err(refusal) => {
            let refused = Refused { refusal, kept: None };
            refuse_asker(d, order.ticket, &order.by, Some(&order.thread), refused);
        }
    }
}

/// The configuration under which the call goes on, or why it does not.
fn check_order(d: &DecisionBuilder<'_>, order: &RetryOrder) -> Result<Digest, Refusal> {
    let RetryOrder { by, thread: id, .. } = order;
    let found = d.find_thread(id).filter(|t| t.seq > 0 && !id.is_sys() && may_act(d, by, id));
    let thread = found.ok_or_else(|| Refusal::new(Code::UnknownThread, "there is no such thread"))?;
    let current = d.current_config();
    let turns = |name: &Name| d.find_listener(current, name).map(|listener| listener.turns);
    let (failed, call) = find_due(thread, turns)?;
    if order.allows_effects && !d.has_role(by, Role::Operate) {
        let words = format!("{by} may not let effects happen twice");
        return Err(Refusal::new(Code::IngressForbidden, words)
            .fixed_by("the role `operate`, under clients in the organism's file"));
    }
    if order.seen.is_some_and(|seen| seen != thread.head) {
        let words = format!("the thread has gone on since the preview; its last record is {}", thread.seq);
        return Err(Refusal::new(Code::RetryMoved, words).fixed_by(Code::RetryMoved.fix()));
    }
    let config = choose_configuration(d, order, call)?;
    check_effects(d, order, failed, call)?;
    Ok(config)
}

/// The failed call of a root, if nothing has followed it.
fn find_failed(thread: &Thread) -> Result<(&FailedCall, &Call), Refusal> {
    if thread.life() == ThreadState::Ended {
        let words = "a person has ended the thread; nothing is ever added to it";
        return Err(Refusal::new(Code::RetryDecided, words).fixed_by(SEND_ANEW));
    }
    match &thread.failed {
        Some(failed) => match &failed.call {
            Some(call) => Ok((failed, call)),
            None => {
                let words =
                    format!("call {} failed, and a later message has opened a call since", failed.path);
                Err(Refusal::new(Code::RetrySuperseded, words).fixed_by(SEND_ANEW))
            }
        },
        None => {
            let words = match thread.life() {
                ThreadState::Working => "the thread is at work; nothing of it has failed",
                _ => "the last call of the thread was answered; nothing of it has failed",
            };
            Err(Refusal::new(Code::RetryNotFailed, words).fixed_by(format!("systole why {}", thread.id)))
        }
    }
}

/// The fix for what cannot go on in its place.
const SEND_ANEW: &str = "systole retry THREAD --anew, which sends the request once more, as a new thread";

/// Why no turn of the call can go out again. `turns` says how many turns a call to a listener may take now.
fn check_due(
    failed: &FailedCall,
    call: &Call,
    turns: impl FnOnce(&Name) -> Option<u32>,
) -> Result<(), Refusal> {
    let code = Code::parse(&failed.code);
    if call.wrap_up.is_some() || code.is_some_and(|code| matches!(code.family(), "budget" | "loop")) {
        let words = format!("it ended with {}: what the request may use is used up", failed.code);
        return Err(Refusal::new(Code::RetrySpent, words).fixed_by(Code::RetrySpent.fix()));
    }
    if DECIDED.contains(&&*failed.code) || DECIDED.contains(&&*failed.first_code) {
        let words = format!("a person decided that it does not go on ({})", failed.first_code);
        return Err(Refusal::new(Code::RetryDecided, words).fixed_by(SEND_ANEW));
    }
    if failed.is_final || turns(&call.listener).is_some_and(|turns| call.settled >= turns) {
        let words = format!("the last reply of {} was taken, and it is what failed", call.listener);
        return Err(Refusal::new(Code::RetrySettled, words).fixed_by(SEND_ANEW));
    }
    Ok(())
}

/// The failed call of a root whose due turn can go out again, as far as the root alone says, or why not. `turns` says
/// how many turns a call to a listener may take now.
pub fn find_due(
    thread: &Thread,
    turns: impl FnOnce(&Name) -> Option<u32>,
) -> Result<(&FailedCall, &Call), Refusal> {
    if thread.id.parent().is_some() {
        let words = "a child thread is not tried again by itself, only with its root";
        let fix = format!("systole retry {}", thread.id.root_of());
        return Err(Refusal::new(Code::RetryNotFailed, words).fixed_by(fix));
    }
    let (failed, call) = find_failed(thread)?;
    check_due(failed, call, turns)?;
    Ok((failed, call))
}

/// The configuration under which the call goes on: the current one. A run of a workflow whose steps have changed keeps
/// its own.
fn choose_configuration(d: &DecisionBuilder<'_>, order: &RetryOrder, call: &Call) -> Result<Digest, Refusal> {
    let (name, current) = (&call.listener, d.current_config());
    if d.find_listener(current, name).is_none() {
        let words = format!("{name} is not part of the running organism");
        return Err(Refusal::new(Code::Unavailable, words).fixed_by(Code::Unavailable.fix()));
    }
    let own = d.find_composition(call.config);
    let begun = own.and_then(|page| find_steps(page, name)).or(order.steps.as_deref());
    let now = d.find_composition(current).and_then(|page| find_steps(page, name));
    match begun {
        Some(begun) if Some(begun) != now && own.is_some() => Ok(call.config),
        Some(begun) if Some(begun) != now => {
            let words = format!(
                "the steps of {name} have changed, and the run goes on only with those that it began with"
            );
            Err(Refusal::new(Code::Unavailable, words)
                .fixed_by("the steps back in the file, and a new start; or systole retry THREAD --anew"))
        }
        _ => Ok(current),
    }
}

/// The steps of a workflow, as a configuration has them.
fn find_steps<'p>(page: &'p Composition, name: &Name) -> Option<&'p str> {
    let section = page.sections.get(name).filter(|section| section.is_workflow())?;
    Some(section.steps())
}

/// Why what would start again must not, unless the order allows its effects.
fn check_effects(
    d: &DecisionBuilder<'_>,
    order: &RetryOrder,
    failed: &FailedCall,
    call: &Call,
) -> Result<(), Refusal> {
    if order.allows_effects {
        return Ok(());
    }
    let own = find_unknown_effect(failed, call, d.book.list_versions(&call.listener));
    let effects = &order.effects;
    let effects: Vec<&str> =
        own.iter().chain(effects.iter().filter(|one| own.as_ref() != Some(*one))).map(|one| &**one).collect();
    if effects.is_empty() {
        return Ok(());
    }
    let words = format!("effects outside could happen twice: {}", effects.join("; "));
    Err(Refusal::new(Code::RetryEffects, words).fixed_by(Code::RetryEffects.fix()))
}

/// The effect outside that the due turn may have had already: what an attempt did is unknown, and its listener acts
/// outside in one of these versions.
pub fn find_unknown_effect<'l>(
    failed: &FailedCall,
    call: &Call,
    versions: impl IntoIterator<Item = &'l Listener>,
) -> Option<String> {
    let was_asked = call.approval.as_ref().is_some_and(|approval| approval.of_attempt);
    let is_unknown =
        call.has_unknown || was_asked || Code::parse(&failed.code).is_some_and(Code::leaves_unknown);
    (is_unknown && versions.into_iter().any(has_effects))
        .then(|| format!("{}: its last attempt may have done its work", call.listener))
}

/// Whether a listener acts outside the organism, as far as the file says.
pub fn has_effects(listener: &Listener) -> bool {
    listener.on_unknown != OnUnknown::Retry || listener.approval.always
}

fn record_reopening(d: &mut DecisionBuilder<'_>, order: &RetryOrder, config: Digest) {
    let RetryOrder { ticket, by, thread, note, allows_effects, .. } = order;
    let failed = d.find_thread(thread).and_then(|state| state.failed.as_deref());
    let Some((failed, call)) = failed.and_then(|failed| Some((failed, failed.call.as_deref()?))) else {
        return;
    };
    let (path, turn, cause) = (failed.path.clone(), call.settled + 1, failed.outcome);
    let (listener, waited) = (call.listener.clone(), call.approval.clone());
    let terms = RetryTerms {
        by: by.clone(),
        number: call.retries + 1,
        note: note.clone(),
        has_effects: *allows_effects,
    };
    let what = RecordCode::Steering(SteerEffect::Reopened);
    let mut fact = RecordFact::from_core(RecordKind::Steer, what, retry_payload::write_reopened(&terms))
        .with_addressee(&listener)
        .with_call(&path)
        .with_cause(cause)
        .with_config(config);
    fact.turn = Some(turn);
    let (_, reopened) = d.add_record(thread, fact);
    let is_workflow = d.find_composition(config).is_some_and(|page| find_steps(page, &listener).is_some());
    if is_workflow {
        let body = retry_payload::write_retried(&terms);
        let told = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Inbox), body)
            .with_addressee(&listener)
            .with_call(&path)
            .with_cause(reopened)
            .with_config(config);
        d.add_record(thread, told);
    }
    // A request that no one decided about has not gone out; it is asked about once more.
    if let Some(waited) = waited.filter(|approval| !approval.of_attempt) {
        approving::hold_again(d, (thread, &path), &waited);
    }
    d.add_effect(Effect::Done { ticket: *ticket });
}
