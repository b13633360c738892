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

/// The name of a tag of a text that only prompts have: the first tag, or one with the covered mark in it. Small models
/// put thoughts, the covered mark or emphasis before the first tag, or escape it.
pub(crate) fn find_own_tag(text: &str) -> Option<&str> {
    find_first_tag(text).or_else(|| find_marked_tag(strip_thoughts(text)))
}

/// The name of the first tag with the covered mark anywhere in it.
fn find_marked_tag(text: &str) -> Option<&str> {
    text.match_indices(COVERED).find_map(|(at, _)| {
        let before = text.get(..at)?;
        let opened = before.rfind('<').max(before.rfind("&lt;"))?;
        let tag = skip_bracket(text.get(opened..)?)?;
        let inside = tag.get(..tag.len() - text.get(at..)?.len())?;
        let name = tag.strip_prefix('/').unwrap_or(tag);
        let is_tag = name.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_open = !inside.contains('>') && !inside.contains("&gt;");
        (is_tag && is_open).then(|| read_tag_name(name).0)
    })
}

/// The name of the first tag, if only prompts have such a tag.
fn find_first_tag(text: &str) -> Option<&str> {
    let tag = skip_bracket(strip_thoughts(text))?;
    let tag = tag.strip_prefix('/').unwrap_or(tag);
    if !tag.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let (name, attributes) = read_tag_name(tag);
    let lower = name.to_ascii_lowercase();
    let is_own = match lower.as_str() {
        "tool_result" | "turn-failed" => true,
        "message" => attributes.trim_start().starts_with("from="),
        name => name.starts_with(CORE) || is_slot(name),
    };
    is_own.then_some(name)
}

/// The name at the beginning of a tag, cut if it is long, and what follows it.
fn read_tag_name(tag: &str) -> (&str, &str) {
    let end = tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '&')).unwrap_or(tag.len());
    let (name, rest) = tag.split_at(end);
    (name.get(..name.floor_char_boundary(40)).unwrap_or_default(), rest)
}

/// Whether a name is that of a slot, with a code.
fn is_slot(name: &str) -> bool {
    let is_code = |code: &str| code.len() == CODE_DIGITS && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix(SLOT).and_then(|name| name.split('-').next()).is_some_and(is_code)
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
