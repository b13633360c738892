//! A change of a text: some lines or a piece of them become others, at the one place that fits.
//!
//! A text and hunks come in; the new text, or why a hunk does not fit, goes out. Every other line stays as it is.

use crate::limits;
use crate::text::find::{Closeness, IndentShift, find_places, find_shift};
use crate::text::similarity::{find_similar, number_lines};

/// Lines that become others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hunk {
    /// Lines above it, one after the other, with which the search for it begins.
    pub(crate) anchors: Vec<String>,
    pub(crate) lines: Vec<HunkLine>,
    /// Whether it is at the end of the file.
    pub(crate) is_at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    Kept(String),
    Removed(String),
    Added(String),
}

/// Why a change does not fit its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkMisfit {
    /// It is nowhere. Holds the nearest lines.
    Missing { what: &'static str, near: String },
    /// It is in several places. Holds the numbers of their first lines.
    Ambiguous { lines: Vec<usize> },
    /// It adds lines and says no place for them.
    NoPlace,
}

/// A new text, and how the request differed from the file.
pub(crate) type ChangedText = (String, Option<&'static str>);

impl HunkLine {
    fn old_line(&self) -> Option<&str> {
        match self {
            HunkLine::Kept(line) | HunkLine::Removed(line) => Some(line),
            HunkLine::Added(_) => None,
        }
    }
}

/// Replaces the only place of `old` by `new`.
pub(crate) fn replace_text(text: &str, old: &str, new: &str) -> Result<ChangedText, HunkMisfit> {
    let found = find_occurrences(text, old);
    match found.as_slice() {
        [at] => {
            let (before, rest) = text.split_at_checked(*at).unwrap_or((text, ""));
            Ok((format!("{before}{new}{}", rest.get(old.len()..).unwrap_or_default()), None))
        }
        [] => replace_lines(text, old, new),
        several => {
            let line = |at: &usize| text.get(..*at).unwrap_or_default().matches('\n').count() + 1;
            Err(HunkMisfit::Ambiguous { lines: several.iter().map(line).collect() })
        }
    }
}

/// The places of a text, also those that overlap.
fn find_occurrences(text: &str, old: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).filter(|_| !old.is_empty()).and_then(|rest| rest.find(old)) {
        found.push(from + at);
        if found.len() >= limits::MATCHES {
            break;
        }
        let width = text.get(from + at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        from += at + width;
    }
    found
}

/// The same for whole lines that differ only in white space.
fn replace_lines(text: &str, old: &str, new: &str) -> Result<ChangedText, HunkMisfit> {
    let (old_lines, new_lines) = match (old.strip_suffix('\n'), new.strip_suffix('\n')) {
        (Some(old), Some(new)) => (old, new),
        (Some(old), None) if new.is_empty() => (old, new),
        _ => (old, new),
    };
    let removed = old_lines.split('\n').map(|line| HunkLine::Removed(line.to_owned()));
    let is_gone = new_lines.is_empty() && old_lines != old;
    let added = new_lines.split('\n').filter(|_| !is_gone).map(|line| HunkLine::Added(line.to_owned()));
    let hunk = Hunk { lines: removed.chain(added).collect(), ..Hunk::default() };
    apply_hunks(text, &[hunk])
}

/// Applies hunks, one below the other.
pub(crate) fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<ChangedText, HunkMisfit> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut made: Vec<String> = Vec::new();
    let mut done = 0;
    let mut repaired = Closeness::Exact;
    for hunk in hunks {
        let (at, closeness) = find_place(text, &lines, hunk, done)?;
        let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::old_line).collect();
        let there = lines.get(at..at + old.len()).unwrap_or_default();
        let indent = (closeness == Closeness::Indented).then(|| find_shift(there, &old)).flatten();
        made.extend(lines.get(done..at).unwrap_or_default().iter().map(|line| (*line).to_owned()));
        made.extend(new_lines(hunk, there, indent.as_ref()).ok_or_else(|| describe_missing(text, &old))?);
        done = at + old.len();
        repaired = repaired.max(closeness);
    }
    made.extend(lines.get(done..).unwrap_or_default().iter().map(|line| (*line).to_owned()));
    Ok((made.join("\n"), repaired.words()))
}

/// The lines that a hunk leaves: kept ones as the file has them.
fn new_lines(hunk: &Hunk, there: &[&str], indent: Option<&IndentShift>) -> Option<Vec<String>> {
    let mut there = there.iter();
    let mut made = Vec::new();
    for line in &hunk.lines {
        match line {
            HunkLine::Kept(_) => made.push((*there.next()?).to_owned()),
            HunkLine::Removed(_) => {
                there.next()?;
            }
            HunkLine::Added(line) => {
                made.push(indent.map_or_else(|| Some(line.clone()), |indent| indent.shift_line(line))?);
            }
        }
    }
    Some(made)
}

fn describe_missing(text: &str, old: &[&str]) -> HunkMisfit {
    HunkMisfit::Missing { what: "the text to replace", near: find_similar(text, &old.join("\n")) }
}

/// The index of the first line of a hunk, at or below the line `from`.
fn find_place(
    text: &str,
    lines: &[&str],
    hunk: &Hunk,
    from: usize,
) -> Result<(usize, Closeness), HunkMisfit> {
    // After the last line feed there is no line; a hunk at the end comes before it.
    let end = if lines.last().is_some_and(|last| last.is_empty()) { lines.len() - 1 } else { lines.len() };
    let mut start = from;
    for anchor in &hunk.anchors {
        let is_it = |line: &&str| line.trim() == anchor.trim();
        let found = lines.iter().skip(start).position(is_it).map(|at| at + start);
        let missing = || HunkMisfit::Missing { what: "the line after @@", near: find_similar(text, anchor) };
        start = found.ok_or_else(missing)? + 1;
    }
    let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::old_line).collect();
    if old.is_empty() {
        return match (hunk.is_at_end, hunk.anchors.is_empty()) {
            (true, _) => Ok((end.max(from), Closeness::Exact)),
            (false, false) => Ok((start, Closeness::Exact)),
            (false, true) => Err(HunkMisfit::NoPlace),
        };
    }
    let (closeness, mut found) = find_places(lines, &old, start);
    if hunk.is_at_end {
        found.retain(|at| at + old.len() == end || at + old.len() == lines.len());
    }
    // An anchor that is in the file once makes the first place below it the one that is meant.
    let is_anchored = hunk
        .anchors
        .last()
        .is_some_and(|anchor| lines.iter().filter(|line| line.trim() == anchor.trim()).count() == 1);
    match found.as_slice() {
        [] => Err(describe_missing(text, &old)),
        [at] => Ok((*at, closeness)),
        [at, ..] if is_anchored && closeness == Closeness::Exact => Ok((*at, closeness)),
        several => Err(HunkMisfit::Ambiguous { lines: several.iter().map(|at| at + 1).collect() }),
    }
}

impl HunkMisfit {
    /// What is wrong, for the one who wrote the request.
    pub(crate) fn describe(&self, path: &str, text: &str) -> String {
        match self {
            HunkMisfit::Missing { what, near } if near.is_empty() => {
                format!("{what} is not in '{path}', which is empty")
            }
            HunkMisfit::Missing { what, near } => {
                format!("{what} is not in '{path}'. The nearest lines are:\n{near}")
            }
            HunkMisfit::Ambiguous { lines } => {
                let all: Vec<&str> = text.lines().collect();
                let shown = lines.iter().map(|line| number_lines(&all, line.saturating_sub(1), 1));
                let shown = shown.collect::<Vec<_>>().join("\n");
                let more = if lines.len() >= limits::MATCHES { " or more" } else { "" };
                format!(
                    "the text to replace is in '{path}' {}{more} times; add lines around it until it is there \
                     once. It begins at:\n{shown}",
                    lines.len()
                )
            }
            HunkMisfit::NoPlace => format!(
                "a part of the patch of '{path}' only adds lines and says no place for them; add a line above or \
                 below them, an @@ line, or *** End of File"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(anchors: &[&str], lines: &[&str]) -> Hunk {
        let line = |line: &&str| match line.split_at(1) {
            ("-", rest) => HunkLine::Removed(rest.to_owned()),
            ("+", rest) => HunkLine::Added(rest.to_owned()),
            (_, rest) => HunkLine::Kept(rest.to_owned()),
        };
        let anchors = anchors.iter().map(|anchor| (*anchor).to_owned()).collect();
        Hunk { anchors, lines: lines.iter().map(line).collect(), is_at_end: false }
    }

    #[test]
    fn g2_a_text_is_replaced_at_its_only_place() {
        assert_eq!(replace_text("a b c", "b", "X"), Ok(("a X c".to_owned(), None)));
        assert_eq!(
            replace_text("x\naaa\n", "aa", "b"),
            Err(HunkMisfit::Ambiguous { lines: vec![2, 2] }),
            "overlapping"
        );
        let many = "é".repeat(100);
        assert!(
            matches!(replace_text(&many, "é", "b"), Err(HunkMisfit::Ambiguous { lines }) if lines.len() == limits::MATCHES)
        );
    }

    #[test]
    fn g2_white_space_is_repaired_and_indentation_follows() {
        let text = "if x:\n    one()  \n    two()\n";
        let made = replace_text(text, "one()\ntwo()", "one()\nif y:\n    three()").unwrap();
        assert_eq!(made, ("if x:\n    one()\n    if y:\n        three()\n".to_owned(), Some("indentation")));
        let kept = apply_hunks(text, &[hunk(&[], &["     one()", "-    two()", "+    three()"])]).unwrap();
        assert_eq!(kept.0, "if x:\n    one()  \n    three()\n", "a kept line stays as the file has it");
        assert!(kept.1.is_some());
        assert_eq!(replace_text("a  \nb\n", "a\n", "").unwrap().0, "b\n");
    }

    #[test]
    fn g2_hunks_come_one_below_the_other_and_anchors_lead_to_them() {
        let text = "class A:\n  f()\nclass B:\n  f()\n";
        let one = |anchors: &[&str]| apply_hunks(text, &[hunk(anchors, &["-  f()", "+  g()"])]);
        assert_eq!(one(&[]), Err(HunkMisfit::Ambiguous { lines: vec![2, 4] }));
        assert_eq!(one(&["class B:"]).unwrap().0, "class A:\n  f()\nclass B:\n  g()\n");
        assert_eq!(one(&["class A:"]).unwrap().0, "class A:\n  g()\nclass B:\n  f()\n");
        assert!(matches!(one(&["class C:"]), Err(HunkMisfit::Missing { .. })));
        let both = [hunk(&[], &["-class A:", "+class X:"]), hunk(&[], &["-class B:", "+class Y:"])];
        assert_eq!(apply_hunks(text, &both).unwrap().0, "class X:\n  f()\nclass Y:\n  f()\n");
        let back = [both[1].clone(), both[0].clone()];
        assert!(matches!(apply_hunks(text, &back), Err(HunkMisfit::Missing { .. })));
        assert_eq!(apply_hunks(text, &[hunk(&[], &["+x"])]), Err(HunkMisfit::NoPlace));
        let end = Hunk { is_at_end: true, ..hunk(&[], &["+x"]) };
        assert_eq!(apply_hunks("a\n", std::slice::from_ref(&end)).unwrap().0, "a\nx\n");
        assert_eq!(apply_hunks("a", &[end]).unwrap().0, "a\nx");
    }
}
