//! The JSON Schema of an answer, for the providers' own fields. Parts that a provider does not accept are left out
//! of its request: the prompt has the schema too, and the final is checked against it in any case.

use serde_json::{Map, Value, json};

use super::{ModelRequest, RequestToolChoice};

/// The schema of a request, if its root is an object: several providers accept no other. Together with callable tools
/// it goes only to providers that accept both. Others refuse the request, or stop calling tools.
pub(super) fn find_schema(request: &ModelRequest, takes_both: bool) -> Option<&Value> {
    let schema = request.schema.as_deref()?;
    let is_alone = request.tools.is_empty() || request.choice == Some(RequestToolChoice::None);
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    (is_object && (is_alone || takes_both)).then_some(schema)
}

/// What is left of a schema for a provider.
#[derive(Clone, Copy)]
struct SchemaForm {
    /// Keywords that limit values, and that the provider accepts.
    limits: &'static [&'static str],
    /// Whether every property has to be there. One that may be missing is `null` then.
    is_total: bool,
    /// Whether limits that are left out become words, for a schema that the model sees nowhere else.
    has_words: bool,
}

const ANTHROPIC: SchemaForm = SchemaForm { limits: &[], is_total: false, has_words: false };
const OPENAI: SchemaForm = SchemaForm {
    limits: &[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ],
    is_total: true,
    has_words: false,
};

/// Keywords that are worth a word if they are left out.
const WORTH: &[&str] = &[
    "default",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// The schema, reduced to the part of JSON Schema that Anthropic accepts; it refuses every other keyword. Keywords
/// that only limit values are left out. `None` if the rest would mean something else.
pub(super) fn narrow_schema(schema: &Value) -> Option<Value> {
    ANTHROPIC.filter_schema(schema)
}

/// The same for the parameters of a tool.
pub(super) fn make_narrow_tool(schema: &Value) -> Option<Value> {
    let schema = SchemaForm { has_words: true, ..ANTHROPIC }.filter_schema(schema)?;
    is_object(&schema).then_some(schema)
}

/// The schema as OpenAI holds an answer to the letter: each property is required, and `null` if it is missing. `None` if
/// that is impossible, as for an object with any properties.
pub(super) fn make_strict(schema: &Value) -> Option<Value> {
    OPENAI.filter_schema(schema).filter(is_object)
}

/// The same for the parameters of a tool.
pub(super) fn make_strict_tool(schema: &Value) -> Option<Value> {
    SchemaForm { has_words: true, ..OPENAI }.filter_schema(schema).filter(is_object)
}

impl SchemaForm {
    fn filter_schema(self, schema: &Value) -> Option<Value> {
        let Value::Object(schema) = schema else { return None };
        if let (true, Some(named)) = (self.is_total, schema.get("$ref")) {
            let is_local = named.as_str().is_some_and(|named| named.starts_with("#/$defs/"));
            return is_local.then(|| json!({ "$ref": named }));
        }
        let mut narrow = Map::new();
        let mut words: Vec<String> = Vec::new();
        for (key, value) in schema {
            let (key, value) = match key.as_str() {
                "type" | "enum" | "const" | "title" | "description" | "required" => {
                    (key.as_str(), value.clone())
                }
                limit if self.limits.contains(&limit) => (limit, value.clone()),
                "items" => (key.as_str(), self.filter_schema(value)?),
                "properties" => (key.as_str(), self.filter_each(value)?),
                "$defs" if self.is_total => (key.as_str(), self.filter_each(value)?),
                // Beside properties it only limits which of them are there.
                "anyOf" | "oneOf" | "allOf" | "not" | "if" | "then" | "else"
                    if self.is_total && schema.contains_key("properties") =>
                {
                    (!value.to_string().contains("\"properties\"")).then_some(())?;
                    continue;
                }
                "anyOf" | "oneOf" => (
                    "anyOf",
                    value.as_array()?.iter().map(|one| self.filter_schema(one)).collect::<Option<Value>>()?,
                ),
                // References may be circular, and the other keywords require properties that have no name here.
                "$ref" | "$dynamicRef" | "patternProperties" | "allOf" | "if" | "not" => return None,
                "additionalProperties" if *value != json!(false) => return None,
                other => {
                    words.extend(WORTH.contains(&other).then(|| format!("{other}: {value}")));
                    continue;
                }
            };
            if narrow.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        if self.has_words && !words.is_empty() {
            let about = narrow.get("description").and_then(Value::as_str).map(|about| format!("{about} "));
            let about = format!("{}({})", about.unwrap_or_default(), words.join(", "));
            narrow.insert("description".to_owned(), json!(about));
        }
        self.close_objects(narrow)
    }

    fn filter_each(self, schemas: &Value) -> Option<Value> {
        let each =
            schemas.as_object()?.iter().map(|(name, one)| Some((name.clone(), self.filter_schema(one)?)));
        Some(Value::Object(each.collect::<Option<Map<_, _>>>()?))
    }

    /// Closes an object. `None` if the schema leaves open what a value is.
    fn close_objects(self, mut narrow: Map<String, Value>) -> Option<Value> {
        let says = ["type", "enum", "const", "anyOf"].iter().any(|key| narrow.contains_key(*key));
        let is_list = has_type(&narrow, "array") && !narrow.contains_key("items");
        if !says || (self.is_total && is_list) {
            return None;
        }
        if self.is_total && !narrow.contains_key("type") {
            let kind = find_kind(&narrow);
            narrow.extend(kind.map(|kind| ("type".to_owned(), json!(kind))));
        }
        if has_type(&narrow, "object") {
            narrow.get("properties")?;
            narrow.insert("additionalProperties".to_owned(), json!(false));
            if self.is_total {
                require_all(&mut narrow);
            }
        }
        Some(Value::Object(narrow))
    }
}

/// The type of all values that a schema lists, which OpenAI wants to be said.
fn find_kind(schema: &Map<String, Value>) -> Option<&'static str> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let mut kinds = listed.chain(schema.get("const")).map(|value| match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(_) => Some("number"),
        _ => None,
    });
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

fn is_object(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("object"))
}

fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        kind => kind == name,
    })
}

/// Makes every property required. One that was not may be `null`.
fn require_all(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut names = Vec::new();
    for (name, schema) in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if !required.iter().any(|one| one == name) && !may_be_null(schema) {
            *schema = allow_null(schema.take());
        }
        names.push(json!(name));
    }
    object.insert("required".to_owned(), Value::Array(names));
}

/// Whether `null` follows the schema by its own words.
fn may_be_null(schema: &Value) -> bool {
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let is_null = |value: Option<&Value>| value == Some(&Value::Null);
    let types = schema.get("type") == Some(&json!("null")) || list("type").any(|kind| kind == "null");
    let is_limited = schema.get("enum").is_some() || schema.get("const").is_some();
    let by_value = is_null(schema.get("const")) || list("enum").any(Value::is_null);
    (types && !is_limited) || by_value || list("anyOf").chain(list("oneOf")).any(may_be_null)
}

/// The same schema, or `null`. The words stay outside, where readers look for them.
fn allow_null(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    let is_plain = ["enum", "const", "properties", "items"].iter().all(|key| !fields.contains_key(*key));
    if let (true, Some(Value::String(kind))) = (is_plain, fields.get("type")) {
        let kinds = json!([kind, "null"]);
        fields.insert("type".to_owned(), kinds);
        return schema;
    }
    let about = fields.remove("description");
    let mut outer = Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "null"}]))]);
    outer.extend(about.map(|about| ("description".to_owned(), about)));
    Value::Object(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_narrowed_to_what_every_answer_may_still_be() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["n"],
            "properties": {
                "n": {"type": "integer", "minimum": 1, "description": "a number"},
                "list": {"type": "array", "minItems": 2, "items": {"type": "object", "properties": {}}},
                "one": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            },
        });
        let narrow = json!({
            "type": "object", "required": ["n"], "additionalProperties": false,
            "properties": {
                "n": {"type": "integer", "description": "a number"},
                "list": {"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": false}},
                "one": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        });
        assert_eq!(narrow_schema(&schema), Some(narrow));
        for other in [
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            json!({"type": "object", "properties": {"a": {"description": "anything"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
            json!({"anyOf": [], "oneOf": []}),
        ] {
            assert_eq!(narrow_schema(&other), None, "{other}");
        }
    }

    #[test]
    fn a_strict_schema_requires_all_and_is_null_where_something_may_be_missing() {
        let schema = json!({
            "type": "object", "required": ["n"], "title": "t", "additionalProperties": false,
            "properties": {
                "n": {"type": "integer", "minimum": 1, "default": 3},
                "s": {"type": "string", "minLength": 2, "pattern": "^a", "description": "a word"},
                "e": {"type": "string", "enum": ["a", "b"], "description": "a choice"},
                "list": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/part", "description": "x"}},
                "open": {"type": ["string", "null"]},
                "one": {"const": "x"},
            },
            "anyOf": [{"required": ["s"]}, {"required": ["e"]}],
            "$defs": {"part": {"type": "object", "properties": {"of": {"$ref": "#/$defs/part"}}}},
        });
        let strict = |words: &str| {
            json!({
                "type": "object", "title": "t", "additionalProperties": false,
                "required": ["e", "list", "n", "one", "open", "s"],
                "properties": {
                    "n": {"type": "integer", "minimum": 1},
                    "s": {"type": ["string", "null"], "description": words},
                    "e": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}], "description": "a choice"},
                    "list": {"anyOf": [{"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/part"}},
                        {"type": "null"}]},
                    "one": {"anyOf": [{"type": "string", "const": "x"}, {"type": "null"}]},
            "open": {"type": ["string", "null"]},
                },
                "$defs": {"part": {"type": "object", "additionalProperties": false, "required": ["of"], "properties": {
                    "of": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "null"}]}}}},
            })
        };
        assert_eq!(make_strict(&schema), Some(strict("a word")));
        let mut with_words = strict("a word (minLength: 2, pattern: \"^a\")");
        with_words["properties"]["n"]["description"] = json!("(default: 3)");
        assert_eq!(make_strict_tool(&schema), Some(with_words));
        let with = |one: Value| json!({"type": "object", "properties": {"a": one}});
        for open in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {}, "allOf": [{"properties": {"b": {}}}]}),
            json!({"$ref": "other.json"}),
        ] {
            assert_eq!(make_strict(&with(open.clone())), None, "{open}");
        }
        assert_eq!(make_strict(&json!({"anyOf": [{"type": "object", "properties": {}}]})), None);
    }
}
