//! One spelling of a JSON value, whatever the order of its keys.
//!
//! A value comes in; text goes out.

use serde_json::{Map, Value};

/// A value as JSON with sorted keys and without blanks.
pub(super) fn write_sorted(value: &Value) -> String {
    sort_keys(value).to_string()
}

/// The same value with sorted keys. Maps of `serde_json` are sorted unless another crate of the build asks for the
/// order of insertion.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        Value::Object(fields) => {
            let mut entries: Vec<(&String, &Value)> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sort_keys(value)));
            Value::Object(Map::from_iter(entries))
        }
        other => other.clone(),
    }
}
