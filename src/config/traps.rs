//! What YAML does to the words behind `--` and `.about:`: `: ` begins a key there, ` #` a comment, and a comma ends an
//! entry between brackets. Each silently or loudly leaves another text than was written, so each is told
//! in its own words.
//!
//! In comes the tree beside the raw text, out comes whether a trap was told. Nothing is ever read past one.

use super::desk::Desk;
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;

/// Behind what words stand, and how they are written so that YAML takes them as they are.
#[derive(Clone, Copy)]
struct Sign {
    shown: &'static str,
    quoted: &'static str,
}

const HYPHENS: Sign = Sign { shown: "--", quoted: "quotes around the whole value: 'TYPE -- WORDS'" };
const ABOUT: Sign = Sign { shown: ".about", quoted: "quotes around the words: .about: 'WORDS'" };

/// Whether a text has the sign that words begin with.
pub(super) fn has_words(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "--")
}

/// Tells of a ` #` that cuts the words of a type off.
pub(super) fn cut_words(desk: &mut Desk, node: &Node, path: &str) -> bool {
    let has_words = matches!(&node.value, Value::Text { text, .. } if has_words(text));
    has_words && cut_off(desk, node, path, HYPHENS)
}

/// Tells of a ` #` that cuts the words of `.about` off.
pub(super) fn cut_about(desk: &mut Desk, node: &Node, path: &str) -> bool {
    cut_off(desk, node, path, ABOUT)
}

fn cut_off(desk: &mut Desk, node: &Node, path: &str, sign: Sign) -> bool {
    let Value::Text { plain: true, .. } = &node.value else { return false };
    let file = desk.text();
    let behind = file.get(node.span.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let is_comment = behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#');
    if !is_comment {
        return false;
    }
    let start = node.span.end + (behind.len() - behind.trim_start().len());
    comment_cuts(desk, Span { start, end: node.span.end + behind.trim_end().len() }, path, sign);
    true
}

fn comment_cuts(desk: &mut Desk, at: Span, path: &str, sign: Sign) {
    let told =
        format!("{path}: ` #` behind {} begins a comment, so that the words end before it", sign.shown);
    let mend = format!("{}, if it belongs to them; a comment on a line of its own, if not", sign.quoted);
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
        let told = format!("{path}: `: ` behind -- begins a key for YAML, so that the words end before it");
        desk.tell(Code::ConfigValue, entry.at, &told, Some(HYPHENS.quoted));
        return true;
    }
    let is_cut = matches!(entry.value.value, Value::Nothing) && is_flow(desk, map);
    let sign = previous.and_then(|previous| match &previous.value.value {
        Value::Text { text, plain: true } if has_words(text) => Some(HYPHENS),
        // A single word may be a field whose type was forgotten.
        Value::Text { plain: true, .. } if previous.key == ".about" && entry.key.contains(' ') => Some(ABOUT),
        _ => None,
    });
    if let (true, Some(sign)) = (is_cut, sign) {
        comma_cuts(desk, entry.at, path, sign);
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
    comma_cuts(desk, next.span, path, HYPHENS);
    true
}

/// Tells of a key of a step that is no key but words which a comma between braces has cut.
pub(super) fn cut_step(desk: &mut Desk, map: &Node, previous: &Entry, entry: &Entry, path: &str) -> bool {
    let is_cut = matches!(entry.value.value, Value::Nothing) && is_flow(desk, map);
    let words = matches!(&previous.value.value, Value::Text { plain: true, .. } | Value::Nothing);
    if !is_cut || !words {
        return false;
    }
    let told = format!("{path}: a comma between braces ends the words of `{}` before this", previous.key);
    let whole = desk.text();
    let first = whole.get(previous.value.span.start..previous.value.span.end).unwrap_or_default();
    let mend = if first.len() + entry.key.len() < 60 && !first.contains('\'') && !entry.key.contains('\'') {
        format!("quotes around the words: {}: '{first}, {}'", previous.key, entry.key)
    } else {
        format!("quotes around the words: {}: '…'", previous.key)
    };
    desk.tell(Code::ConfigValue, entry.at, &told, Some(&mend));
    true
}

/// A step's map without what commas have cut off its words, which is told; none where nothing is.
pub(super) fn uncut(desk: &mut Desk, map: &Node, path: &str) -> Option<Node> {
    let Value::Map(entries) = &map.value else { return None };
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        let is_key = super::keys::under(super::workflows::STEP_TABLE).any(|(name, _)| name == entry.key);
        // Of words that have several commas the first says enough.
        let previous = kept.last().filter(|_| !is_key && entry.key.contains(' '));
        if previous.is_some_and(|previous| {
            matches!(entry.value.value, Value::Nothing) && cut_step(desk, map, previous, entry, path)
        }) {
            continue;
        }
        kept.push(entry.clone());
    }
    (kept.len() < entries.len()).then_some(Node { span: map.span, value: Value::Map(kept) })
}

fn comma_cuts(desk: &mut Desk, at: Span, path: &str, sign: Sign) {
    let told = format!("{path}: a comma between brackets ends the words behind {} before this", sign.shown);
    desk.tell(Code::ConfigValue, at, &told, Some(sign.quoted));
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
        for (sign, from, words) in words_of(line, is_flow) {
            let place = |offset: usize, length: usize| {
                let begin = line_start + from + offset;
                Span { start: begin, end: begin + length }
            };
            if let Some(comment) = words.find(" #") {
                let whole = words.trim_end().len();
                comment_cuts(desk, place(comment + 1, whole - comment - 1), "payloads", sign);
                return true;
            }
            if let Some(colon) = words.find(": ").or_else(|| words.trim_end().strip_suffix(':').map(str::len))
            {
                let told =
                    ["`: ` behind ", sign.shown, " begins a key for YAML, so that the words end before it"];
                desk.tell(Code::ConfigSyntax, place(colon, 1), &told.concat(), Some(sign.quoted));
                return true;
            }
        }
        line_start += line.len() + 1;
    }
    false
}

/// The words behind each sign of a line that is neither quoted nor a comment, with the byte they begin at.
/// Between brackets they end where the next entry begins.
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
