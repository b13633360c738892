//! How two texts differ, as whole lines that become other lines, and the way back from those to a text.
//!
//! Two texts come in and pieces go out; or a text and pieces come in, and a text goes out. Applied to the first text,
//! the pieces of two texts always make the second.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use tokio::time::Instant;

use crate::limits;
use crate::text::document::split_lines;

/// Lines of a file, and what they become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditPiece {
    /// The first of them in the file as it was, from 1.
    pub(crate) line: usize,
    pub(crate) was: String,
    pub(crate) now: String,
}

/// The pieces that make `new` of `old`.
pub(crate) fn find_pieces(old: &str, new: &str) -> Vec<EditPiece> {
    let (before, after) = (split_lines(old), split_lines(new));
    let deadline = (Instant::now() + limits::NEAR_TIME).into_std();
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(deadline));
    let mut found: Vec<EditPiece> = Vec::new();
    let mut end = usize::MAX;
    for operation in operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. })) {
        let was = before.get(operation.old_range()).unwrap_or_default().concat();
        let now = after.get(operation.new_range()).unwrap_or_default().concat();
        match found.last_mut().filter(|_| end == operation.old_range().start) {
            Some(last) => {
                last.was.push_str(&was);
                last.now.push_str(&now);
            }
            None => found.push(EditPiece { line: operation.old_range().start + 1, was, now }),
        }
        end = operation.old_range().end;
    }
    found
}

/// The text with its pieces applied. `None` if a piece is not where it says, or the pieces are not in order.
pub(crate) fn apply_pieces(text: &str, pieces: &[EditPiece]) -> Option<String> {
    let lines = split_lines(text);
    let mut made = String::with_capacity(text.len());
    let mut at = 0;
    for piece in pieces {
        let first = piece.line.checked_sub(1)?;
        let wanted = split_lines(&piece.was);
        made.push_str(&lines.get(at..first)?.concat());
        at = first.checked_add(wanted.len())?;
        if lines.get(first..at)? != wanted.as_slice() {
            return None;
        }
        made.push_str(&piece.now);
    }
    made.push_str(&lines.get(at..)?.concat());
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_pieces_make_the_other_text() {
        let texts = [
            "",
            "a",
            "a\n",
            "a\nb\nc\n",
            "a\nX\nc\n",
            "b\nc\na\n",
            "a\r\nb\r\n",
            "\n\n\n",
            "c\nb\na\nb",
            "\u{feff}a\n",
        ];
        for old in texts {
            for new in texts {
                assert_eq!(
                    apply_pieces(old, &find_pieces(old, new)).as_deref(),
                    Some(new),
                    "{old:?} {new:?}"
                );
            }
        }
        let found = find_pieces("a\nb\nc\n", "a\nX\nc\nd\n");
        let piece = |line, was: &str, now: &str| EditPiece { line, was: was.to_owned(), now: now.to_owned() };
        assert_eq!(found, [piece(2, "b\n", "X\n"), piece(4, "", "d\n")]);
    }

    #[test]
    fn g2_pieces_that_do_not_fit_are_refused() {
        let piece = |line, was: &str| EditPiece { line, was: was.to_owned(), now: String::new() };
        for (text, pieces) in [
            ("a\nb\n", vec![piece(1, "b\n")]),
            ("a\nb\n", vec![piece(0, "a\n")]),
            ("a\nb\n", vec![piece(9, "")]),
            ("a\nb\n", vec![piece(2, "b\n"), piece(1, "a\n")]),
            ("a\nb\n", vec![piece(1, "a\n"), piece(1, "a\n")]),
            ("a\nb\n", vec![piece(usize::MAX, "a\n")]),
            ("a\nb\n", vec![piece(1, "a")]),
            ("a\nb\n", vec![piece(2, "b\nc\n")]),
        ] {
            assert_eq!(apply_pieces(text, &pieces), None, "{pieces:?}");
        }
    }
}
