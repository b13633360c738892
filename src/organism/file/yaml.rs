//! Text to a tree in which everything knows where it stands.
//!
//! The parser's events are used rather than its values, for three reasons: a scalar keeps the text
//! that was written (`1.10` in an environment variable stays `1.10`, and only `true` and `false` are
//! booleans, as YAML 1.2 says), every key has a place of its own, and all repeated keys are found
//! and not only the first. Anchors, aliases and tags are refused, so nothing expands. Never fails at
//! the first mistake where it can go on.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as ParsedSpan, options};

use super::desk::Desk;
use crate::words::codes::Code;
use crate::words::limits;

/// A stretch of the text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) value: Value,
}

/// What stands there.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing: a key without a value, `~` or `null`.
    Nothing,
    /// Something that is refused for how it is written, which has been told.
    Told,
    /// A scalar as it is written; `plain` if it stands without quotes.
    Text { text: String, plain: bool },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Span,
    pub(super) value: Node,
}

/// A list or map that is not closed yet.
struct Open {
    start: usize,
    /// Whether it is written with brackets.
    flow: bool,
    what: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(String, Span)> },
}

/// Builds the tree; none where there is none to go on with, which has then been told to the desk.
pub(super) fn read(desk: &mut Desk) -> Option<Node> {
    let text = desk.text();
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    let mut documents = 0;
    let mut aliased = false;
    let choices = options! { strict_indentation: true, disallow_directives: true, emit_comments: false };
    for event in Parser::new_from_str_with_options(&text, choices) {
        let (event, place) = match event {
            Ok(event) => event,
            Err(error) => {
                syntax(desk, &text, &error, open.last());
                return None;
            }
        };
        let span = bytes(&place, &text);
        refuse_properties(desk, &event, &place, span);
        let done = match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    desk.tell(
                        Code::ConfigSyntax,
                        span,
                        "a second document begins here",
                        Some("one document in one file"),
                    );
                    return root;
                }
                None
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= limits::CONFIG_DEPTH {
                    let most = limits::CONFIG_DEPTH.to_string();
                    desk.tell(
                        Code::ConfigValue,
                        span,
                        &["nested deeper than ", &most, " levels"].concat(),
                        None,
                    );
                    return None;
                }
                let what = match event {
                    Event::SequenceStart(..) => Collection::List(Vec::new()),
                    _ => Collection::Map { entries: Vec::new(), key: None },
                };
                let bracket = text.as_bytes().get(span.start);
                open.push(Open { start: span.start, flow: matches!(bracket, Some(b'[' | b'{')), what });
                None
            }
            Event::Scalar(text, style, ..) => Some(Node { span, value: scalar(&text, style) }),
            Event::Alias(_) => {
                // One is told for all: a file that is written with aliases has many.
                if !std::mem::replace(&mut aliased, true) {
                    let told = "an alias stands here, and nothing in this file is expanded";
                    desk.tell(Code::ConfigSyntax, span, told, Some("the value itself, written out"));
                }
                Some(Node { span, value: Value::Told })
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|o| close(o, span.end)),
            _ => None,
        };
        if let Some(node) = done {
            match open.last_mut() {
                Some(parent) => place_in(desk, parent, node),
                None => root = Some(node),
            }
        }
    }
    root
}

fn place_in(desk: &mut Desk, parent: &mut Open, node: Node) {
    let length = match &parent.what {
        Collection::List(items) => items.len(),
        Collection::Map { entries, .. } => entries.len(),
    };
    if length > limits::CONFIG_ENTRIES {
        return;
    }
    if length == limits::CONFIG_ENTRIES {
        // One more is kept below, so that this is told once.
        let most = limits::CONFIG_ENTRIES.to_string();
        desk.tell(
            Code::ConfigValue,
            node.span,
            &["more than ", &most, " entries in one list or map"].concat(),
            None,
        );
    }
    match &mut parent.what {
        Collection::List(items) => items.push(node),
        Collection::Map { entries, key } => match key.take() {
            None => *key = Some(key_of(desk, node)),
            Some((key, at)) => {
                let first = entries.iter().find(|e| e.key == key).map(|e| e.at);
                match first {
                    Some(first) => {
                        let line = desk.line_of(first.start).to_string();
                        let told =
                            ["`", &key, "` stands here a second time; the first is in line ", &line].concat();
                        desk.tell(Code::ConfigDuplicate, at, &told, Some("one of the two"));
                    }
                    None => entries.push(Entry { key, at, value: node }),
                }
            }
        },
    }
}

fn key_of(desk: &mut Desk, node: Node) -> (String, Span) {
    match node.value {
        Value::Text { text, .. } => (text, node.span),
        Value::Nothing | Value::Told => (String::new(), node.span),
        Value::List(_) | Value::Map(_) => {
            desk.tell(Code::ConfigKind, node.span, "a list or a map stands as a key; keys are names", None);
            (String::new(), node.span)
        }
    }
}

fn close(open: Open, end: usize) -> Node {
    let value = match open.what {
        Collection::List(items) => Value::List(items),
        Collection::Map { entries, .. } => Value::Map(entries),
    };
    Node { span: Span { start: open.start, end }, value }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let plain = matches!(style, ScalarStyle::Plain);
    match text {
        "" | "~" | "null" | "Null" | "NULL" if plain => Value::Nothing,
        _ => Value::Text { text: text.to_owned(), plain },
    }
}

/// Anchors and tags have no use in a file whose every key has one meaning, and aliases can make a
/// short file long; all three are told apart so that the words fit what was written.
fn refuse_properties(desk: &mut Desk, event: &Event<'_>, place: &ParsedSpan, span: Span) {
    let (anchor, tag) = match event {
        Event::Scalar(_, _, anchor, tag)
        | Event::SequenceStart(_, anchor, tag)
        | Event::MappingStart(_, anchor, tag) => (*anchor, tag.is_some()),
        _ => return,
    };
    if anchor != 0 {
        desk.tell(Code::ConfigSyntax, span, "this value has an anchor", Some("the value without `&…`"));
    }
    if tag {
        let at = place.tag_span().map_or(span, |t| bytes(&t, desk.text().as_ref()));
        desk.tell(Code::ConfigSyntax, at, "this value has a tag", Some("the value without `!…`"));
    }
}

/// The parser's place in bytes, without the white space and line breaks it may count in at the end.
fn bytes(place: &ParsedSpan, text: &str) -> Span {
    let offset = |m: Option<usize>| m.unwrap_or(0).min(text.len());
    let start = offset(place.start.byte_offset());
    let end = offset(place.end.byte_offset()).max(start);
    let kept = text.get(start..end).map_or(0, |t| t.trim_end().len());
    Span { start, end: start + kept }
}

fn syntax(desk: &mut Desk, text: &str, error: &ScanError, innermost: Option<&Open>) {
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let span = Span { start: at, end: at };
    let line_start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    if let Some(tab) = line.get(..indent).and_then(|blank| blank.find('\t')) {
        let span = Span { start: line_start + tab, end: line_start + tab + 1 };
        desk.tell(Code::ConfigSyntax, span, "a tab stands in the indentation", Some("blanks only"));
        return;
    }
    if let Some(open) = innermost.filter(|open| open.flow) {
        let span = Span { start: open.start, end: open.start + 1 };
        let line = desk.line_of(at).to_string();
        let told = ["what this bracket opens goes wrong or stays open in line ", &line].concat();
        let mend = "the closing bracket; a comma between entries; quotes around special signs";
        desk.tell(Code::ConfigSyntax, span, &told, Some(mend));
        return;
    }
    // The parser says what it found; its own line and column are left out, ours stand beside it.
    let words = error.kind().to_string();
    desk.tell(Code::ConfigSyntax, span, &["not YAML from here on: ", &words].concat(), None);
}
