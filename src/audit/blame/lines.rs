//! The lines of one file through its changes: which change wrote each of them.
//!
//! Edits of one file come in, oldest first; the origin of a line goes out. It knows no log and opens no file.

use systole_core::types::ids::Digest;

/// Whole lines of a file, and what became of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LinePiece {
    /// The first of them in the file as it was, from 1.
    pub(crate) line: usize,
    /// How many there were, and how many there are now.
    pub(crate) was: usize,
    pub(crate) now: usize,
}

/// A change of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileEdit {
    /// The hash of the file before; none if there was no file.
    pub(crate) before: Option<Digest>,
    /// The hash afterwards; none if the file is gone.
    pub(crate) after: Option<Digest>,
    /// What changed. None if a command changed the file, and its lines are not known.
    pub(crate) pieces: Option<Vec<LinePiece>>,
}

/// Where a line comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineOrigin {
    /// It was there before the first change that the log has.
    Before,
    /// It was written by this edit, counted from 0.
    Edit(usize),
    /// Something outside changed the file before this edit, and what it did to the line is not known.
    OutsideBefore(usize),
    /// Something outside changed the file after the last edit.
    OutsideAfter,
}

/// The origins of the first lines; all others have that of the rest.
struct Lines {
    known: Vec<LineOrigin>,
    rest: LineOrigin,
}

impl Lines {
    fn all(rest: LineOrigin) -> Lines {
        Lines { known: Vec::new(), rest }
    }

    fn replace(&mut self, piece: &LinePiece, by: LineOrigin) {
        let start = piece.line.saturating_sub(1);
        let end = start.saturating_add(piece.was);
        if self.known.len() < end {
            self.known.resize(end, self.rest);
        }
        self.known.splice(start..end, std::iter::repeat_n(by, piece.now));
    }

    fn of(&self, line: usize) -> LineOrigin {
        self.known.get(line.saturating_sub(1)).copied().unwrap_or(self.rest)
    }
}

/// The most lines that an edit may name: no file that is edited has more.
const LINES: usize = 2_000_000;

/// The origin of a line, counted from 1, of a file that has this hash now.
pub(crate) fn origin(edits: &[FileEdit], now: Option<Digest>, line: usize) -> LineOrigin {
    let mut lines = Lines::all(LineOrigin::Before);
    let mut last: Option<Option<Digest>> = None;
    for (number, edit) in edits.iter().enumerate() {
        if last.is_some_and(|last| last != edit.before) {
            lines = Lines::all(LineOrigin::OutsideBefore(number));
        }
        last = Some(edit.after);
        match &edit.pieces {
            // Everything in a new file is new, and a command may have written any line.
            _ if edit.before.is_none() => lines = Lines::all(LineOrigin::Edit(number)),
            None => lines = Lines::all(LineOrigin::Edit(number)),
            Some(pieces) => {
                // From the end, so that the places of the others stay.
                let mut pieces: Vec<&LinePiece> = pieces.iter().filter(|piece| is_possible(piece)).collect();
                pieces.sort_by_key(|piece| std::cmp::Reverse(piece.line));
                pieces.into_iter().for_each(|piece| lines.replace(piece, LineOrigin::Edit(number)));
            }
        }
    }
    match last {
        Some(last) if last != now => LineOrigin::OutsideAfter,
        _ => lines.of(line),
    }
}

fn is_possible(piece: &LinePiece) -> bool {
    [piece.line, piece.was, piece.now].into_iter().all(|number| number <= LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: &str, after: &str, pieces: &[(usize, usize, usize)]) -> FileEdit {
        let hash = |text: &str| (!text.is_empty()).then(|| Digest::of(text.as_bytes()));
        let pieces = pieces.iter().map(|(line, was, now)| LinePiece { line: *line, was: *was, now: *now });
        FileEdit { before: hash(before), after: hash(after), pieces: Some(pieces.collect()) }
    }

    fn origins(edits: &[FileEdit], now: &str, lines: usize) -> Vec<LineOrigin> {
        (1..=lines).map(|line| origin(edits, Some(Digest::of(now.as_bytes())), line)).collect()
    }

    #[test]
    fn g8_a_line_keeps_its_origin_while_others_move_it() {
        use LineOrigin::{Before, Edit};
        // Lines 2 and 5 change in one edit, line 2 becoming two; then a line is put in front of all; then line 1 goes.
        let edits = [
            edit("a", "b", &[(2, 1, 2), (5, 1, 1)]),
            edit("b", "c", &[(1, 0, 1)]),
            edit("c", "d", &[(2, 1, 0)]),
        ];
        assert_eq!(origins(&edits[..1], "b", 6), [Before, Edit(0), Edit(0), Before, Before, Edit(0)]);
        assert_eq!(origins(&edits[..2], "c", 4), [Edit(1), Before, Edit(0), Edit(0)]);
        assert_eq!(origins(&edits, "d", 4), [Edit(1), Edit(0), Edit(0), Before]);
    }

    #[test]
    fn g8_what_happened_outside_is_a_gap() {
        use LineOrigin::{Edit, OutsideAfter, OutsideBefore};
        let edits = [edit("", "b", &[(1, 0, 3)]), edit("x", "c", &[(2, 1, 1)])];
        assert_eq!(origins(&edits[..1], "b", 2), [Edit(0), Edit(0)]);
        assert_eq!(origins(&edits, "c", 3), [OutsideBefore(1), Edit(1), OutsideBefore(1)]);
        assert_eq!(origins(&edits, "other", 2), [OutsideAfter, OutsideAfter]);
        let command = FileEdit { pieces: None, ..edit("c", "d", &[]) };
        assert_eq!(origins(&[edits[1].clone(), command], "d", 1), [Edit(1)]);
    }
}
