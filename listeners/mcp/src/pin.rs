//! What a person accepted of a server: its tools, word for word, and the vocabulary that was made of them.

use std::collections::BTreeMap;

use rmcp::model::{JsonObject, Tool};
use systole_kit::Payload;
use systole_kit::schema::SchemaModel;

use crate::client::Revision;

/// A pinned server.
pub struct PinnedServer {
    /// The revision of the protocol that it spoke.
    pub revision: Revision,
    schema: SchemaModel,
    /// By element.
    tools: BTreeMap<String, PinnedTool>,
    listed: Vec<serde_json::Value>,
}

/// A pinned tool.
#[derive(Debug, Clone)]
pub struct PinnedTool {
    /// Its name at the server.
    pub name: String,
    /// The element of its structured content.
    pub result: Option<String>,
}

impl PinnedServer {
    /// The tool that takes this element.
    #[must_use]
    pub fn tool(&self, element: &str) -> Option<&PinnedTool> {
        self.tools.get(element)
    }

    /// The arguments of a call.
    ///
    /// # Errors
    /// Why the payload is no call of the tool.
    pub fn arguments(&self, _tool: &PinnedTool, payload: &Payload) -> Result<JsonObject, String> {
        match self.schema.to_json(payload.bytes()) {
            Ok(serde_json::Value::Object(arguments)) => Ok(arguments),
            Ok(other) => Err(format!("{other} is no object")),
            Err(finding) => Err(format!("{finding:?}")),
        }
    }

    /// The element of the tool's structured content, and the schema that declares it.
    #[must_use]
    pub fn typed<'p>(&'p self, tool: &'p PinnedTool) -> Option<(&'p SchemaModel, &'p str)> {
        tool.result.as_deref().map(|element| (&self.schema, element))
    }

    /// How the tools differ from the pinned ones; none if they do not.
    #[must_use]
    pub fn difference(&self, tools: &[Tool]) -> Option<String> {
        let now: Vec<_> = tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()).collect();
        (now != self.listed).then(|| "they differ".to_owned())
    }
}
