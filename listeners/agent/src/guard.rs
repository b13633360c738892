//! The guard of the model's window: what would not fit is not sent. Pure.

use crate::memory::Conversation;
use crate::spec;

/// Tokens that are kept free beside the answer.
const SPARE: u64 = 256;

/// How much room a prompt leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough.
    Enough,
    /// The prompt fits, and with another result it may not: only a final is asked for.
    FinalOnly,
    /// It does not fit.
    None,
}

/// The room that a prompt leaves, with the tokens of its tools.
pub(crate) fn room(limits: &spec::Model, conversation: &Conversation, tools: u64) -> Room {
    let limit = limits.window.saturating_sub(SPARE).saturating_sub(limits.max_output);
    let projected = conversation.tokens() + tools + SPARE;
    // What comes next is an answer of the model and the results of what it does.
    let next = limits.max_output.min(limit / 8);
    if projected > limit {
        Room::None
    } else if projected + next > limit {
        Room::FinalOnly
    } else {
        Room::Enough
    }
}
