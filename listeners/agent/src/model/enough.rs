//! Where an answer is cut, because what is wanted of it has come: somebody who knows the dialect reads its words as they
//! come in and says so. Knows no dialect and no provider itself.
//!
//! Words come in, in any pieces; the place behind which nothing is wanted goes out, and it is the same in any pieces.

use std::fmt;
use std::sync::Arc;

/// Reads the words of one answer, piece by piece. With the piece that completes what is wanted it gives the bytes of that
/// piece which belong to it.
pub type Listening = Box<dyn FnMut(&str) -> Option<usize> + Send>;

/// Makes somebody who listens, for each request anew: one that is repeated begins its answer again.
#[derive(Clone)]
pub struct Enough(Arc<dyn Fn() -> Listening + Send + Sync>);

impl Enough {
    /// That is listened with what this makes.
    pub fn new(listening: impl Fn() -> Listening + Send + Sync + 'static) -> Self {
        Self(Arc::new(listening))
    }

    /// Somebody who listens to one answer.
    #[must_use]
    pub fn listening(&self) -> Listening {
        (self.0)()
    }
}

impl fmt::Debug for Enough {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Enough").finish_non_exhaustive()
    }
}

impl PartialEq for Enough {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
