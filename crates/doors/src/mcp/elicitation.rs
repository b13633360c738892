//! Elicitation: what waits for a person who may decide as this client, as a form that the host shows to her.

use serde_json::{Map, Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::params::McpParams;
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_doorway::rpc::RpcFault;
use systole_hall::http_state::HttpState;
use systole_hall::runs::forms::{write_answer_form, write_approval_form};
use systole_hall::runs::requests::{RunRequests, describe_request, name_request};
use systole_system::clock::WallClock;

/// The method of a form.
pub(super) const ELICIT: &str = "elicitation/create";

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
    let shown = describe_request(waiting, WallClock.now());
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
pub(super) fn read_responses(params: &McpParams) -> Result<Option<&Map<String, Value>>, RpcFault> {
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
