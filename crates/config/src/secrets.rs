//! Recognizes texts that look like a provider's key, and keeps them out of all output.
//!
//! Input: the section that may contain keys. Output: mistakes that repeat no key. A text that is not recognized may
//! still be a secret.

use super::diagnostics::Diagnostics;
use super::tree::{Node, Value};
use crate::limits;

/// Why a section never has a key for a secret, and what it has instead.
pub(super) const SECRET: &str = "a key belongs in no file";
pub(super) const BY_NAME: &str = "key_env: VARIABLE, the environment variable that holds it";

/// Prefixes of the keys of common providers.
const BEGINNINGS: [&str; 9] = ["sk-", "sk_", "pk-", "gsk_", "xai-", "hf_", "AIza", "Bearer ", "bearer "];

/// Whether a text looks like a key, in a place for the name of a variable.
pub(super) fn looks_like_key(text: &str) -> bool {
    let is_variable = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    begins
        || (text.len() > 2 * limits::KEY_CHARACTERS
            && (!is_variable || text.bytes().any(|byte| byte.is_ascii_lowercase())))
}

/// Whether a text has the form of the seed of a user's nkey.
pub(super) fn is_seed(text: &str) -> bool {
    let is_base32 = text.bytes().all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte));
    text.len() == limits::SEED_CHARACTERS && text.starts_with("SU") && is_base32
}

/// Hides everything that looks like a key, in all places.
pub(super) fn hide(diagnostics: &mut Diagnostics, node: &Node) {
    match &node.value {
        Value::Text { text, .. } if is_key(text) => diagnostics.hide(node.span, text),
        Value::List(items) => items.iter().for_each(|item| hide(diagnostics, item)),
        Value::Map(entries) => entries.iter().for_each(|entry| hide(diagnostics, &entry.value)),
        _ => {}
    }
}

fn is_key(text: &str) -> bool {
    text.len() >= limits::KEY_CHARACTERS && BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// Hides everything that looks like a key in the models, and reports it. The keys for names of variables, `key_env` and
/// `headers_env`, are checked where they are read.
pub(super) fn spare(diagnostics: &mut Diagnostics, node: &Node) {
    match &node.value {
        Value::Text { text, .. } if is_key(text) => {
            diagnostics.hide(node.span, text);
            let message = "models: this looks like a key, and is not repeated";
            let fix = "key_env: VARIABLE, the environment variable that holds it";
            diagnostics.report_value(node.span, message, fix);
        }
        Value::List(items) => items.iter().for_each(|item| spare(diagnostics, item)),
        Value::Map(entries) => {
            for entry in entries {
                match (entry.key.as_str(), &entry.value.value) {
                    // Checked and reported where it is read.
                    ("key_env" | "headers_env", _) => {}
                    ("key" | "api_key" | "token", Value::Text { text, .. }) => {
                        diagnostics.hide(entry.value.span, text);
                    }
                    _ => spare(diagnostics, &entry.value),
                }
            }
        }
        _ => {}
    }
}
