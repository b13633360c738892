//! Reports YAML traps in the descriptions after `--` and `.about:`. `: ` starts a key there, ` #` a comment, and a
//! comma ends an entry in brackets. Each trap changes the text, with or without a syntax error, so each has its own
//! message.
//!
//! Input: the tree and the raw text. Output: whether a trap was reported. Nothing is read past a trap.

use super::diagnostics::Diagnostics;
use super::tree::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;

/// The sign before a description, and how to write the description so that YAML keeps it.
#[derive(Clone, Copy)]
struct Sign {
    shown: &'static str,
    quoted: &'static str,
}

const HYPHENS: Sign = Sign { shown: "--", quoted: "quotes around the whole value: 'TYPE -- WORDS'" };
const ABOUT: Sign = Sign { shown: ".about", quoted: "quotes around the words: .about: 'WORDS'" };

/// Whether a text has the sign of a description.
pub(super) fn has_words(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "--")
}

/// Reports a ` #` that cuts off the description of a type.
pub(super) fn cut_words(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> bool {
    let has_words = matches!(&node.value, Value::Text { text, .. } if has_words(text));
    has_words && cut_off(diagnostics, node, path, HYPHENS)
}

/// Reports a ` #` that cuts off the text of `.about`.
pub(super) fn cut_about(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> bool {
    cut_off(diagnostics, node, path, ABOUT)
}

fn cut_off(diagnostics: &mut Diagnostics, node: &Node, path: &str, sign: Sign) -> bool {
    let Value::Text { plain: true, .. } = &node.value else { return false };
    let file = diagnostics.text();
    let behind = file.get(node.span.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let is_comment = behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#');
    if !is_comment {
        return false;
    }
    let start = node.span.end + (behind.len() - behind.trim_start().len());
    comment_cuts(diagnostics, Span { start, end: node.span.end + behind.trim_end().len() }, path, sign);
    true
}

fn comment_cuts(diagnostics: &mut Diagnostics, at: Span, path: &str, sign: Sign) {
    let message = format!("{path}: ` #` behind {} begins a comment, so the words end before it", sign.shown);
    let fix = format!("{}, if it belongs to them; a comment on a line of its own, if not", sign.quoted);
    diagnostics.report_value(at, &message, &fix);
}

/// Reports a key that is really text, cut off by `: ` or, in braces, by a comma.
pub(super) fn cut_by_sign(
    diagnostics: &mut Diagnostics,
    map: &Node,
    previous: Option<&Entry>,
    entry: &Entry,
    path: &str,
) -> bool {
    if has_words(&entry.key) {
        let message = format!("{path}: `: ` behind -- begins a key for YAML, so the words end before it");
        diagnostics.report_value(entry.at, &message, HYPHENS.quoted);
        return true;
    }
    let is_cut = matches!(entry.value.value, Value::Nothing) && is_flow(diagnostics, map);
    let sign = previous.and_then(|previous| match &previous.value.value {
        Value::Text { text, plain: true } if has_words(text) => Some(HYPHENS),
        // A single word may be a field without a type.
        Value::Text { plain: true, .. } if previous.key == ".about" && entry.key.contains(' ') => Some(ABOUT),
        _ => None,
    });
    if let (true, Some(sign)) = (is_cut, sign) {
        comma_cuts(diagnostics, entry.at, path, sign);
        return true;
    }
    false
}

/// Reports a second list entry that is really text, cut off by a comma.
pub(super) fn cut_by_comma(
    diagnostics: &mut Diagnostics,
    list: &Node,
    first: &Node,
    next: &Node,
    path: &str,
) -> bool {
    let words = matches!(&first.value, Value::Text { text, plain: true } if has_words(text));
    let range = matches!(&next.value, Value::Text { text, .. } if text.contains(".."));
    // With three entries, the comma is part of the text, whatever the last entry is.
    let several = matches!(&list.value, Value::List(items) if items.len() > 2);
    if !words || (range && !several) || !is_flow(diagnostics, list) {
        return false;
    }
    comma_cuts(diagnostics, next.span, path, HYPHENS);
    true
}

/// Reports a key of a step that is really text, cut off by a comma in braces.
pub(super) fn cut_step(
    diagnostics: &mut Diagnostics,
    map: &Node,
    previous: &Entry,
    entry: &Entry,
    path: &str,
) -> bool {
    let is_cut = matches!(entry.value.value, Value::Nothing) && is_flow(diagnostics, map);
    let words = matches!(&previous.value.value, Value::Text { plain: true, .. } | Value::Nothing);
    if !is_cut || !words {
        return false;
    }
    let message = format!("{path}: a comma between braces ends the words of `{}` before this", previous.key);
    let whole = diagnostics.text();
    let first = whole.get(previous.value.span.start..previous.value.span.end).unwrap_or_default();
    let fix = if first.len() + entry.key.len() < 60 && !first.contains('\'') && !entry.key.contains('\'') {
        format!("quotes around the words: {}: '{first}, {}'", previous.key, entry.key)
    } else {
        format!("quotes around the words: {}: '…'", previous.key)
    };
    diagnostics.report_value(entry.at, &message, &fix);
    true
}

/// A step's map without the text that commas have cut off, which is reported. `None` if nothing was cut off.
pub(super) fn uncut(
    diagnostics: &mut Diagnostics,
    map: &Node,
    path: &str,
    is_key: impl Fn(&str) -> bool,
) -> Option<Node> {
    let Value::Map(entries) = &map.value else { return None };
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        // For a text with several commas, one report is enough.
        let previous = kept.last().filter(|_| !is_key(&entry.key) && entry.key.contains(' '));
        if previous.is_some_and(|previous| {
            matches!(entry.value.value, Value::Nothing) && cut_step(diagnostics, map, previous, entry, path)
        }) {
            continue;
        }
        kept.push(entry.clone());
    }
    (kept.len() < entries.len()).then_some(Node { span: map.span, value: Value::Map(kept) })
}

fn comma_cuts(diagnostics: &mut Diagnostics, at: Span, path: &str, sign: Sign) {
    let message =
        format!("{path}: a comma between brackets ends the words behind {} before this", sign.shown);
    diagnostics.report_value(at, &message, sign.quoted);
}

fn is_flow(diagnostics: &Diagnostics, node: &Node) -> bool {
    matches!(diagnostics.text().as_bytes().get(node.span.start), Some(b'[' | b'{'))
}

/// Reports a value in brackets that begins with `>`, which begins a folded text for YAML and cannot be in brackets. The
/// bracket is at `from`; the parser failed at `at`.
pub(super) fn folded_in_brackets(diagnostics: &mut Diagnostics, from: usize, at: usize) -> bool {
    let file = diagnostics.text();
    let end = file.get(at..).and_then(|rest| rest.find('\n')).map_or(file.len(), |length| at + length);
    let inside = file.get(from..end).unwrap_or_default();
    let signs = [": >", "[>", ", >"].into_iter().filter_map(|sign| Some(inside.find(sign)? + sign.len() - 1));
    let Some(start) = signs.min().map(|start| from + start) else { return false };
    let value = file.get(start..end).unwrap_or_default();
    let value = value.split([',', '}', ']']).next().unwrap_or_default().trim_end();
    report_folded(diagnostics, Span { start, end: start + value.len() }, value);
    true
}

/// Reports a condition that begins with `>` outside of brackets, so that YAML reads the lines below it as a text.
pub(super) fn find_folded(diagnostics: &mut Diagnostics, entry: &Entry) -> bool {
    let file = diagnostics.text();
    let behind = file.get(entry.at.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let Some(at) = behind.find('>').filter(|at| matches!(behind.get(..*at).map(str::trim), Some(":"))) else {
        return false;
    };
    let value = behind.get(at..).unwrap_or_default().trim_end();
    let start = entry.at.end + at;
    report_folded(diagnostics, Span { start, end: start + value.len() }, value);
    true
}

fn report_folded(diagnostics: &mut Diagnostics, at: Span, value: &str) {
    let message = "`>` begins a folded text for YAML, and not this value";
    let fix = format!("quotes around it: '{value}'");
    diagnostics.report(Code::ConfigSyntax, at, message, &fix);
}

/// Reports a trap that made the file invalid YAML. The mistake may start at `from`; the parser failed at `at`.
pub(super) fn in_broken(diagnostics: &mut Diagnostics, from: usize, at: usize) -> bool {
    let file = diagnostics.text();
    let start = file.get(..from).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = file.get(at..).and_then(|rest| rest.find('\n')).map_or(file.len(), |length| at + length);
    let mut line_start = start;
    let is_flow = from < at;
    for line in file.get(start..end).unwrap_or_default().split('\n') {
        for (sign, from, words) in words_of(line, is_flow) {
            let place = |offset: usize, length: usize| {
                let begin = line_start + from + offset;
                Span { start: begin, end: begin + length }
            };
            if let Some(comment) = words.find(" #") {
                let whole = words.trim_end().len();
                comment_cuts(diagnostics, place(comment + 1, whole - comment - 1), "payloads", sign);
                return true;
            }
            if let Some(colon) = words.find(": ").or_else(|| words.trim_end().strip_suffix(':').map(str::len))
            {
                let message =
                    format!("`: ` behind {} begins a key for YAML, so the words end before it", sign.shown);
                diagnostics.report(Code::ConfigSyntax, place(colon, 1), &message, sign.quoted);
                return true;
            }
        }
        line_start += line.len() + 1;
    }
    false
}

/// The text after each sign on a line, outside quotes and comments, with its byte position. In brackets it ends where
/// the next entry begins.
fn words_of(line: &str, is_flow: bool) -> Vec<(Sign, usize, &str)> {
    let mut found = Vec::new();
    let hyphens = line.match_indices(" -- ").map(|(at, sign)| (HYPHENS, at, at + sign.len()));
    let about = line.match_indices(".about: ").map(|(at, sign)| (ABOUT, at, at + sign.len()));
    for (sign, at, from) in about.chain(hyphens) {
        let before = line.get(..at).unwrap_or_default();
        if before.trim_start().starts_with('#') || before.contains(" #") || before.contains(['\'', '"']) {
            continue;
        }
        let behind = line.get(from..).unwrap_or_default();
        if behind.starts_with(['\'', '"', '|', '>']) {
            continue;
        }
        let end = if is_flow { behind.find([',', ']', '}']).unwrap_or(behind.len()) } else { behind.len() };
        found.push((sign, from, behind.get(..end).unwrap_or_default()));
    }
    found
}
