//! What was set on the command line, `PATH=VALUE`, put in place of what the file says there.
//!
//! In comes the file's tree, and the settings that lie behind the file on the desk; the same tree goes on,
//! changed, so that every later check sees one organism. A path is looked up by the table of keys and never
//! invents a name on its way: whatever is wrong with it is told with its place in `--set`.

use systole_kit::schema::nearest;

use super::desk::Desk;
use super::keys;
use super::secrets;
use super::value::joined;
use super::yaml::{self, Entry, Node, Span, Value};
use systole_core::types::codes::Code;

/// The table's word for any name.
const NAME: &str = "NAME";

/// Puts everything that was set into the tree.
pub(super) fn apply(desk: &mut Desk, root: &mut Node) {
    let mut before: Vec<(String, Span)> = Vec::new();
    for stretch in desk.settings() {
        let whole = desk.text();
        let written = whole.get(stretch.start..stretch.end).unwrap_or_default();
        let Some((path, text)) = written.split_once('=').filter(|(path, _)| is_path(path)) else {
            let mend = "PATH=VALUE, as --set limits.message=64KiB";
            desk.tell(Code::ConfigSyntax, stretch, "this sets nothing: it is no PATH=VALUE", Some(mend));
            continue;
        };
        let at = Span { start: stretch.start, end: stretch.start + path.len() };
        // One that takes the place of another would leave that one without effect.
        let covers = |over: &str, under: &str| {
            under.strip_prefix(over).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some((_, first)) = before.iter().find(|(earlier, _)| covers(path, earlier)) {
            let told = format!("--set {path}: it was set before");
            let second = (*first, "set here");
            desk.tell_seeing(Code::ConfigDuplicate, at, &told, Some("one of the two"), second);
            continue;
        }
        before.push((path.to_owned(), at));
        let value = Span { start: stretch.end - text.len(), end: stretch.end };
        if let Some(value) = read_value(desk, value, path) {
            // Where the path leads nowhere nobody else looks at it, and the whole line is shown.
            secrets::hide(desk, &value);
            let step = Step { table: String::new(), shown: String::new(), rest: path, at: stretch.start };
            place(desk, root, step, Setting { path, at, value });
        }
    }
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && path.split('.').all(|part| !part.is_empty() && part.trim() == part)
}

/// The value: one scalar, or a list or map in brackets, with nothing behind it.
fn read_value(desk: &mut Desk, stretch: Span, path: &str) -> Option<Node> {
    let whole = desk.text();
    let written = whole.get(stretch.start..stretch.end).unwrap_or_default();
    if written.trim().is_empty() {
        return Some(Node { span: stretch, value: Value::Nothing });
    }
    let told = desk.mistakes();
    let Some(node) = yaml::read(desk, stretch) else {
        if desk.mistakes() == told {
            let words = format!("--set {path}: there is no value, only what YAML leaves out");
            desk.tell(Code::ConfigSyntax, stretch, &words, Some("quotes around the whole value"));
        }
        return None;
    };
    let bracket = whole.get(node.span.start..).and_then(|text| text.chars().next());
    match &node.value {
        Value::List(_) | Value::Map(_) if !matches!(bracket, Some('[' | '{')) => {
            let told = format!("--set {path}: a list or a map stands without brackets");
            let mend = if matches!(node.value, Value::Map(_)) {
                "{key: value}; or quotes, if it is a text"
            } else {
                "[one, two]; or quotes, if it is a text"
            };
            desk.tell(Code::ConfigSyntax, stretch, &told, Some(mend));
            None
        }
        _ if whole.get(node.span.end..stretch.end).is_some_and(|left| !left.trim().is_empty()) => {
            let left = Span { start: node.span.end, end: stretch.end };
            let told = format!("--set {path}: what stands behind the value would be lost");
            desk.tell(Code::ConfigSyntax, left, &told, Some("quotes around the whole value"));
            None
        }
        _ => Some(node),
    }
}

/// What is set, and where.
struct Setting<'s> {
    path: &'s str,
    at: Span,
    value: Node,
}

/// How far the way has been gone.
struct Step<'s> {
    /// The place in the table of keys.
    table: String,
    /// The same as people know it.
    shown: String,
    /// What is left of the path.
    rest: &'s str,
    /// Where that begins.
    at: usize,
}

/// Goes one step down, or puts the value there.
fn place(desk: &mut Desk, node: &mut Node, step: Step<'_>, set: Setting<'_>) {
    if matches!(node.value, Value::Nothing) {
        *node = Node { span: set.at, value: Value::Map(Vec::new()) };
    }
    let entries = match &mut node.value {
        Value::Map(entries) => entries,
        // What is wrong with it has been told.
        Value::Told => return,
        _ => {
            let told = format!("--set {}: {} has no keys", set.path, step.shown);
            desk.tell(Code::ConfigKind, set.at, &told, Some(&format!("{}=VALUE", step.shown)));
            return;
        }
    };
    let names = keys::under(&step.table).any(|(name, _)| name == NAME);
    let key = if names { named(entries, step.rest) } else { step.rest.split('.').next().unwrap_or_default() };
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
        return lost(desk, entries, &step, key, at, names);
    }
    if found.is_none() {
        let value = Node { span: set.at, value: Value::Map(Vec::new()) };
        entries.push(Entry { key: key.to_owned(), at, value });
    }
    let next = Step {
        table: joined(&step.table, if names { NAME } else { key }),
        shown: joined(&step.shown, key),
        rest: left,
        at: at.end + 1,
    };
    let there = entries.iter_mut().find(|entry| entry.key == key);
    if let Some(entry) = there {
        place(desk, &mut entry.value, next, set);
    }
}

/// The name that a path goes on with: a name may have dots, so the longest that stands there is meant.
fn named<'p>(entries: &[Entry], rest: &'p str) -> &'p str {
    let fits = |name: &&str| {
        rest.strip_prefix(*name).is_some_and(|after| after.is_empty() || after.starts_with('.'))
    };
    let longest = entries.iter().map(|entry| entry.key.as_str()).filter(fits).map(str::len).max();
    let length = longest.or_else(|| rest.find('.')).unwrap_or(rest.len());
    rest.get(..length).unwrap_or(rest)
}

/// Tells that a path leads nowhere, with the nearest that does.
fn lost(desk: &mut Desk, entries: &[Entry], step: &Step<'_>, key: &str, at: Span, names: bool) {
    let place = if step.shown.is_empty() { "the file" } else { &step.shown };
    let told = format!("--set: `{key}` is not in {place}");
    let known: Vec<&str> = if names {
        entries.iter().map(|entry| entry.key.as_str()).collect()
    } else {
        keys::under(&step.table).filter(|(_, key)| key.built).map(|(name, _)| name).collect()
    };
    let after = step.rest.get(key.len()..).unwrap_or_default();
    let mend = match nearest(key, known.iter().copied()) {
        Some(name) => [&joined(&step.shown, name), after].concat(),
        None if known.is_empty() => format!("a whole one: {}={{…}}", joined(&step.shown, key)),
        None => format!("one of {}", known.join(", ")),
    };
    let code = if names { Code::ConfigUnknownName } else { Code::ConfigUnknownKey };
    desk.tell(code, at, &told, Some(&mend));
}
