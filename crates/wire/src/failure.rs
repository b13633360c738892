//! Why a listener could not do its work, and how results, payloads and lists of them become a reply.
//!
//! This module judges nothing: a listener's result comes in, and its reply to the pump goes out.

use crate::Payload;
use crate::reply::{Item, ReplyContent};

/// The code by which a listener lets go of a delivery that was called back. It frees the place of the delivery, and no
/// one reads the reply.
pub const CANCELLED: &str = "listener.cancelled";

/// Why a listener could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The listener's own name for what went wrong.
    pub code: String,
    /// Whether the same work may succeed later.
    pub retry: bool,
    /// What went wrong.
    pub words: String,
}

impl Failure {
    /// A failure that a retry would not fix.
    #[must_use]
    pub fn new(code: &str, words: impl Into<String>) -> Self {
        Self { code: code.to_owned(), retry: false, words: words.into() }
    }

    /// The same failure, but a retry may succeed later.
    #[must_use]
    pub fn again_later(self) -> Self {
        Self { retry: true, ..self }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new("failed", error.to_string())
    }
}

impl From<Payload> for ReplyContent {
    fn from(payload: Payload) -> Self {
        Self::Items(vec![Item::plain(payload)])
    }
}

impl From<Vec<Payload>> for ReplyContent {
    fn from(payloads: Vec<Payload>) -> Self {
        Self::Items(payloads.into_iter().map(Item::plain).collect())
    }
}

impl<S: Into<Self>> From<Result<S, Failure>> for ReplyContent {
    fn from(result: Result<S, Failure>) -> Self {
        match result {
            Ok(said) => said.into(),
            Err(Failure { code, retry, words }) => Self::new_failure(code, retry, words),
        }
    }
}
