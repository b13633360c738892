//! The answer of a model, while it comes in and when it is complete, or why there is none.

use std::future::Future;
use std::pin::Pin;

use super::held_answer::{HeldAnswer, RefusedField};
use super::request::{MessagePart, ModelRequest};

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// The content, in order: text as received, calls, reasoning.
    pub parts: Vec<MessagePart>,
    /// The stop reason.
    pub stop: StopReason,
    /// The usage, as far as the provider reports it.
    pub usage: TokenUsage,
    /// The model that answered, by its name in the file.
    pub by: String,
    /// What the provider says of itself.
    pub served: ServedBy,
}

/// What a provider says of itself. Each is a short text without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ServedBy {
    /// The model, by the provider's name for it.
    pub model: Option<String>,
    /// The configuration that answered.
    pub fingerprint: Option<String>,
    /// The provider's id of the request.
    pub request: Option<String>,
}

impl ServedBy {
    /// Keeps what is said first, cut to a word.
    pub(super) fn keep(kept: &mut Option<String>, said: Option<&str>) {
        if kept.is_some() {
            return;
        }
        let word = said.into_iter().flat_map(str::chars).filter(char::is_ascii_graphic);
        let word: String = word.take(crate::limits::SERVED_BYTES).collect();
        *kept = Some(word).filter(|word| !word.is_empty());
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    End,
    /// It reached its maximum of output tokens.
    Length,
    /// It calls tools.
    Tool,
    /// The provider withheld the rest.
    Filtered,
    /// It was cut here because enough was read.
    Cut,
}

/// Tokens used. Counts that a provider does not report are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Tokens read, including those from a cache.
    pub tokens_in: Option<u64>,
    /// Tokens written, including reasoning.
    pub tokens_out: Option<u64>,
    /// How many of the tokens read came from a cache.
    pub cached: Option<u64>,
    /// How many of the tokens read were written to a cache.
    pub cache_write: Option<u64>,
    /// How many of the tokens written are reasoning.
    pub reasoning: Option<u64>,
}

/// A piece of an answer while it comes in, for observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPiece {
    /// A request is sent. Pieces before it belong to one that failed.
    Begun,
    /// Text of the answer.
    Text(String),
    /// Text of its reasoning, if the provider shows it.
    Reasoning(String),
    /// More arguments of a native call.
    Call {
        /// The number of the call in the answer.
        number: usize,
        /// The tool.
        name: String,
        /// A part of the arguments, which are JSON.
        arguments: String,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct ModelFault {
    /// The kind.
    pub kind: ModelFaultKind,
    /// The message, with the status; never a key.
    pub words: String,
    /// The status, if there was one.
    pub status: Option<u16>,
    /// How long the provider asks us to wait.
    pub retry_after_ms: Option<u64>,
    /// The part that came before the fault: kept, never executed.
    pub partial: String,
    /// Whether the provider may have done the work and charged for it.
    pub may_be_paid: bool,
    /// The tokens that count as used if the provider itself ended its answer with an error or a refusal. What it did
    /// not report is estimated.
    pub used: Option<TokenUsage>,
}

impl ModelFault {
    /// Whether it is known what became of the request. If so, it may be repeated, even if it was paid.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !self.may_be_paid || self.used.is_some()
    }
}

/// Kinds of faults: each is a code of the table, after `model.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFaultKind {
    /// The stream ended without its end sign.
    Truncated,
    /// The answer is larger than the limit.
    TooLarge,
    /// Too many requests.
    RateLimited,
    /// The provider was not reached, or failed on its side.
    Unavailable,
    /// The provider refused to answer.
    Refused,
    /// The provider rejected the request as invalid.
    InvalidRequest,
    /// The request, or the request with its answer, does not fit into the model's window.
    WindowFull,
    /// The provider refused a field that the request can do without.
    FieldRefused,
}

impl ModelFaultKind {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Truncated,
        Self::TooLarge,
        Self::RateLimited,
        Self::Unavailable,
        Self::Refused,
        Self::InvalidRequest,
        Self::WindowFull,
        Self::FieldRefused,
    ];

    /// The code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Truncated => "model.truncated",
            Self::TooLarge => "model.too-large",
            Self::RateLimited => "model.rate-limited",
            Self::Unavailable => "model.unavailable",
            Self::Refused => "model.refused",
            Self::InvalidRequest => "model.invalid-request",
            Self::WindowFull => "model.window-full",
            Self::FieldRefused => "model.field-refused",
        }
    }
}

/// Receives the pieces of an answer while it comes in.
pub type AnswerWatcher = Box<dyn FnMut(AnswerPiece) + Send>;

/// An answer on its way.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelFault>> + Send>>;

/// Answers for a model, once: it retries nothing by itself.
pub trait Model: Send + Sync {
    /// What holds the answer to a request. `None`: nothing.
    fn find_held<'r>(&self, _request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
        None
    }

    /// The field of a request that the provider refuses in its fault, if the request goes without it too.
    fn find_refused(&self, _request: &ModelRequest, _fault: &ModelFault) -> Option<RefusedField> {
        None
    }

    /// Asks. Dropping the result ends the request.
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture;
}
