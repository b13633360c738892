//! How the tools of a server differ from the pinned ones, in words for a person.
//!
//! Two lists come in; lines go out, at most as many as a person reads. Texts of the server are shown with every hidden
//! character.

use std::fmt;

use serde_json::{Map, Value};

use super::judge::shorten_text;
use super::sorted_json;
use super::tool::ToolDefinition;
use crate::limits;

/// How two lists of tools differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListDifference {
    /// The differences, one per line.
    pub lines: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl ListDifference {
    /// The differences between the pinned tools and those that a server lists now.
    #[must_use]
    pub fn between(pinned: &[ToolDefinition], listed: &[ToolDefinition]) -> Self {
        let mut difference = Self::default();
        for tool in pinned {
            match listed.iter().find(|other| other.name == tool.name) {
                None => difference.add_line(format!("{}: was removed", show_text(&tool.name))),
                Some(other) => difference.add_tool(tool, other),
            }
        }
        for (at, tool) in listed.iter().enumerate() {
            let name = show_text(&tool.name);
            if !pinned.iter().any(|known| known.name == tool.name) {
                difference.add_line(format!("{name}: is new"));
            }
            if listed.iter().take(at).any(|before| before.name == tool.name) {
                difference.add_line(format!("{name}: is listed twice"));
            }
        }
        difference
    }

    /// Whether the lists are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn add_line(&mut self, line: String) {
        if self.lines.len() < limits::DIFFERENCE_LINES {
            self.lines.push(line);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn add_tool(&mut self, before: &ToolDefinition, now: &ToolDefinition) {
        let value = |tool| serde_json::to_value(tool).unwrap_or_default();
        let mut lines = Vec::new();
        compare_values("", Some(&value(before)), Some(&value(now)), &mut lines);
        let name = show_text(&before.name);
        let total = lines.len();
        lines.into_iter().take(limits::TOOL_LINES).for_each(|line| self.add_line(format!("{name}: {line}")));
        if total > limits::TOOL_LINES {
            self.add_line(format!("{name}: {} more differences", total.saturating_sub(limits::TOOL_LINES)));
        }
    }
}

impl fmt::Display for ListDifference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines.join("\n"))?;
        if self.more > 0 { write!(out, "\n{} more differences", self.more) } else { Ok(()) }
    }
}

fn show_text(text: &str) -> String {
    let mut shown = shorten_text(text);
    if shown.len() > limits::DIFFERENCE_BYTES {
        shown.truncate(shown.floor_char_boundary(limits::DIFFERENCE_BYTES));
        shown.push('…');
    }
    shown
}

fn compare_values(place: &str, before: Option<&Value>, now: Option<&Value>, lines: &mut Vec<String>) {
    let spelt = |value: &Value| show_text(&sorted_json::write_sorted(value));
    match (before, now) {
        (Some(before), Some(now)) if before == now => {}
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            for key in list_keys(before, now) {
                let place = if place.is_empty() { key.clone() } else { format!("{place}/{key}") };
                compare_values(&place, before.get(key), now.get(key), lines);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) if before.len() == now.len() => {
            for (at, (before, now)) in before.iter().zip(now).enumerate() {
                compare_values(&format!("{place}/{at}"), Some(before), Some(now), lines);
            }
        }
        (Some(Value::String(before)), Some(Value::String(now))) => {
            lines.push(format!("{} was {}", show_text(place), show_change(before, now)));
        }
        (Some(before), Some(now)) => {
            lines.push(format!("{} was {}, is now {}", show_text(place), spelt(before), spelt(now)));
        }
        (Some(before), None) => {
            lines.push(format!("{} was removed, it was {}", show_text(place), spelt(before)))
        }
        (None, Some(now)) => lines.push(format!("{} is new: {}", show_text(place), spelt(now))),
        (None, None) => {}
    }
}

/// Two texts from where they differ: a long description may differ only at its end.
fn show_change(before: &str, now: &str) -> String {
    let same: usize =
        before.chars().zip(now.chars()).take_while(|(b, n)| b == n).map(|(b, _)| b.len_utf8()).sum();
    let from = |text: &str| {
        let start = text.floor_char_boundary(same.saturating_sub(limits::DIFFERENCE_BYTES / 4));
        let rest = text.get(start..).unwrap_or_default();
        format!("\"{}{}\"", if start > 0 { "…" } else { "" }, show_text(rest))
    };
    format!("{}, is now {}", from(before), from(now))
}

fn list_keys<'v>(before: &'v Map<String, Value>, now: &'v Map<String, Value>) -> Vec<&'v String> {
    let new = now.keys().filter(|key| !before.contains_key(*key));
    before.keys().chain(new).collect()
}
