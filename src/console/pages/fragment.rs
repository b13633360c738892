//! The refused text around the place that was refused, with what was received marked in it.
//!
//! A stored payload and a refusal's words come in; lines with numbers go out. The place of a refusal counts in the whole
//! document of its sender, and the log keeps the payload alone. So what was received is looked for first.

use super::shorten::shortened;
use crate::audit::exposed::{MarkedCharacters, escape_unusual};

/// Lines around the place.
const AROUND: usize = 2;
/// Characters of a line.
const LINE: usize = 1_200;

/// A piece of an exact text.
pub(super) struct TextPiece {
    pub(super) text: String,
    pub(super) is_marked: bool,
}

/// The lines of a text around what was refused, each with its number.
pub(super) fn fragment(text: &str, received: Option<&str>, place: Option<(usize, usize)>) -> Vec<TextPiece> {
    let found = received_in(text, received).or_else(|| placed_in(text, place?));
    // Without a mark the beginning is shown.
    let (start, end) = found.unwrap_or_default();
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count();
    let first = line.saturating_sub(AROUND);
    let told = |text: &str| escape_unusual(&shortened(text, LINE), &mut MarkedCharacters::new());
    let (mut shown, mut offset) = (Vec::new(), 0);
    let mut add = |text: String, is_marked: bool| {
        if !text.is_empty() {
            shown.push(TextPiece { text, is_marked });
        }
    };
    for (at, whole) in text.split_inclusive('\n').enumerate() {
        let (from, to) = (offset, offset + whole.len());
        offset = to;
        if at < first || at > line + AROUND {
            continue;
        }
        let one = whole.trim_end_matches(['\n', '\r']);
        let is_there = found.is_some() && at == line;
        let mark = if is_there { '>' } else { ' ' };
        let lead = if at == first { "" } else { "\n" };
        let cut =
            |place: usize| if is_there { place.clamp(from, from + one.len()) - from } else { one.len() };
        let (begins, ends) = (cut(start), cut(end));
        let part = |from: usize, to: usize| told(one.get(from..to).unwrap_or_default());
        add(format!("{lead}{mark} {:>4}  {}", at + 1, part(0, begins)), false);
        add(part(begins, ends), true);
        add(part(ends, one.len()), false);
    }
    shown
}

/// Where the text has what was received, if it has it exactly once. A long value is given only in part.
fn received_in(text: &str, received: Option<&str>) -> Option<(usize, usize)> {
    let wanted = received?.trim_end_matches('…');
    let mut all = text.match_indices(wanted).filter(|_| !wanted.is_empty());
    let (start, found) = all.next()?;
    all.next().is_none().then_some((start, start + found.len()))
}

/// The rest of a line from a place on, both counted from 1, if the text has that place.
fn placed_in(text: &str, (line, column): (usize, usize)) -> Option<(usize, usize)> {
    let from: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let whole = text.get(from..)?.split('\n').next()?.trim_end_matches('\r');
    let (start, _) = whole.char_indices().nth(column.checked_sub(1)?)?;
    Some((from + start, from + whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, received: Option<&str>, place: Option<(usize, usize)>) -> (String, String) {
        let shown = fragment(text, received, place);
        let marked = shown.iter().filter(|piece| piece.is_marked).map(|piece| piece.text.as_str()).collect();
        (shown.iter().map(|piece| piece.text.as_str()).collect(), marked)
    }

    #[test]
    fn a_fragment_shows_the_line_and_marks_the_place_in_it() {
        let (shown, marked) = read("a\nb\nc\ndef\ne\nf\ng", None, Some((4, 2)));
        assert_eq!(shown, "     2  b\n     3  c\n>    4  def\n     5  e\n     6  f");
        assert_eq!(marked, "ef");
        assert_eq!(read("\u{e9}\u{e9}x", None, Some((1, 3))).1, "x", "columns are characters");
        let none = ("     1  abc".to_owned(), String::new());
        assert_eq!(read("abc", None, Some((1, 99))), none, "a place of another document marks nothing");
        assert_eq!(read("abc", None, Some((0, 0))), none);
        assert_eq!(read("", None, Some((1, 1))), (String::new(), String::new()));
    }

    #[test]
    fn what_was_received_counts_before_the_place() {
        let text = "<say><txt>x</txt></say>";
        assert_eq!(read(text, Some("<txt>x</txt>"), Some((1, 133))).1, "<txt>x</txt>");
        assert_eq!(read(text, Some("<txt>x</t…"), None).1, "<txt>x</t");
        assert_eq!(read(text, Some("say"), Some((1, 12))).1, "</txt></say>", "it is there twice");
        assert_eq!(read("a\nb<c>\nd</c>", Some("<c>\nd</c>"), None).1, "<c>", "a mark ends with its line");
        assert_eq!(read("\u{202e}z", Some("\u{202e}"), None).1, "\\u{202e}");
    }
}
