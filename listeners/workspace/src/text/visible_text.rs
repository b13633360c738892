//! Texts as a person or a model sees them: nothing hidden, and nothing that moves a cursor.
//!
//! Any text comes in; a text that reads as it is written goes out. Stored texts are never changed by this.

use systole_kit::characters;
use systole_kit::writer::is_hidden;

/// The output of a program as it would stand on a page: no escape sequences, of each line what was last on it, and
/// every other control character made visible.
pub(crate) fn strip_escapes(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = without_escapes(&text);
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        let last = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        for character in apply_backspaces(last).chars() {
            let is_blank = character.is_whitespace() && !matches!(character, ' ' | '\t');
            if is_blank || is_hidden(character) || !characters::is_legal(character) {
                shown.extend(character.escape_unicode());
            } else {
                shown.push(character);
            }
        }
        shown.push_str(end);
    }
    shown
}

/// A line after its backspaces.
fn apply_backspaces(line: &str) -> String {
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
enum TerminalEscape {
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
    let mut state = TerminalEscape::None;
    for character in text.chars() {
        state = match (state, character) {
            (TerminalEscape::None, '\u{1b}') => TerminalEscape::Begun,
            (TerminalEscape::None, '\u{9b}') => TerminalEscape::Sequence,
            (TerminalEscape::None, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => {
                TerminalEscape::Command
            }
            (TerminalEscape::None, other) => {
                left.push(other);
                TerminalEscape::None
            }
            // A line feed ends everything, so that an unfinished sequence hides no more than a line.
            (_, '\n') => {
                left.push('\n');
                TerminalEscape::None
            }
            (TerminalEscape::Begun, '[') => TerminalEscape::Sequence,
            (TerminalEscape::Begun, ']' | 'P' | 'X' | '^' | '_') => TerminalEscape::Command,
            (TerminalEscape::Begun, ' '..='/') => TerminalEscape::Begun,
            (TerminalEscape::Begun, _) => TerminalEscape::None,
            (TerminalEscape::Sequence, ' '..='?') => TerminalEscape::Sequence,
            (TerminalEscape::Sequence, _) => TerminalEscape::None,
            (TerminalEscape::Command, '\u{7}' | '\u{9c}') => TerminalEscape::None,
            (TerminalEscape::Command, '\u{1b}') => TerminalEscape::Ending,
            (TerminalEscape::Command, _) => TerminalEscape::Command,
            (TerminalEscape::Ending, '\\') => TerminalEscape::None,
            (TerminalEscape::Ending, _) => TerminalEscape::Command,
        };
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_output_has_no_terminal_tricks() {
        assert_eq!(strip_escapes(b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\n"), "red x\n");
        assert_eq!(strip_escapes(b"10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
        assert_eq!(strip_escapes(b"a\x08b\x00\xff\n"), "b\\u{0}\u{fffd}\n");
        assert_eq!(strip_escapes(b"\x1b]0;never ends\nnext\x1b"), "\nnext");
        assert_eq!(strip_escapes("x\u{9b}2Jy\u{202e}z".as_bytes()), "xy\\u{202e}z");
        assert_eq!(strip_escapes(b"\x1bP1;2qpicture\x1b\\after"), "after");
        assert_eq!(strip_escapes("a\u{ffff}".as_bytes()), "a\\u{ffff}");
        assert_eq!(strip_escapes(b"\r\r"), "");
    }
}
