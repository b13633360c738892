//! Where an answer is cut, because enough of it has come: code that knows the dialect reads the words as they come in
//! and decides. This module knows no dialect and no provider.
//!
//! Words come in, in any pieces. The end of the wanted text goes out, and it is the same for any pieces.

use std::fmt;
use std::sync::Arc;

/// Reads the words of one answer, piece by piece. For the piece that completes the wanted text, it returns how many
/// bytes of that piece belong to it.
pub type AnswerReader = Box<dyn FnMut(&str) -> Option<usize> + Send>;

/// Creates a listening function for each request. A repeated request begins its answer again.
#[derive(Clone)]
pub struct EnoughCheck(Arc<dyn Fn() -> AnswerReader + Send + Sync>);

impl EnoughCheck {
    /// Uses `listening` to create the listening functions.
    pub fn new(listening: impl Fn() -> AnswerReader + Send + Sync + 'static) -> Self {
        Self(Arc::new(listening))
    }

    /// A listening function for one answer.
    #[must_use]
    pub fn build_reader(&self) -> AnswerReader {
        (self.0)()
    }
}

impl fmt::Debug for EnoughCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Enough").finish_non_exhaustive()
    }
}

impl PartialEq for EnoughCheck {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
