//! Deciding on approvals. If a payload needs a person, it is recorded and held, and the request for the person is
//! recorded in the same commit. The outcome of the request decides: the payload goes out, is replaced, or its call
//! closes. The same holds for another attempt at a payload if the outcome of the previous attempt is unknown.

use std::sync::Arc;

use systole_wire::payload::Payload;

use super::closing::{CallOutcome, close_call};
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::failing;
use super::requests::{self, PersonAsking, to_refused};
use super::state::Approval;
use crate::rules::{approval_payload, core_payload};
use crate::types::codes::Code;
use crate::types::composition::{ApprovalRule, Listener};
use crate::types::flow::{Admitted, PayloadKind, PumpFailure, Refused};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{ApprovalOutcome, ApprovalRequest, PersonDecision};
use crate::types::record::{ApprovalEffect, Record, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Holds a call that was just recorded if its payload needs a person.
pub(super) fn hold_if_due(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    request: (&Arc<[u8]>, &str),
    dangerous: bool,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let rule = d.find_listener(call.config, &call.listener).map(|l| &l.approval);
    if !dangerous && !rule.is_some_and(|rule| rule.always) {
        return;
    }
    let (bytes, element) = request;
    hold_for_approval(d, (thread, path), (Digest::hash_bytes(bytes), element), None);
}

/// Holds a call whose attempt ended with an unknown outcome. A person decides whether to try again.
pub(super) fn hold_for_attempt(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    request: &Record,
    failing: &PumpFailure,
) {
    let attempt = d.find_call(thread, path).map_or(1, |call| call.attempts.max(1));
    let words = format!("attempt {attempt}: {}: {}", failing.code.as_str(), failing.words);
    let element = Payload::from_trusted(request.body.clone());
    let element = element.map_or_else(|_| String::new(), |payload| payload.name().local.to_string());
    hold_for_approval(d, (thread, path), (Digest::hash_bytes(&request.body), &element), Some(words));
}

/// Holds a call again whose approval no one decided in time: the request is asked about under a new number.
pub(super) fn hold_again(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    over: &Approval,
) {
    hold_for_approval(d, (thread, path), (over.hash, &over.element), None);
}

/// Holds a call until a person decides or the request expires.
fn hold_for_approval(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    (hash, element): (Digest, &str),
    unknown: Option<String>,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let (config, cause, to) = (call.config, call.ready_cause, call.listener.clone());
    let by_default = ApprovalRule::default();
    let rule = d.find_listener(config, &to).map_or(&by_default, |listener| &listener.approval);
    let id = requests::next_id(d);
    let is_first = unknown.is_none() && d.find_call(thread, path).is_none_or(|call| call.retries == 0);
    let request = ApprovalRequest {
        id,
        hash,
        expires: d.at().add_ms(rule.expires_ms),
        thread: thread.clone(),
        call: path.clone(),
        to,
        element: element.to_owned(),
        unknown,
    };
    let asking = PersonAsking {
        thread,
        call: path,
        place: path,
        what: ApprovalEffect::Requested,
        config,
        cause,
        rule,
        expires_ms: rule.expires_ms,
        is_first,
        body: approval_payload::write_request(&request),
    };
    requests::open_request(d, id, asking);
}

/// Carries out a person's decision. Writes to the draft only after every check has passed.
pub(super) fn rule_approval(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    approval: &Approval,
    (by, note): (&Name, Option<&str>),
    says: PersonDecision<Box<Result<Admitted, Refused>>>,
) -> Result<(), Refused> {
    let Some(listener) = d.find_call(thread, path).map(|call| call.listener.clone()) else { return Ok(()) };
    let goes_out = match &says {
        PersonDecision::Reject | PersonDecision::Choose(_) => None,
        PersonDecision::Approve => Some(approval.element.as_str()),
        PersonDecision::Amend(amendment) => Some(amendment.as_ref().as_ref().map_or("", Admitted::element)),
    };
    if let Some(refusal) =
        goes_out.and_then(|element| no_longer_accepted(d, (thread, path), approval, element))
    {
        return Err(to_refused(refusal));
    }
    match says {
        PersonDecision::Approve => {
            record_decision(
                d,
                (thread, path),
                approval,
                ApprovalOutcome::Approved,
                by,
                Some(approval.hash),
                note,
            );
            if approval.of_attempt {
                failing::retry_turn(d, thread, path, format!("{} lets it be tried once more", by.as_str()));
            }
        }
        PersonDecision::Amend(_) if approval.of_attempt => return Err(to_refused(not_amended(approval))),
        PersonDecision::Amend(amendment) => {
            let hash = amend_call(d, (thread, path), &listener, by, (*amendment)?)?;
            record_decision(d, (thread, path), approval, ApprovalOutcome::Amended, by, Some(hash), note);
        }
        PersonDecision::Reject => {
            record_decision(d, (thread, path), approval, ApprovalOutcome::Rejected, by, None, note);
            let words = match note {
                Some(note) => format!("{} rejected it: {note}", by.as_str()),
                None => format!("{} rejected it", by.as_str()),
            };
            let refusal = Refusal::new(Code::RejectedApproval, words)
                .fixed_by("change what the note says, or do without; a fixed one is asked about again");
            close_rejected(d, (thread, path), approval, CallOutcome::Rejected, &refusal);
        }
        // An approval has no choices; a person who chooses one is refused earlier.
        PersonDecision::Choose(_) => {}
    }
    Ok(())
}

/// Why an element cannot go out: the organism now runs from a file in which the listener no longer accepts the
/// element. The call keeps the configuration it began with, but the listener's program is the one in the current
/// file.
fn no_longer_accepted(
    d: &DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    approval: &Approval,
    element: &str,
) -> Option<Refusal> {
    let call = d.find_call(thread, path)?;
    let (id, name) = (approval.id, &call.listener);
    let takes = |one: &Listener| one.accepts.iter().any(|taken| *taken.name.local == *element);
    let words = match d.find_composition(d.current_config())?.find_listener(name) {
        None => format!("approval {id} waits for {name}, which the organism's file no longer has"),
        // No listener's list contains what the core sends, then or now.
        Some(now) if !takes(now) && d.find_listener(call.config, name).is_some_and(takes) => {
            format!("approval {id} waits for {name}, which no longer takes <{element}>")
        }
        Some(_) => return None,
    };
    let fix = format!("put {name} back into the file as it was, or systole reject {id} --note WHY");
    Some(Refusal::new(Code::Unavailable, words).fixed_by(fix))
}

fn not_amended(approval: &Approval) -> Refusal {
    let words = format!(
        "approval {} asks for one more attempt; its listener has seen the payload already, so it cannot be changed",
        approval.id
    );
    Refusal::new(Code::MismatchedApproval, words).fixed_by("approve or reject it")
}

/// Records the payload that goes out in place of the one that waits.
fn amend_call(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    listener: &Name,
    by: &Name,
    amendment: Admitted,
) -> Result<Digest, Refused> {
    if *amendment.what() != PayloadKind::For(listener.clone()) {
        let words = format!("the amendment is not for {}", listener.as_str());
        return Err(Refused {
            refusal: Refusal::new(Code::NotAPeer, words).of_element(amendment.element()),
            kept: Some(amendment.bytes().clone()),
        });
    }
    let config = d.find_call(thread, path).map_or_else(|| d.current_config(), |call| call.config);
    let hash = Digest::hash_bytes(amendment.bytes());
    let what = RecordCode::Approving(ApprovalEffect::Amendment);
    let mut fact = RecordFact::from_core(RecordKind::Approval, what, amendment.bytes().clone())
        .with_addressee(listener)
        .with_call(path);
    fact.from = by.clone();
    fact.cause = d.find_call(thread, path).map(|call| call.ready_cause);
    d.add_record(thread, fact.with_config(config));
    Ok(hash)
}

/// No person decided in time.
pub(super) fn expire_approval(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    approval: &Approval,
) {
    // The wait is measured in ticks. A reader of the log sees only the wall clock.
    let note = (d.at() < approval.expires).then_some("the wall clock was set back");
    record_decision(d, (thread, path), approval, ApprovalOutcome::Expired, &Name::new_core(), None, note);
    let words = match approval.of_attempt {
        true => "no one decided in time whether to try it once more",
        false => "it needed a person's approval, and no one decided in time",
    };
    let refusal = Refusal::new(Code::ExpiredApproval, words).fixed_by("do without it, or ask for less");
    close_rejected(d, (thread, path), approval, CallOutcome::Expired, &refusal);
}

fn record_decision(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    approval: &Approval,
    outcome: ApprovalOutcome,
    by: &Name,
    hash: Option<Digest>,
    note: Option<&str>,
) {
    let Some(call) = d.find_call(thread, path) else { return };
    let (config, cause) = (call.config, call.ready_cause);
    let what = match outcome {
        ApprovalOutcome::Approved => ApprovalEffect::Approved,
        ApprovalOutcome::Amended => ApprovalEffect::Amended,
        ApprovalOutcome::Rejected => ApprovalEffect::Rejected,
        ApprovalOutcome::Expired => ApprovalEffect::Expired,
    };
    let body = approval_payload::write_decision(approval.id, outcome, by, hash, note);
    let fact = RecordFact::from_core(RecordKind::Approval, RecordCode::Approving(what), body)
        .with_addressee(by)
        .with_call(path);
    d.add_record(thread, fact.with_cause(cause).with_config(config));
}

/// Closes a call that a person rejected, or did not allow to be tried again.
fn close_rejected(
    d: &mut DecisionBuilder<'_>,
    (thread, path): (&ThreadId, &CallPath),
    approval: &Approval,
    outcome: CallOutcome,
    refusal: &Refusal,
) {
    if approval.of_attempt {
        failing::dead_letter(d, thread, path);
    }
    let Some(call) = d.find_call(thread, path) else { return };
    let fact = RecordFact::from_core(
        RecordKind::Outcome,
        RecordCode::Code(refusal.code),
        core_payload::system_error(refusal),
    )
    .with_addressee(&call.caller.clone())
    .with_call(path)
    .with_cause(call.ready_cause)
    .with_config(call.config);
    close_call(d, thread, path, outcome, fact);
}
