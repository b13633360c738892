//! The parameters of the methods of ACP.

use serde::Deserialize;
use serde_json::Value;

/// The parameters that any method here knows.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpParams {
    /// What the editor is able to do.
    pub(super) client_capabilities: Option<Value>,
    /// The session.
    pub(super) session_id: Option<String>,
    /// The folder that is open in the editor.
    pub(super) cwd: Option<String>,
    /// The page of a list.
    pub(super) cursor: Option<String>,
    /// What a person typed, in parts.
    pub(super) prompt: Option<Vec<Value>>,
    /// Servers that the editor wants to be started.
    pub(super) mcp_servers: Option<Vec<Value>>,
}
