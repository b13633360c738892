//! The limits of what is read from a witness.

/// Bytes of an answer: cosignatures of a few kinds.
pub(crate) const ANSWER_BYTES: usize = 64 << 10;
/// Characters of a stranger's words that a person sees.
pub(crate) const WORDS: usize = 200;
