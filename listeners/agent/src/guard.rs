//! The guard of the model's window: a prompt that would not fit is not sent. Pure.

use std::sync::Arc;

use crate::contracts::SchemaFault;
use crate::limits;
use crate::memory::Conversation;
use crate::show::TextMark;
use crate::spec;
use crate::terms::{AgentTerms, CallTerms};

/// How much room a prompt leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptRoom {
    /// Enough.
    Enough,
    /// The prompt fits, but with another result it may not. Only a final is asked for.
    FinalOnly,
    /// It does not fit.
    None,
}

/// The room left by a prompt and its tools.
pub(crate) fn measure_room(limits: &spec::ModelSpec, conversation: &Conversation) -> PromptRoom {
    measure_beside(limits, conversation.measure_tokens())
}

/// The tokens of a prompt that do not fit.
pub(crate) fn count_excess(limits: &spec::ModelSpec, conversation: &Conversation) -> u64 {
    (conversation.measure_tokens() + limits::SPARE_TOKENS).saturating_sub(limit_tokens(limits))
}

/// Whether so much of the window is used that a view is cleared.
pub(crate) fn is_mostly_full(limits: &spec::ModelSpec, conversation: &Conversation) -> bool {
    let (part, whole) = limits::CLEAR_SHARE;
    // With a large answer a final would be asked for before that.
    measure_room(limits, conversation) != PromptRoom::Enough
        || conversation.measure_tokens() * whole >= limits.window * part
}

fn measure_beside(limits: &spec::ModelSpec, tokens: u64) -> PromptRoom {
    let limit = limit_tokens(limits);
    let projected = tokens + limits::SPARE_TOKENS;
    // The next additions are an answer of the model and the results of its actions.
    let next = limits.max_output.min(limit / 8);
    if projected > limit {
        PromptRoom::None
    } else if projected + next > limit {
        PromptRoom::FinalOnly
    } else {
        PromptRoom::Enough
    }
}

/// The most tokens that a request may have.
fn limit_tokens(limits: &spec::ModelSpec) -> u64 {
    limits.window.saturating_sub(limits::SPARE_TOKENS).saturating_sub(limits.max_output)
}

/// The fixed part of every request of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptSize {
    /// Its tokens, by the guard's estimate: the system prompt and the tools.
    pub tokens: u64,
    /// The most tokens that a request may have.
    pub most: u64,
    /// Whether it leaves room for a conversation. If not, the agent would end at once, or could only answer.
    pub leaves_room: bool,
}

/// Measures an agent with a model.
///
/// # Errors
/// If one of its schemas cannot be read.
pub fn measure_agent(agent: &spec::AgentSpec, limits: &spec::ModelSpec) -> Result<PromptSize, SchemaFault> {
    let terms = AgentTerms::from_spec(agent)?;
    // Every date and every mark has the same length.
    let tokens_of = |terms: Arc<CallTerms>| {
        let tools = terms.tools_tokens;
        Conversation::new(TextMark("00000000".to_owned()), terms, "2026-01-01").tokens() + tools
    };
    let every = terms.all_calls();
    let acts = every.iter().any(|terms| terms.contracts.can_act());
    let tokens = every.into_iter().map(tokens_of).max().unwrap_or_default();
    let leaves_room = match measure_beside(limits, tokens + limits::QUESTION_TOKENS) {
        PromptRoom::Enough => true,
        PromptRoom::FinalOnly => !acts,
        PromptRoom::None => false,
    };
    Ok(PromptSize { tokens, most: limit_tokens(limits), leaves_room })
}
