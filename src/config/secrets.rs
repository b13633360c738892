//! What looks like a key of a provider, and how it is kept out of everything that is told.
//!
//! In comes the section in which keys are expected, out go mistakes that repeat none of them. It says of nothing that
//! it is no secret: only that it does not look like one.

use super::desk::Desk;
use super::yaml::{Node, Value};
use systole_core::types::codes::Code;

/// What keys begin with at providers that people use.
const BEGINNINGS: [&str; 9] = ["sk-", "sk_", "pk-", "gsk_", "xai-", "hf_", "AIza", "Bearer ", "bearer "];

/// The shortest that is taken for one by its beginning where a name may stand as well.
const LONG: usize = 16;

/// Characters of the seed of an nkey.
const SEED: usize = 58;

/// Whether a text, where the name of a variable is expected, looks like a key.
pub(super) fn looks_like_key(text: &str) -> bool {
    let is_variable = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    begins || (text.len() > 2 * LONG && (!is_variable || text.bytes().any(|byte| byte.is_ascii_lowercase())))
}

/// Whether a text is the seed of a user's nkey, by its form.
pub(super) fn is_seed(text: &str) -> bool {
    let is_base32 = text.bytes().all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte));
    text.len() == SEED && text.starts_with("SU") && is_base32
}

/// Hides whatever looks like a key, wherever it stands.
pub(super) fn hide(desk: &mut Desk, node: &Node) {
    match &node.value {
        Value::Text { text, .. } if is_key(text) => desk.hide(node.span, text),
        Value::List(items) => items.iter().for_each(|item| hide(desk, item)),
        Value::Map(entries) => entries.iter().for_each(|entry| hide(desk, &entry.value)),
        _ => {}
    }
}

fn is_key(text: &str) -> bool {
    text.len() >= LONG && BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// Hides whatever looks like a key among the models, and tells of what stands where no name of a variable does.
pub(super) fn spare(desk: &mut Desk, node: &Node) {
    match &node.value {
        Value::Text { text, .. } if is_key(text) => {
            desk.hide(node.span, text);
            let told = "models: what stands here looks like a key, and is not repeated";
            let mend = "key_env: VARIABLE, the environment variable that holds it";
            desk.tell(Code::ConfigValue, node.span, told, Some(mend));
        }
        Value::List(items) => items.iter().for_each(|item| spare(desk, item)),
        Value::Map(entries) => {
            for entry in entries {
                match (entry.key.as_str(), &entry.value.value) {
                    // It is looked at, and told of, where it is read.
                    ("key_env" | "headers_env", _) => {}
                    ("key" | "api_key" | "token", Value::Text { text, .. }) => {
                        desk.hide(entry.value.span, text);
                    }
                    _ => spare(desk, &entry.value),
                }
            }
        }
        _ => {}
    }
}
