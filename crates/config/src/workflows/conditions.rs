//! Reads conditions: a map of paths, each with a value, a list of values, or a range.
//!
//! Input: the node of `when` or `until`. Output: paths and texts with their places. `judging` checks whether a path
//! leads anywhere and whether a value is possible.

use super::super::diagnostics::Diagnostics;
use super::super::key::{KeyForm, KeyRow};
use super::super::section::form;
use super::super::traps;
use super::super::tree::{Node, Value};
use super::super::value::{At, wrong_kind};
use super::step_values::{Condition, Wanted};
use systole_core::types::codes::Code;

/// Whether a text compares two things with an operator, as in other tools.
pub(super) fn is_comparison(text: &str) -> bool {
    ["==", "!=", ">", "<", "=", " is "].iter().any(|sign| text.contains(sign))
}

form! {
    /// A map of conditions, all of which must hold.
    pub(super) ConditionMap -> Vec<Condition> {
        KeyForm::Names(""), read_conditions, below &[KeyRow::any_name(
            "none", "the value at this path: a value, a list of values, or a range", KeyForm::Texts, &[],
        )]
    }
}

fn read_conditions(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Condition>> {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::Reported => return None,
        _ => {
            let fix = match &node.value {
                Value::Text { text, .. } => guess_meaning(text),
                _ => "{PATH: VALUE}, as {judge/score: 9..}".to_owned(),
            };
            wrong_kind(diagnostics, node, path, "a map", &fix);
            return None;
        }
    };
    if entries.is_empty() {
        let message = format!("{path}: it has no condition");
        diagnostics.report_value(node.span, &message, "{PATH: VALUE}, or leave the key out");
    }
    let mut found = Vec::new();
    for entry in entries {
        if traps::find_folded(diagnostics, entry) {
            continue;
        }
        let wanted = read_wanted(diagnostics, &entry.value, &entry.key, &format!("{path}.{}", entry.key));
        if !wanted.is_empty() {
            let path = At { at: entry.at, value: entry.key.clone() };
            found.push(Condition { path, wanted, at: entry.value.span });
        }
    }
    Some(found)
}

/// The correct form of a comparison.
fn guess_meaning(text: &str) -> String {
    let signs = [
        (">=", "", ".."),
        ("<=", "..", ""),
        ("==", "", ""),
        ("=", "", ""),
        (">", "'>", "'"),
        ("<", "'<", "'"),
    ];
    for (sign, before, behind) in signs {
        if let Some((path, value)) = text.split_once(sign) {
            let (path, value) = (path.trim(), value.trim());
            return format!("{{{path}: {before}{value}{behind}}}");
        }
    }
    format!("{{{}: VALUE}}", text.trim())
}

fn read_wanted(diagnostics: &mut Diagnostics, node: &Node, key: &str, path: &str) -> Vec<Wanted> {
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
                    Value::Reported => {}
                    _ => wrong_kind(diagnostics, item, path, "a value", "one value or range in each entry"),
                }
            }
            all
        }
        Value::Reported => Vec::new(),
        Value::Nothing => {
            let message = format!("{path}: it has no value");
            diagnostics.report(
                Code::ConfigMissing,
                node.span,
                &message,
                "a value, a list of values, or a range as 9..",
            );
            Vec::new()
        }
        Value::Map(entries) if !entries.is_empty() => {
            let fields: Vec<String> = entries.iter().map(|entry| format!("{key}/{}: …", entry.key)).collect();
            wrong_kind(diagnostics, node, path, "a value", &fields.join(", "));
            Vec::new()
        }
        Value::List(_) | Value::Map(_) => {
            wrong_kind(diagnostics, node, path, "a value", "a value, a list of values, or a range as 9..");
            Vec::new()
        }
    }
}
