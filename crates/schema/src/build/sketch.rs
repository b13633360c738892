//! A smallest example of one element, written in the syntax of the input: as fields, or as JSON.
//!
//! A declaration comes in; a line for the fix of a missing part goes out. It is made from the smallest XML example,
//! so it is equally correct.

use serde_json::Value;

use crate::build::example;
use crate::build::given::ValueManner;
use crate::form::RecordSlot;
use crate::json::unfold;
use crate::limits;
use crate::shape::{Declaration, SchemaShape};
use crate::tree;

/// `limit=1`, `address.city=text address.street=text`, or `"limit": 1`: as many as required.
pub(crate) fn sketch_slot(
    schema: &SchemaShape,
    slot: &RecordSlot<'_>,
    path: &str,
    manner: ValueManner,
) -> Option<String> {
    let value = sketch_value(schema, slot.declaration, manner)?;
    let count = usize::try_from(slot.particle.min.max(1)).ok()?;
    let value = if slot.many { Value::Array(vec![value; count.min(limits::SHOWN)]) } else { value };
    write_sketch(&slot.key, &value, path, manner)
}

/// The same for one element at that path.
pub(crate) fn sketch_single(
    schema: &SchemaShape,
    declaration: &Declaration,
    path: &str,
    manner: ValueManner,
) -> Option<String> {
    write_sketch(&declaration.name, &sketch_value(schema, declaration, manner)?, path, manner)
}

/// A whole payload as JSON.
pub(crate) fn sketch_whole(schema: &SchemaShape, declaration: &Declaration) -> Option<String> {
    let xml = example::build_alone(schema, declaration)?;
    let value = unfold::root_record(schema, declaration, &tree::read_tree(&xml).ok()?)?;
    Some(value.to_string()).filter(|sketch| sketch.len() <= limits::SHOWN)
}

fn sketch_value(schema: &SchemaShape, declaration: &Declaration, manner: ValueManner) -> Option<Value> {
    if declaration.marks.file && manner == ValueManner::Fields {
        return Some(Value::from("@PATH"));
    }
    let xml = example::build_alone(schema, declaration)?;
    unfold::unfold_element(schema, declaration, &tree::read_tree(&xml).ok()?)
}

fn write_sketch(name: &str, value: &Value, path: &str, manner: ValueManner) -> Option<String> {
    let sketch = match manner {
        ValueManner::Json => format!("\"{name}\": {value}"),
        ValueManner::Fields => {
            let mut fields = Vec::new();
            flatten_value(path, value, &mut fields);
            fields.join(" ")
        }
    };
    (sketch.len() <= limits::SHOWN && !sketch.is_empty()).then_some(sketch)
}

fn flatten_value(path: &str, value: &Value, fields: &mut Vec<String>) {
    match value {
        Value::Object(entries) if entries.is_empty() => fields.push(format!("{path}=")),
        Value::Object(entries) => {
            for (key, value) in entries {
                match key.as_str() {
                    "." => flatten_value(path, value, fields),
                    key => {
                        let key = key.strip_prefix("..").map_or(key.to_owned(), |name| format!("@{name}"));
                        flatten_value(&format!("{path}.{key}"), value, fields);
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| flatten_value(path, item, fields)),
        Value::String(text) => fields.push(format!("{path}={}", quote_text(text))),
        other => fields.push(format!("{path}={other}")),
    }
}

/// A value as one shell word.
pub(crate) fn quote_text(text: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+' | ',' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
