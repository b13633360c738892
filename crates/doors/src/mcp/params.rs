//! The parameters of the methods of MCP.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use systole_doorway::rpc::RpcMessage;

/// A message of a host.
pub(super) type McpMessage = RpcMessage<McpParams>;

/// The parameters that any method here knows.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpParams {
    /// The revision that a handshake asks for.
    pub(super) protocol_version: Option<String>,
    /// The tool.
    pub(super) name: Option<String>,
    /// Its arguments, as written: no digit of a number is lost.
    pub(super) arguments: Option<Box<RawValue>>,
    /// The task.
    pub(super) task_id: Option<String>,
    /// The page of a list.
    pub(super) cursor: Option<String>,
    /// The resource.
    pub(super) uri: Option<String>,
    /// What the client is able to do, in a handshake.
    pub(super) capabilities: Option<Value>,
    /// The answers to forms.
    pub(super) input_responses: Option<Value>,
    /// The call that asked for them.
    pub(super) request_state: Option<String>,
    /// The request that is cancelled.
    pub(super) request_id: Option<Value>,
    /// What the client says beside them.
    #[serde(rename = "_meta", default)]
    pub(super) meta: Map<String, Value>,
}
