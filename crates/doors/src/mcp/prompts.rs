//! Prompts: what a person at a host picks to have a listener asked. There is one for each tool, with the fields of its
//! element as arguments.

use serde_json::{Map, Value, json};

use super::params::McpParams;
use super::tools::{self, OWN};
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_doorway::rpc::RpcFault;
use systole_payloads::open_elements::{SendableElement, find_model, list_open};

/// The argument for an element's own text.
const TEXT: &str = "text";

/// An argument of a prompt.
struct PromptArgument {
    /// Its name for the person.
    name: String,
    /// The field of the element.
    field: String,
    schema: Value,
    is_required: bool,
}

/// The prompts of a client.
pub(super) fn list_prompts(organism: &Composition, client: &Name) -> Vec<Value> {
    list_open(organism, client).iter().map(|tool| show_prompt(organism, tool)).collect()
}

fn show_prompt(organism: &Composition, tool: &SendableElement<'_>) -> Value {
    let arguments: Vec<Value> = list_arguments(organism, tool).iter().map(PromptArgument::show).collect();
    json!({"name": tool.name, "description": describe_prompt(organism, tool), "arguments": arguments})
}

fn describe_prompt(organism: &Composition, tool: &SendableElement<'_>) -> String {
    let model = find_model(organism, tool.taken.schema);
    let about = model.as_ref().and_then(|model| model.find_documentation(&tool.taken.name.local));
    let asks = format!("Asks {}.", tool.listener.name);
    about.map_or_else(|| asks.clone(), |about| format!("{asks} {about}"))
}

fn list_arguments(organism: &Composition, tool: &SendableElement<'_>) -> Vec<PromptArgument> {
    let model = find_model(organism, tool.taken.schema);
    let drawn = model.and_then(|model| model.json_schema(&tool.taken.name.local));
    let Some(Value::Object(mut schema)) = drawn.map(|drawn| drawn.schema) else { return Vec::new() };
    let required = schema.remove("required").unwrap_or_default();
    let place_required =
        |field: &str| required.as_array()?.iter().position(|one| one.as_str() == Some(field));
    let Some(Value::Object(fields)) = schema.remove("properties") else { return Vec::new() };
    let has_text = fields.contains_key(TEXT);
    let arguments = fields.into_iter().map(|(field, schema)| PromptArgument {
        name: if field == OWN && !has_text { TEXT.to_owned() } else { field.clone() },
        is_required: place_required(&field).is_some(),
        field,
        schema,
    });
    let mut arguments: Vec<PromptArgument> = arguments.collect();
    // Those that are required come first, in the order of the schema: some hosts fill them in by their places.
    arguments.sort_by_key(|one| place_required(&one.field).unwrap_or(usize::MAX));
    arguments
}

impl PromptArgument {
    fn is_text(&self) -> bool {
        self.schema.get("type").and_then(Value::as_str) == Some("string")
    }

    fn show(&self) -> Value {
        let said = self.schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let mut shown = json!({"name": self.name, "required": self.is_required});
        let about = match (said, self.is_text()) {
            (said, true) => said,
            (said, false) => Some(format!("{} (as JSON)", said.unwrap_or_default()).trim().to_owned()),
        };
        if let Some((fields, about)) = shown.as_object_mut().zip(about) {
            fields.insert("description".to_owned(), json!(about));
        }
        shown
    }

    /// The value of a text that was typed. What does not fit its type is refused with the call.
    fn read(&self, typed: &str) -> Value {
        let text = || Value::String(typed.to_owned());
        let read = if self.is_text() { None } else { serde_json::from_str::<Value>(typed).ok() };
        // A number that JSON would say otherwise stays as it was typed.
        let is_same = |read: &Value| read.as_number().is_none_or(|number| number.to_string() == typed.trim());
        read.filter(is_same).unwrap_or_else(text)
    }
}

/// `prompts/get`: the message that has the tool called.
pub(super) fn write_prompt(
    organism: &Composition,
    client: &Name,
    params: &McpParams,
) -> Result<Value, RpcFault> {
    let Some(name) = &params.name else {
        return Err(RpcFault::refuse_params(
            "params.name, the prompt, is missing; prompts/list names the prompts",
        ));
    };
    let tool = tools::find_tool(organism, client, ("prompt", name))?;
    let known = list_arguments(organism, &tool);
    let typed = params.arguments.as_ref().map_or("{}", |arguments| arguments.get());
    let typed: Map<String, Value> = serde_json::from_str(typed)
        .map_err(|error| RpcFault::refuse_params(format!("params.arguments: {error}")))?;
    let mut filled = Map::new();
    for (name, value) in &typed {
        let Some(argument) = known.iter().find(|one| one.name == *name) else {
            let shown: String = name.chars().take(80).collect();
            let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
            let words = format!("no argument is called {shown:?}; there are {}", names.join(", "));
            return Err(RpcFault::refuse_params(words));
        };
        let Value::String(typed) = value else {
            return Err(RpcFault::refuse_params(format!("the argument {name:?} is not a text")));
        };
        filled.insert(argument.field.clone(), argument.read(typed));
    }
    if let Some(missing) = known.iter().find(|one| one.is_required && !filled.contains_key(&one.field)) {
        return Err(RpcFault::refuse_params(format!("the argument {:?} is missing", missing.name)));
    }
    let text = format!(
        "Call the tool {} with these arguments, and say what it answers:\n\n{}",
        tool.name,
        Value::Object(filled)
    );
    Ok(json!({
        "description": describe_prompt(organism, &tool),
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}
