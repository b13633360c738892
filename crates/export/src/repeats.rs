//! Whether a text repeats a value that is to be left out: whole or a long piece of it, as it is, with the escapes of
//! XML, JSON or addresses, or in base64 or hex. Case and the amount of white space do not count.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use super::record_line::write_hex;
use crate::limits;

/// Values that are to be left out.
#[derive(Default)]
pub(super) struct LeftOutValues {
    /// By their length.
    short: BTreeMap<usize, HashSet<Vec<u8>>>,
    pieces: HashSet<u64>,
    hasher: RandomState,
}

impl LeftOutValues {
    /// Adds a value as it is in a body.
    pub(super) fn add_value(&mut self, value: &[u8]) {
        let decoded = without_escapes(value);
        let text = without_escapes(&without_tags(value));
        for plain in [value, &decoded, &text] {
            let plain = plain.trim_ascii();
            self.take_value(fold_text(plain));
            if plain.len() >= limits::SHORTEST {
                self.take_value(write_hex(plain).into_bytes());
                self.add_base64(plain);
            }
        }
    }

    /// What base64 makes of the value in the middle of other bytes: three forms, without the ends that depend on these.
    fn add_base64(&mut self, value: &[u8]) {
        for (before, from) in [(&b""[..], 0), (b"x", 4), (b"xx", 4)] {
            let bytes = [before, value].concat();
            let whole = bytes.len() / 3 * 4;
            let text = systole_proof::statement::encode_payload(&bytes);
            let inside = text.as_bytes().get(from..whole).unwrap_or_default();
            self.take_value(fold_text(inside));
        }
    }

    fn take_value(&mut self, value: Vec<u8>) {
        if value.len() >= limits::LONG_VALUE {
            let starts = (0..=value.len() - limits::PIECE).step_by(limits::PIECE_STEP);
            let pieces = starts.filter_map(|at| value.get(at..at + limits::PIECE));
            self.pieces.extend(pieces.map(|piece| self.hasher.hash_one(piece)));
        } else if !value.is_empty() {
            self.short.entry(value.len()).or_default().insert(value);
        }
    }

    /// Whether a text has one of them.
    pub(super) fn are_in(&self, text: &[u8]) -> bool {
        let decoded = without_escapes(text);
        let mut forms = vec![fold_text(text), fold_text(&without_escapes(&without_tags(text)))];
        if decoded != text {
            // What was quoted in an attribute may have been escaped before.
            forms.push(fold_text(&without_escapes(&decoded)));
            forms.push(fold_text(&decoded));
        }
        if decoded.contains(&b'\\') {
            forms.push(fold_text(&without_backslashes(&decoded)));
        }
        if decoded.contains(&b'%') {
            forms.push(fold_text(&without_percents(&decoded)));
        }
        forms.iter().any(|form| self.are_in_folded(form))
    }

    fn are_in_folded(&self, text: &[u8]) -> bool {
        let has_piece =
            || text.windows(limits::PIECE).any(|piece| self.pieces.contains(&self.hasher.hash_one(piece)));
        if !self.pieces.is_empty() && has_piece() {
            return true;
        }
        self.short.iter().any(|(length, values)| {
            let mut windows = text.windows(*length).enumerate();
            windows.any(|(at, window)| {
                values.contains(window) && (*length >= limits::SHORTEST || is_word(text, at, at + length))
            })
        })
    }
}

/// Whether letters and digits end at both sides.
fn is_word(text: &[u8], start: usize, end: usize) -> bool {
    let is_part = |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    !start.checked_sub(1).is_some_and(is_part) && !is_part(end)
}

/// In small letters, with one blank in the place of each white space.
fn fold_text(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' if out.last() == Some(&b' ') => {}
            b' ' | b'\t' | b'\n' | b'\r' => out.push(b' '),
            byte => out.push(byte.to_ascii_lowercase()),
        }
    }
    out
}

/// With the characters that escapes of XML stand for, and without the marks of CDATA.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"<![CDATA[").or_else(|| rest.strip_prefix(b"]]>")) {
            rest = after;
            continue;
        }
        let end = after.iter().take(12).position(|byte| *byte == b';');
        let name = end.filter(|_| *byte == b'&').and_then(|end| after.get(..end));
        match name.and_then(find_character) {
            Some(character) => {
                out.extend(character.encode_utf8(&mut [0; 4]).bytes());
                rest = after.get(name.map_or(0, <[u8]>::len) + 1..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// The character that a name of XML stands for.
fn find_character(name: &[u8]) -> Option<char> {
    let name = std::str::from_utf8(name).ok()?;
    let number = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        name => name.strip_prefix('#')?,
    };
    let value = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(value.ok()?)
}

/// Without tags.
fn without_tags(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let begins = after.first().is_some_and(|next| next.is_ascii_alphabetic() || *next == b'/');
        let end = if *byte == b'<' && begins { after.iter().position(|byte| *byte == b'>') } else { None };
        match end {
            Some(end) => rest = after.get(end + 1..).unwrap_or_default(),
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// With the characters that escapes of JSON stand for.
fn without_backslashes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let Some((escape, after)) = after.split_first().filter(|_| *byte == b'\\') else {
            out.push(*byte);
            continue;
        };
        rest = after;
        match escape {
            b'n' | b'r' | b't' => out.push(b' '),
            b'u' => {
                let (digits, after) = after.split_at_checked(4).unwrap_or((b"", after));
                let value =
                    std::str::from_utf8(digits).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let found = value.and_then(char::from_u32);
                out.extend(found.unwrap_or('?').encode_utf8(&mut [0; 4]).bytes());
                rest = after;
            }
            other => out.push(*other),
        }
    }
    out
}

/// With the bytes that `%` and two hex digits stand for.
fn without_percents(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_in(value: &str, text: &str) -> bool {
        let mut values = LeftOutValues::default();
        values.add_value(value.as_bytes());
        values.are_in(text.as_bytes())
    }

    #[test]
    fn a_value_is_found_in_every_form_that_a_body_may_have() {
        for text in [
            "<a>Ann &amp; Lee</a>",
            "<a note='ANN &#38;\n Lee'/>",
            "<a><![CDATA[Ann & Lee]]></a>",
            "<a said='&lt;b>Ann &amp;amp; Lee&lt;/b>'/>",
            "<a>Ann <b>&amp;</b> Lee</a>",
            "{\"name\": \"Ann \\u0026 Lee\"}",
            "to=Ann%20%26%20Lee",
            "<a>416e6e2026204c6565</a>",
            "<a>QW5uICYgTGVl</a>",
            "<a>eEFubiAmIExlZXg=</a>",
            "<a>eHhBbm4gJiBMZWV4</a>",
        ] {
            assert!(are_in("Ann &amp; Lee", text), "{text}");
        }
        assert!(!are_in("Ann &amp; Lee", "<a>Ann Lee</a>"));
    }

    #[test]
    fn a_long_piece_counts_and_a_short_value_counts_as_a_word() {
        let long = "The account of Ann Lee in Oslo is closed.";
        assert!(are_in(long, "<error>it said: of Ann Lee in Oslo is clos…</error>"));
        assert!(!are_in(long, "<a>Ann Lee in Oslo</a>"));
        assert!(are_in("7", "<a n='7'/>") && are_in("7", "<a>7</a>"));
        assert!(!are_in("7", "<a7 n='17' x='https://example.org/v7'/>"));
        assert!(!are_in("", "<a/>") && !are_in(" ", "<a> </a>"));
    }
}
