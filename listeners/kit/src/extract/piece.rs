//! Markup of one element of an answer, with its place.

use super::graft::NamespaceScope;
use super::span::TextSpan;
use crate::Place;

/// Markup of one element with its place.
#[derive(Clone)]
pub(super) struct MarkupPiece<'r> {
    pub(super) raw: &'r str,
    pub(super) start: Place,
    /// The declarations around it.
    pub(super) scope: NamespaceScope,
}

impl MarkupPiece<'_> {
    /// The place of an offset in it.
    pub(super) fn place_of(&self, offset: usize) -> Place {
        self.start.move_past(self.raw.as_bytes().get(..offset).unwrap_or_default())
    }

    pub(super) fn span(&self) -> TextSpan {
        TextSpan { start: self.start, end: self.start.offset + self.raw.len() }
    }
}
