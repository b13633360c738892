//! The contracts of an agent's peers: as lines of a prompt, or as tools for native calls.
//!
//! Contracts come in; text, or tools with JSON Schemas, go out. What a schema does not say is not said here either.

use serde_json::{Value, json};

use crate::contracts::{Action, Contracts, Known};
use crate::model::Tool;
use crate::show::markup;
use crate::spec::{Agent, Dialect};

use super::titled;

/// The section about tools; none where there are none.
pub(super) fn section(agent: &Agent, contracts: &Contracts) -> Option<String> {
    if contracts.actions.is_empty() || agent.dialect == Dialect::Native {
        return None;
    }
    let mut lines = Vec::new();
    for action in &contracts.actions {
        let local = &action.known.element.local;
        let line = action.known.model.prompt(local).unwrap_or_else(|| ["- <", local, ">"].concat());
        lines.push(line);
        if let [_, _, ..] = action.takers.as_slice() {
            let to: Vec<String> = action.takers.iter().map(|taker| ["to=\"", taker, "\""].concat()).collect();
            lines.push(["  Say which of them is meant: ", &to.join(" or ")].concat());
        }
        if action.known.model.is_dangerous(local) {
            lines.push("  A person must approve it first.".to_owned());
        }
        if let (Dialect::Xml, Some(example)) = (agent.dialect, example(action)) {
            lines.push(["  Example: ", &example].concat());
        }
    }
    Some(titled("tools", &lines.join("\n")))
}

/// A smallest valid call of it, as the model may write it.
pub(super) fn example(action: &Action) -> Option<String> {
    let written = markup(&action.known.example()?);
    match action.takers.as_slice() {
        [first, _, ..] => {
            let tag = ["<", &action.known.element.local].concat();
            let rest = written.strip_prefix(&tag)?;
            Some([&tag, " to=\"", first, "\"", rest].concat())
        }
        _ => Some(written),
    }
}

/// Tools for native calls, each with the action that it stands for and its taker.
pub(crate) fn native(contracts: &Contracts) -> Vec<(Tool, usize, String)> {
    let mut tools = Vec::new();
    for (at, action) in contracts.actions.iter().enumerate() {
        let same = |other: &&Action| other.known.element.local == action.known.element.local;
        let is_unique = action.takers.len() == 1 && contracts.actions.iter().filter(same).count() == 1;
        for taker in &action.takers {
            let local = &*action.known.element.local;
            let name = if is_unique { local.to_owned() } else { [taker, "__", local].concat() };
            tools.push((tool(&action.known, tool_name(&name)), at, taker.clone()));
        }
    }
    tools
}

/// A name that every provider takes.
fn tool_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(plain).take(64).collect()
}

fn tool(known: &Known, name: String) -> Tool {
    let local = &known.element.local;
    let about = known.model.documentation(local).unwrap_or_default().to_owned();
    let schema = known.model.json_schema(local);
    let (parameters, open) = match schema {
        Some(schema) => (schema.schema, schema.open),
        None => (json!({"type": "object"}), Vec::new()),
    };
    let mut lines: Vec<String> = [about].into_iter().filter(|about| !about.is_empty()).collect();
    lines.extend(open);
    Tool { name, description: lines.join("\n"), parameters: object(parameters) }
}

/// Providers take objects alone; anything else stands under one key.
fn object(schema: Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => schema,
        _ => {
            json!({"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": false})
        }
    }
}
