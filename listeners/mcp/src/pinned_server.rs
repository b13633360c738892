//! A pinned server: the vocabulary that its pin stands for, and what was asked of the server to make the pin.
//!
//! A pin, or the command of a server, comes in; a vocabulary, or a new pin, goes out.

use std::collections::BTreeSet;

use rmcp::model::Tool;

use crate::schema::{PinFile, ToolDefinition, ToolVocabulary, VocabularyFault, VocabularyOptions};

/// Names that agents already have another meaning for.
const RESERVED: [&str; 1] = ["todo-until"];

/// The vocabulary of a pinned server. Tools that are not `safe` are marked as dangerous.
///
/// # Errors
/// If there is no vocabulary.
pub fn build_vocabulary(
    server: &str,
    pin: &PinFile,
    safe: BTreeSet<String>,
) -> Result<ToolVocabulary, VocabularyFault> {
    let reserved = RESERVED.into_iter().chain([server]).map(str::to_owned).collect();
    ToolVocabulary::from_tools(
        server,
        &pin.tools,
        &VocabularyOptions { reserved, safe, ..VocabularyOptions::default() },
    )
}

/// The parts of listed tools that a pin covers.
pub(crate) fn list_definitions(tools: &[Tool]) -> Vec<ToolDefinition> {
    let definition = |tool: &Tool| ToolDefinition {
        name: tool.name.to_string(),
        title: tool.title.clone(),
        description: tool.description.as_ref().map(ToString::to_string),
        input_schema: serde_json::Value::Object((*tool.input_schema).clone()),
        output_schema: tool
            .output_schema
            .as_ref()
            .map(|schema| serde_json::Value::Object((**schema).clone())),
        annotations: tool.annotations.as_ref().and_then(|hints| serde_json::to_value(hints).ok()),
    };
    tools.iter().map(definition).collect()
}
