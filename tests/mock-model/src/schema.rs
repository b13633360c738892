//! The field of a request that asks for JSON by a schema, as each provider checks it.

use serde_json::Value;

use crate::asked::{field, is_tool_name, list, text};
use crate::refusal::Refusal;

/// Keywords that Anthropic accepts. It refuses a request with any other.
const TAKEN: [&str; 17] = [
    "type",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "format",
    "pattern",
];

/// `response_format` of chat completions.
pub(crate) fn openai(body: &Value) -> Result<(), Refusal> {
    let Some(format) = field(body, "response_format") else { return Ok(()) };
    let refused = |at: &str, words: String| Err(Refusal::bad(words).at(at));
    match text(format, "type") {
        "text" | "json_object" => return Ok(()),
        "json_schema" => {}
        other => {
            let words = format!(
                "Invalid value: '{other}'. Supported values are: 'json_object', 'json_schema', and 'text'."
            );
            return refused("response_format.type", words);
        }
    }
    let Some(schema) = field(format, "json_schema") else {
        return refused(
            "response_format.json_schema",
            "Missing required parameter: 'response_format.json_schema'.".to_owned(),
        );
    };
    let name = text(schema, "name");
    if !is_tool_name(name, 64) {
        let words = format!("Invalid 'response_format.json_schema.name': '{name}'.");
        return refused("response_format.json_schema.name", words);
    }
    let kind = schema.get("schema").map(|schema| text(schema, "type")).unwrap_or_default();
    if kind != "object" {
        let words = format!(
            "Invalid schema for response_format '{name}': schema must be a JSON Schema of 'type: \"object\"', got \
             'type: \"{kind}\"'."
        );
        return refused("response_format", words);
    }
    if schema.get("strict").and_then(Value::as_bool) == Some(true) {
        let at = "response_format.json_schema.schema";
        check_strict(&format!("response_format '{name}'"), at, field(schema, "schema"))?;
    }
    Ok(())
}

/// `text.format` of Responses.
pub(crate) fn responses(body: &Value) -> Result<(), Refusal> {
    let Some(format) = field(body, "text").and_then(|text| field(text, "format")) else { return Ok(()) };
    if text(format, "type") != "json_schema" {
        return Ok(());
    }
    let name = text(format, "name");
    if !is_tool_name(name, 64) {
        let words = "Missing required parameter: 'text.format.name'.";
        return Err(Refusal::bad(words).at("text.format.name"));
    }
    if format.get("strict").and_then(Value::as_bool) == Some(true) {
        check_strict(&format!("response_format '{name}'"), "text.format.schema", field(format, "schema"))?;
    }
    Ok(())
}

/// A schema that is sent as a strict one.
pub(crate) fn check_strict(what: &str, at: &str, schema: Option<&Value>) -> Result<(), Refusal> {
    let found = schema.map_or_else(|| Err("schema must be a JSON Schema".to_owned()), is_strict);
    found.map_err(|words| {
        let words = format!("Invalid schema for {what}: In context=(), {words}.");
        Refusal::bad(words).at(at).called("invalid_function_parameters")
    })
}

fn is_strict(schema: &Value) -> Result<(), String> {
    const TAKEN: [&str; 19] = [
        "type",
        "enum",
        "const",
        "title",
        "description",
        "required",
        "properties",
        "additionalProperties",
        "items",
        "anyOf",
        "$ref",
        "$defs",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ];
    let Value::Object(keywords) = schema else { return Err("schema must be an object".to_owned()) };
    if let Some(other) = keywords.keys().find(|keyword| !TAKEN.contains(&keyword.as_str())) {
        return Err(format!("'{other}' is not permitted"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(properties) = properties {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Err("'additionalProperties' is required to be supplied and to be false".to_owned());
        }
        let has = |key: &String| list(schema, "required").iter().any(|name| name == key);
        if let Some(key) = properties.keys().find(|key| !has(key)) {
            return Err(format!(
                "'required' is required to be supplied and to be an array including every key in properties. \
                 Missing '{key}'"
            ));
        }
    } else if text(schema, "type") == "object" {
        return Err("'properties' is required".to_owned());
    }
    let defs = schema.get("$defs").and_then(Value::as_object);
    let inner = properties.into_iter().chain(defs).flat_map(|map| map.values());
    inner.chain(field(schema, "items")).chain(list(schema, "anyOf")).try_for_each(is_strict)
}

/// `output_config.format` of Anthropic.
pub(crate) fn anthropic(body: &Value) -> Result<(), Refusal> {
    if field(body, "output_format").is_some() {
        return Err(Refusal::bad("output_format: Extra inputs are not permitted"));
    }
    let Some(format) = field(body, "output_config").and_then(|config| field(config, "format")) else {
        return Ok(());
    };
    if text(format, "type") != "json_schema" {
        return Err(Refusal::bad("output_config.format.type: Input should be 'json_schema'"));
    }
    let Some(schema) = field(format, "schema") else {
        return Err(Refusal::bad("output_config.format.schema: Field required"));
    };
    taken(schema).map_err(|words| Refusal::bad(format!("output_config.format.schema: {words}")))
}

/// The strict tools of Anthropic.
pub(crate) fn anthropic_tools(body: &Value) -> Result<(), Refusal> {
    let strict = list(body, "tools").iter().filter(|tool| tool.get("strict") == Some(&Value::Bool(true)));
    for (place, tool) in strict.enumerate() {
        if place >= 20 {
            let words = "Too many strict tools. The maximum number of strict tools supported is 20.";
            return Err(Refusal::bad(words));
        }
        let found = field(tool, "input_schema").map_or(Ok(()), taken);
        found.map_err(|words| Refusal::bad(format!("tools.{place}.custom: {words}")))?;
    }
    Ok(())
}

fn taken(schema: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Err("Input should be a valid dictionary".to_owned()) };
    let kind = text(schema, "type");
    if let Some(other) = keywords.keys().find(|keyword| !TAKEN.contains(&keyword.as_str())) {
        return Err(format!("For '{kind}' type, property '{other}' is not supported"));
    }
    if kind == "object" && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err("For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned());
    }
    let properties =
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let inner =
        properties.chain(field(schema, "items")).chain(list(schema, "anyOf")).chain(list(schema, "allOf"));
    inner.into_iter().try_for_each(taken)
}

/// `format` of Ollama.
pub(crate) fn ollama(body: &Value) -> Result<(), Refusal> {
    match field(body, "format") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(Value::String(word)) if word.is_empty() || word == "json" => Ok(()),
        Some(other) => Err(Refusal::bad(format!(
            "invalid format: {other}; expected \"json\" or a valid JSON Schema object"
        ))),
    }
}

/// `responseJsonSchema` and `responseSchema` of Gemini.
pub(crate) fn gemini(body: &Value) -> Result<(), Refusal> {
    let Some(config) = field(body, "generationConfig") else { return Ok(()) };
    let kind = text(config, "responseMimeType");
    let schemas = ["responseJsonSchema", "responseSchema"].map(|name| (name, field(config, name)));
    for (name, schema) in schemas {
        match schema {
            Some(_) if kind != "application/json" => {
                return Err(Refusal::bad(format!(
                    "{name} is only supported with a response mime type of application/json"
                )));
            }
            Some(schema) if !schema.is_object() => {
                return Err(Refusal::bad(format!("Invalid value at 'generation_config.{name}'")));
            }
            _ => {}
        }
    }
    if kind == "application/json" && !list(body, "tools").is_empty() {
        let words = "Function calling with a response mime type: 'application/json' is unsupported";
        return Err(Refusal::bad(words));
    }
    Ok(())
}
