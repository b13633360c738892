//! Deciding on what persons say about requests, and on requests that expire: which neighbouring file carries it out.

use super::approving;
use super::decision_builder::DecisionBuilder;
use super::event::Effect;
use super::questions;
use super::refusing::{is_opener, refuse_asker};
use super::requests::{count_made, to_refused};
use super::state::PersonRequest;
use crate::rules::question;
use crate::types::client;
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{self, PersonDecision, PersonRequestId, RequestKind, Ruling};
use crate::types::refusal::Refusal;

/// A person decides about a request.
pub(super) fn take_ruling(d: &mut DecisionBuilder<'_>, ruling: Ruling) {
    let Ruling { ticket, by, request: id, hash, note, says } = ruling;
    let outcome = match d.find_asking(id) {
        found if !may_decide(d, &by, found.as_ref()) => Err((None, to_refused(no_person(d, &by, id)))),
        None => Err((None, to_refused(nothing_waits(d, id)))),
        Some((thread, place)) => {
            let note = note.as_deref();
            let request = d.find_thread(&thread).and_then(|state| state.person_request(&place));
            let ruled = match (request, says) {
                (Some(PersonRequest::Question(question)), PersonDecision::Choose(choice)) => {
                    let question = question.clone();
                    is_bound_to(id, question.hash, hash)
                        .and_then(|()| {
                            questions::choose_answer(d, (&thread, &place), &question, &by, (choice, note))
                        })
                        .map_err(to_refused)
                }
                (Some(PersonRequest::Approval(approval)), says)
                    if !matches!(says, PersonDecision::Choose(_)) =>
                {
                    let approval = approval.clone();
                    match is_bound_to(id, approval.hash, hash) {
                        Ok(()) => {
                            approving::rule_approval(d, (&thread, &place), &approval, (&by, note), says)
                        }
                        Err(refusal) => Err(to_refused(refusal)),
                    }
                }
                (Some(PersonRequest::Question(question)), _) => {
                    Err(to_refused(is_question(id, &question.choices)))
                }
                (Some(PersonRequest::Approval(_)), _) => Err(to_refused(is_approval(id))),
                (None, _) => Err(to_refused(nothing_waits(d, id))),
            };
            ruled.map_err(|refused| (Some(thread), refused))
        }
    };
    match outcome {
        Ok(()) => d.add_effect(Effect::Done { ticket }),
        Err((thread, refused)) => refuse_asker(d, ticket, &by, thread.as_ref(), refused),
    }
}

/// No person decided in time. If the request has its answer by now, nothing happens.
pub(super) fn expire_request(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    place: &CallPath,
    id: PersonRequestId,
) {
    let request = d.find_thread(thread).and_then(|state| state.person_request(place));
    match request.filter(|request| request.id() == id) {
        Some(PersonRequest::Approval(approval)) => {
            let approval = approval.clone();
            approving::expire_approval(d, thread, place, &approval);
        }
        Some(PersonRequest::Question(question)) => {
            let question = question.clone();
            questions::expire_question(d, thread, place, &question);
        }
        None => {}
    }
}

fn is_bound_to(id: PersonRequestId, hash: Digest, seen: Option<Digest>) -> Result<(), Refusal> {
    let Some(seen) = seen.filter(|seen| *seen != hash) else { return Ok(()) };
    Err(Refusal::new(Code::MismatchedApproval, format!("request {id} is for other bytes"))
        .with_expected(format!("bytes with SHA-256 {hash}"))
        .with_received(format!("bytes with SHA-256 {seen}"))
        .fixed_by("look at what waits now"))
}

/// Whether a client may decide the request at that place. Only who decides in all threads learns of a place that there
/// is none.
fn may_decide(d: &DecisionBuilder<'_>, by: &Name, place: Option<&(ThreadId, CallPath)>) -> bool {
    let Some(page) = d.book.current() else { return false };
    let request =
        place.and_then(|(thread, call)| Some((thread, call, d.find_thread(thread)?.person_request(call)?)));
    let Some((thread, call, request)) = request else { return page.has_role(by, client::Role::Approve) };
    let (kind, waits) = match request {
        PersonRequest::Approval(_) => (RequestKind::Approval, Some(call.clone())),
        PersonRequest::Question(_) => (RequestKind::Question, call.caller().map(|(asking, ..)| asking)),
    };
    let listener = waits.and_then(|waits| Some(&d.find_call(thread, &waits)?.listener));
    let is_own = is_opener(d, by, thread);
    listener.is_some_and(|listener| person::may_decide(page, by, (kind, listener), is_own))
}

/// The refusal for a client that may not decide, and for one that decides only in its own threads where nothing waits. It
/// does not show whether there is such a request.
fn no_person(d: &DecisionBuilder<'_>, by: &Name, id: PersonRequestId) -> Refusal {
    if d.has_role(by, client::Role::Answer) || d.has_role(by, client::Role::ApproveOwn) {
        let words = format!("no request {id} that {by} may decide waits in a thread that it opened");
        return Refusal::new(Code::UnknownApproval, words)
            .fixed_by("systole approve, which lists what waits; or a client with the role `approve`");
    }
    let words = format!("{by} may not decide about what waits for a person");
    Refusal::new(Code::IngressForbidden, words)
        .fixed_by("the role `approve`, under clients in the organism's file")
}

fn nothing_waits(d: &DecisionBuilder<'_>, id: PersonRequestId) -> Refusal {
    if (1..=count_made(d)).contains(&id.0) {
        let words = format!("request {id} is over: it was answered or has expired, or its call was closed");
        return Refusal::new(Code::DecidedApproval, words);
    }
    Refusal::new(Code::UnknownApproval, format!("there is no request {id}"))
        .fixed_by("systole approve, which lists what waits")
}

fn is_question(id: PersonRequestId, choices: &[String]) -> Refusal {
    let words = format!("{id} is a question: it is answered, not approved, rejected or amended");
    Refusal::new(Code::WrongRequestKind, words).fixed_by(question::spell_commands(id, choices))
}

fn is_approval(id: PersonRequestId) -> Refusal {
    let kind = RequestKind::Approval.as_str();
    let words = format!("{id} is an {kind}: it is approved, rejected or amended, and has no choices");
    Refusal::new(Code::WrongRequestKind, words)
        .fixed_by(format!("systole approve {id}, or systole reject {id} --note WHY"))
}
