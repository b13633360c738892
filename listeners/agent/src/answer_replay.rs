//! A model's answer from the journal, as the model gave it. For replays: the agent gets it again, and no provider is
//! asked.

use systole_kit::journal::ModelCallOutcome;

use crate::model::{ModelAnswer, ModelFault, ModelFaultKind, ServedBy, TokenUsage};
use crate::model_answer::HeardAnswer;

/// What the journal has after an outcome, in the same attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRequest {
    /// No further request.
    None,
    /// It is not known: the attempt was lost.
    Unknown,
    /// The same model was asked again.
    SameModel,
    /// Another model was asked.
    OtherModel,
}

/// The answer that a recorded outcome stands for, or the fault. `by` is the model that was asked. The recorded
/// details, such as tokens that came from a cache, are left out.
///
/// # Errors
/// The fault, if the outcome is one. What followed it decides whether the request is repeated now.
pub fn rebuild_answer(
    outcome: &ModelCallOutcome,
    by: &str,
    next: NextRequest,
) -> Result<ModelAnswer, ModelFault> {
    let usage =
        TokenUsage { tokens_in: outcome.tokens_in, tokens_out: outcome.tokens_out, ..TokenUsage::default() };
    if let Some(HeardAnswer { parts, stop, .. }) = HeardAnswer::from_text(&outcome.stop, &outcome.text) {
        return Ok(ModelAnswer { parts, stop, usage, by: by.to_owned(), served: ServedBy::default() });
    }
    let kind = ModelFaultKind::ALL.into_iter().find(|kind| kind.code() == outcome.stop);
    let is_counted = usage.tokens_in.is_some() || usage.tokens_out.is_some();
    let may_be_paid = outcome.count_tokens() != Some(0);
    let (words, partial) = outcome.text.split_once('\n').unwrap_or((&outcome.text, ""));
    Err(ModelFault {
        kind: kind.unwrap_or(ModelFaultKind::Unavailable),
        words: words.to_owned(),
        status: match next {
            NextRequest::None => None,
            // No other model is asked for it: parts of the request are left out.
            _ if kind == Some(ModelFaultKind::WindowFull) => Some(400),
            NextRequest::SameModel | NextRequest::Unknown => Some(503),
            NextRequest::OtherModel => Some(401),
        },
        retry_after_ms: None,
        partial: partial.to_owned(),
        may_be_paid,
        used: Some(usage).filter(|_| is_counted && may_be_paid),
    })
}
