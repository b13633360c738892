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

/// The schema, reduced to the part of JSON Schema that Anthropic accepts; it refuses every other keyword. Keywords
/// that only limit values are left out. `None` if the rest would mean something else.
pub(super) fn narrow_schema(schema: &Value) -> Option<Value> {
    let Value::Object(schema) = schema else { return None };
    let mut narrow = Map::new();
    for (key, value) in schema {
        let (key, value) = match key.as_str() {
            "type" | "enum" | "const" | "title" | "description" | "required" => (key.as_str(), value.clone()),
            "items" => (key.as_str(), narrow_schema(value)?),
            "properties" => {
                let properties = value.as_object()?.iter();
                let each = properties.map(|(name, one)| Some((name.clone(), narrow_schema(one)?)));
                (key.as_str(), Value::Object(each.collect::<Option<Map<_, _>>>()?))
            }
            "anyOf" | "oneOf" => {
                ("anyOf", value.as_array()?.iter().map(narrow_schema).collect::<Option<Value>>()?)
            }
            // References may be circular, and the other keywords require properties that have no name here.
            "$ref" | "$dynamicRef" | "patternProperties" | "allOf" | "if" | "not" => return None,
            "additionalProperties" if *value != json!(false) => return None,
            _ => continue,
        };
        if narrow.insert(key.to_owned(), value).is_some() {
            return None;
        }
    }
    let is_object = narrow.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.contains(&json!("object")),
        kind => *kind == json!("object"),
    });
    if is_object {
        narrow.get("properties")?;
        narrow.insert("additionalProperties".to_owned(), json!(false));
    }
    Some(Value::Object(narrow))
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
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
            json!({"anyOf": [], "oneOf": []}),
        ] {
            assert_eq!(narrow_schema(&other), None, "{other}");
        }
    }
}
