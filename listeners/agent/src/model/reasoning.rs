//! Reasoning in a provider's own form, as a part of an answer: the provider's name and its block, as JSON. It never
//! reads inside the block.

use serde_json::{Value, json};

use super::MessagePart;

/// The part that keeps a block of that provider.
pub(super) fn keep_block(provider: &str, block: Value) -> MessagePart {
    MessagePart::Reasoning(json!({"provider": provider, "block": block}))
}

/// The block, if it belongs to that provider: another provider's reasoning is not sent.
pub(super) fn find_block<'v>(provider: &str, kept: &'v Value) -> Option<&'v Value> {
    (kept.get("provider")?.as_str()? == provider).then(|| kept.get("block")).flatten()
}
