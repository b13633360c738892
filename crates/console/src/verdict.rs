//! What the validators say about a payload, as a page shows it.
//!
//! A refusal comes in, or nothing if there is none; words go out.

use serde_json::{Value, json};

use systole_api::types::ApiRefusal;
use systole_core::types::refusal::Refusal;
use systole_show::columns::plain;

/// A verdict.
pub(super) struct VerdictView {
    pub(super) is_valid: bool,
    pub(super) words: String,
    /// What else the refusal says, each with its name.
    pub(super) parts: Vec<(&'static str, String)>,
    refusal: Option<Value>,
}

impl VerdictView {
    /// The verdict on a valid payload.
    pub(super) fn valid() -> VerdictView {
        VerdictView { is_valid: true, words: "Valid".to_owned(), parts: Vec::new(), refusal: None }
    }

    /// The verdict on a payload that would be refused.
    pub(super) fn from_refusal(refusal: &Refusal) -> VerdictView {
        let parts = [
            ("at", refusal.path.as_deref()),
            ("expected", refusal.expected.as_deref()),
            ("received", refusal.received.as_deref()),
            ("try", refusal.fix.as_deref()),
        ];
        let parts = parts.into_iter().filter_map(|(name, words)| Some((name, plain(words?)))).collect();
        let words = format!("Refused: {}: {}", refusal.code.as_str(), plain(&refusal.message));
        let value = serde_json::to_value(ApiRefusal::from(refusal)).unwrap_or_default();
        VerdictView { is_valid: false, words, parts, refusal: Some(value) }
    }

    /// The same for a program.
    pub(super) fn as_json(&self) -> Value {
        json!({"valid": self.is_valid, "refusal": self.refusal})
    }
}
