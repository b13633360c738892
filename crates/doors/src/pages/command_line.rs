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
    // The payload's own values: those of the form may have blank places between them.
    let values = model.form_values(payload).unwrap_or_default();
    let mut named: Vec<(&str, &str)> = values.iter().collect();
    named.sort_by_key(|(name, _)| in_order(name));
    let arguments: Vec<String> = named.iter().filter_map(|(name, value)| argument(name, value)).collect();
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

/// A name that sorts by the numbers in it.
fn in_order(name: &str) -> String {
    let padded = |part: &str| match part.split_once(']') {
        Some((digits, rest)) => format!("[{digits:0>6}]{rest}"),
        None => part.to_owned(),
    };
    name.split('[').map(padded).collect()
}

/// A posted value as a field of the command line: `/order/line[2]/sku` is `line[2].sku`.
fn argument(name: &str, value: &str) -> Option<String> {
    let (_, inner) = name.trim_start_matches('/').split_once('/')?;
    let is_choice = inner.rsplit('/').next().is_some_and(|last| last.starts_with('?') || last == "+");
    let inner = inner.strip_suffix("/.").unwrap_or(inner);
    (!is_choice).then(|| format!("{}={value}", inner.replace('/', ".")))
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
        assert_eq!(argument("/order/line[2]/@n", "7").as_deref(), Some("line[2].@n=7"));
        assert_eq!(argument("/say/.", "hi").as_deref(), Some(".=hi"));
        assert_eq!(argument("/order/?.0", "1"), None);
        assert!(in_order("/order/line[2]/sku") < in_order("/order/line[10]/sku"));
    }
}
