//! How a model sees a payload: text as text, anything else as escaped markup.
//!
//! Payloads come in; text goes out.

mod code;
mod core;
mod failure;
mod mark;
mod markup;
mod own_tag;
mod workspace;

pub(crate) use code::{is_code_error, write_code, write_code_part};
pub(crate) use core::{write_block, write_core};
pub(crate) use failure::{describe_part_failure, describe_slip, is_of_form, read_failure, write_first_words};
pub(crate) use mark::{TextMark, show_payload, write_words};
pub(crate) use markup::{escape_markup, quote_attribute, read_only_text, write_markup};
pub(crate) use own_tag::{SLOT, find_own_tag};
pub(crate) use workspace::change_words;

use systole_kit::Payload;

use crate::contracts::AgentContracts;
use crate::spec::AgentSpec;

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
