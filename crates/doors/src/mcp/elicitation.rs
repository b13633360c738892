//! Elicitation: what waits for a person who may decide as this client, as a form that the host shows to her. The name of
//! a form has the hash of what it shows, so an answer counts for just that.

use serde_json::{Map, Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::rpc::{RpcFault, RpcParams};
use crate::http_state::HttpState;
use crate::limits;
use crate::runs::decisions::{DecisionPlace, RequestDecision};
use crate::runs::forms::{read_form, write_answer_form, write_approval_form};
use crate::runs::requests::{RunRequests, has_seen, name_request, read_request_name};
use crate::runs::sending::stop_run;
use systole_api::types::{ApiReceipt, DecisionOutcome};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::Clock as _;
use systole_core::types::refusal::Refusal;
use systole_system::clock::WallClock;

/// The method of a form.
pub(super) const ELICIT: &str = "elicitation/create";
/// What a rejection says if its form was only declined.
const DECLINED: &str = "declined, without a note";

/// Whether a client that has these capabilities shows forms.
pub(super) fn shows_forms(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    // A client that names no mode has forms, the only mode of the older revisions.
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// What of a run waits for this client, if it may decide that.
pub(super) async fn list_own(
    state: &HttpState,
    client: &Name,
    receipt: &ApiReceipt,
) -> Result<Vec<WaitingRequest>, RpcFault> {
    let read = RunRequests::read(state, client, receipt).await;
    Ok(read.map_err(|refusal| RpcFault::refuse_unavailable(refusal.message.to_string()))?.own)
}

/// The parameters of a form. Before it stands why earlier answers did not count.
pub(super) fn write_form(waiting: &WaitingRequest, remarks: &[String]) -> Value {
    let schema = match &waiting.about {
        RequestSubject::Approval { .. } => write_approval_form(None),
        RequestSubject::Question { choices, .. } => write_answer_form(choices),
    };
    let shown = waiting.lines(WallClock.now(), None, false).join("\n");
    let lines: Vec<&str> = remarks.iter().map(String::as_str).chain([shown.as_str()]).collect();
    json!({"message": lines.join("\n\n"), "requestedSchema": schema})
}

/// The forms of a run by their names, as 2026-07-28 sends them.
pub(super) fn write_requests(own: &[WaitingRequest], remarks: &[String]) -> Value {
    let form = |(at, waiting): (usize, &WaitingRequest)| {
        let remarks = if at == 0 { remarks } else { &[] };
        (name_request(waiting), json!({"method": ELICIT, "params": write_form(waiting, remarks)}))
    };
    Value::Object(own.iter().enumerate().map(form).collect())
}

/// The answers to forms in a message of 2026-07-28, by the names of their forms.
pub(super) fn read_responses(params: &RpcParams) -> Result<Option<&Map<String, Value>>, RpcFault> {
    let Some(responses) = &params.input_responses else { return Ok(None) };
    let Some(responses) = responses.as_object() else {
        let words = "params.inputResponses is an object, with a key for each form";
        return Err(RpcFault::refuse_params(words));
    };
    if responses.len() > limits::ANSWERS {
        let words =
            format!("params.inputResponses has {} answers, more than {}", responses.len(), limits::ANSWERS);
        return Err(RpcFault::refuse_params(words));
    }
    Ok(Some(responses))
}

/// What the answer to a form did.
pub(super) enum FormEnd {
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
pub(super) async fn take_answer(
    (state, client): (&HttpState, &Name),
    receipt: &ApiReceipt,
    (name, answer): (&str, &Value),
) -> Result<FormEnd, String> {
    let Some(request) = read_request_name(name) else { return Ok(FormEnd::Unknown) };
    let describe = |refusal: Box<Refusal>| match refusal.code {
        // It waits no longer: this person or another one was quicker.
        Code::UnknownApproval => format!("{request} was decided before"),
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
            return Err(format!(
                "the answer to {request} has none of the actions accept, decline and cancel"
            ));
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
