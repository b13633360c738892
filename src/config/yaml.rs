//! Text to a tree in which everything knows where it stands.
//!
//! The parser's events are used rather than its values, for three reasons: a scalar keeps the text
//! that was written (`1.10` in an environment variable stays `1.10`, and only `true` and `false` are
//! booleans, as YAML 1.2 says), every key has a place of its own, and all repeated keys are found
//! and not only the first. Anchors, aliases and tags are refused, so nothing expands. Never fails at
//! the first mistake where it can go on.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as ParsedSpan, options,
};

use super::desk::Desk;
use super::traps;
use systole_core::types::codes::Code;
use systole_core::types::limits;

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

impl Node {
    /// Whether nothing stands there, in whichever way that is written.
    pub(super) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Nothing => true,
            Value::Text { text, .. } => text.is_empty(),
            _ => false,
        }
    }
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
    Map { entries: Vec<Entry>, key: Option<Key> },
}

/// A key whose value has not come yet.
enum Key {
    Named(String, Span),
    /// One that cannot be a key, which has been told; its value is left out.
    Told,
}

/// Builds the tree of a stretch of what lies on the desk; none where there is none to go on with, which has
/// then been told.
pub(super) fn read(desk: &mut Desk, stretch: Span) -> Option<Node> {
    let whole = desk.text();
    let text = whole.get(stretch.start..stretch.end)?;
    let sheet = Sheet { text, base: stretch.start };
    let mut tree = Tree { sheet, open: Vec::new(), root: None, documents: 0, aliased: false };
    let choices = options! { strict_indentation: true, disallow_directives: true, emit_comments: false };
    for event in Parser::new_from_str_with_options(text, choices) {
        match event {
            Ok((event, place)) => {
                let span = sheet.bytes(&place);
                refuse_properties(desk, &event, &place, span, sheet);
                if tree.take(desk, event, span).is_break() {
                    break;
                }
            }
            Err(error) => {
                syntax(desk, sheet, &error, tree.open.last());
                return None;
            }
        }
    }
    tree.root
}

/// A stretch of the text, and where it begins.
#[derive(Clone, Copy)]
struct Sheet<'t> {
    text: &'t str,
    base: usize,
}

impl Sheet<'_> {
    /// The parser's place in bytes, without the white space and line breaks it may count in at the end.
    fn bytes(self, place: &ParsedSpan) -> Span {
        let offset = |m: Option<usize>| m.unwrap_or(0).min(self.text.len());
        let start = offset(place.start.byte_offset());
        let end = offset(place.end.byte_offset()).max(start);
        let kept = self.text.get(start..end).map_or(0, |t| t.trim_end().len());
        Span { start: self.base + start, end: self.base + start + kept }
    }
}

/// The tree as far as it has grown.
struct Tree<'t> {
    sheet: Sheet<'t>,
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
            Event::Scalar(text, style, ..) => {
                // A stored configuration was run as it is; it may not be refused for what is told now.
                let swallowed = if desk.is_stored() { None } else { self.goes_on(&style, span) };
                let value = match swallowed {
                    Some(at) => {
                        let told = "what stands here is part of the value in the line above";
                        let mend = Some("the `- ` of each entry in one column");
                        desk.tell_seeing(Code::ConfigSyntax, at, told, mend, (span, "this value"));
                        Value::Told
                    }
                    None => scalar(&text, style),
                };
                Node { span, value }
            }
            Event::Alias(_) => {
                if !std::mem::replace(&mut self.aliased, true) {
                    alias(desk, span);
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

    /// Where a plain value goes on with what looks like an entry of a list, and would silently swallow it.
    fn goes_on(&self, style: &ScalarStyle, span: Span) -> Option<Span> {
        if !matches!(style, ScalarStyle::Plain) {
            return None;
        }
        let written = self.sheet.text.get(span.start - self.sheet.base..span.end - self.sheet.base)?;
        let mut start = span.start;
        for (nth, line) in written.split('\n').enumerate() {
            let inner = line.trim_start();
            if nth > 0 && inner.starts_with("- ") {
                let at = start + line.len() - inner.len();
                return Some(Span { start: at, end: start + line.trim_end().len() });
            }
            start += line.len() + 1;
        }
        None
    }

    fn begin(&mut self, desk: &mut Desk, span: Span, what: Collection) -> ControlFlow<()> {
        if self.open.len() >= limits::CONFIG_DEPTH {
            too_deep(desk, span);
            self.root = None;
            return ControlFlow::Break(());
        }
        let bracket = self.sheet.text.as_bytes().get(span.start - self.sheet.base);
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
            Some(Key::Named(key, at)) if room(desk, entries.len(), at) => {
                entry(desk, entries, Entry { key, at, value: node })
            }
            Some(Key::Named(..) | Key::Told) => {}
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
            &format!("more than {most} entries in one list or map"),
            Some(&format!("{most} entries at most")),
        );
    }
    length <= limits::CONFIG_ENTRIES
}

fn entry(desk: &mut Desk, entries: &mut Vec<Entry>, new: Entry) {
    let Some(first) = entries.iter().find(|e| e.key == new.key).map(|e| e.at) else {
        entries.push(new);
        return;
    };
    let told = format!("`{}` stands here a second time", new.key);
    desk.tell_seeing(Code::ConfigDuplicate, new.at, &told, Some("one of the two"), (first, "the first one"));
}

fn key_of(desk: &mut Desk, node: Node) -> Key {
    match node.value {
        Value::Text { text, .. } => Key::Named(text, node.span),
        Value::Nothing => Key::Named(String::new(), node.span),
        Value::Told => Key::Told,
        Value::List(_) | Value::Map(_) => {
            let mend = "a name before the colon; quotes around one that begins with [ or {";
            desk.tell(
                Code::ConfigKind,
                node.span,
                "a list or a map stands as a key; keys are names",
                Some(mend),
            );
            Key::Told
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
fn refuse_properties(desk: &mut Desk, event: &Event<'_>, place: &ParsedSpan, span: Span, sheet: Sheet<'_>) {
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
        let at = place.tag_span().map_or(span, |t| sheet.bytes(&t));
        desk.tell(Code::ConfigSyntax, at, "this value has a tag", Some("the value without `!…`"));
    }
}

fn alias(desk: &mut Desk, at: Span) {
    let told = "an alias stands here, and nothing in this file is expanded";
    desk.tell(Code::ConfigSyntax, at, told, Some("the value itself, written out"));
}

fn too_deep(desk: &mut Desk, at: Span) {
    let told = format!("nested deeper than {} levels", limits::CONFIG_DEPTH);
    desk.tell(Code::ConfigValue, at, &told, Some("fewer levels: no key has so many below it"));
}

/// Tells what has nothing to do with how the file is laid out, which the parser gives up at all the same.
fn told_apart(desk: &mut Desk, sheet: Sheet<'_>, error: &ScanError, at: usize) -> bool {
    let place = |start: usize, length: usize| {
        let start = sheet.base + start;
        Span { start, end: start + length }
    };
    // YAML carries no control character, and the parser may take one for the end of the file.
    let is_carried = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    // It gives up where the value begins that has one: often in the same line, and sure to if it says so.
    let is_named =
        matches!(error.kind(), ErrorKind::UnexpectedCharacter { character } if !is_carried(*character));
    let line_end = sheet.text.get(at..).and_then(|rest| rest.find('\n')).map(|length| at + length);
    let last = line_end.filter(|_| !is_named).unwrap_or(sheet.text.len());
    let mut until = sheet.text.char_indices().take_while(|(from, _)| *from <= last);
    if let Some((from, illegal)) = until.find(|(_, c)| !is_carried(*c)) {
        let code = format!("U+{:04X}", u32::from(illegal));
        let told = format!("the character {code} stands here, which YAML cannot carry");
        let span = place(from, illegal.len_utf8());
        desk.tell(Code::ConfigSyntax, span, &told, Some("the file without it"));
        return true;
    }
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(desk, place(at, 1)),
        ErrorKind::UnknownAnchor => {
            let rest = sheet.text.get(at..).unwrap_or_default();
            let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
            alias(desk, place(at, rest.find(ends).unwrap_or(rest.len())));
        }
        _ => return false,
    }
    true
}

const BRACKETS: &str = "the closing bracket; a comma between entries; quotes around special signs";

fn syntax(desk: &mut Desk, sheet: Sheet<'_>, error: &ScanError, innermost: Option<&Open>) {
    let text = sheet.text;
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let stretch = |start: usize, end: usize| Span { start: sheet.base + start, end: sheet.base + end };
    if told_apart(desk, sheet, error, at) {
        return;
    }
    let line_start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    if let Some(tab) = line.get(..indent).and_then(|blank| blank.find('\t')) {
        let span = stretch(line_start + tab, line_start + tab + 1);
        desk.tell(Code::ConfigSyntax, span, "a tab stands in the indentation", Some("blanks only"));
        return;
    }
    let innermost = innermost.filter(|open| open.flow);
    if traps::in_broken(desk, innermost.map_or(at, |open| open.start), at) {
        return;
    }
    if let Some(open) = innermost {
        let span = Span { start: open.start, end: open.start + 1 };
        let told = "what this bracket opens goes wrong or stays open";
        let second = (stretch(at, at), "it goes wrong here");
        desk.tell_seeing(Code::ConfigSyntax, span, told, Some(BRACKETS), second);
        return;
    }
    // The parser says what it found; its own line and column are left out, ours stand beside it.
    let words = error.kind().to_string();
    let (told, mend) = wording(line, &words);
    desk.tell(Code::ConfigSyntax, stretch(at, at), &told, Some(mend));
}

/// What is wrong with a line that is no YAML, and the mend, for the slips that are made most.
fn wording(line: &str, words: &str) -> (String, &'static str) {
    let told = format!("not YAML from here on: {words}");
    let after = line.split_once(": ").map_or("", |(_, after)| after.trim_start());
    let mend = if words.contains("misplaced bracket") {
        "the line without this bracket, or what it closes opened"
    } else if words.contains("bracket") {
        BRACKETS
    } else if words.contains("quoted") {
        "the closing quote of the value that begins before"
    } else if words.contains("directive") {
        "the file without lines that begin with %"
    } else if after.contains(": ") || after.ends_with(':') {
        "quotes around a value with `: ` in it"
    } else if after.starts_with(['@', '`', '%']) {
        "quotes around a value that begins with such a sign"
    } else if line.trim_start().starts_with("- ") {
        "entries of a list at one indentation, below their key"
    } else if line.trim_start().starts_with(['"', '\'']) || after.starts_with(['"', '\'']) {
        "the closing quote, and nothing behind it"
    } else {
        "keys of one map at one indentation, each with `: ` behind it"
    };
    (told, mend)
}
