//! Text to a tree in which everything knows where it stands.
//!
//! The parser's events are used rather than its values, for three reasons: a scalar keeps the text
//! that was written (`1.10` in an environment variable stays `1.10`, and only `true` and `false` are
//! booleans, as YAML 1.2 says), every key has a place of its own, and all repeated keys are found
//! and not only the first. Anchors, aliases and tags are refused, so nothing expands. Never fails at
//! the first mistake where it can go on.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as ParsedSpan, options};

use super::desk::Desk;
use super::traps;
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
    let mut tree = Tree { text: &text, open: Vec::new(), root: None, documents: 0, aliased: false };
    let choices = options! { strict_indentation: true, disallow_directives: true, emit_comments: false };
    for event in Parser::new_from_str_with_options(&text, choices) {
        match event {
            Ok((event, place)) => {
                let span = bytes(&place, &text);
                refuse_properties(desk, &event, &place, span);
                if tree.take(desk, event, span).is_break() {
                    break;
                }
            }
            Err(error) => {
                syntax(desk, &text, &error, tree.open.last());
                return None;
            }
        }
    }
    tree.root
}

/// The tree as far as it has grown.
struct Tree<'t> {
    text: &'t str,
    /// The lists and maps that are not closed, the outermost first.
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    /// Whether an alias was told: a file that is written with aliases has many.
    aliased: bool,
}

impl Tree<'_> {
    /// Takes an event; breaks where reading further would only repeat what has been told.
    fn take(&mut self, desk: &mut Desk, event: Event<'_>, span: Span) -> ControlFlow<()> {
        let node = match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let mend = Some("one document in one file");
                    desk.tell(Code::ConfigSyntax, span, "a second document begins here", mend);
                    return ControlFlow::Break(());
                }
                return ControlFlow::Continue(());
            }
            Event::SequenceStart(..) => return self.begin(desk, span, Collection::List(Vec::new())),
            Event::MappingStart(..) => {
                return self.begin(desk, span, Collection::Map { entries: Vec::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => close(open, span.end),
                None => return ControlFlow::Break(()),
            },
            Event::Scalar(text, style, ..) => Node { span, value: scalar(&text, style) },
            Event::Alias(_) => {
                if !std::mem::replace(&mut self.aliased, true) {
                    let told = "an alias stands here, and nothing in this file is expanded";
                    desk.tell(Code::ConfigSyntax, span, told, Some("the value itself, written out"));
                }
                Node { span, value: Value::Told }
            }
            _ => return ControlFlow::Continue(()),
        };
        match self.open.last_mut() {
            Some(parent) => place_in(desk, parent, node),
            None => self.root = Some(node),
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, desk: &mut Desk, span: Span, what: Collection) -> ControlFlow<()> {
        if self.open.len() >= limits::CONFIG_DEPTH {
            let told = ["nested deeper than ", &limits::CONFIG_DEPTH.to_string(), " levels"].concat();
            desk.tell(Code::ConfigValue, span, &told, None);
            self.root = None;
            return ControlFlow::Break(());
        }
        let bracket = self.text.as_bytes().get(span.start);
        self.open.push(Open { start: span.start, flow: matches!(bracket, Some(b'[' | b'{')), what });
        ControlFlow::Continue(())
    }
}

fn place_in(desk: &mut Desk, parent: &mut Open, node: Node) {
    match &mut parent.what {
        Collection::List(items) => {
            if room(desk, items.len(), node.span) {
                items.push(node);
            }
        }
        Collection::Map { entries, key } => match key.take() {
            None => *key = Some(key_of(desk, node)),
            Some((key, at)) if room(desk, entries.len(), at) => {
                entry(desk, entries, Entry { key, at, value: node })
            }
            Some(_) => {}
        },
    }
}

/// Whether a list or map takes one more. The one beyond the limit is told and kept, so that it is told once.
fn room(desk: &mut Desk, length: usize, at: Span) -> bool {
    if length == limits::CONFIG_ENTRIES {
        let most = limits::CONFIG_ENTRIES.to_string();
        desk.tell(
            Code::ConfigValue,
            at,
            &["more than ", &most, " entries in one list or map"].concat(),
            None,
        );
    }
    length <= limits::CONFIG_ENTRIES
}

fn entry(desk: &mut Desk, entries: &mut Vec<Entry>, new: Entry) {
    let Some(first) = entries.iter().find(|e| e.key == new.key).map(|e| e.at) else {
        entries.push(new);
        return;
    };
    let line = desk.line_of(first.start).to_string();
    let told = ["`", &new.key, "` stands here a second time; the first is in line ", &line].concat();
    desk.tell(Code::ConfigDuplicate, new.at, &told, Some("one of the two"));
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
    let innermost = innermost.filter(|open| open.flow);
    if traps::in_broken(desk, innermost.map_or(at, |open| open.start), at) {
        return;
    }
    if let Some(open) = innermost {
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
