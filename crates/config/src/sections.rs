//! The section of each listener as text: the one below `listeners` or `agents`, with the settings from the command
//! line applied.
//!
//! Input: the file's tree. Output: YAML with the same values. Comments and layout are not kept. A scalar without
//! quotes stays without quotes, so `1.10` and `true` keep their meaning.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use systole_core::types::composition::ListenerSection;
use systole_core::types::ids::Name;

use super::tree::{Entry, Node, Value};

/// The sections whose entries are listeners.
const OF_LISTENERS: [&str; 2] = ["listeners", "agents"];

/// The section of each listener of the file.
pub(super) fn of_listeners(root: &Node) -> BTreeMap<Name, ListenerSection> {
    let mut sections = BTreeMap::new();
    for of in OF_LISTENERS {
        let Some(Value::Map(listeners)) = root.child(of).map(|section| &section.value) else { continue };
        for Entry { key, value, .. } in listeners {
            if let Ok(name) = Name::parse(key) {
                let mut text = String::new();
                block(&mut text, value, 0);
                sections.insert(name, ListenerSection { path: format!("{of}.{key}"), text });
            }
        }
    }
    sections
}

/// Writes a value on its own lines, with this indentation.
fn block(out: &mut String, node: &Node, indent: usize) {
    let blank = " ".repeat(indent);
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for Entry { key, value, .. } in entries {
                out.extend([&blank, &*scalar(key, is_plain_key(key)), ":"]);
                inside(out, value, indent);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for item in items {
                out.extend([&blank, "-"]);
                inside(out, item, indent);
            }
        }
        _ => out.extend([&*blank, &line(node), "\n"]),
    }
}

/// Writes the value after a key or a list marker: on the same line or below it.
fn inside(out: &mut String, node: &Node, indent: usize) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            block(out, node, indent + 2);
        }
        Value::List(items) if !items.is_empty() => {
            out.push('\n');
            block(out, node, indent + 2);
        }
        _ => out.extend([" ", &line(node), "\n"]),
    }
}

/// A value on one line.
fn line(node: &Node) -> String {
    match &node.value {
        Value::Text { text, plain } => scalar(text, *plain),
        Value::Map(_) => "{}".to_owned(),
        Value::List(_) => "[]".to_owned(),
        Value::Nothing | Value::Reported => "null".to_owned(),
    }
}

/// A scalar: unchanged if it had no quotes and has one line, else in double quotes.
fn scalar(text: &str, plain: bool) -> String {
    if plain && !text.is_empty() && !text.contains(['\n', '\r']) { text.to_owned() } else { quote_text(text) }
}

/// Whether a key has the same meaning without quotes.
fn is_plain_key(key: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(is_sign)
}

/// A scalar in double quotes.
fn quote_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                // Writing into a String cannot fail.
                let _written = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
