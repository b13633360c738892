//! The JSON Schema of the organism's file, for editors. It is made from the table of keys, so it names
//! exactly these keys. It checks only what can be checked for one value alone. Rules between values, and
//! the bounds of durations, sizes and amounts, are left to the loader. It never rejects a file that the
//! loader accepts.

use serde_json::{Map, Value, json};

use super::key::{ConfigKey, KeyForm};
use super::keys;

/// The path of all steps in the table of keys.
const STEPS: &str = "workflows.NAME.goals";

/// The schema's text, as stored in `schemas/organism.schema.json`.
pub const ORGANISM_JSON_SCHEMA: &str = include_str!("../../schemas/organism.schema.json");

/// Makes the schema from the table of keys.
pub fn organism_json_schema() -> Value {
    let mut schema = map("");
    if let Value::Object(top) = &mut schema {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        // The file must have one of these two.
        top.insert("anyOf".to_owned(), json!([{"required": ["listeners"]}, {"required": ["agents"]}]));
        top.insert("title".to_owned(), json!("organism.yaml of Systole"));
        // Steps contain steps.
        top.insert("$defs".to_owned(), json!({"step": step()}));
    }
    schema
}

/// The schema of test files, as stored in `schemas/test.schema.json`.
pub const TEST_JSON_SCHEMA: &str = include_str!("../../schemas/test.schema.json");

/// Makes the schema of test files from their table of keys.
pub fn test_json_schema() -> Value {
    let mut schema = map(super::rehearsal::TOP);
    if let Value::Object(top) = &mut schema {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("a test file of Systole (*.test.yaml)"));
    }
    schema
}

/// A map of the keys below a path in the table.
fn map(table: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, key) in keys::under(table).filter(|(_, key)| key.built) {
        properties.insert(name.to_owned(), described(key));
        // A listener in Rust has no `run`.
        if key.default == "required" && !["listeners.NAME.run", "clients.NAME.token_env"].contains(&key.path)
        {
            required.push(json!(name));
        }
    }
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

fn described(key: &ConfigKey) -> Value {
    let mut schema = form(key);
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(format!("{}; default: {}", key.meaning, key.default)));
    }
    schema
}

/// One step of a workflow: its id, with text or a map.
fn step() -> Value {
    let below = keys::under(STEPS).next().map_or(json!(true), |(_, below)| described(below));
    json!({"type": "object", "minProperties": 1, "maxProperties": 1,
           "propertyNames": {"pattern": "^[a-z][a-z0-9-]{0,31}$"}, "additionalProperties": below})
}

/// A map of any names, each with the keys below `NAME`.
fn names(key: &ConfigKey, pattern: &str) -> Value {
    let below = keys::under(key.path).next().map_or(json!(true), |(_, below)| described(below));
    json!({"type": "object", "propertyNames": {"pattern": pattern}, "additionalProperties": below})
}

/// A text, or several. Other scalars in a list are also read as text.
fn lines() -> Value {
    json!({"type": ["string", "number", "boolean", "null", "array"],
           "items": {"type": ["string", "number", "boolean", "null"]}})
}

fn form(key: &ConfigKey) -> Value {
    // For the loader, a plain number or `true` is a text; for an editor it is not.
    let text = json!({"type": ["string", "number", "boolean"], "minLength": 1});
    match key.form {
        KeyForm::Later => json!(false),
        KeyForm::Map => map(key.path),
        KeyForm::Names(pattern) => names(key, pattern),
        KeyForm::TextOrNames => json!({"anyOf": [text, names(key, "")]}),
        KeyForm::WordOrNames(word) => json!({"anyOf": [{"const": word}, names(key, "")]}),
        KeyForm::TextOrMap => json!({"anyOf": [text, map(key.path)]}),
        KeyForm::Steps => json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}),
        KeyForm::Text { empty: true } => json!({"type": ["string", "number", "boolean"]}),
        KeyForm::Text { empty: false } => text,
        KeyForm::Compact => json!({"type": ["string", "array", "object"]}),
        KeyForm::List => json!({"type": "array", "items": text, "minItems": 1}),
        KeyForm::Set => json!({"type": "array", "items": text, "uniqueItems": true}),
        KeyForm::SetOf(words) => json!({"type": "array", "items": {"enum": words}, "uniqueItems": true}),
        KeyForm::Flag => json!({"type": "boolean"}),
        KeyForm::Count(least, most) => {
            json!({"type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": "^[0-9]+$"})
        }
        KeyForm::Words(words) => json!({"enum": words}),
        KeyForm::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        KeyForm::Name(pattern) => json!({"type": ["string", "boolean"], "pattern": pattern}),
        KeyForm::Amount(pattern) => json!({"type": ["string", "number"], "pattern": pattern, "minimum": 0}),
        KeyForm::Lines => lines(),
        KeyForm::LinesOrMap => json!({"anyOf": [lines(), map(key.path)]}),
        KeyForm::Maps => json!({"type": "array", "items": map(key.path), "minItems": 1}),
        KeyForm::Texts => json!({"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}),
        KeyForm::Anything => json!({}),
        KeyForm::Number(pattern) => json!({"type": ["string", "integer"], "pattern": pattern}),
    }
}
