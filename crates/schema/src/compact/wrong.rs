//! An error in the text of a type: its place, what it is, and what to write instead.

use std::ops::Range as Stretch;

use super::signs::TypePiece;

/// An error in the text of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeTextError {
    /// The place in the text, in bytes.
    pub at: Stretch<usize>,
    /// The error.
    pub words: String,
    /// What to write instead.
    pub fix: String,
}

impl TypeTextError {
    pub(super) fn new(piece: &TypePiece<'_>, words: &str, fix: &str) -> Self {
        Self { at: piece.at.clone(), words: words.to_owned(), fix: fix.to_owned() }
    }
}
