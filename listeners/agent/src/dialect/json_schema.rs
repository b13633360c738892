//! Checks whether the JSON of a final follows the composer's schema, with our own messages.
//!
//! A schema and a value come in; nothing, or the faulty places with what is expected there, goes
//! out.

use std::borrow::Cow;

use serde_json::Value;

/// The message for text that is not JSON.
pub(super) fn describe_unread(error: &serde_json::Error) -> String {
    format!("Its parser says: {error}.")
}

/// Checks a value.
///
/// # Errors
/// The places where it does not follow the schema.
pub(super) fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|_| "The schema itself cannot be read.".to_owned())?;
    let places: Vec<String> = validator
        .iter_errors(value)
        .take(crate::limits::PLACES)
        .map(|error| {
            let place = error.instance_path().to_string();
            let at = if place.is_empty() { "The whole" } else { place.as_str() };
            let rule = error.schema_path().to_string();
            let asked = schema.pointer(&rule).map(ToString::to_string).unwrap_or_default();
            let shown: String = asked.chars().take(200).collect();
            format!("{at} breaks {rule}: {shown}.")
        })
        .collect();
    if places.is_empty() { Ok(()) } else { Err(places.join("\n")) }
}

/// A JSON text without the properties that are `null` because they are missing: schemas that hold an answer to the letter
/// require each property. Any other text stays as it is.
pub(super) fn drop_missing<'t>(schema: &Value, text: &'t str) -> Cow<'t, str> {
    let Ok(mut value) = serde_json::from_str::<Value>(text.trim()) else { return Cow::Borrowed(text) };
    if check_value(schema, &value).is_err() && drop_nulls(schema, schema, &mut value, 0) {
        return Cow::Owned(value.to_string());
    }
    Cow::Borrowed(text)
}

/// Takes away each `null` of a property that may be missing and takes none. Whether there was one.
fn drop_nulls(root: &Value, schema: &Value, value: &mut Value, depth: usize) -> bool {
    if depth > crate::limits::SCHEMA_DEPTH {
        return false;
    }
    let deeper = |schema: &Value, value: &mut Value| drop_nulls(root, schema, value, depth + 1);
    let named = schema.get("$ref").and_then(Value::as_str).and_then(|named| named.strip_prefix('#'));
    let mut changed = named.and_then(|named| root.pointer(named)).is_some_and(|part| deeper(part, value));
    for branch in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten()
    {
        changed |= deeper(branch, value);
    }
    match value {
        Value::Array(items) => {
            let each = schema.get("items");
            for item in items {
                changed |= each.is_some_and(|each| deeper(each, item));
            }
        }
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
            for (name, part) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let is_missing = fields.get(name).is_some_and(Value::is_null) && !is_required(name);
                if is_missing && check_value(&with_parts(root, part), &Value::Null).is_err() {
                    fields.remove(name);
                    changed = true;
                } else if let Some(field) = fields.get_mut(name) {
                    changed |= deeper(part, field);
                }
            }
        }
        _ => {}
    }
    changed
}

/// A part of a schema as one of its own, with what it may refer to.
fn with_parts(root: &Value, part: &Value) -> Value {
    let mut part = part.clone();
    if let (Some(fields), Some(parts)) = (part.as_object_mut(), root.get("$defs")) {
        fields.insert("$defs".to_owned(), parts.clone());
    }
    part
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_means_missing_only_where_a_property_may_be_missing_and_takes_none() {
        let schema = json!({
            "type": "object", "required": ["n", "parts"],
            "properties": {
                "n": {"type": ["integer", "null"]}, "s": {"type": "string"}, "free": {},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
                "any": {"anyOf": [{"type": "object", "properties": {"z": {"const": 1}}}, {"type": "string"}]},
            },
            "$defs": {"part": {"type": "object", "properties": {"of": {"$ref": "#/$defs/part"}}}},
        });
        let text = r#"{"s": null, "n": null, "free": null, "parts": [{"of": null}, {"of": {"of": null}}], "any": {"z": null}}"#;
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let wanted = json!({"n": null, "free": null, "parts": [{}, {"of": {}}], "any": {}});
        let dropped = drop_missing(&schema, text);
        assert_eq!(read(&dropped), wanted);
        assert_eq!(check_value(&schema, &read(&dropped)), Ok(()));
        for other in [r#"{ "n": 1.0, "parts": [] }"#, r#"{"n": null, "parts": null}"#, "no JSON", "null"] {
            assert_eq!(drop_missing(&schema, other), other);
        }
    }
}
