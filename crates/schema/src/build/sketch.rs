//! A smallest example of one element, written in the syntax of the input: as fields, or as JSON.
//!
//! A declaration comes in; a line for the fix of a missing part goes out. It is made from the smallest XML example,
//! so it is equally correct.

use serde_json::Value;

use crate::build::example;
use crate::build::given::Manner;
use crate::form::Slot;
use crate::json::unfold;
use crate::shape::{Declaration, Schema};
use crate::tree;

/// The longest useful sketch.
const LONGEST: usize = 400;

/// `limit=1`, `address.city=text address.street=text`, or `"limit": 1`: as many as required.
pub(crate) fn of(schema: &Schema, slot: &Slot<'_>, path: &str, manner: Manner) -> Option<String> {
    let value = value(schema, slot.declaration)?;
    let count = usize::try_from(slot.particle.min.max(1)).ok()?;
    let value = if slot.many { Value::Array(vec![value; count.min(LONGEST)]) } else { value };
    written(&slot.key, &value, path, manner)
}

/// The same for one element at that path.
pub(crate) fn single(
    schema: &Schema,
    declaration: &Declaration,
    path: &str,
    manner: Manner,
) -> Option<String> {
    written(&declaration.name, &value(schema, declaration)?, path, manner)
}

/// A whole payload as JSON.
pub(crate) fn whole(schema: &Schema, declaration: &Declaration) -> Option<String> {
    let xml = example::alone(schema, declaration)?;
    let value = unfold::root_record(schema, declaration, &tree::read(&xml).ok()?)?;
    Some(value.to_string()).filter(|sketch| sketch.len() <= LONGEST)
}

fn value(schema: &Schema, declaration: &Declaration) -> Option<Value> {
    let xml = example::alone(schema, declaration)?;
    unfold::element(schema, declaration, &tree::read(&xml).ok()?)
}

fn written(name: &str, value: &Value, path: &str, manner: Manner) -> Option<String> {
    let sketch = match manner {
        Manner::Json => format!("\"{name}\": {value}"),
        Manner::Fields => {
            let mut fields = Vec::new();
            flatten(path, value, &mut fields);
            fields.join(" ")
        }
    };
    (sketch.len() <= LONGEST && !sketch.is_empty()).then_some(sketch)
}

fn flatten(path: &str, value: &Value, fields: &mut Vec<String>) {
    match value {
        Value::Object(entries) if entries.is_empty() => fields.push(format!("{path}=")),
        Value::Object(entries) => {
            for (key, value) in entries {
                match key.as_str() {
                    "." => flatten(path, value, fields),
                    key => {
                        let key = key.strip_prefix("..").map_or(key.to_owned(), |name| format!("@{name}"));
                        flatten(&format!("{path}.{key}"), value, fields);
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| flatten(path, item, fields)),
        Value::String(text) => fields.push(format!("{path}={}", quoted(text))),
        other => fields.push(format!("{path}={other}")),
    }
}

/// A value as one shell word.
pub(crate) fn quoted(text: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+' | ',' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
