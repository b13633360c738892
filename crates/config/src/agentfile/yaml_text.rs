//! Writes YAML for people: short maps in braces, long ones line by line, long texts folded, and comments at their
//! entries.
//!
//! Input: a tree. Output: text. A text has no quotes if YAML reads the same text without them.

use crate::limits;

/// A value.
pub(super) enum Node {
    /// A text, quoted if necessary.
    Text(String),
    /// Text that is already YAML.
    Plain(String),
    /// A list, in brackets if it fits.
    List(Vec<Node>),
    /// A map, in braces if it fits.
    Map(Vec<Entry>),
    /// A map with a line for each entry.
    Section(Vec<Entry>),
    /// A list of maps with one entry each.
    Steps(Vec<Entry>),
}

/// A key with its value.
pub(super) struct Entry {
    /// Lines above it.
    pub(super) comments: Vec<String>,
    pub(super) key: String,
    pub(super) value: Node,
}

impl Entry {
    pub(super) fn new(key: &str, value: Node) -> Entry {
        Entry { comments: Vec::new(), key: key.to_owned(), value }
    }
}

/// The entries of a file.
pub(super) fn write_entries(entries: &[Entry]) -> String {
    let mut out = String::new();
    entries.iter().for_each(|entry| put(&mut out, 0, "", entry));
    out
}

fn put(out: &mut String, indent: usize, dash: &str, entry: &Entry) {
    let blanks = " ".repeat(indent);
    for comment in &entry.comments {
        out.push_str(&format!("{}\n", format!("{blanks}# {comment}").trim_end()));
    }
    let head = format!("{blanks}{dash}{}:", entry.key);
    let inner = indent + dash.len() + 2;
    let room = limits::YAML_COLUMNS.saturating_sub(head.chars().count() + 1);
    if let Some(line) = in_line(&entry.value, room) {
        out.push_str(&format!("{head} {line}\n"));
        return;
    }
    match &entry.value {
        Node::Text(text) => out.push_str(&format!("{head} {}\n", in_block(text, inner))),
        Node::Plain(text) => out.push_str(&format!("{head} {text}\n")),
        Node::Map(entries) | Node::Section(entries) => {
            out.push_str(&format!("{head}\n"));
            entries.iter().for_each(|entry| put(out, inner, "", entry));
        }
        Node::Steps(entries) => {
            out.push_str(&format!("{head}\n"));
            entries.iter().for_each(|entry| put(out, inner, "- ", entry));
        }
        Node::List(items) => {
            out.push_str(&format!("{head}\n"));
            let item = |item: &Node| between_braces(item).unwrap_or_default();
            items.iter().for_each(|one| out.push_str(&format!("{}- {}\n", " ".repeat(inner), item(one))));
        }
    }
}

/// The value on the line of its key, if it fits there.
fn in_line(node: &Node, room: usize) -> Option<String> {
    let line = match node {
        Node::Text(text) if is_plain(text) => text.clone(),
        Node::Section(_) | Node::Steps(_) => return None,
        other => between_braces(other)?,
    };
    (line.chars().count() <= room).then_some(line)
}

/// The value inside braces or brackets. `None` if it needs its own lines.
fn between_braces(node: &Node) -> Option<String> {
    match node {
        Node::Text(text) if text.contains('\n') => None,
        Node::Text(text) if is_plain(text) && !text.contains([',', '[', ']', '{', '}']) => Some(text.clone()),
        Node::Text(text) => Some(quote_text(text)),
        Node::Plain(text) => Some(text.clone()),
        Node::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(between_braces).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Node::Map(entries) => {
            let entry = |entry: &Entry| Some(format!("{}: {}", entry.key, between_braces(&entry.value)?));
            let entries: Option<Vec<String>> = entries.iter().map(entry).collect();
            Some(format!("{{{}}}", entries?.join(", ")))
        }
        Node::Section(_) | Node::Steps(_) => None,
    }
}

/// A text on its own lines, if YAML then reads the same text; otherwise a quoted text.
fn in_block(text: &str, indent: usize) -> String {
    let is_safe = !text.starts_with(char::is_whitespace)
        && !text.ends_with(char::is_whitespace)
        && !text.is_empty()
        && !text.chars().any(|c| c != '\n' && is_unseen(c));
    let blanks = " ".repeat(indent);
    if is_safe && text.contains('\n') {
        let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("\n{blanks}{line}") };
        let lines: String = text.split('\n').map(line).collect();
        return format!("|-{lines}");
    }
    // YAML joins folded lines with one space, so only texts with single spaces are read back unchanged.
    if is_safe && !text.split(' ').any(str::is_empty) {
        let room = limits::YAML_COLUMNS.saturating_sub(indent).max(40);
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match lines.last_mut() {
                Some(line) if line.chars().count() + word.chars().count() < room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        let lines: String = lines.iter().map(|line| format!("\n{blanks}{line}")).collect();
        return format!(">-{lines}");
    }
    quote_text(text)
}

/// Whether YAML reads the unquoted text as the same text.
fn is_plain(text: &str) -> bool {
    let is_other = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "nan" | "inf"
    );
    (text.starts_with(|c: char| c.is_alphanumeric() || c == '<') || text.starts_with("./"))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(is_unseen)
        && !is_other
        && text.parse::<f64>().is_err()
}

/// Whether a character looks like another one, or YAML does not accept it as it is.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || (c.is_whitespace() && c != ' ')
}

/// The text in quotes.
fn quote_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_unseen(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
