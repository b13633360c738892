//! Splits the text of a type at its signs: before `~`, between `~` and `=`, after `=`, and after `--`.
//!
//! A sign counts only between blanks, so `a=b` and `a--b` are parts of a regex or of a value. It does
//! not judge the parts. A text comes in; its parts with their places go out.

use std::ops::Range;

/// A piece of the text, and its place.
#[derive(Debug, Clone)]
pub(super) struct TypePiece<'t> {
    pub(super) text: &'t str,
    pub(super) at: Range<usize>,
}

impl<'t> TypePiece<'t> {
    /// The piece of `whole` at these bytes, without surrounding white space.
    fn from_range(whole: &'t str, at: Range<usize>) -> Self {
        let raw = whole.get(at.clone()).unwrap_or_default();
        let start = at.start + (raw.len() - raw.trim_start().len());
        let text = raw.trim();
        Self { text, at: start..start + text.len() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Its words, split at white space.
    pub(super) fn split_words(&self) -> Vec<TypePiece<'t>> {
        let mut found = Vec::new();
        let mut from = 0;
        for part in self.text.split(char::is_whitespace) {
            if !part.is_empty() {
                let start = self.at.start + from;
                found.push(TypePiece { text: part, at: start..start + part.len() });
            }
            // White space other than the blank may be longer than a byte.
            let after = self.text.get(from + part.len()..).and_then(|rest| rest.chars().next());
            from += part.len() + after.map_or(0, char::len_utf8);
        }
        found
    }

    /// The parts between separators, trimmed.
    pub(super) fn split_by(&self, separator: char) -> Vec<TypePiece<'t>> {
        let mut from = 0;
        let parts = self.text.split(separator).map(|part| {
            let start = from;
            from += part.len() + separator.len_utf8();
            let mut piece = TypePiece::from_range(self.text, start..start + part.len());
            piece.at = piece.at.start + self.at.start..piece.at.end + self.at.start;
            piece
        });
        parts.collect()
    }
}

/// The text of a type, split at its signs. A part may be empty even if its sign is present.
pub(super) struct TypeSigns<'t> {
    /// `sensitive`, base and range.
    pub(super) head: TypePiece<'t>,
    /// The text after `~`, and the place of the sign.
    pub(super) pattern: Option<(TypePiece<'t>, Range<usize>)>,
    /// The text after `=`.
    pub(super) default: Option<(TypePiece<'t>, Range<usize>)>,
    /// The text after `--`.
    pub(super) words: Option<(TypePiece<'t>, Range<usize>)>,
}

impl<'t> TypeSigns<'t> {
    pub(super) fn from_text(text: &'t str) -> Self {
        let whole = TypePiece::from_range(text, 0..text.len());
        let signs = whole.split_words();
        let first = |sign: &str, before: usize| {
            signs.iter().find(|word| word.text == sign && word.at.end <= before).map(|word| word.at.clone())
        };
        let words = first("--", text.len());
        let body_end = words.as_ref().map_or(text.len(), |at| at.start);
        let default = first("=", body_end);
        let middle_end = default.as_ref().map_or(body_end, |at| at.start);
        let pattern = first("~", middle_end);
        let head_end = pattern.as_ref().map_or(middle_end, |at| at.start);
        let behind = |sign: Option<Range<usize>>, end: usize| {
            sign.map(|at| (TypePiece::from_range(text, at.end..end), at))
        };
        Self {
            head: TypePiece::from_range(text, 0..head_end),
            pattern: behind(pattern, middle_end),
            default: behind(default, body_end),
            words: behind(words, text.len()),
        }
    }
}
