//! What YAML does to the words behind `--`: `: ` begins a key there, ` #` a comment, and a comma ends an
//! entry between brackets. Each silently or loudly leaves another text than was written, so each is told
//! in its own words.
//!
//! In comes the tree beside the raw text, out comes whether a trap was told. Nothing is ever read past one.

use super::desk::Desk;
use super::yaml::{Entry, Node, Span, Value};
use crate::words::codes::Code;

const QUOTED: &str = "quotes around the whole value: 'TYPE -- WORDS'";

/// Whether a text has the sign that words begin with.
pub(super) fn has_words(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "--")
}

/// Tells of a ` #` that cuts the words of a plain scalar off.
pub(super) fn cut_words(desk: &mut Desk, node: &Node, path: &str) -> bool {
    let Value::Text { text, plain: true } = &node.value else { return false };
    let file = desk.text();
    let behind = file.get(node.span.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let is_comment = behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#');
    if !has_words(text) || !is_comment {
        return false;
    }
    let sign = node.span.end + (behind.len() - behind.trim_start().len());
    comment_cuts(desk, Span { start: sign, end: node.span.end + behind.trim_end().len() }, path);
    true
}

fn comment_cuts(desk: &mut Desk, at: Span, path: &str) {
    let told = [path, ": ` #` behind -- begins a comment, so that the words end before it"].concat();
    let mend = [QUOTED, ", if it belongs to them; a comment on a line of its own, if not"].concat();
    desk.tell(Code::ConfigValue, at, &told, Some(&mend));
}

/// Tells of a key that is no key but words which a `: ` or, between braces, a comma has cut.
pub(super) fn cut_by_sign(
    desk: &mut Desk,
    map: &Node,
    previous: Option<&Entry>,
    entry: &Entry,
    path: &str,
) -> bool {
    if has_words(&entry.key) {
        let told = [path, ": `: ` behind -- begins a key for YAML, so that the words end before it"].concat();
        desk.tell(Code::ConfigValue, entry.at, &told, Some(QUOTED));
        return true;
    }
    let is_cut = matches!(entry.value.value, Value::Nothing) && is_flow(desk, map);
    let words = previous.filter(
        |previous| matches!(&previous.value.value, Value::Text { text, plain: true } if has_words(text)),
    );
    if let (true, Some(_)) = (is_cut, words) {
        comma_cuts(desk, entry.at, path);
        return true;
    }
    false
}

/// Tells of a second entry of a list that is words which a comma has cut.
pub(super) fn cut_by_comma(desk: &mut Desk, list: &Node, first: &Node, next: &Node, path: &str) -> bool {
    let words = matches!(&first.value, Value::Text { text, plain: true } if has_words(text));
    let range = matches!(&next.value, Value::Text { text, .. } if text.contains(".."));
    // With three entries the comma stands in the words whatever comes last.
    let several = matches!(&list.value, Value::List(items) if items.len() > 2);
    if !words || (range && !several) || !is_flow(desk, list) {
        return false;
    }
    comma_cuts(desk, next.span, path);
    true
}

fn comma_cuts(desk: &mut Desk, at: Span, path: &str) {
    let told = [path, ": a comma between brackets ends the words behind -- before this"].concat();
    desk.tell(Code::ConfigValue, at, &told, Some(QUOTED));
}

fn is_flow(desk: &Desk, node: &Node) -> bool {
    matches!(desk.text().as_bytes().get(node.span.start), Some(b'[' | b'{'))
}

/// Tells of a trap that has made a file no YAML at all; `from` is where the trouble may begin, `at` where
/// the parser gave up.
pub(super) fn in_broken(desk: &mut Desk, from: usize, at: usize) -> bool {
    let file = desk.text();
    let start = file.get(..from).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = file.get(at..).and_then(|rest| rest.find('\n')).map_or(file.len(), |length| at + length);
    let mut line_start = start;
    let is_flow = from < at;
    for line in file.get(start..end).unwrap_or_default().split('\n') {
        for (sign, words) in words_of(line, is_flow) {
            let place = |offset: usize, length: usize| {
                let begin = line_start + sign + offset;
                Span { start: begin, end: begin + length }
            };
            if let Some(comment) = words.find(" #") {
                let whole = words.trim_end().len();
                comment_cuts(desk, place(comment + 1, whole - comment - 1), "payloads");
                return true;
            }
            if let Some(colon) = words.find(": ").or_else(|| words.trim_end().strip_suffix(':').map(str::len))
            {
                let told = "`: ` behind -- begins a key for YAML, so that the words end before it";
                desk.tell(Code::ConfigSyntax, place(colon, 1), told, Some(QUOTED));
                return true;
            }
        }
        line_start += line.len() + 1;
    }
    false
}

/// The words behind each `--` of a line that is neither quoted nor a comment, with the byte they begin at.
/// Between brackets they end where the next entry begins.
fn words_of(line: &str, is_flow: bool) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (sign, _) in line.match_indices(" -- ") {
        let before = line.get(..sign).unwrap_or_default();
        if before.trim_start().starts_with('#') || before.contains(" #") || before.contains(['\'', '"']) {
            break;
        }
        let behind = line.get(sign + 4..).unwrap_or_default();
        let end = if is_flow { behind.find([',', ']', '}']).unwrap_or(behind.len()) } else { behind.len() };
        found.push((sign + 4, behind.get(..end).unwrap_or_default()));
    }
    found
}
