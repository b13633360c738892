//! `tools/call`: makes a payload of the arguments and hands it in under the client's name. What does not fit is refused,
//! recorded like every refusal, and told to the model as the result of its call.

use serde_json::Value;
use systole_kit::{DocumentLimits, Payload, QName};

use super::params::McpParams;
use super::results::{self, KEY, OURS, RECORD, THREAD};
use super::tools;
use systole_api::types::ApiReceipt;
use systole_core::types::codes::Code;
use systole_core::types::flow::Refused;
use systole_core::types::ids::Name;
use systole_doorway::rpc::{self, RpcFault};
use systole_following::run_ids::read_receipt;
use systole_hall::inbound::{choose_key, keep_file};
use systole_hall::runs::work::read_blocking;
use systole_organism::front::{ClientMessage, OrganismHandle};
use systole_organism::waiting::SenderReply;
use systole_payloads::json_payload;
use systole_queries::run_events::RunId;

/// A call that has begun.
pub(super) enum BegunCall {
    /// It is on disk, and its answer is waited for.
    Open(ApiReceipt),
    /// It was refused: this is its result.
    Refused(Value),
}

/// A call that asked a person.
pub(super) struct AskedCall {
    pub(super) receipt: ApiReceipt,
    to: Option<Name>,
    element: Option<QName>,
}

/// The call that asked, by what its result says of it. That of another client is one that never was.
pub(super) async fn find_asked(
    front: &OrganismHandle,
    client: &Name,
    state: &str,
) -> Result<Option<AskedCall>, RpcFault> {
    let Some(id) = RunId::parse(state) else { return Ok(None) };
    let (reader, client) = (front.reader().clone(), client.clone());
    let found = read_blocking(move || id.find_message(&*reader, &client)).await;
    let found = found.map_err(|refusal| RpcFault::refuse_unavailable(refusal.message.to_string()))?;
    Ok(found.map(|found| {
        let payload = Payload::parse(&found.1.body, &DocumentLimits::FROM_PUMP).ok();
        let element = payload.map(|payload| payload.name().clone());
        AskedCall { receipt: read_receipt(&found), to: found.1.header.to.clone(), element }
    }))
}

/// The same, if it called the tool that is called now.
pub(super) async fn find_called(
    front: &OrganismHandle,
    client: &Name,
    state: &str,
    params: &McpParams,
) -> Result<ApiReceipt, RpcFault> {
    let Some(asked) = find_asked(front, client, state).await? else {
        return Err(RpcFault::refuse_params("params.requestState names no call: call without it"));
    };
    let organism = front.composition().clone();
    let tool = tools::find_tool(&organism, client, ("tool", params.name.as_deref().unwrap_or_default()))?;
    if asked.to.as_ref() != Some(&tool.listener.name) || asked.element.as_ref() != Some(&tool.taken.name) {
        return Err(RpcFault::refuse_params(format!("params.requestState is of no call of {}", tool.name)));
    }
    Ok(asked.receipt)
}

/// Begins a call.
pub(super) async fn begin_call(
    front: &OrganismHandle,
    client: &Name,
    params: &McpParams,
) -> Result<BegunCall, RpcFault> {
    let Some(name) = &params.name else {
        return Err(RpcFault::refuse_params("params.name, the tool, is missing; tools/list names the tools"));
    };
    is_known(params)?;
    let key = choose_key(read_meta(params, KEY)?)
        .map_err(|words| RpcFault::refuse_params(format!("_meta[\"{KEY}\"]: {words}")))?;
    let thread = read_meta(params, THREAD)?;
    let organism = front.composition().clone();
    let tool = tools::find_tool(&organism, client, ("tool", name))?;
    let arguments = params.arguments.as_ref().map_or("{}", |arguments| arguments.get());
    let keep = |bytes| keep_file(front, client, bytes);
    let made = json_payload::build_from_json(&organism, tool.taken, arguments.as_bytes(), &keep);
    let document = match made {
        Ok(document) => document,
        Err(Refused { refusal, kept: None }) => {
            return Err(RpcFault::refuse_unavailable(refusal.message.to_string()));
        }
        Err(refused) => return read_reply(front.record_refusal(client.clone(), key, refused).await),
    };
    let to = Some(tool.listener.name.to_string());
    let message =
        ClientMessage { client: client.clone(), key: key.clone(), document, to, thread, subject: None };
    match front.send_message(message).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = front.locate_receipt(&receipt, position).await;
            Ok(BegunCall::Open(ApiReceipt::from_receipt(&receipt, position, key.as_str())))
        }
        other => read_reply(other),
    }
}

fn read_reply(reply: Option<SenderReply>) -> Result<BegunCall, RpcFault> {
    match reply {
        Some(SenderReply::Refused(refusal)) => match refusal.code {
            Code::IngressUnavailable => Err(RpcFault::refuse_unavailable(refusal.message.to_string())),
            _ => Ok(BegunCall::Refused(results::build_refusal(&refusal))),
        },
        _ => {
            Err(RpcFault::refuse_unavailable("the organism is stopping: call again later, with the same key"))
        }
    }
}

/// Refuses a key of ours that means nothing, since a client that writes one wants something. What a result says may
/// come back.
fn is_known(params: &McpParams) -> Result<(), RpcFault> {
    let known = [KEY, THREAD, RECORD];
    let unknown = params.meta.keys().find(|key| key.starts_with(OURS) && !known.contains(&key.as_str()));
    let shown = unknown.map(|key| key.chars().take(80).collect::<String>());
    if let Some(key) = shown {
        return Err(RpcFault::refuse_params(format!(
            "_meta[{key:?}] means nothing here; there are {KEY} and {THREAD}"
        )));
    }
    match params.meta.get("progressToken") {
        Some(token) if !rpc::is_id(token) => Err(RpcFault::refuse_params(
            "_meta.progressToken is a text or a whole number of at most 256 bytes",
        )),
        _ => Ok(()),
    }
}

/// A text that the client said in `_meta`.
fn read_meta(params: &McpParams, key: &str) -> Result<Option<String>, RpcFault> {
    match params.meta.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(RpcFault::refuse_params(format!("_meta[\"{key}\"] is not a text"))),
    }
}
