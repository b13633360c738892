//! The tools that a client sees: the elements that it may send from outside, with the JSON Schema of their payloads.
//!
//! A listener that a client may not address has no tool, and no influence on the name of another tool.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use systole_kit::schema::{ILLEGAL, SchemaModel, find_nearest};
use systole_payloads::open_elements::{SendableElement, find_model, list_open};

use crate::limits;
use systole_core::types::composition::{Composition, ElementSchema, SchemaId};
use systole_core::types::ids::Name;
use systole_doorway::rpc::RpcFault;

/// The key of an element's own text.
pub(super) const OWN: &str = ".";

/// The tool of that name, or of the prompt of that name.
pub(super) fn find_tool<'c>(
    organism: &'c Composition,
    client: &Name,
    (kind, name): (&str, &str),
) -> Result<SendableElement<'c>, RpcFault> {
    let mut tools = list_open(organism, client);
    if let Some(at) = tools.iter().position(|tool| tool.name == name) {
        return Ok(tools.swap_remove(at));
    }
    let known = || tools.iter().map(|tool| tool.name.as_str());
    let fix = match find_nearest(name, known()) {
        Some(near) => format!("did you mean {near}?"),
        None if tools.is_empty() => "no element is open to this client".to_owned(),
        None => format!("there are {}", known().take(32).collect::<Vec<_>>().join(", ")),
    };
    let shown: String = name.chars().take(80).collect();
    Err(RpcFault::refuse_params(format!("no {kind} is called {shown:?}; {fix}")))
}

/// The tools of a client, as `tools/list` shows them.
pub(super) fn list_tools(organism: &Composition, client: &Name) -> Vec<Value> {
    let tools = list_open(organism, client);
    let elements = tools.iter().flat_map(|tool| std::iter::once(tool.taken).chain(list_answers(tool)));
    let ids: BTreeSet<usize> = elements.map(|element| element.schema.0).collect();
    let models: BTreeMap<usize, SchemaModel> =
        ids.into_iter().filter_map(|id| Some((id, find_model(organism, SchemaId(id))?))).collect();
    tools.iter().filter_map(|tool| show_tool(tool, &models)).collect()
}

fn show_tool(tool: &SendableElement<'_>, models: &BTreeMap<usize, SchemaModel>) -> Option<Value> {
    let SendableElement { name, listener, taken } = tool;
    let model = models.get(&taken.schema.0)?;
    let sent = model.has_files().then(|| model.with_sent_files());
    let drawn = sent.as_ref().unwrap_or(model).json_schema(&taken.name.local)?;
    let mut words: Vec<String> =
        model.find_documentation(&taken.name.local).map(str::to_owned).into_iter().collect();
    words.push(format!("Goes to {}.", listener.name.as_str()));
    if listener.approval.always || model.is_dangerous(&taken.name.local) {
        words.push("A person approves each call before it runs.".to_owned());
    }
    // Every text leaves that open, and no host writes such characters.
    let open: Vec<String> = drawn.open.into_iter().filter(|rule| rule != ILLEGAL).collect();
    if !open.is_empty() {
        words.push(format!("Also checked: {}.", open.join("; ")));
    }
    let mut words = words.join(" ");
    words.truncate(words.floor_char_boundary(limits::TOOL_DESCRIPTION_BYTES));
    let mut shown = json!({"name": name, "description": words, "inputSchema": drawn.schema});
    // With one possible answer a host can know its form.
    let answers: Vec<&ElementSchema> = list_answers(tool).collect();
    if let ([answer], Some(fields)) = (answers.as_slice(), shown.as_object_mut())
        && let Some(schema) = models.get(&answer.schema.0).and_then(|model| answer_schema(model, answer))
    {
        fields.insert("outputSchema".to_owned(), schema);
    }
    Some(shown)
}

/// The answers of a tool: what its listener gives only itself is none.
fn list_answers<'c>(tool: &SendableElement<'c>) -> impl Iterator<Item = &'c ElementSchema> {
    tool.listener.returns.iter().filter(|answer| tool.listener.shows_outside(answer))
}

/// The JSON Schema of an answer. `None` if the answer is one text, which needs no form beside it.
pub(super) fn answer_schema(model: &SchemaModel, answer: &ElementSchema) -> Option<Value> {
    let schema = model.json_schema(&answer.name.local)?.schema;
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_text = properties.is_some_and(|all| all.keys().eq([OWN]));
    (!is_text).then_some(schema)
}
