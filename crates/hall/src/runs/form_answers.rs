//! The answer to a form that a client shows of what waits for a person. The name of a form has the hash of what it shows,
//! so an answer counts for just that.

use serde_json::Value;
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::decisions::{DecisionPlace, RequestDecision};
use super::forms::read_form;
use super::requests::{RunRequests, has_seen, name_request, read_request_name};
use super::sending::stop_run;
use crate::http_state::HttpState;
use systole_api::types::{ApiReceipt, DecisionOutcome};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;

/// What a rejection says if its form was only declined.
const DECLINED: &str = "declined, without a note";

/// What the answer to a form did.
pub enum FormEnd {
    /// It counts, or another of the same did.
    Taken,
    /// The person left it: what waits goes on waiting.
    Left,
    /// It names no form of ours.
    Unknown,
    /// The host did not show it, and says why.
    NotShown(String),
}

/// Takes the answer to a form of a run. A refusal is for the person who filled it in.
pub async fn take_answer(
    (state, client): (&HttpState, &Name),
    receipt: &ApiReceipt,
    (name, answer): (&str, &Value),
) -> Result<FormEnd, String> {
    let Some(request) = read_request_name(name) else { return Ok(FormEnd::Unknown) };
    let describe = |refusal: Box<Refusal>| match refusal.code {
        // It waits no longer: this person or another one was quicker.
        Code::UnknownApproval => format!("{request} was decided before, or was never asked here"),
        _ => refusal.message.to_string(),
    };
    let own = RunRequests::read(state, client, receipt).await.map_err(describe)?.own;
    let waiting = own.into_iter().find(|one| name_request(one) == name);
    let about = waiting.map(|one| one.about);
    let decision = match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let content = answer.get("content").unwrap_or(&Value::Null);
            check_fields(about.as_ref(), content)
                .and_then(|()| read_form(request, content))
                .map_err(|why| format!("the form of {request} is not filled in: {why}"))?
        }
        Some("decline") if matches!(about, Some(RequestSubject::Question { .. })) => {
            stop_run(state, client, receipt).await.map_err(describe)?;
            return Ok(FormEnd::Taken);
        }
        Some("decline") => RequestDecision::new(DecisionOutcome::Rejected, request, DECLINED.to_owned()),
        Some("cancel") => return Ok(FormEnd::Left),
        _ => {
            return Err(format!("the answer to {request} is none of those that it has"));
        }
    };
    let messages = ThreadId::parse(&receipt.thread).map(|thread| vec![(thread, receipt.seq)]);
    let place = DecisionPlace {
        messages: messages.unwrap_or_default(),
        is_shown: &|waiting: &WaitingRequest| name_request(waiting) == name,
        fix: String::new(),
        has_seen: &|hash| has_seen(name, hash),
        only_checks: false,
    };
    decision.decide(state, client, place).await.map(|_| FormEnd::Taken).map_err(describe)
}

/// Refuses what the form does not have.
fn check_fields(about: Option<&RequestSubject>, content: &Value) -> Result<(), String> {
    let known: &[&str] = match about {
        Some(RequestSubject::Approval { .. }) => &["approved", "note"],
        Some(RequestSubject::Question { choices, .. }) if !choices.is_empty() => &["choice"],
        Some(RequestSubject::Question { .. }) => &["note"],
        None => &["approved", "note", "choice"],
    };
    let Some(fields) = content.as_object() else { return Ok(()) };
    if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        let shown: String = field.chars().take(40).collect();
        return Err(format!("it has no field {shown:?}, but {}", known.join(", ")));
    }
    // The first field is the required one.
    match known.first().filter(|first| about.is_some() && fields.get(**first).is_none_or(Value::is_null)) {
        Some(first) => Err(format!("{first} is missing")),
        None => Ok(()),
    }
}
