//! Deciding on requests to a person, of either kind: how a request is recorded and counted, and which neighbouring
//! file carries out the person's decision.

use std::sync::Arc;

use super::approving;
use super::decide::refuse_asker;
use super::decision_builder::{DecisionBuilder, Fact};
use super::event::Effect;
use super::questions;
use super::state::PersonRequest;
use crate::rules::question;
use crate::types::client;
use crate::types::codes::Code;
use crate::types::composition::ApprovalRule;
use crate::types::flow::Refused;
use crate::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use crate::types::person::{PersonRequestId, RequestKind, Ruling, Says};
use crate::types::record::{Approving, Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// A request that is about to be recorded.
pub(super) struct Asking<'a> {
    pub(super) thread: &'a ThreadId,
    /// The call that waits.
    pub(super) call: &'a CallPath,
    /// The place of the request: that call, or its item that asks.
    pub(super) place: &'a CallPath,
    pub(super) what: Approving,
    pub(super) config: Digest,
    pub(super) cause: MessageId,
    /// Says which listeners get the news.
    pub(super) rule: &'a ApprovalRule,
    /// How long it waits.
    pub(super) expires_ms: u64,
    /// Whether this is the first news below that call. For later requests of the same call, the seq of the record
    /// that asks tells them apart.
    pub(super) is_first: bool,
    /// The payload that asks, with the id of the request.
    pub(super) body: Arc<[u8]>,
}

/// The id of the next request.
pub(super) fn next_id(d: &DecisionBuilder<'_>) -> PersonRequestId {
    PersonRequestId(made(d) + 1)
}

/// How many requests there were in this log.
fn made(d: &DecisionBuilder<'_>) -> u64 {
    d.thread(&ThreadId::sys()).map_or(0, |sys| sys.person_requests)
}

/// Records a request, counts it in `sys`, sends the news to its listeners, and waits for its expiry.
pub(super) fn request(d: &mut DecisionBuilder<'_>, id: PersonRequestId, asking: Asking<'_>) {
    let Asking { thread, call, place, what, config, cause, rule, expires_ms, is_first, body } = asking;
    let fact =
        || Fact::core(Kind::Approval, Mark::Approving(what), body.clone()).to(&Name::person()).under(config);
    let (seq, asked) = d.record(thread, fact().on(place).because(cause));
    d.record(&ThreadId::sys(), fact().because(asked));
    let first = if is_first { 0 } else { u32::try_from(seq).unwrap_or(u32::MAX) };
    for (ordinal, listener) in (first..).zip(&rule.tell) {
        // Turn 0 has no items, so the outcome of this call answers no one.
        let tell = Fact::core(Kind::Message, Mark::Role(Role::Tell), body.clone())
            .to(listener)
            .on(&call.item(0, ordinal))
            .because(asked)
            .under(config);
        d.record(thread, tell);
    }
    let (thread, place, at) = (thread.clone(), place.clone(), d.at().plus(expires_ms));
    d.effect(Effect::Expires { thread, place, request: id, at, most_ms: expires_ms });
}

/// A person decides about a request.
pub(super) fn ruled(d: &mut DecisionBuilder<'_>, ruling: Ruling) {
    let Ruling { ticket, by, request: id, hash, note, says } = ruling;
    let outcome = match d.asking(id) {
        _ if !d.has_role(&by, client::Role::Approve) => Err((None, bare(no_person(&by)))),
        None => Err((None, bare(nothing_waits(d, id)))),
        Some((thread, place)) => {
            let note = note.as_deref();
            let request = d.thread(&thread).and_then(|state| state.person_request(&place));
            let ruled = match (request, says) {
                (Some(PersonRequest::Question(question)), Says::Choose(choice)) => {
                    let question = question.clone();
                    is_bound_to(id, question.hash, hash)
                        .and_then(|()| {
                            questions::chosen(d, (&thread, &place), &question, &by, (choice, note))
                        })
                        .map_err(bare)
                }
                (Some(PersonRequest::Approval(approval)), says) if !matches!(says, Says::Choose(_)) => {
                    let approval = approval.clone();
                    match is_bound_to(id, approval.hash, hash) {
                        Ok(()) => approving::rule(d, (&thread, &place), &approval, (&by, note), says),
                        Err(refusal) => Err(bare(refusal)),
                    }
                }
                (Some(PersonRequest::Question(question)), _) => Err(bare(is_question(id, &question.choices))),
                (Some(PersonRequest::Approval(_)), _) => Err(bare(is_approval(id))),
                (None, _) => Err(bare(nothing_waits(d, id))),
            };
            ruled.map_err(|refused| (Some(thread), refused))
        }
    };
    match outcome {
        Ok(()) => d.effect(Effect::Done { ticket }),
        Err((thread, refused)) => refuse_asker(d, ticket, &by, thread.as_ref(), refused),
    }
}

/// No person decided in time. If the request has its answer by now, nothing happens.
pub(super) fn expired(d: &mut DecisionBuilder<'_>, thread: &ThreadId, place: &CallPath, id: PersonRequestId) {
    let request = d.thread(thread).and_then(|state| state.person_request(place));
    match request.filter(|request| request.id() == id) {
        Some(PersonRequest::Approval(approval)) => {
            let approval = approval.clone();
            approving::expired(d, thread, place, &approval);
        }
        Some(PersonRequest::Question(question)) => {
            let question = question.clone();
            questions::expired(d, thread, place, &question);
        }
        None => {}
    }
}

pub(super) fn bare(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}

fn is_bound_to(id: PersonRequestId, hash: Digest, seen: Option<Digest>) -> Result<(), Refusal> {
    let Some(seen) = seen.filter(|seen| *seen != hash) else { return Ok(()) };
    Err(Refusal::new(Code::MismatchedApproval, format!("request {id} is for other bytes"))
        .expecting(format!("bytes with SHA-256 {hash}"))
        .receiving(format!("bytes with SHA-256 {seen}"))
        .fixed_by("look at what waits now"))
}

fn no_person(by: &Name) -> Refusal {
    let words = format!("{by} may not decide about what waits for a person");
    Refusal::new(Code::IngressForbidden, words)
        .fixed_by("the role `approve`, under clients in the organism's file")
}

fn nothing_waits(d: &DecisionBuilder<'_>, id: PersonRequestId) -> Refusal {
    if (1..=made(d)).contains(&id.0) {
        let words = format!("request {id} is over: it was answered or has expired, or its call was closed");
        return Refusal::new(Code::DecidedApproval, words);
    }
    Refusal::new(Code::UnknownApproval, format!("there is no request {id}"))
        .fixed_by("systole approve, which lists what waits")
}

fn is_question(id: PersonRequestId, choices: &[String]) -> Refusal {
    let words = format!("{id} is a question: it is answered, not approved, rejected or amended");
    Refusal::new(Code::WrongRequestKind, words).fixed_by(question::commands(id, choices))
}

fn is_approval(id: PersonRequestId) -> Refusal {
    let kind = RequestKind::Approval.as_str();
    let words = format!("{id} is an {kind}: it is approved, rejected or amended, and has no choices");
    Refusal::new(Code::WrongRequestKind, words)
        .fixed_by(format!("systole approve {id}, or systole reject {id} --note WHY"))
}
