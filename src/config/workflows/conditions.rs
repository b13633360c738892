//! Reads conditions as they are written: a map of paths, each with a value, a list of values, or a range.
//!
//! In comes the node of `when` or `until`, out come paths and texts with their places. Whether a path leads anywhere,
//! and whether a value can be met, is for `judging`.

use super::super::desk::Desk;
use super::super::value::{At, wrong_kind};
use super::super::yaml::{Node, Value};
use super::{Condition, Wanted};
use systole_core::types::codes::Code;

/// Whether a text compares two things by a sign, as other tools have it.
pub(super) fn is_comparison(text: &str) -> bool {
    ["==", "!=", ">", "<", "=", " is "].iter().any(|sign| text.contains(sign))
}

/// Reads a map of conditions, all of which must hold.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Condition> {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::Told => return Vec::new(),
        _ => {
            let mend = match &node.value {
                Value::Text { text, .. } => meant(text),
                _ => "{PATH: VALUE}, as {judge/score: 9..}".to_owned(),
            };
            wrong_kind(desk, node, path, "a map", &mend);
            return Vec::new();
        }
    };
    if entries.is_empty() {
        let told = format!("{path}: no condition stands in it");
        desk.tell(Code::ConfigValue, node.span, &told, Some("{PATH: VALUE}, or leave the key out"));
    }
    let mut found = Vec::new();
    for entry in entries {
        let wanted = wanted(desk, &entry.value, &entry.key, &format!("{path}.{}", entry.key));
        if !wanted.is_empty() {
            let path = At { at: entry.at, value: entry.key.clone() };
            found.push(Condition { path, wanted, at: entry.value.span });
        }
    }
    found
}

/// What somebody meant who wrote a comparison.
fn meant(text: &str) -> String {
    for (sign, behind) in [(">=", ".."), ("<=", ""), ("==", ""), ("=", ""), (">", ".."), ("<", "")] {
        if let Some((path, value)) = text.split_once(sign) {
            let (path, value) = (path.trim(), value.trim());
            let before = if sign.starts_with('<') { ".." } else { "" };
            return format!("{{{path}: {before}{value}{behind}}}");
        }
    }
    format!("{{{}: VALUE}}", text.trim())
}

fn wanted(desk: &mut Desk, node: &Node, key: &str, path: &str) -> Vec<Wanted> {
    match &node.value {
        Value::Text { text, plain } => {
            vec![Wanted { at: node.span, text: text.clone(), is_plain: *plain }]
        }
        Value::List(items) if !items.is_empty() => {
            let mut all = Vec::new();
            for item in items {
                match &item.value {
                    Value::Text { text, plain } => {
                        all.push(Wanted { at: item.span, text: text.clone(), is_plain: *plain });
                    }
                    Value::Told => {}
                    _ => wrong_kind(desk, item, path, "a value", "one value or range in each entry"),
                }
            }
            all
        }
        Value::Told => Vec::new(),
        Value::Nothing => {
            let told = format!("{path}: no value stands behind it");
            desk.tell(
                Code::ConfigMissing,
                node.span,
                &told,
                Some("a value, a list of values, or a range as 9.."),
            );
            Vec::new()
        }
        Value::Map(entries) if !entries.is_empty() => {
            let fields: Vec<String> = entries.iter().map(|entry| format!("{key}/{}: …", entry.key)).collect();
            wrong_kind(desk, node, path, "a value", &fields.join(", "));
            Vec::new()
        }
        Value::List(_) | Value::Map(_) => {
            wrong_kind(desk, node, path, "a value", "a value, a list of values, or a range as 9..");
            Vec::new()
        }
    }
}
