//! Applies the settings from the command line, `PATH=VALUE`, to the file's tree.
//!
//! Input: the file's tree, and the settings that follow the file in the text of the file. Output: the changed
//! tree, so that all later checks see one organism. Paths are looked up in the table of keys and never
//! create a name on the way. Mistakes are reported with their place in `--set`.

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::keys;
use super::secrets;
use super::tree::{Entry, Node, Span, Value};
use super::value::join_path;
use super::yaml;
use systole_core::types::codes::Code;

/// The table's word for any name.
const NAME: &str = "NAME";

/// Applies all settings to the tree.
pub(super) fn apply(diagnostics: &mut Diagnostics, root: &mut Node) {
    let mut before: Vec<(String, Span)> = Vec::new();
    for stretch in diagnostics.settings() {
        let whole = diagnostics.text();
        let written = whole.get(stretch.start..stretch.end).unwrap_or_default();
        let Some((path, text)) = written.split_once('=').filter(|(path, _)| is_path(path)) else {
            let fix = "PATH=VALUE, as --set limits.message=64KiB";
            diagnostics.report(Code::ConfigSyntax, stretch, "this sets nothing: it is not PATH=VALUE", fix);
            continue;
        };
        let at = Span { start: stretch.start, end: stretch.start + path.len() };
        // A setting inside another setting's path would cancel it.
        let covers = |over: &str, under: &str| {
            under.strip_prefix(over).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some((_, first)) = before.iter().find(|(earlier, _)| covers(path, earlier)) {
            let message = format!("--set {path}: it was set before");
            let second = (*first, "set here");
            diagnostics.report_beside(Code::ConfigDuplicate, at, &message, "one of the two", second);
            continue;
        }
        before.push((path.to_owned(), at));
        let value = Span { start: stretch.end - text.len(), end: stretch.end };
        if let Some(value) = read_value(diagnostics, value, path) {
            // If the path is invalid, no other check hides secrets, and the whole line is shown.
            secrets::hide(diagnostics, &value);
            let step = Step { table: String::new(), shown: String::new(), rest: path, at: stretch.start };
            place(diagnostics, root, step, Setting { path, at, value });
        }
    }
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && path.split('.').all(|part| !part.is_empty() && part.trim() == part)
}

/// Reads the value: one scalar, or a list or map in brackets, and nothing after it.
fn read_value(diagnostics: &mut Diagnostics, stretch: Span, path: &str) -> Option<Node> {
    let whole = diagnostics.text();
    let written = whole.get(stretch.start..stretch.end).unwrap_or_default();
    if written.trim().is_empty() {
        return Some(Node { span: stretch, value: Value::Nothing });
    }
    let message = diagnostics.mistakes();
    let Some(node) = yaml::read(diagnostics, stretch) else {
        if diagnostics.mistakes() == message {
            let words = format!("--set {path}: there is no value, only what YAML reads as a comment");
            diagnostics.report(Code::ConfigSyntax, stretch, &words, "quotes around the whole value");
        }
        return None;
    };
    let bracket = whole.get(node.span.start..).and_then(|text| text.chars().next());
    match &node.value {
        Value::List(_) | Value::Map(_) if !matches!(bracket, Some('[' | '{')) => {
            let message = format!("--set {path}: a list or a map has no brackets");
            let fix = if matches!(node.value, Value::Map(_)) {
                "{key: value}; or quotes, if it is a text"
            } else {
                "[one, two]; or quotes, if it is a text"
            };
            diagnostics.report(Code::ConfigSyntax, stretch, &message, fix);
            None
        }
        _ if whole.get(node.span.end..stretch.end).is_some_and(|left| !left.trim().is_empty()) => {
            let left = Span { start: node.span.end, end: stretch.end };
            let message = format!("--set {path}: the text after the value would be lost");
            diagnostics.report(Code::ConfigSyntax, left, &message, "quotes around the whole value");
            None
        }
        _ => Some(node),
    }
}

/// A setting.
struct Setting<'s> {
    path: &'s str,
    at: Span,
    value: Node,
}

/// A step on the way along the path.
struct Step<'s> {
    /// The current path in the table of keys.
    table: String,
    /// The current path for people.
    shown: String,
    /// The rest of the path.
    rest: &'s str,
    /// The start of the rest.
    at: usize,
}

/// Goes one step down, or sets the value.
fn place(diagnostics: &mut Diagnostics, node: &mut Node, step: Step<'_>, set: Setting<'_>) {
    if matches!(node.value, Value::Nothing) {
        *node = Node { span: set.at, value: Value::Map(Vec::new()) };
    }
    let entries = match &mut node.value {
        Value::Map(entries) => entries,
        // Its mistake was already reported.
        Value::Reported => return,
        _ => {
            let message = format!("--set {}: {} has no keys", set.path, step.shown);
            diagnostics.report(Code::ConfigKind, set.at, &message, &format!("{}=VALUE", step.shown));
            return;
        }
    };
    let names = keys::under(&step.table).any(|(name, _)| name == NAME);
    let key =
        if names { skip_name(entries, step.rest) } else { step.rest.split('.').next().unwrap_or_default() };
    let left = step.rest.get(key.len() + 1..);
    let at = Span { start: step.at, end: step.at + key.len() };
    let found = entries.iter().position(|entry| entry.key == key);
    let Some(left) = left else {
        let entry = Entry { key: key.to_owned(), at, value: set.value };
        match found.and_then(|found| entries.get_mut(found)) {
            Some(there) => *there = entry,
            None => entries.push(entry),
        }
        return;
    };
    let known = names || keys::under(&step.table).any(|(name, _)| name == key);
    if !known || (names && found.is_none()) {
        return report_lost(diagnostics, entries, &step, key, at, names);
    }
    if found.is_none() {
        let value = Node { span: set.at, value: Value::Map(Vec::new()) };
        entries.push(Entry { key: key.to_owned(), at, value });
    }
    let next = Step {
        table: join_path(&step.table, if names { NAME } else { key }),
        shown: join_path(&step.shown, key),
        rest: left,
        at: at.end + 1,
    };
    let there = entries.iter_mut().find(|entry| entry.key == key);
    if let Some(entry) = there {
        place(diagnostics, &mut entry.value, next, set);
    }
}

/// The next name in the path. A name may contain dots, so the longest existing match is used.
fn skip_name<'p>(entries: &[Entry], rest: &'p str) -> &'p str {
    let fits = |name: &&str| {
        rest.strip_prefix(*name).is_some_and(|after| after.is_empty() || after.starts_with('.'))
    };
    let longest = entries.iter().map(|entry| entry.key.as_str()).filter(fits).map(str::len).max();
    let length = longest.or_else(|| rest.find('.')).unwrap_or(rest.len());
    rest.get(..length).unwrap_or(rest)
}

/// Reports an invalid path, with the most similar valid name.
fn report_lost(
    diagnostics: &mut Diagnostics,
    entries: &[Entry],
    step: &Step<'_>,
    key: &str,
    at: Span,
    names: bool,
) {
    let place = if step.shown.is_empty() { "the file" } else { &step.shown };
    let message = format!("--set: `{key}` is not in {place}");
    let known: Vec<&str> = if names {
        entries.iter().map(|entry| entry.key.as_str()).collect()
    } else {
        keys::under(&step.table).map(|(name, _)| name).collect()
    };
    let after = step.rest.get(key.len()..).unwrap_or_default();
    let fix = match find_nearest(key, known.iter().copied()) {
        Some(name) => format!("{}{after}", join_path(&step.shown, name)),
        None if known.is_empty() => format!("a whole one: {}={{…}}", join_path(&step.shown, key)),
        None => format!("one of {}", known.join(", ")),
    };
    let code = if names { Code::ConfigUnknownName } else { Code::ConfigUnknownKey };
    diagnostics.report(code, at, &message, &fix);
}
