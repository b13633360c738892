//! Parameters that the file passes to a provider unchanged: from YAML to JSON, without guessing.
//!
//! Input: a node. Output: its value in JSON. A number that JSON cannot write, or that would lose digits, is
//! rejected with the correct form.

use serde_json::{Map, Number, Value as Json};

use super::diagnostics::Diagnostics;
use super::key::{KeyForm, KeyRow};
use super::section::form;
use super::tree::{Entry, Node, Value};
use super::value::{join_path, map};

form! {
    /// A map of any values. Unreadable ones are reported and left out.
    pub(super) FreeParameters -> Map<String, Json> {
        KeyForm::Names(""), read_parameters, show |values: &Map<_, _>| Json::Object(values.clone()).to_string(),
        below &[KeyRow::any_name("none", "one parameter: a value, a list or a map", KeyForm::Anything, &[])]
    }
}

fn read_parameters(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Map<String, Json>> {
    let entries = map(diagnostics, node, node.span, path)?;
    Some(object(diagnostics, entries, path))
}

/// The entries of a map as JSON. Unreadable entries are reported and left out.
fn object(diagnostics: &mut Diagnostics, entries: &[Entry], path: &str) -> Map<String, Json> {
    let mut object = Map::new();
    for entry in entries {
        if let Some(value) = json(diagnostics, &entry.value, &join_path(path, &entry.key)) {
            object.insert(entry.key.clone(), value);
        }
    }
    object
}

fn json(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Json> {
    match &node.value {
        Value::Nothing => Some(Json::Null),
        Value::Reported => None,
        Value::Text { text, plain: false } => Some(Json::String(text.clone())),
        Value::Text { text, plain: true } => match text.as_str() {
            "true" => Some(Json::Bool(true)),
            "false" => Some(Json::Bool(false)),
            text if is_yaml_number(text) => number(diagnostics, node, text, path),
            text => Some(Json::String(text.to_owned())),
        },
        Value::List(items) => {
            Some(Json::Array(items.iter().filter_map(|item| json(diagnostics, item, path)).collect()))
        }
        Value::Map(entries) => Some(Json::Object(object(diagnostics, entries, path))),
    }
}

/// Whether YAML 1.2 reads a plain text as a number.
fn is_yaml_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return digits(octal);
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let is_exponent = exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)));
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", after)) => digits(after),
        Some((before, after)) => digits(before) && (after.is_empty() || digits(after)),
        None => digits(mantissa),
    };
    is_mantissa && is_exponent
}

fn number(diagnostics: &mut Diagnostics, node: &Node, text: &str, path: &str) -> Option<Json> {
    let found = serde_json::from_str::<Number>(text).ok();
    let is_whole = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let is_exact = |number: &Number| !is_whole || number.is_u64() || number.is_i64() || text == "-0";
    if let Some(number) = found.filter(is_exact) {
        return Some(Json::Number(number));
    }
    let message = format!("{path}: `{text}` is a number that JSON cannot hold as it is written");
    let fix = "a number such as 0.5 or 20, with digits before the point; quotes, if it is a text";
    diagnostics.report_value(node.span, &message, fix);
    None
}
