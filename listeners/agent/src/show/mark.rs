//! The mark of a call. Text from others is untrusted: it is escaped, and the mark of the call is removed from it. So
//! nothing in it can pretend to be the core's message or the end of its block.

use super::code::write_code;
use super::markup::{escape_markup, list_values, read_only_text, write_markup};
use super::workspace::change_words;
use systole_kit::Payload;

/// What is shown in place of the mark.
pub(super) const COVERED: &str = "[mark]";

/// The mark of a call: only its own prompt has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextMark(pub(crate) String);

impl TextMark {
    /// A text without the mark, ignoring case: a model may confuse the two.
    pub(crate) fn cover_mark(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, after)) = self.split_at_mark(rest) {
            out.extend([before, COVERED]);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// Whether a text contains it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.split_at_mark(text).is_some()
    }

    /// Whether a reader of a payload would find it there: in a value or a text, in any encoding.
    pub(crate) fn is_in_payload(&self, payload: &Payload) -> bool {
        list_values(payload).is_none_or(|values| values.iter().any(|value| self.is_in(value)))
    }

    /// The text before its first occurrence, and the text after it.
    fn split_at_mark<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let mark = self.0.as_bytes();
        if mark.is_empty() {
            return None;
        }
        let at = text.as_bytes().windows(mark.len()).position(|here| here.eq_ignore_ascii_case(mark))?;
        Some((text.get(..at)?, text.get(at + mark.len()..)?))
    }
}

/// A payload from others in words: its text, or its markup.
pub(crate) fn write_words(payload: &Payload) -> String {
    let words = write_code(payload).or_else(|| Some(change_words(payload)?.join_results(None)));
    words.or_else(|| read_only_text(payload)).unwrap_or_else(|| write_markup(payload))
}

/// A payload from others as escaped text.
pub(crate) fn show_payload(payload: &Payload, mark: &TextMark) -> String {
    escape_markup(&mark.cover_mark(&write_words(payload)))
}
