//! Finds the tag of a prompt at the beginning of a model's text. Such a text goes on with the prompt and is no answer.
//!
//! The text comes in; the name of the tag goes out. Only a tag that no one would write in an answer counts.

use super::mark::COVERED;
use crate::limits::{CODE_DIGITS, SKIPPED_BLOCKS};

/// The beginning of the core's own tag.
const CORE: &str = "core-";

/// The beginning of a tag that has the code of a final's slot (`xml-final`).
pub(crate) const SLOT: &str = "systole-";

/// The tags around a model's thoughts.
const THINKING: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// The name of the first tag of a text, if only prompts have such a tag. Small models put thoughts, the covered mark
/// or emphasis before it, or escape it.
pub(crate) fn find_own_tag(text: &str) -> Option<&str> {
    let tag = skip_bracket(strip_thoughts(text))?;
    let tag = tag.strip_prefix('/').unwrap_or(tag);
    if !tag.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let end = tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '&')).unwrap_or(tag.len());
    let (name, attributes) = tag.split_at_checked(end)?;
    let lower = name.to_ascii_lowercase();
    let is_own = match lower.as_str() {
        "tool_result" | "turn-failed" => true,
        "message" => attributes.trim_start().starts_with("from="),
        name => name.contains(COVERED) || has_code(name),
    };
    is_own.then(|| name.get(..name.floor_char_boundary(40)).unwrap_or_default())
}

/// Whether a name is that of the core's tag or of a slot, with a code. Other names, such as `core-button`, are custom
/// elements of web pages.
fn has_code(name: &str) -> bool {
    let is_code = |code: &str| code.len() == CODE_DIGITS && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    let in_slot = || is_code(name.strip_prefix(SLOT)?.split('-').next()?).then_some(());
    name.strip_prefix(CORE).is_some_and(is_code) || in_slot().is_some()
}

/// A text without the thoughts, marks, emphasis and white space before its answer.
fn strip_thoughts(text: &str) -> &str {
    let is_emphasis = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '\\');
    let mut rest = text.trim_start_matches(is_emphasis);
    for _ in 0..SKIPPED_BLOCKS {
        let Some(after) = rest.strip_prefix(COVERED).or_else(|| skip_thinking(rest)) else { break };
        rest = after.trim_start_matches(is_emphasis);
    }
    rest
}

/// The text after the thinking at its beginning. Some servers cut its first tag off, and some models forget the last.
fn skip_thinking(text: &str) -> Option<&str> {
    let opened = skip_think_tag(text, "");
    let inside = opened.unwrap_or(text);
    for (at, _) in inside.match_indices(['<', '&']) {
        let here = inside.get(at..)?;
        if let Some(after) = skip_think_tag(here, "/") {
            return Some(after);
        }
        if opened.is_none() && skip_think_tag(here, "").is_some() {
            return None;
        }
    }
    opened
}

/// The text after a tag for thinking at its beginning, with that slash in the tag.
fn skip_think_tag<'t>(text: &'t str, slash: &str) -> Option<&'t str> {
    let tag = skip_bracket(text)?.strip_prefix(slash)?;
    THINKING.iter().find_map(|name| {
        let (start, rest) = tag.split_at_checked(name.len())?;
        let rest = rest.trim_start();
        let after = rest.strip_prefix('>').or_else(|| rest.strip_prefix("&gt;"))?;
        start.eq_ignore_ascii_case(name).then_some(after)
    })
}

/// The text after a `<` at its beginning, escaped or not.
fn skip_bracket(text: &str) -> Option<&str> {
    text.strip_prefix('<').or_else(|| text.strip_prefix("&lt;"))
}
