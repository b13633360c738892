//! Characters: which ones XML 1.0 allows, the meaning of a reference, and values as a parser reads them.
//!
//! This module never guesses: it refuses an unknown reference instead of passing it through. Text as written
//! comes in; text as meant, or the offset of the error, goes out.

use std::borrow::Cow;

/// Whether XML 1.0 allows this character, written plainly or as a reference.
#[must_use]
pub fn is_legal(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// White space as XML means it, which is less than Unicode does.
#[must_use]
pub fn is_white(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// The first character of `text` that XML forbids, with its offset.
#[must_use]
pub fn first_illegal(text: &str) -> Option<(usize, char)> {
    // Nearly every text is clean. A branch-free sweep over bytes detects that many times faster than decoding.
    // 0xEF leads the two forbidden non-characters, among much that is allowed.
    let suspicious = |byte: &u8| (*byte < 0x20) & !matches!(*byte, b'\t' | b'\n' | b'\r') | (*byte == 0xef);
    let clean =
        text.as_bytes().chunks(64).all(|chunk| !chunk.iter().fold(false, |seen, b| seen | suspicious(b)));
    if clean {
        return None;
    }
    text.char_indices().find(|(_, character)| !is_legal(*character))
}

/// The character for `&name;`: one of the five entities, or a legal character by number.
#[must_use]
pub fn resolve_reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => resolve_number(name.strip_prefix('#')?),
    }
}

fn resolve_number(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    // `from_str_radix` accepts a sign, but XML does not.
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    let code = u32::from_str_radix(digits, radix).ok().filter(|_| plain)?;
    char::from_u32(code).filter(|character| is_legal(*character))
}

/// Text with line ends as a parser returns them: CR LF and a lone CR become a line feed.
#[must_use]
pub fn line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// An attribute's value as a parser reads it: references are resolved, and plainly written white space becomes
/// blanks.
///
/// `raw` must have passed [`check_value`]; a reference that has not passed stays unresolved.
#[must_use]
pub fn unescape_value(raw: &str) -> Cow<'_, str> {
    if !raw.contains(['&', '\t', '\n', '\r']) {
        return Cow::Borrowed(raw);
    }
    let mut read = String::with_capacity(raw.len());
    let plain = line_ends(raw);
    let mut rest: &str = &plain;
    while let Some((before, after)) = rest.split_once('&') {
        read.extend(before.chars().map(replace_blank));
        match after.split_once(';').and_then(|(name, tail)| Some((resolve_reference(name)?, tail))) {
            Some((character, tail)) => {
                read.push(character);
                rest = tail;
            }
            None => {
                read.push('&');
                rest = after;
            }
        }
    }
    read.extend(rest.chars().map(replace_blank));
    Cow::Owned(read)
}

fn replace_blank(character: char) -> char {
    if is_white(character) { ' ' } else { character }
}

/// What is wrong with an attribute's value as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueFlaw<'v> {
    /// The value contains a `<`.
    Less,
    /// An `&` that begins no reference.
    Ampersand,
    /// The reference with this name is neither one of the five entities nor a legal character.
    Reference(&'v str),
}

/// Checks an attribute's value as written. The offset of the flaw counts from the start of the value.
///
/// # Errors
/// The first flaw in the order of the text.
pub fn check_value(raw: &str) -> Result<(), (usize, ValueFlaw<'_>)> {
    let mut passed = 0;
    let mut rest = raw;
    while let Some(at) = rest.find(['<', '&']) {
        let (_, from) = rest.split_at(at);
        let here = passed + at;
        let Some(after) = from.strip_prefix('&') else { return Err((here, ValueFlaw::Less)) };
        let end = after.find([';', '&', '<']).filter(|end| after.as_bytes().get(*end) == Some(&b';'));
        let Some(end) = end else { return Err((here, ValueFlaw::Ampersand)) };
        let (name, tail) = after.split_at(end);
        if resolve_reference(name).is_none() {
            return Err((here, ValueFlaw::Reference(name)));
        }
        rest = tail.strip_prefix(';').unwrap_or_default();
        passed = raw.len() - rest.len();
    }
    Ok(())
}
