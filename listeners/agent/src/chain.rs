//! The links of a prompt's chain as an agent stores them: each with the hash that names it. So one hash names everything
//! that a model was sent.
//!
//! Texts come in; the texts of links and their hashes go out. This module stores nothing.

use sha2::{Digest as _, Sha256};

use systole_kit::prompt_link::{write_base, write_prompt, write_segment};

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
        Self::from_text(write_base(system, tools))
    }

    /// A segment after the link with that hash.
    #[must_use]
    pub fn from_segment(before: &str, messages: &str) -> Self {
        Self::from_text(write_segment(before, messages))
    }

    /// A whole prompt: the chain up to the link with that hash, the header of the turn or an empty text, and the mark
    /// of the call.
    #[must_use]
    pub fn from_prompt(before: &str, header: &str, mark: &str) -> Self {
        Self::from_text(write_prompt(before, header, mark))
    }
}

fn as_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
