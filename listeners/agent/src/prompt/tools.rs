//! The contracts of an agent's peers: as lines of a prompt, or as tools for native calls.
//!
//! Contracts come in; text, or tools with JSON Schemas, go out. It adds nothing beyond the schemas.

use serde_json::{Value, json};
use systole_kit::schema::ILLEGAL;

use crate::contracts::{AgentContracts, ElementModel, PeerAction};
use crate::model::Tool;
use crate::primitives::{self, PromptPrimitive};
use crate::show::write_markup;
use crate::spec::{AgentSpec, Dialect};

use super::sections::add_title;

/// The section about tools. `None` if there are none.
pub(super) fn write_section(agent: &AgentSpec, contracts: &AgentContracts) -> Option<String> {
    if contracts.actions.is_empty() || agent.dialect == Dialect::Native {
        return None;
    }
    let mut lines = Vec::new();
    for action in &contracts.actions {
        let local = &action.known.element.local;
        let line = action.known.model.write_prompt(local).unwrap_or_else(|| format!("- <{local}>"));
        lines.push(line);
        if let [_, _, ..] = action.takers.as_slice() {
            let to: Vec<String> = action.takers.iter().map(|taker| format!("to=\"{taker}\"")).collect();
            let one = to.join(" or ");
            lines.push(match join_takers(action) {
                Some(all) => format!("  It goes to {all} at once. To send it to one alone: {one}"),
                None => format!("  Say which of them is meant: {one}"),
            });
        }
        if action.known.model.is_dangerous(local) {
            lines.push("  A person must approve it first.".to_owned());
        }
        if let (Dialect::Xml, Some(example)) = (agent.dialect, write_example(action)) {
            lines.push(format!("  Example: {example}"));
        }
    }
    Some(add_title(agent, "tools", &lines.join("\n")))
}

/// The names of those that get an action together, if it names none.
fn join_takers(action: &PeerAction) -> Option<String> {
    let (last, first) = action.broadcast.split_last()?;
    Some(format!("{} and {last}", first.join(", ")))
}

/// A smallest valid call, as the model may write it.
pub(super) fn write_example(action: &PeerAction) -> Option<String> {
    let written = write_markup(&action.known.build_example()?);
    match action.takers.as_slice() {
        [first, _, ..] if action.broadcast.is_empty() => {
            let tag = format!("<{}", action.known.element.local);
            let rest = written.strip_prefix(&tag)?;
            Some(format!("{tag} to=\"{first}\"{rest}"))
        }
        _ => Some(written),
    }
}

/// A tool for native calls.
pub(crate) struct NativeTool {
    /// The tool as its model sees it.
    pub(crate) tool: Tool,
    /// The meaning of a call to it.
    pub(crate) means: ToolMeaning,
}

/// The meaning of a tool call.
pub(crate) enum ToolMeaning {
    /// An action.
    Peer {
        /// Its index among the contracts' actions.
        action: usize,
        /// The peer that it names.
        to: Option<String>,
    },
    /// A primitive of the core.
    Core(&'static PromptPrimitive),
}

/// Tools for native calls: those of the peers, then those of the core. If a name is taken, the core's tool gets
/// another.
pub(crate) fn list_native(contracts: &AgentContracts) -> Vec<NativeTool> {
    let mut tools = list_peers(contracts);
    let spawned = tools.iter().filter(|tool| find_spawnable(contracts, tool).is_some());
    let spawned: Vec<String> = spawned.map(|tool| tool.tool.name.clone()).collect();
    let spawned: Vec<&str> = spawned.iter().map(String::as_str).collect();
    for (primitive, name) in primitives::list_native(contracts) {
        let mut name = name.to_owned();
        while tools.iter().any(|tool| tool.tool.name == name) {
            name.insert_str(0, "core__");
        }
        let tool = primitives::build_tool(primitive, name, &spawned);
        tools.extend(tool.map(|tool| NativeTool { tool, means: ToolMeaning::Core(primitive) }));
    }
    tools
}

/// The action of a tool, if a thread may begin with it.
pub(crate) fn find_spawnable<'c>(
    contracts: &'c AgentContracts,
    native: &NativeTool,
) -> Option<&'c PeerAction> {
    match &native.means {
        ToolMeaning::Peer { action, .. } => {
            contracts.actions.get(*action).filter(|action| action.takers.len() == 1)
        }
        ToolMeaning::Core(_) => None,
    }
}

fn list_peers(contracts: &AgentContracts) -> Vec<NativeTool> {
    let mut tools = Vec::new();
    for (at, action) in contracts.actions.iter().enumerate() {
        let same = |other: &&PeerAction| other.known.element.local == action.known.element.local;
        let local = &*action.known.element.local;
        let is_alone = contracts.actions.iter().filter(same).count() == 1;
        if let Some(all) = join_takers(action) {
            let name = if is_alone { local.to_owned() } else { format!("all__{local}") };
            let mut tool = build_tool(&action.known, &all, build_tool_name(&name));
            tool.description.push_str(&format!("\nIt goes to {all} at once."));
            tools.push(NativeTool { tool, means: ToolMeaning::Peer { action: at, to: None } });
        }
        let is_unique = is_alone && action.takers.len() == 1;
        for taker in &action.takers {
            let name = if is_unique { local.to_owned() } else { format!("{taker}__{local}") };
            let tool = build_tool(&action.known, taker, build_tool_name(&name));
            let to = (action.takers.len() > 1).then(|| taker.clone());
            tools.push(NativeTool { tool, means: ToolMeaning::Peer { action: at, to } });
        }
    }
    tools
}

/// A name that every provider accepts.
fn build_tool_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(plain).take(64).collect()
}

fn build_tool(known: &ElementModel, taker: &str, name: String) -> Tool {
    let local = &known.element.local;
    let about = known.model.find_documentation(local).unwrap_or_default();
    let about = if about.is_empty() { format!("Sends <{local}> to {taker}.") } else { about.to_owned() };
    let schema = known.model.json_schema(local);
    let (parameters, open) = match schema {
        Some(schema) => (schema.schema, schema.open),
        None => (json!({"type": "object"}), Vec::new()),
    };
    let lines: Vec<String> =
        std::iter::once(about).chain(open.into_iter().filter(|line| line != ILLEGAL)).collect();
    Tool { name, description: lines.join("\n"), parameters: wrap_object(parameters) }
}

/// Providers accept only objects. Any other schema is wrapped under one key.
fn wrap_object(schema: Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => schema,
        _ => {
            json!({"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": false})
        }
    }
}
