//! A part of an answer's text, and places within it.

use crate::Place;

/// A part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSpan {
    /// Where it begins.
    pub start: Place,
    /// The offset in bytes at which it ends.
    pub end: usize,
}

/// Turns a place within a document into a place in a text, if the document begins at `start`.
pub(super) fn add_place(start: Place, within: Place) -> Place {
    let column = if within.line == 1 { start.column + within.column - 1 } else { within.column };
    Place { line: start.line + within.line - 1, column, offset: start.offset + within.offset }
}
