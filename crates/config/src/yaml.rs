//! Parses text into a tree in which every value knows its place.
//!
//! It uses the parser's events instead of its values, for three reasons. A scalar keeps its written text:
//! `1.10` in an environment variable stays `1.10`, and only `true` and `false` are booleans, as in YAML 1.2.
//! Every key has its own place. All repeated keys are found, not only the first. Anchors, aliases and tags
//! are rejected, so nothing expands. Parsing continues after a mistake if possible.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as ParsedSpan, options,
};

use super::diagnostics::Diagnostics;
use super::traps;
use super::tree::{Entry, Node, Span, Value};
use crate::limits;
use systole_core::types::codes::Code;

/// A list or map that is still open.
struct Open {
    start: usize,
    /// Whether it is in brackets.
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
    /// An invalid key, which was already reported. Its value is left out.
    Reported,
}

/// Builds the tree of a span of the text of the file. `None` if there is nothing to continue with; then a mistake
/// was reported.
pub(super) fn read(diagnostics: &mut Diagnostics, stretch: Span) -> Option<Node> {
    let whole = diagnostics.text();
    let text = whole.get(stretch.start..stretch.end)?;
    let sheet = Sheet { text, base: stretch.start };
    let mut tree = Tree { sheet, open: Vec::new(), root: None, documents: 0, aliased: false };
    let choices = options! { strict_indentation: true, disallow_directives: true, emit_comments: false };
    for event in Parser::new_from_str_with_options(text, choices) {
        match event {
            Ok((event, place)) => {
                let span = sheet.bytes(&place);
                refuse_properties(diagnostics, &event, &place, span, sheet);
                if tree.take(diagnostics, event, span).is_break() {
                    break;
                }
            }
            Err(error) => {
                syntax(diagnostics, sheet, &error, tree.open.last());
                return None;
            }
        }
    }
    tree.root
}

/// A part of the text, and its position.
#[derive(Clone, Copy)]
struct Sheet<'t> {
    text: &'t str,
    base: usize,
}

impl Sheet<'_> {
    /// The parser's span in bytes, without the white space and line breaks that it may include at the end.
    fn bytes(self, place: &ParsedSpan) -> Span {
        let offset = |m: Option<usize>| m.unwrap_or(0).min(self.text.len());
        let start = offset(place.start.byte_offset());
        let end = offset(place.end.byte_offset()).max(start);
        let kept = self.text.get(start..end).map_or(0, |t| t.trim_end().len());
        Span { start: self.base + start, end: self.base + start + kept }
    }
}

/// The tree built so far.
struct Tree<'t> {
    sheet: Sheet<'t>,
    /// The open lists and maps, the outermost first.
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    /// Whether an alias was reported. A file with aliases usually has many.
    aliased: bool,
}

impl Tree<'_> {
    /// Handles an event. Stops if further reading would only repeat reports.
    fn take(&mut self, diagnostics: &mut Diagnostics, event: Event<'_>, span: Span) -> ControlFlow<()> {
        let node = match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let fix = "one document in one file";
                    diagnostics.report(Code::ConfigSyntax, span, "a second document begins here", fix);
                    return ControlFlow::Break(());
                }
                return ControlFlow::Continue(());
            }
            Event::SequenceStart(..) => return self.begin(diagnostics, span, Collection::List(Vec::new())),
            Event::MappingStart(..) => {
                return self.begin(diagnostics, span, Collection::Map { entries: Vec::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => close(open, span.end),
                None => return ControlFlow::Break(()),
            },
            Event::Scalar(text, style, ..) => {
                // A stored configuration has already run. It must not be rejected for a new kind of mistake.
                let swallowed = if diagnostics.is_stored() { None } else { self.goes_on(&style, span) };
                let value = match swallowed {
                    Some(at) => {
                        let message = "this is part of the value in the line above";
                        let fix = "the `- ` of each entry in one column";
                        diagnostics.report_beside(Code::ConfigSyntax, at, message, fix, (span, "this value"));
                        Value::Reported
                    }
                    None => scalar(&text, style),
                };
                Node { span, value }
            }
            Event::Alias(_) => {
                if !std::mem::replace(&mut self.aliased, true) {
                    alias(diagnostics, span);
                }
                Node { span, value: Value::Reported }
            }
            _ => return ControlFlow::Continue(()),
        };
        match self.open.last_mut() {
            Some(parent) => place_in(diagnostics, parent, node),
            None => self.root = Some(node),
        }
        ControlFlow::Continue(())
    }

    /// The place where a plain value continues with something that looks like a list entry, which YAML would
    /// silently swallow.
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

    fn begin(&mut self, diagnostics: &mut Diagnostics, span: Span, what: Collection) -> ControlFlow<()> {
        if self.open.len() >= limits::CONFIG_DEPTH {
            too_deep(diagnostics, span);
            self.root = None;
            return ControlFlow::Break(());
        }
        let bracket = self.sheet.text.as_bytes().get(span.start - self.sheet.base);
        self.open.push(Open { start: span.start, flow: matches!(bracket, Some(b'[' | b'{')), what });
        ControlFlow::Continue(())
    }
}

fn place_in(diagnostics: &mut Diagnostics, parent: &mut Open, node: Node) {
    match &mut parent.what {
        Collection::List(items) => {
            if room(diagnostics, items.len(), node.span) {
                items.push(node);
            }
        }
        Collection::Map { entries, key } => match key.take() {
            None => *key = Some(key_of(diagnostics, node)),
            Some(Key::Named(key, at)) if room(diagnostics, entries.len(), at) => {
                entry(diagnostics, entries, Entry { key, at, value: node })
            }
            Some(Key::Named(..) | Key::Reported) => {}
        },
    }
}

/// Whether a list or map may have one more entry. The first one over the limit is reported and kept, so that
/// there is only one report.
fn room(diagnostics: &mut Diagnostics, length: usize, at: Span) -> bool {
    if length == limits::CONFIG_ENTRIES {
        let most = limits::CONFIG_ENTRIES.to_string();
        diagnostics.report_value(
            at,
            &format!("more than {most} entries in one list or map"),
            &format!("{most} entries at most"),
        );
    }
    length <= limits::CONFIG_ENTRIES
}

fn entry(diagnostics: &mut Diagnostics, entries: &mut Vec<Entry>, new: Entry) {
    let Some(first) = entries.iter().find(|e| e.key == new.key).map(|e| e.at) else {
        entries.push(new);
        return;
    };
    let message = format!("`{}` appears here a second time", new.key);
    diagnostics.report_beside(
        Code::ConfigDuplicate,
        new.at,
        &message,
        "one of the two",
        (first, "the first one"),
    );
}

fn key_of(diagnostics: &mut Diagnostics, node: Node) -> Key {
    match node.value {
        Value::Text { text, .. } => Key::Named(text, node.span),
        Value::Nothing => Key::Named(String::new(), node.span),
        Value::Reported => Key::Reported,
        Value::List(_) | Value::Map(_) => {
            let fix = "a name before the colon; quotes around one that begins with [ or {";
            diagnostics.report(
                Code::ConfigKind,
                node.span,
                "a list or a map is used as a key; keys are names",
                fix,
            );
            Key::Reported
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

/// Anchors and tags are useless in a file in which every key has one meaning, and aliases can expand a short
/// file. Each has its own message.
fn refuse_properties(
    diagnostics: &mut Diagnostics,
    event: &Event<'_>,
    place: &ParsedSpan,
    span: Span,
    sheet: Sheet<'_>,
) {
    let (anchor, tag) = match event {
        Event::Scalar(_, _, anchor, tag)
        | Event::SequenceStart(_, anchor, tag)
        | Event::MappingStart(_, anchor, tag) => (*anchor, tag.is_some()),
        _ => return,
    };
    if anchor != 0 {
        diagnostics.report(Code::ConfigSyntax, span, "this value has an anchor", "the value without `&…`");
    }
    if tag {
        let at = place.tag_span().map_or(span, |t| sheet.bytes(&t));
        diagnostics.report(Code::ConfigSyntax, at, "this value has a tag", "the value without `!…`");
    }
}

fn alias(diagnostics: &mut Diagnostics, at: Span) {
    let message = "this is an alias, and nothing in this file is expanded";
    diagnostics.report(Code::ConfigSyntax, at, message, "the value itself, written out");
}

fn too_deep(diagnostics: &mut Diagnostics, at: Span) {
    let message = format!("nested deeper than {} levels", limits::CONFIG_DEPTH);
    diagnostics.report_value(at, &message, "fewer levels: no key has so many below it");
}

/// Reports parser errors that have nothing to do with the layout of the file.
fn told_apart(diagnostics: &mut Diagnostics, sheet: Sheet<'_>, error: &ScanError, at: usize) -> bool {
    let place = |start: usize, length: usize| {
        let start = sheet.base + start;
        Span { start, end: start + length }
    };
    // YAML allows no control characters, and the parser may take one for the end of the file.
    let is_carried = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    // The parser fails at the start of the value that contains one: often on the same line, and certainly if
    // its message says so.
    let is_named =
        matches!(error.kind(), ErrorKind::UnexpectedCharacter { character } if !is_carried(*character));
    let line_end = sheet.text.get(at..).and_then(|rest| rest.find('\n')).map(|length| at + length);
    let last = line_end.filter(|_| !is_named).unwrap_or(sheet.text.len());
    let mut until = sheet.text.char_indices().take_while(|(from, _)| *from <= last);
    if let Some((from, illegal)) = until.find(|(_, c)| !is_carried(*c)) {
        let code = format!("U+{:04X}", u32::from(illegal));
        let message = format!("YAML cannot contain the character {code}");
        let span = place(from, illegal.len_utf8());
        diagnostics.report(Code::ConfigSyntax, span, &message, "the file without it");
        return true;
    }
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(diagnostics, place(at, 1)),
        ErrorKind::UnknownAnchor => {
            let rest = sheet.text.get(at..).unwrap_or_default();
            let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
            alias(diagnostics, place(at, rest.find(ends).unwrap_or(rest.len())));
        }
        _ => return false,
    }
    true
}

const BRACKETS: &str = "the closing bracket; a comma between entries; quotes around special signs";

fn syntax(diagnostics: &mut Diagnostics, sheet: Sheet<'_>, error: &ScanError, innermost: Option<&Open>) {
    let text = sheet.text;
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let stretch = |start: usize, end: usize| Span { start: sheet.base + start, end: sheet.base + end };
    if told_apart(diagnostics, sheet, error, at) {
        return;
    }
    let line_start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    if let Some(tab) = line.get(..indent).and_then(|blank| blank.find('\t')) {
        let span = stretch(line_start + tab, line_start + tab + 1);
        diagnostics.report(Code::ConfigSyntax, span, "the indentation has a tab", "blanks only");
        return;
    }
    let innermost = innermost.filter(|open| open.flow);
    if traps::in_broken(diagnostics, innermost.map_or(at, |open| open.start), at) {
        return;
    }
    if innermost.is_some_and(|open| traps::folded_in_brackets(diagnostics, open.start, at)) {
        return;
    }
    if let Some(open) = innermost {
        let span = Span { start: open.start, end: open.start + 1 };
        let message = "this bracket is never closed, or its content is wrong";
        let second = (stretch(at, at), "the error is here");
        diagnostics.report_beside(Code::ConfigSyntax, span, message, BRACKETS, second);
        return;
    }
    // The parser's message is used without its line and column, which the diagnostic shows.
    let words = error.kind().to_string();
    let (message, fix) = wording(line, &words);
    diagnostics.report(Code::ConfigSyntax, stretch(at, at), &message, fix);
}

/// The message and the fix for a line that is invalid YAML, for the most common mistakes.
fn wording(line: &str, words: &str) -> (String, &'static str) {
    let message = format!("not YAML from here on: {words}");
    let after = line.split_once(": ").map_or("", |(_, after)| after.trim_start());
    let fix = if words.contains("misplaced bracket") {
        "the line without this bracket, or with the bracket that it closes"
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
    (message, fix)
}
