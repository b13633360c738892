//! A prompt as a chain: a base, segments in order, and a header for this turn only. Each link names the previous
//! one by hash. So repeated parts are stored once, and one hash names everything that a model was sent.
//!
//! Texts come in; the texts of links and their hashes go out. This module stores nothing.

use sha2::{Digest as _, Sha256};

const BASE: &str = "systole prompt base v1";
const SEGMENT: &str = "systole prompt segment v1";
const PROMPT: &str = "systole prompt v1";

/// A link: the stored text, and the hash that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLink {
    /// SHA-256 of the text, in 64 lowercase hex digits.
    pub hash: String,
    /// The text.
    pub text: String,
}

impl StoredLink {
    fn from_text(text: String) -> Self {
        Self { hash: as_hex(&Sha256::digest(text.as_bytes())), text }
    }

    /// The base: the first link.
    #[must_use]
    pub fn from_base(system: &str, tools: &str) -> Self {
        Self::from_text(format!(
            "{}{system}{tools}",
            write_head(BASE, &[("system", system), ("tools", tools)])
        ))
    }

    /// A segment after the link with that hash.
    #[must_use]
    pub fn from_segment(before: &str, messages: &str) -> Self {
        Self::from_text(format!("{}{before}\n{messages}", write_head(SEGMENT, &[("messages", messages)])))
    }

    /// A whole prompt: the chain up to the link with that hash, and the header of the turn.
    #[must_use]
    pub fn from_prompt(before: &str, header: &str) -> Self {
        Self::from_text(format!("{}{before}\n{header}", write_head(PROMPT, &[("header", header)])))
    }
}

/// The first lines of a link: its kind, and the size of each part in bytes.
fn write_head(what: &str, parts: &[(&str, &str)]) -> String {
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
    let (first, rest) = read_length(rest)?;
    match what {
        BASE => {
            let (second, rest) = read_length(rest)?;
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

fn read_length(text: &str) -> Option<(usize, &str)> {
    let (line, rest) = text.split_once('\n')?;
    Some((line.split_once(' ')?.1.parse().ok()?, rest))
}

fn as_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
