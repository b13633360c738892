//! A provider's key: read once, put into a header, and never shown. It has no printable form, so it cannot get into
//! messages, and it can redact itself in text from others. It does not read the environment itself.

use hyper::header::HeaderValue;

use crate::limits;

/// Replaces a key.
const BLOT: &str = "[key]";

/// A key. It has no `Debug` and no `Display`, so code that holds it can only send it.
#[derive(Clone)]
pub struct ModelKey(pub(super) String);

/// Why a model's key is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// The variable is not set, or empty.
    #[error(
        "the variable {variable}, which models.{model}.key_env names, is not set: \
         set it to the key of the provider, or name another"
    )]
    Missing {
        /// The model.
        model: String,
        /// The variable.
        variable: String,
    },
    /// A header cannot carry it.
    #[error(
        "the variable {variable}, which models.{model}.key_env names, holds a character that no key has: \
         keys are printable ASCII without blanks"
    )]
    Unsendable {
        /// The model.
        model: String,
        /// The variable.
        variable: String,
    },
}

impl ModelKey {
    /// Another secret. `None` if it is so short that finding it in a text means nothing.
    pub(super) fn from_secret(secret: String) -> Option<Self> {
        (secret.len() >= limits::KEY_BYTES).then_some(Self(secret))
    }

    /// A header value that holds it, after `before`. Printing the header does not show it.
    pub(super) fn as_header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key, and without a beginning of the key at the end of the text, where the text may have
    /// been cut.
    pub(super) fn hide_key(&self, text: &str) -> String {
        let mut text = text.replace(&self.0, BLOT);
        let ends = (limits::KEY_BYTES..self.0.len()).rev().filter_map(|length| self.0.get(..length));
        if let Some(cut) = ends.into_iter().find(|begin| text.ends_with(begin)).map(str::len) {
            text.truncate(text.len() - cut);
            text.push_str(BLOT);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_blotted_out_whole_and_where_it_was_cut() {
        let key = ModelKey("sk-abcdef".to_owned());
        assert_eq!(key.hide_key("bad key sk-abcdef, sk-abcdef"), "bad key [key], [key]");
        assert_eq!(key.hide_key("bad key sk-abcd"), "bad key [key]");
        assert_eq!(key.hide_key("it asks: task"), "it asks: task");
        let header = key.as_header("Bearer ").expect("a header can carry it");
        assert!(!format!("{header:?}").contains("sk-a"), "{header:?}");
    }
}
