//! Elicitation: what waits for a person who may decide as this client, as a form that the host shows to her. The name of
//! a form has the hash of what it shows, so an answer counts for just that.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::rpc::{RpcFault, RpcParams};
use crate::http_state::HttpState;
use crate::runs::decisions::{DecisionPlace, RequestDecision};
use crate::runs::forms::{read_form, write_answer_form, write_approval_form};
use crate::runs::requests::{RunRequests, has_seen, name_request, read_request_name};
use crate::runs::sending::stop_run;
use systole_api::types::{ApiReceipt, DecisionOutcome};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;

/// The method of a form.
pub(super) const ELICIT: &str = "elicitation/create";
/// What a rejection says if its form was only declined.
const DECLINED: &str = "declined, without a note";

/// Whether a client that has these capabilities shows forms.
pub(super) fn shows_forms(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    // Without a mode it is the form, the only one of the older revisions.
    elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
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

/// The parameters of a form. `remark` says why it is shown once more.
pub(super) fn write_form(waiting: &WaitingRequest, remark: Option<&str>) -> Value {
    let schema = match &waiting.about {
        RequestSubject::Approval { .. } => write_approval_form(None),
        RequestSubject::Question { choices, .. } => write_answer_form(choices),
    };
    let shown = waiting.lines(waiting.asked, None, false).join("\n");
    let message = remark.map_or_else(|| shown.clone(), |remark| format!("{remark}\n\n{shown}"));
    json!({"message": message, "requestedSchema": schema})
}

/// The forms of a run by their names, as 2026-07-28 sends them, with the remarks for those that are shown once more.
pub(super) fn write_requests(own: &[WaitingRequest], remarks: &mut BTreeMap<String, String>) -> Value {
    let form = |waiting| {
        let name = name_request(waiting);
        let params = write_form(waiting, remarks.remove(&name).as_deref());
        (name, json!({"method": ELICIT, "params": params}))
    };
    Value::Object(own.iter().map(form).collect())
}

/// The answers to forms in a message of 2026-07-28, by the names of their forms.
pub(super) fn read_responses(params: &RpcParams) -> Result<Option<&Map<String, Value>>, RpcFault> {
    let read = params.input_responses.as_ref().map(|responses| {
        let words = "params.inputResponses is an object, with a key for each form";
        responses.as_object().ok_or_else(|| RpcFault::refuse_params(words))
    });
    read.transpose()
}

/// What the answer to a form did.
pub(super) enum FormEnd {
    /// It counts, or another of the same did.
    Taken,
    /// The person left it: what waits goes on waiting.
    Left,
    /// It names no form of ours.
    Unknown,
}

/// Takes the answer to a form of a run. A refusal is for the person who filled it in.
pub(super) async fn take_answer(
    (state, client): (&HttpState, &Name),
    receipt: &ApiReceipt,
    (name, answer): (&str, &Value),
) -> Result<FormEnd, Box<Refusal>> {
    let refuse = |words: String| Err(Box::new(Refusal::new(Code::Invalid, words)));
    let Some(request) = read_request_name(name) else { return Ok(FormEnd::Unknown) };
    let own = RunRequests::read(state, client, receipt).await?.own;
    let waiting = own.into_iter().find(|one| one.id == request);
    let decision = match (answer.get("action").and_then(Value::as_str), waiting.map(|one| one.about)) {
        (Some("accept"), _) => {
            let read = read_form(request, answer.get("content").unwrap_or(&Value::Null));
            match read {
                Ok(decision) => decision,
                Err(why) => return refuse(format!("the form of {request} is not filled in: {why}")),
            }
        }
        (Some("decline"), Some(RequestSubject::Approval { .. })) => {
            RequestDecision::new(DecisionOutcome::Rejected, request, DECLINED.to_owned())
        }
        (Some("decline"), Some(RequestSubject::Question { .. })) => {
            stop_run(state, client, receipt).await?;
            return Ok(FormEnd::Taken);
        }
        (Some("decline" | "cancel"), _) => return Ok(FormEnd::Left),
        _ => return refuse(format!("the answer to {request} has no action of accept, decline, cancel")),
    };
    let messages = ThreadId::parse(&receipt.thread).map(|thread| vec![(thread, receipt.seq)]);
    let place = DecisionPlace {
        messages: messages.unwrap_or_default(),
        is_shown: &|waiting: &WaitingRequest| has_seen(name, &waiting.hash.to_string()),
        fix: "read the newest form".to_owned(),
        has_seen: &|hash| has_seen(name, hash),
        only_checks: false,
    };
    decision.decide(state, client, place).await.map(|_| FormEnd::Taken)
}
