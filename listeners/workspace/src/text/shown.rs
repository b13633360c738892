//! Texts as a person or a model sees them: nothing hidden, and nothing that moves a cursor.
//!
//! Any text comes in; a text that reads as it is written goes out. Stored texts are never changed by this.

use systole_kit::characters;
use systole_kit::writer::is_hidden;

/// A text whose invisible and confusable characters are written as `⟨U+202E⟩`: controls, marks of direction, blanks
/// of no width or an unusual one, and letters of another script inside a word of Latin letters.
///
/// Line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut word = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        push_word(&mut shown, &word);
        word.clear();
        if is_unusual(character) { push_sign(&mut shown, character) } else { shown.push(character) }
    }
    push_word(&mut shown, &word);
    shown
}

fn is_unusual(character: char) -> bool {
    let is_blank = character.is_whitespace() && !matches!(character, ' ' | '\t' | '\n');
    let is_variant = matches!(character, '\u{fe00}'..='\u{fe0f}');
    is_blank || is_variant || is_hidden(character) || !characters::is_legal(character)
}

fn push_sign(shown: &mut String, character: char) {
    shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character)));
}

/// A word, with its foreign letters written by number if it has Latin letters too.
fn push_word(shown: &mut String, word: &str) {
    let has_latin = word.chars().any(|character| character.is_ascii_alphabetic());
    for character in word.chars() {
        let is_strange =
            is_unusual(character) || is_lookalike(character) || (has_latin && is_foreign(character));
        if is_strange { push_sign(shown, character) } else { shown.push(character) }
    }
}

/// Letters that look like Latin ones and are of another script: Greek, Cyrillic, Armenian, Cherokee, Lisu.
fn is_foreign(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{1d00}'..='\u{1dbf}'
        | '\u{1f00}'..='\u{1fff}' | '\u{2c60}'..='\u{2dff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{ab30}'..='\u{abbf}')
}

/// Forms of Latin letters for mathematics, and the wide forms.
fn is_lookalike(character: char) -> bool {
    matches!(character, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}')
}

/// The output of a program as it would stand on a page: no escape sequences, of each line what was last on it, and
/// every other control character made visible.
pub(crate) fn plain_output(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = without_escapes(&text);
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        let last = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        for character in erased(last).chars() {
            if character != '\t' && is_unusual(character) && !matches!(character, '\u{fe00}'..='\u{fe0f}') {
                push_sign(&mut shown, character);
            } else {
                shown.push(character);
            }
        }
        shown.push_str(end);
    }
    shown
}

/// A line after its backspaces.
fn erased(line: &str) -> String {
    let mut left = String::with_capacity(line.len());
    for character in line.chars() {
        if character == '\u{8}' {
            left.pop();
        } else {
            left.push(character);
        }
    }
    left
}

/// What a terminal is in the middle of.
#[derive(Clone, Copy)]
enum Escape {
    None,
    /// After the escape character.
    Begun,
    /// In parameters; a letter ends them.
    Sequence,
    /// In a text for the terminal; BEL or ST ends it.
    Command,
    /// In such a text, after an escape character.
    Ending,
}

/// A text without the escape sequences of terminals. One that does not end takes no more than its line.
fn without_escapes(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut state = Escape::None;
    for character in text.chars() {
        state = match (state, character) {
            (Escape::None, '\u{1b}') => Escape::Begun,
            (Escape::None, '\u{9b}') => Escape::Sequence,
            (Escape::None, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => Escape::Command,
            (Escape::None, other) => {
                left.push(other);
                Escape::None
            }
            // A line feed ends everything, so that an unfinished sequence hides no more than a line.
            (_, '\n') => {
                left.push('\n');
                Escape::None
            }
            (Escape::Begun, '[') => Escape::Sequence,
            (Escape::Begun, ']' | 'P' | 'X' | '^' | '_') => Escape::Command,
            (Escape::Begun, ' '..='/') => Escape::Begun,
            (Escape::Begun, _) => Escape::None,
            (Escape::Sequence, ' '..='?') => Escape::Sequence,
            (Escape::Sequence, _) => Escape::None,
            (Escape::Command, '\u{7}' | '\u{9c}') => Escape::None,
            (Escape::Command, '\u{1b}') => Escape::Ending,
            (Escape::Command, _) => Escape::Command,
            (Escape::Ending, '\\') => Escape::None,
            (Escape::Ending, _) => Escape::Command,
        };
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_hidden_and_confusable_characters_are_shown() {
        assert_eq!(visible("a\u{202e}b\u{200b}c\u{e0041}\u{7f}"), "a⟨U+202E⟩b⟨U+200B⟩c⟨U+E0041⟩⟨U+007F⟩");
        assert_eq!(visible("p\u{430}ypal"), "p⟨U+0430⟩ypal");
        assert_eq!(visible("привет мир, Straße, naïve, 日本"), "привет мир, Straße, naïve, 日本");
        assert_eq!(visible("a\u{a0}b\u{3000}"), "a⟨U+00A0⟩b⟨U+3000⟩");
        assert_eq!(visible("\u{ff52}\u{ff4d}"), "⟨U+FF52⟩⟨U+FF4D⟩");
        assert_eq!(visible("a\tb\nc\r\n"), "a\tb\nc⟨U+000D⟩\n");
        assert_eq!(visible("\u{fffe}\u{1b}[2K"), "⟨U+FFFE⟩⟨U+001B⟩[2K");
    }

    #[test]
    fn g2_output_has_no_terminal_tricks() {
        assert_eq!(plain_output(b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\n"), "red x\n");
        assert_eq!(plain_output(b"10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
        assert_eq!(plain_output(b"a\x08b\x00\xff\n"), "b⟨U+0000⟩\u{fffd}\n");
        assert_eq!(plain_output(b"\x1b]0;never ends\nnext\x1b"), "\nnext");
        assert_eq!(plain_output("x\u{9b}2Jy\u{202e}z".as_bytes()), "xy⟨U+202E⟩z");
        assert_eq!(plain_output(b"\x1bP1;2qpicture\x1b\\after"), "after");
        assert_eq!(plain_output("a\u{ffff}".as_bytes()), "a⟨U+FFFF⟩");
        assert_eq!(plain_output(b"\r\r"), "");
    }
}
