//! Patches as blocks of SEARCH and REPLACE, each after a line with its path.
//!
//! A text comes in; edits go out, or the line in which the text stops making sense.

use super::{FileAction, FileEdit};
use crate::fault::{self, ElementFault};
use crate::text::hunk::{Hunk, HunkLine};

const SEARCH: &str = "<<<<<<< SEARCH";
const MIDDLE: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// The edits of a patch. A block without a path belongs to the file of the block before it.
pub(crate) fn read_edits(text: &str) -> Result<Vec<FileEdit>, ElementFault> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<FileEdit> = Vec::new();
    let mut path: Option<&str> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.trim_end() != SEARCH {
            // Fences of code around a block say nothing.
            if !line.trim().is_empty() && !line.trim_start().starts_with("```") {
                path = Some(line.trim());
            }
            at += 1;
            continue;
        }
        let path =
            path.ok_or_else(|| refuse_line(at, "a line with the path of the file before <<<<<<< SEARCH"))?;
        let middle = find_mark(&lines, at + 1, MIDDLE)?;
        let end = find_mark(&lines, middle + 1, REPLACE)?;
        let old = lines.get(at + 1..middle).unwrap_or_default();
        let new = lines.get(middle + 1..end).unwrap_or_default();
        found.push(FileEdit { path: path.to_owned(), sha256: None, action: choose_action(old, new) });
        at = end + 1;
    }
    if found.is_empty() {
        return Err(refuse_line(0, "*** Begin Patch, or blocks that begin with <<<<<<< SEARCH"));
    }
    Ok(found)
}

fn choose_action(old: &[&str], new: &[&str]) -> FileAction {
    if old.is_empty() {
        return FileAction::Create { text: new.join("\n") };
    }
    let removed = old.iter().map(|line| HunkLine::Removed((*line).to_owned()));
    let added = new.iter().map(|line| HunkLine::Added((*line).to_owned()));
    let hunk = Hunk { lines: removed.chain(added).collect(), ..Hunk::default() };
    FileAction::Hunks { hunks: vec![hunk], moved_to: None }
}

/// The line with that mark, at or below `from`.
fn find_mark(lines: &[&str], from: usize, mark: &'static str) -> Result<usize, ElementFault> {
    let rest = lines.iter().enumerate().skip(from);
    for (at, line) in rest {
        match line.trim_end() {
            line if line == mark => return Ok(at),
            SEARCH | REPLACE => return Err(refuse_line(at, mark)),
            _ => {}
        }
    }
    Err(refuse_line(lines.len(), mark))
}

fn refuse_line(at: usize, expected: &str) -> ElementFault {
    ElementFault::new(fault::BAD_PATCH, format!("line {} of the patch: expected {expected}", at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_blocks_of_search_and_replace_are_read() {
        let text = "src/a.rs\n```rust\n<<<<<<< SEARCH\nold\n=======\nnew\n\n>>>>>>> REPLACE\n```\n<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE\nb.txt\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE";
        let found = read_edits(text).unwrap();
        let paths: Vec<&str> = found.iter().map(|edit| edit.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs", "src/a.rs", "b.txt"]);
        let lines = |lines: &[HunkLine]| FileAction::Hunks {
            hunks: vec![Hunk { lines: lines.to_vec(), ..Hunk::default() }],
            moved_to: None,
        };
        let (removed, added) =
            (|l: &str| HunkLine::Removed(l.to_owned()), |l: &str| HunkLine::Added(l.to_owned()));
        assert_eq!(found[0].action, lines(&[removed("old"), added("new"), added("")]));
        assert_eq!(found[1].action, lines(&[removed("x")]));
        assert_eq!(found[2].action, FileAction::Create { text: "hello".to_owned() });
    }

    #[test]
    fn g2_broken_blocks_are_refused_with_their_line() {
        for (text, line) in [
            ("", "line 1"),
            ("just text", "line 1"),
            ("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", "line 1"),
            ("a.rs\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE", "line 4"),
            ("a.rs\n<<<<<<< SEARCH\na\n=======\nb", "line 6"),
            ("a.rs\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\n>>>>>>> REPLACE", "line 4"),
        ] {
            let message = read_edits(text).unwrap_err().message;
            assert!(message.starts_with(line), "{text:?}: {message}");
        }
    }
}
