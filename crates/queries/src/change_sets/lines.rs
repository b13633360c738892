//! The lines of one file through its changes: which change wrote each of them.
//!
//! Edits of one file come in, oldest first; the origin of a line goes out. It knows no log and opens no file.

use systole_core::types::ids::Digest;

use crate::limits;

/// Whole lines of a file, and what became of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LinePiece {
    /// The first of them in the file as it was, from 1.
    pub(crate) line: usize,
    /// What they were.
    pub(crate) was: String,
    /// How many there are now.
    pub(crate) now: usize,
}

impl LinePiece {
    /// How many there were.
    fn were(&self) -> usize {
        lines_of(&self.was)
    }
}

/// The number of lines of a text of whole lines. The last one may have no end.
pub(crate) fn lines_of(text: &str) -> usize {
    text.split_inclusive('\n').count()
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

/// The origins of the lines of a file: of the first ones; all others have that of the rest.
pub(crate) struct LineOrigins {
    known: Vec<LineOrigin>,
    rest: LineOrigin,
}

impl LineOrigins {
    fn all(rest: LineOrigin) -> LineOrigins {
        LineOrigins { known: Vec::new(), rest }
    }

    fn replace(&mut self, piece: &LinePiece, by: LineOrigin) {
        let start = piece.line.saturating_sub(1);
        let end = start.saturating_add(piece.were());
        if self.known.len() < end {
            self.known.resize(end, self.rest);
        }
        self.known.splice(start..end, std::iter::repeat_n(by, piece.now));
    }

    /// The origin of a line, counted from 1.
    pub(crate) fn of(&self, line: usize) -> LineOrigin {
        self.known.get(line.saturating_sub(1)).copied().unwrap_or(self.rest)
    }
}

/// The origins of the lines of a file that has this hash now.
pub(crate) fn origins(edits: &[FileEdit], now: Option<Digest>) -> LineOrigins {
    let mut lines = LineOrigins::all(LineOrigin::Before);
    let mut last: Option<Option<Digest>> = None;
    for (number, edit) in edits.iter().enumerate() {
        if last.is_some_and(|last| last != edit.before) {
            lines = LineOrigins::all(LineOrigin::OutsideBefore(number));
        }
        last = Some(edit.after);
        match &edit.pieces {
            // Everything in a new file is new, and a command may have written any line.
            _ if edit.before.is_none() => lines = LineOrigins::all(LineOrigin::Edit(number)),
            None => lines = LineOrigins::all(LineOrigin::Edit(number)),
            Some(pieces) => {
                // From the end, so that the places of the others stay.
                let mut pieces: Vec<&LinePiece> = pieces.iter().filter(|piece| is_possible(piece)).collect();
                pieces.sort_by_key(|piece| std::cmp::Reverse(piece.line));
                pieces.into_iter().for_each(|piece| lines.replace(piece, LineOrigin::Edit(number)));
            }
        }
    }
    match last {
        Some(last) if last != now => LineOrigins::all(LineOrigin::OutsideAfter),
        _ => lines,
    }
}

/// The text of a file before an edit, from its text afterwards; `None` if these are not the bytes that the edit wrote, or
/// if the lines of the edit are not known.
pub(crate) fn undo_edit(edit: &FileEdit, text: &str) -> Option<String> {
    let mut pieces: Vec<&LinePiece> = edit.pieces.iter().flatten().collect();
    pieces.sort_by_key(|piece| piece.line);
    let mut after = text.split_inclusive('\n');
    let (mut before, mut line) = (String::new(), 1);
    for piece in pieces {
        for kept in after.by_ref().take(piece.line.saturating_sub(line)) {
            before.push_str(kept);
        }
        after.by_ref().take(piece.now).for_each(drop);
        before.push_str(&piece.was);
        line = piece.line.saturating_add(piece.were());
    }
    after.for_each(|kept| before.push_str(kept));
    let is = |text: &str, hash: Option<Digest>| hash == Some(Digest::hash_bytes(text.as_bytes()));
    (is(text, edit.after) && is(&before, edit.before)).then_some(before)
}

fn is_possible(piece: &LinePiece) -> bool {
    [piece.line, piece.were(), piece.now].into_iter().all(|number| number <= limits::EDIT_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: &str, after: &str, pieces: &[(usize, usize, usize)]) -> FileEdit {
        let hash = |text: &str| (!text.is_empty()).then(|| Digest::hash_bytes(text.as_bytes()));
        let pieces = pieces.iter().map(|(line, was, now)| {
            let was = "old\n".repeat(*was);
            LinePiece { line: *line, was, now: *now }
        });
        FileEdit { before: hash(before), after: hash(after), pieces: Some(pieces.collect()) }
    }

    fn first(edits: &[FileEdit], now: &str, lines: usize) -> Vec<LineOrigin> {
        let all = origins(edits, Some(Digest::hash_bytes(now.as_bytes())));
        (1..=lines).map(|line| all.of(line)).collect()
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
        assert_eq!(first(&edits[..1], "b", 6), [Before, Edit(0), Edit(0), Before, Before, Edit(0)]);
        assert_eq!(first(&edits[..2], "c", 4), [Edit(1), Before, Edit(0), Edit(0)]);
        assert_eq!(first(&edits, "d", 4), [Edit(1), Edit(0), Edit(0), Before]);
    }

    #[test]
    fn g8_what_happened_outside_is_a_gap() {
        use LineOrigin::{Edit, OutsideAfter, OutsideBefore};
        let edits = [edit("", "b", &[(1, 0, 3)]), edit("x", "c", &[(2, 1, 1)])];
        assert_eq!(first(&edits[..1], "b", 2), [Edit(0), Edit(0)]);
        assert_eq!(first(&edits, "c", 3), [OutsideBefore(1), Edit(1), OutsideBefore(1)]);
        assert_eq!(first(&edits, "other", 2), [OutsideAfter, OutsideAfter]);
        let command = FileEdit { pieces: None, ..edit("c", "d", &[]) };
        assert_eq!(first(&[edits[1].clone(), command], "d", 1), [Edit(1)]);
    }

    #[test]
    fn c14_an_edit_is_undone_if_its_bytes_are_there() {
        let pieces = |all: &[(usize, &str, usize)]| {
            all.iter()
                .map(|(line, was, now)| LinePiece { line: *line, was: (*was).to_owned(), now: *now })
                .collect()
        };
        let hash = |text: &str| Some(Digest::hash_bytes(text.as_bytes()));
        let of = |before, after, all| FileEdit {
            before: hash(before),
            after: hash(after),
            pieces: Some(pieces(all)),
        };
        for (before, after, all) in [
            ("a\nb\nc\nd\n", "a\nx\ny\nc\n", &[(4, "d\n", 0), (2, "b\n", 2)][..]),
            ("a\nb", "new\na\nb!", &[(1, "", 1), (2, "b", 1)]),
            ("a\r\nb\n", "b\n", &[(1, "a\r\n", 0)]),
            ("", "a\n", &[(1, "", 1)]),
        ] {
            let edit = of(before, after, all);
            assert_eq!(undo_edit(&edit, after).as_deref(), Some(before));
            assert_eq!(undo_edit(&edit, &format!("{after}more\n")), None, "other bytes are there");
        }
        let edit = of("a\n", "b\n", &[(1, "other\n", 1)]);
        assert_eq!(undo_edit(&edit, "b\n"), None, "the lines are not those of the hash");
        let unknown = FileEdit { pieces: None, ..of("a\n", "b\n", &[]) };
        assert_eq!(undo_edit(&unknown, "b\n"), None);
        let made = FileEdit { before: None, ..of("", "b\n", &[(1, "", 1)]) };
        assert_eq!(undo_edit(&made, "b\n"), None, "there was no file");
        let far = of("a\n", "b\n", &[(usize::MAX, "a\n", usize::MAX)]);
        assert_eq!(undo_edit(&far, "b\n"), None);
    }
}
