//! A tool as a server lists it, and the bounds that it must keep.
//!
//! A definition of any origin comes in; the reason why it is refused goes out, if there is one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::TOOL_NAME;

/// A tool as a server lists it: the parts that a pin covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Its name on the wire.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its purpose, in the words of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints of the server, such as `readOnlyHint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

impl ToolDefinition {
    /// A tool with only a name and a schema.
    #[must_use]
    pub fn new(name: &str, input_schema: Value) -> Self {
        Self { name: name.to_owned(), input_schema, ..Self::default() }
    }

    /// Whether the server says that the tool changes nothing. It is a hint: the server may lie.
    #[must_use]
    pub fn is_hinted_read_only(&self) -> bool {
        let hint = self.annotations.as_ref().and_then(|hints| hints.get("readOnlyHint"));
        hint.and_then(Value::as_bool) == Some(true)
    }
}

/// A tool that cannot become an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTool {
    /// Its name as listed, made visible and shortened.
    pub tool: String,
    /// Its place in the list, from 1.
    pub place: usize,
    /// Why it is refused.
    pub reason: String,
}

/// The bounds of a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolBounds {
    /// Most tools of one server.
    pub tools: usize,
    /// Most bytes of a description.
    pub description: usize,
    /// Most bytes of a schema as canonical JSON.
    pub schema_bytes: usize,
    /// Most nesting of a schema.
    pub schema_depth: usize,
    /// Most values in a schema.
    pub schema_nodes: usize,
}

impl Default for ToolBounds {
    fn default() -> Self {
        Self { tools: 256, description: 4096, schema_bytes: 64 << 10, schema_depth: 32, schema_nodes: 2000 }
    }
}

impl ToolBounds {
    /// Why a tool is refused.
    pub(super) fn find_breach(&self, tool: &ToolDefinition) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        if tool.name.is_empty() || tool.name.len() > TOOL_NAME || !tool.name.chars().all(plain) {
            return Some(format!("its name must be 1 to {TOOL_NAME} letters, digits and _ . / - (ASCII)"));
        }
        let words = tool.description.as_ref().map_or(0, String::len);
        if words > self.description {
            return Some(format!(
                "its description has {words} bytes, at most {} are taken",
                self.description
            ));
        }
        let title = tool.title.as_ref().map_or(0, String::len);
        if title > self.description {
            return Some(format!("its title has {title} bytes, at most {} are taken", self.description));
        }
        let schemas =
            [("inputSchema", Some(&tool.input_schema)), ("outputSchema", tool.output_schema.as_ref())];
        let hints = ("annotations", tool.annotations.as_ref());
        schemas.into_iter().chain([hints]).find_map(|(name, schema)| self.schema_breach(name, schema?))
    }

    fn schema_breach(&self, name: &str, schema: &Value) -> Option<String> {
        let bytes = super::sorted_json::write_sorted(schema).len();
        let mut nodes = 0_usize;
        let depth = measure_value(schema, 1, self.schema_depth, &mut nodes);
        if bytes > self.schema_bytes {
            return Some(format!("{name} has {bytes} bytes, at most {} are taken", self.schema_bytes));
        }
        if depth > self.schema_depth {
            return Some(format!("{name} is nested deeper than {}", self.schema_depth));
        }
        (nodes > self.schema_nodes)
            .then(|| format!("{name} has {nodes} values, at most {} are taken", self.schema_nodes))
    }
}

/// The depth of a value, as far as it is allowed, and the number of values in it.
fn measure_value(value: &Value, depth: usize, most: usize, nodes: &mut usize) -> usize {
    *nodes = nodes.saturating_add(1);
    if depth > most {
        return depth;
    }
    let deeper = depth.saturating_add(1);
    let inside: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return depth,
    };
    inside.into_iter().map(|value| measure_value(value, deeper, most, nodes)).fold(depth, usize::max)
}
