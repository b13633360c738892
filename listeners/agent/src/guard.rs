//! The guard of the model's window: what would not fit is not sent. Pure.

use std::sync::Arc;

use crate::contracts::Unreadable;
use crate::memory::Conversation;
use crate::show::Mark;
use crate::terms::{AgentTerms, CallTerms};
use crate::{spec, turn};

/// Tokens that are kept free beside the answer.
const SPARE: u64 = 256;

/// Tokens that a question has to have room for, if there is to be a conversation at all.
const QUESTION: u64 = 512;

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
    room_beside(limits, conversation.tokens() + tools)
}

fn room_beside(limits: &spec::Model, tokens: u64) -> Room {
    let limit = most(limits);
    let projected = tokens + SPARE;
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

/// The most tokens that a request may have.
fn most(limits: &spec::Model) -> u64 {
    limits.window.saturating_sub(SPARE).saturating_sub(limits.max_output)
}

/// What stands in every request of an agent before anybody has said anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its tokens, by the estimate that the guard goes by: the system prompt and the tools.
    pub tokens: u64,
    /// The most that a request may have.
    pub most: u64,
    /// Whether it leaves room for a conversation. Where it does not, the agent would end at once, or could only answer.
    pub leaves_room: bool,
}

/// Measures an agent with a model.
///
/// # Errors
/// When one of its schemas cannot be read.
pub fn measure(agent: &spec::Agent, limits: &spec::Model) -> Result<Measured, Unreadable> {
    let terms = AgentTerms::of(agent)?;
    // Every date and every mark is as long as any other.
    let tokens_of = |terms: Arc<CallTerms>| {
        let tools = turn::tools_tokens(&terms.tools);
        Conversation::new(Mark("00000000".to_owned()), terms, "2026-01-01").tokens() + tools
    };
    let every = terms.every();
    let acts = every.iter().any(|terms| terms.contracts.can_act());
    let tokens = every.into_iter().map(tokens_of).max().unwrap_or_default();
    let leaves_room = match room_beside(limits, tokens + QUESTION) {
        Room::Enough => true,
        Room::FinalOnly => !acts,
        Room::None => false,
    };
    Ok(Measured { tokens, most: most(limits), leaves_room })
}
