//! The commands that pages name: a word as a shell reads it, and the command that sends the payload of a form.
//!
//! A payload comes in; a line for a shell goes out. It has fields if they make exactly the same payload, and the XML
//! otherwise.

use systole_kit::schema::SchemaModel;

use systole_show::columns::plain;

use crate::limits;

/// The start of a command: what is sent, but not to whom.
pub(super) enum SendCommand {
    /// With the element and its fields.
    Fields(String),
    /// With the payload on stdin.
    Stdin(String),
}

/// The command for a payload. `None` if its text has characters that a terminal does not show, or if it is long.
pub(super) fn send(model: &SchemaModel, element: &str, payload: &[u8]) -> Option<SendCommand> {
    let arguments = model.to_fields(payload).unwrap_or_default();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = std::str::from_utf8(payload).ok()?;
    if text.len() > limits::BODY || text.lines().any(is_strange) {
        return None;
    }
    if model.from_fields(element, &given) == Some(Ok(payload.to_vec())) {
        let words: Vec<String> = std::iter::once(element).chain(given).map(quote_word).collect();
        return Some(SendCommand::Fields(words.join(" ")));
    }
    Some(SendCommand::Stdin(text.to_owned()))
}

impl SendCommand {
    /// The whole command.
    pub(super) fn with_beside(self, to: &str, thread: Option<&str>) -> String {
        let thread = thread.map(|thread| format!(" --thread {}", quote_word(thread))).unwrap_or_default();
        let to = quote_word(to);
        match self {
            SendCommand::Fields(words) => format!("systole send {words} --to {to}{thread}"),
            SendCommand::Stdin(text) => {
                format!("printf %s {} | systole send --file - --to {to}{thread}", quote_word(&text))
            }
        }
    }
}

/// Whether a terminal would show a line differently from what it is.
fn is_strange(line: &str) -> bool {
    let single = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(line) != single(line) || line.contains(['\t', '\r'])
}

/// A word as a shell reads it.
pub(super) fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_cannot_leave_its_quotes() {
        assert_eq!(quote_word("a'; rm -rf $HOME"), "'a'\\''; rm -rf $HOME'");
        assert_eq!((quote_word("name=World"), quote_word("")), ("name=World".to_owned(), "''".to_owned()));
    }
}
