//! The tools of a request as text, and an estimate of their tokens.

use serde_json::json;

use crate::model::Tool;

/// Tools as the prompt chain stores them.
pub(crate) fn write_tools(tools: &[Tool]) -> String {
    let line = |tool: &Tool| {
        json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
            .to_string()
    };
    tools.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// An estimate of the tokens of tools.
pub(crate) fn estimate_tools(tools: &[Tool]) -> u64 {
    crate::tokens::estimate_text(&write_tools(tools))
}
