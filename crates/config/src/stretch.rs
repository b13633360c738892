//! Finds the place of a part of a scalar in the file. A scalar's text has no quotes, escapes, folding and
//! indentation, so a position in it must be searched in the written text.
//!
//! Input: the scalar's span, its text and a range of that text. Output: the span of the range, or the whole
//! scalar's span if the two texts cannot be aligned. The result is never on a wrong line.

use std::ops::Range;

use super::tree::Span;

/// The span of `part`, a range of `text`, where `text` is the scalar at `span` of `file`.
pub(super) fn within(file: &str, span: Span, text: &str, part: &Range<usize>) -> Span {
    let mut laid = Laid::begin(file, span);
    let (mut start, mut end) = (None, None);
    for (at, wanted) in text.char_indices() {
        let Some((from, to)) = laid.next(wanted) else { return span };
        if at >= part.start && start.is_none() {
            start = Some(from);
        }
        if at < part.end {
            end = Some(to);
        }
    }
    // A missing part is placed at the end.
    let at_end = Span { start: laid.at.min(span.end), end: laid.at.min(span.end) };
    match (start, end) {
        (Some(start), Some(end)) if start < end && part.start < part.end => Span { start, end },
        (Some(start), _) => Span { start, end: start },
        _ => at_end,
    }
}

/// How a scalar is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Block,
}

/// The written text, as far as it is aligned with the scalar's text.
struct Laid<'f> {
    file: &'f str,
    at: usize,
    end: usize,
    style: Style,
}

impl<'f> Laid<'f> {
    fn begin(file: &'f str, span: Span) -> Laid<'f> {
        let written = file.get(span.start..span.end).unwrap_or_default();
        let (style, skipped) = match written.chars().next() {
            Some('\'') => (Style::Single, 1),
            Some('"') => (Style::Double, 1),
            // The line of the indicator contains no part of the text.
            Some('|' | '>') => (Style::Block, written.find('\n').map_or(written.len(), |at| at + 1)),
            _ => (Style::Plain, 0),
        };
        Laid { file, at: span.start + skipped, end: span.end, style }
    }

    fn rest(&self) -> &'f str {
        self.file.get(self.at..self.end).unwrap_or_default()
    }

    /// Moves past the spelling of one character of the text and returns its place.
    fn next(&mut self, wanted: char) -> Option<(usize, usize)> {
        loop {
            let rest = self.rest();
            let found = rest.chars().next();
            let escape = self.style == Style::Double && found == Some('\\');
            let length = match found {
                Some('\\') if escape => measure_escape(rest),
                Some('\'') if self.style == Style::Single => 2,
                Some(found) if found == wanted => found.len_utf8(),
                // A folded line break is a space in the text.
                Some(found) if found.is_whitespace() && wanted.is_whitespace() => found.len_utf8(),
                Some(found) if found.is_whitespace() => {
                    self.at += found.len_utf8();
                    continue;
                }
                // The line break at the end of a block is outside its span.
                _ if wanted.is_whitespace() => return Some((self.at, self.at)),
                _ => return None,
            };
            // An escaped line break is not part of the text.
            if escape && rest.get(1..).is_some_and(|after| after.starts_with(['\n', '\r'])) {
                self.at += 1;
                continue;
            }
            let from = self.at;
            self.at = (from + length).min(self.end);
            return Some((from, self.at));
        }
    }
}

/// The length of the escape at the start of a text.
fn measure_escape(rest: &str) -> usize {
    let digits = match rest.chars().nth(1) {
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        _ => 0,
    };
    1 + rest.chars().nth(1).map_or(0, char::len_utf8) + digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The written form of a part of a text.
    fn part<'f>(file: &'f str, text: &str, part: &str) -> &'f str {
        let start = text.find(part).unwrap();
        let found = within(file, Span { start: 0, end: file.len() }, text, &(start..start + part.len()));
        &file[found.start..found.end]
    }

    #[test]
    fn every_way_to_write_a_scalar_shows_the_very_stretch() {
        let rows = [
            ("int 1..9 -- x", "int 1..9 -- x", "1..9", "1..9"),
            ("'it''s 1..9 here'", "it's 1..9 here", "1..9", "1..9"),
            ("'it''s'", "it's", "'s", "''s"),
            ("\"a\\tb \\u00e9 1..9\"", "a\tb é 1..9", "1..9", "1..9"),
            ("\"a\\tb \\u00e9 1..9\"", "a\tb é 1..9", "é", "\\u00e9"),
            ("\"one \\\n   two\"", "one two", "two", "two"),
            ("int\n    1..9\n    -- x", "int 1..9 -- x", "1..9", "1..9"),
            ("one\n\n   two", "one\ntwo", "two", "two"),
            ("|\n    int 1..9\n    -- x\n", "int 1..9\n-- x\n", "-- x", "-- x"),
            ("|\n    int\n      1..9\n", "int\n  1..9\n", "1..9", "1..9"),
            (">-\n    int\n    1..9", "int 1..9", "1..9", "1..9"),
        ];
        for (file, text, wanted, shown) in rows {
            assert_eq!(part(file, text, wanted), shown, "{file:?}");
        }
    }

    #[test]
    fn what_cannot_be_laid_side_by_side_is_shown_whole() {
        let whole = Span { start: 0, end: 5 };
        assert_eq!(within("other", whole, "text", &(1..2)), whole);
        let empty = within("int", Span { start: 0, end: 3 }, "int", &(3..3));
        assert_eq!(empty, Span { start: 3, end: 3 }, "what is missing stands behind");
    }
}
