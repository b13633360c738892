//! How a model sees a payload: text as text, anything else as escaped markup.
//!
//! Text from others is escaped, and the mark of the call is removed from it. So nothing in it can pretend to be the
//! core's message or the end of its block. Payloads come in; text goes out.

mod code;
mod core;
mod failure;
mod markup;
mod own_tag;
mod workspace;

pub(crate) use code::{is_code_error, write_code, write_code_part};
pub(crate) use core::{write_block, write_core};
pub(crate) use failure::{describe_slip, is_of_form, read_failure, write_first_words};
pub(crate) use markup::{read_only_text, write_markup};
pub(crate) use own_tag::{SLOT, find_own_tag};
pub(crate) use workspace::change_words;

use systole_kit::Payload;

use crate::contracts::AgentContracts;
use crate::spec::AgentSpec;

/// What is shown in place of the mark.
const COVERED: &str = "[mark]";

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
        markup::list_values(payload).is_none_or(|values| values.iter().any(|value| self.is_in(value)))
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

/// Text for a place that is read as markup.
pub(crate) fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// A payload from others in words: its text, or its markup.
pub(crate) fn write_words(payload: &Payload) -> String {
    let words = code::write_code(payload).or_else(|| Some(change_words(payload)?.join_results()));
    words.or_else(|| read_only_text(payload)).unwrap_or_else(|| write_markup(payload))
}

/// A payload for a place that is read as markup. Its markup is kept if a schema has checked all of it and no element
/// is named like a part of the prompt.
pub(crate) fn show_judged(
    payload: &Payload,
    mark: &TextMark,
    agent: &AgentSpec,
    contracts: &AgentContracts,
) -> String {
    let is_change = change_words(payload).is_some();
    let is_text = is_change || read_only_text(payload).is_some() || code::write_code(payload).is_some();
    let has_markup = !is_text && contracts.have_judged(payload);
    let is_part = |name: &String| is_prompt_part(agent, name);
    match markup::list_elements(payload).filter(|names| has_markup && !names.iter().any(is_part)) {
        Some(_) => mark.cover_mark(&write_markup(payload)),
        None => show_payload(payload, mark),
    }
}

/// Whether an element with that name would be taken for a part of the prompt.
fn is_prompt_part(agent: &AgentSpec, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_block =
        matches!(name.as_str(), "tool_result" | "message" | "turn-failed" | "workflow" | "current-goal");
    is_block || name.starts_with("core-") || crate::prompt::sections::is_one(agent, &name)
}

/// A payload from others as escaped text.
pub(crate) fn show_payload(payload: &Payload, mark: &TextMark) -> String {
    escape_markup(&mark.cover_mark(&write_words(payload)))
}

/// Text for an attribute.
pub(crate) fn quote_attribute(text: &str) -> String {
    escape_markup(text).replace('"', "&quot;")
}
