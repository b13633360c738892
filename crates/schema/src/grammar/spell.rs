//! Literals and sets of characters in GBNF.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Where a value stands, and therefore which characters it may have as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePlace {
    /// Between the tags of an element.
    Content,
    /// In an attribute, between double quotes.
    Attribute,
}

/// A literal: a value as it is written at its place.
pub(super) fn write_value(value: &str, place: ValuePlace) -> String {
    let mut out = String::new();
    for sign in value.chars() {
        match (sign, place) {
            ('&', _) => out.push_str("&amp;"),
            ('<', _) => out.push_str("&lt;"),
            ('>', _) => out.push_str("&gt;"),
            ('"', ValuePlace::Attribute) => out.push_str("&quot;"),
            ('\n' | '\t', ValuePlace::Attribute) | ('\r', _) => {
                let _infallible = write!(out, "&#{};", u32::from(sign));
            }
            _ => out.push(sign),
        }
    }
    write_literal(&out)
}

/// A literal, character by character.
pub(super) fn write_literal(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&write_code(sign)),
            _ => out.push(sign),
        }
    }
    out.push('"');
    out
}

/// A set of characters that need no escape at that place, and the escapes of others that are in it. `None` if it is
/// empty.
pub(super) fn write_set(ranges: &[RangeInclusive<char>], place: ValuePlace) -> Option<String> {
    let plain: Vec<RangeInclusive<char>> =
        ranges.iter().flat_map(|range| split_plain(range, place)).collect();
    let holds = |sign: char| ranges.iter().any(|range| range.contains(&sign));
    let escapes = [('<', "&lt;"), ('>', "&gt;"), ('&', "&amp;"), ('"', "&quot;")];
    let is_escaped = |sign: char| sign != '"' || place == ValuePlace::Attribute;
    let mut parts: Vec<String> = write_plain(&plain).into_iter().collect();
    parts.extend(
        escapes
            .iter()
            .filter(|(sign, _)| holds(*sign) && is_escaped(*sign))
            .map(|(_, text)| write_literal(text)),
    );
    match parts.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("({})", several.join(" | "))),
    }
}

/// Ranges in order as a set. Readers of grammars disagree on characters of more than four digits, so a set that goes on
/// to the last one is written by what it lacks, and others stop before these.
fn write_plain(ranges: &[RangeInclusive<char>]) -> Option<String> {
    let mut inside = String::new();
    if ranges.last().is_some_and(|last| *last.end() == char::MAX) {
        let mut next = '\0';
        for range in ranges {
            if let Some(before) = ('\0'..*range.start()).next_back().filter(|before| next <= *before) {
                write_range(&mut inside, &(next..=before));
            }
            next = (*range.end()..=char::MAX).nth(1).unwrap_or(char::MAX);
        }
        return Some(format!("[^{inside}]"));
    }
    for range in ranges.iter().filter(|range| *range.start() <= '\u{ffff}') {
        write_range(&mut inside, &(*range.start()..=(*range.end()).min('\u{ffff}')));
    }
    (!inside.is_empty()).then(|| format!("[{inside}]"))
}

/// The parts of a range without the characters that cannot stand there as they are.
fn split_plain(range: &RangeInclusive<char>, place: ValuePlace) -> Vec<RangeInclusive<char>> {
    let breaks = |sign: char| match sign {
        '<' | '>' | '&' => true,
        '"' | '\n' | '\t' => place == ValuePlace::Attribute,
        // A line end is read as a line feed.
        '\r' => true,
        '\u{0}'..='\u{1f}' | '\u{7f}' => !matches!(sign, '\n' | '\t'),
        '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    };
    let (mut parts, mut from) = (Vec::new(), Some(*range.start()));
    for cut in ('\0'..='\u{7f}').chain(['\u{fffe}', '\u{ffff}']) {
        if range.contains(&cut) && breaks(cut) {
            let before = from.and_then(|from| Some(from..=(from..cut).next_back()?));
            parts.extend(before);
            from = (cut..=*range.end()).nth(1);
        }
    }
    parts.extend(from.map(|from| from..=*range.end()));
    parts
}

fn write_range(out: &mut String, range: &RangeInclusive<char>) {
    out.push_str(&write_member(*range.start()));
    if range.start() != range.end() {
        out.push('-');
        out.push_str(&write_member(*range.end()));
    }
}

fn write_member(sign: char) -> String {
    match sign {
        'a'..='z' | 'A'..='Z' | '0'..='9' => sign.to_string(),
        _ => write_code(sign),
    }
}

fn write_code(sign: char) -> String {
    match u32::from(sign) {
        code @ 0..=0xff => format!("\\x{code:02X}"),
        code => format!("\\u{code:04X}"),
    }
}

/// A part with a count. A count that a server would refuse stays open, which the second value says.
pub(super) fn repeat(what: &str, least: usize, most: Option<usize>, bound: usize) -> (String, bool) {
    let is_open = least > bound || most.is_some_and(|most| most > bound);
    let (few, many) = (least.min(bound), most.filter(|most| *most <= bound));
    let text = match (few, many) {
        (0, Some(0)) => "\"\"".to_owned(),
        (1, Some(1)) => what.to_owned(),
        (0, Some(1)) => format!("{what}?"),
        (0, None) => format!("{what}*"),
        (1, None) => format!("{what}+"),
        (few, None) => format!("{what}{{{few},}}"),
        (few, Some(many)) if few == many => format!("{what}{{{few}}}"),
        (few, Some(many)) => format!("{what}{{{few},{many}}}"),
    };
    (text, is_open)
}

/// One of several; in parentheses unless it is alone.
pub(super) fn join_choices(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        several => format!("({})", several.join(" | ")),
    }
}
