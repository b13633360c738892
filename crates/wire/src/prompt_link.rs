//! The text of a link of a prompt. A prompt is a chain: a base, segments in order, and a header for this turn only. Each
//! link names the previous one by hash, so repeated parts are stored once.
//!
//! Texts come in; the texts of links go out, and links that were read back.

const BASE: &str = "systole prompt base v1";
const SEGMENT: &str = "systole prompt segment v1";
const PROMPT: &str = "systole prompt v1";

/// The base: the first link.
#[must_use]
pub fn write_base(system: &str, tools: &str) -> String {
    format!("{}{system}{tools}", head(BASE, &[("system", system), ("tools", tools)]))
}

/// A segment after the link with that hash.
#[must_use]
pub fn write_segment(before: &str, messages: &str) -> String {
    format!("{}{before}\n{messages}", head(SEGMENT, &[("messages", messages)]))
}

/// A whole prompt: the chain up to the link with that hash, and the header of the turn.
#[must_use]
pub fn write_prompt(before: &str, header: &str) -> String {
    format!("{}{before}\n{header}", head(PROMPT, &[("header", header)]))
}

/// The first lines of a link: its kind, and the size of each part in bytes.
fn head(what: &str, parts: &[(&str, &str)]) -> String {
    let mut head = format!("{what}\n");
    for (name, text) in parts {
        head.extend([name, " ", &text.len().to_string(), "\n"]);
    }
    head
}

/// A link that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedLink<'t> {
    /// The base.
    Base {
        /// The system prompt.
        system: &'t str,
        /// The tools, as JSON. Empty if there are none.
        tools: &'t str,
    },
    /// A segment.
    Segment {
        /// The hash of the link before it.
        before: &'t str,
        /// Its messages.
        messages: &'t str,
    },
    /// A whole prompt.
    Prompt {
        /// The hash of the link before it.
        before: &'t str,
        /// The header of the turn.
        header: &'t str,
    },
}

/// Reads a link. `None` if the text is not a link.
#[must_use]
pub fn read_link(text: &str) -> Option<ParsedLink<'_>> {
    let (what, rest) = text.split_once('\n')?;
    let (first, rest) = length(rest)?;
    match what {
        BASE => {
            let (second, rest) = length(rest)?;
            let (system, tools) = (rest.get(..first)?, rest.get(first..)?);
            (tools.len() == second).then_some(ParsedLink::Base { system, tools })
        }
        SEGMENT => {
            let (before, messages) = rest.split_once('\n')?;
            (messages.len() == first).then_some(ParsedLink::Segment { before, messages })
        }
        PROMPT => {
            let (before, header) = rest.split_once('\n')?;
            (header.len() == first).then_some(ParsedLink::Prompt { before, header })
        }
        _ => None,
    }
}

fn length(text: &str) -> Option<(usize, &str)> {
    let (line, rest) = text.split_once('\n')?;
    Some((line.split_once(' ')?.1.parse().ok()?, rest))
}

/// The hash of the link before this one.
#[must_use]
pub fn find_before(text: &str) -> Option<String> {
    match read_link(text)? {
        ParsedLink::Segment { before, .. } | ParsedLink::Prompt { before, .. } => Some(before.to_owned()),
        ParsedLink::Base { .. } => None,
    }
}
