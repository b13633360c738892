//! An answer that follows the JSON Schema of a request.
//!
//! A schema comes in; JSON goes out. It knows no more of JSON Schema than the schemas of tests need.

use serde_json::Value;

/// A JSON value that follows the schema: only what it requires, the first choice, the largest number.
pub(crate) fn instance(schema: &Value) -> String {
    instance_of(schema, schema).to_string()
}

fn instance_of(schema: &Value, root: &Value) -> Value {
    let first = |key: &str| schema.get(key)?.as_array()?.first();
    let choice = first("enum").or_else(|| schema.get("const"));
    let referred = || root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?);
    if let Some(choice) = choice {
        return choice.clone();
    }
    if let Some(inner) = referred().or_else(|| first("anyOf")).or_else(|| first("oneOf")) {
        return instance_of(inner, root);
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_u64);
    match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
        "object" => {
            let inner = |name: &Value| {
                let name = name.as_str()?;
                Some((name.to_owned(), instance_of(schema.get("properties")?.get(name)?, root)))
            };
            let required = schema.get("required").and_then(Value::as_array);
            Value::Object(required.into_iter().flatten().filter_map(inner).collect())
        }
        "array" => {
            let item = schema.get("items").map(|items| instance_of(items, root)).unwrap_or_default();
            Value::from(vec![item; usize::try_from(number("minItems").unwrap_or(0)).unwrap_or(0)])
        }
        "string" => {
            Value::from("x".repeat(usize::try_from(number("minLength").unwrap_or(1).max(1)).unwrap_or(1)))
        }
        "integer" | "number" => {
            schema.get("maximum").or_else(|| schema.get("minimum")).cloned().unwrap_or_else(|| Value::from(1))
        }
        "boolean" => Value::from(false),
        _ => Value::Null,
    }
}
