//! Text for terminals: it shows characters that would move the cursor, colour the screen or reorder a line,
//! instead of sending them.
//!
//! It never changes stored text: this is for display only. Hostile text comes in; text that prints as it reads
//! goes out.

use std::borrow::Cow;

/// `text` with every control character, bidirectional override and invisible character written as `\u{…}`.
///
/// Line feeds and tabs stay. A backslash that begins a look-alike of such an escape becomes `\u{5c}`, so that
/// text cannot pretend to have held a control character.
#[must_use]
pub fn make_visible(text: &str) -> Cow<'_, str> {
    let pretends = text.contains("\\u{");
    if !pretends && !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (at, character) in text.char_indices() {
        let begins_escape = character == '\\' && text.get(at..).is_some_and(|rest| rest.starts_with("\\u{"));
        if is_hidden(character) || begins_escape {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The same for text in which hidden characters may be escapes already, such as the documentation in the schema of an
/// MCP server: its escapes stay as they are.
#[must_use]
pub fn visible_again(text: &str) -> String {
    let shown = |c: char| if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Whether a character is a control character, or one that shows nothing or reorders its line. Line feeds and tabs
/// are not.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Soft hyphen, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian separators.
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' => true,
        // Zero width, marks and embeddings of direction, separators, overrides, isolates, deprecated formatting.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Hangul filler, byte order mark, half-width filler, interlinear marks, tags.
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}
