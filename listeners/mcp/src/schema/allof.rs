//! Two JSON Schemas that both apply, as one.
//!
//! Schemas come in; one schema goes out, or the reason why there is no simple one.

use serde_json::{Map, Value};

use super::keyword::{find_target, is_annotation};
use crate::limits;

/// The fields of a schema together with its `allOf`.
pub(super) fn merge_all(fields: &Map<String, Value>, root: &Value) -> Result<Map<String, Value>, String> {
    let mut own = fields.clone();
    let Some(Value::Array(parts)) = own.remove("allOf") else { return Err("it is no list".to_owned()) };
    let mut budget = limits::BRANCHES;
    let mut whole = own;
    for part in &parts {
        whole = merge_into(whole, part, root, &mut budget)?;
    }
    Ok(whole)
}

/// Two schemas that both apply.
pub(super) fn merge_two(
    outer: &Map<String, Value>,
    branch: &Value,
    root: &Value,
) -> Result<Map<String, Value>, String> {
    merge_into(outer.clone(), branch, root, &mut limits::BRANCHES.clone())
}

fn merge_into(
    whole: Map<String, Value>,
    part: &Value,
    root: &Value,
    budget: &mut usize,
) -> Result<Map<String, Value>, String> {
    *budget = budget.checked_sub(1).ok_or("it has too many parts")?;
    let part = match part {
        Value::Object(part) => part,
        Value::Bool(true) => return Ok(whole),
        _ => return Err("one of its parts admits nothing".to_owned()),
    };
    if let Some(pointer) = part.get("$ref") {
        let is_alone = whole.keys().all(|key| is_annotation(key));
        if is_alone && part.keys().all(|key| is_annotation(key) || key == "$ref") {
            // Only a reference: it stays one, so that a type which contains itself ends.
            let mut only = whole;
            only.entry("$ref").or_insert_with(|| pointer.clone());
            return Ok(only);
        }
        let Some(found) = pointer.as_str().and_then(|pointer| find_target(root, pointer)) else {
            return Err("one of its parts leads out of the schema".to_owned());
        };
        let mut beside = part.clone();
        beside.remove("$ref");
        let whole = merge_into(whole, found, root, budget)?;
        return merge_into(whole, &Value::Object(beside), root, budget);
    }
    if let Some(Value::Array(inner)) = part.get("allOf") {
        let mut whole = whole;
        for one in inner {
            whole = merge_into(whole, one, root, budget)?;
        }
        let mut beside = part.clone();
        beside.remove("allOf");
        return merge_into(whole, &Value::Object(beside), root, budget);
    }
    let mut whole = whole;
    if let Some(pointer) = whole.remove("$ref") {
        let Some(found) = pointer.as_str().and_then(|pointer| find_target(root, pointer)) else {
            return Err("one of its parts leads out of the schema".to_owned());
        };
        whole = merge_into(whole, found, root, budget)?;
    }
    check_closed(&whole, part)?;
    check_closed(part, &whole)?;
    for (key, value) in part {
        match whole.get_mut(key) {
            None => drop(whole.insert(key.clone(), value.clone())),
            Some(known) if known == value || is_annotation(key) => {}
            Some(known) => merge_keyword(key, known, value)?,
        }
    }
    Ok(whole)
}

/// One keyword of two schemas.
fn merge_keyword(key: &str, known: &mut Value, value: &Value) -> Result<(), String> {
    match (key, known, value) {
        ("properties", Value::Object(known), Value::Object(more)) => {
            for (name, schema) in more {
                match known.get(name) {
                    None => drop(known.insert(name.clone(), schema.clone())),
                    Some(same) if same == schema => {}
                    Some(_) => return Err(format!("two of its parts say different things about {name}")),
                }
            }
            Ok(())
        }
        ("required", Value::Array(known), Value::Array(more)) => {
            for name in more {
                if !known.contains(name) {
                    known.push(name.clone());
                }
            }
            Ok(())
        }
        _ => Err(format!("two of its parts have a different {key}")),
    }
}

/// Whether one schema forbids properties that the other has.
fn check_closed(one: &Map<String, Value>, other: &Map<String, Value>) -> Result<(), String> {
    if one.get("additionalProperties").is_none_or(|further| *further == Value::Bool(true)) {
        return Ok(());
    }
    let names = |fields: &Map<String, Value>| {
        let known = fields.get("properties").and_then(Value::as_object);
        known.map(|known| known.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let known = names(one);
    if names(other).iter().all(|name| known.contains(name)) {
        Ok(())
    } else {
        Err("one of its parts allows no properties of the others".to_owned())
    }
}
