//! Patches from `*** Begin Patch` to `*** End Patch`.
//!
//! A text comes in; edits go out, or the line in which the text stops making sense.

use super::{FileAction, FileEdit};
use crate::fault::{self, ElementFault};
use crate::text::hunk::{Hunk, HunkLine};

pub(crate) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// What may begin a file of a patch.
const FILE: &str = "*** Update File: PATH, *** Add File: PATH, *** Delete File: PATH or *** End Patch";

struct PatchLines<'p> {
    all: Vec<&'p str>,
    at: usize,
}

/// The edits of a patch.
pub(crate) fn read_edits(text: &str) -> Result<Vec<FileEdit>, ElementFault> {
    let mut lines = PatchLines { all: text.lines().collect(), at: 0 };
    while lines.next().is_some_and(|line| line.trim_end() != BEGIN) {}
    let mut found = Vec::new();
    loop {
        let at = lines.at;
        let Some(line) = lines.next() else { return Err(refuse_line(at, FILE)) };
        let (path, action) = if line.trim_end() == END {
            break;
        } else if let Some(path) = line.strip_prefix(ADD) {
            (path, lines.read_added_file()?)
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            (path, lines.read_updated_file()?)
        } else if let Some(path) = line.strip_prefix(DELETE) {
            (path, FileAction::Delete)
        } else if line.trim().is_empty() {
            continue;
        } else {
            return Err(refuse_line(at, FILE));
        };
        found.push(FileEdit { path: path.trim().to_owned(), sha256: None, action });
    }
    if found.is_empty() { Err(refuse_line(lines.at, FILE)) } else { Ok(found) }
}

impl<'p> PatchLines<'p> {
    fn next(&mut self) -> Option<&'p str> {
        let line = self.all.get(self.at).copied();
        self.at += usize::from(line.is_some());
        line
    }

    /// The next line, if it does not begin another file or end the patch.
    fn next_inside(&mut self) -> Option<&'p str> {
        let line = self.all.get(self.at).copied()?;
        let is_over =
            line.trim_end() == END || [ADD, UPDATE, DELETE].iter().any(|mark| line.starts_with(mark));
        if is_over { None } else { self.next() }
    }

    fn read_added_file(&mut self) -> Result<FileAction, ElementFault> {
        let mut text: Vec<&str> = Vec::new();
        while let Some(line) = self.next_inside() {
            match line.strip_prefix('+') {
                Some(line) => text.push(line),
                None if line.trim().is_empty() => {}
                None => return Err(refuse_line(self.at - 1, "a line of the new file, which begins with +")),
            }
        }
        Ok(FileAction::Create { text: text.join("\n") })
    }

    fn read_updated_file(&mut self) -> Result<FileAction, ElementFault> {
        let (mut hunks, mut moved_to, mut hunk) = (Vec::new(), None, Hunk::default());
        let first = self.at;
        while let Some(line) = self.next_inside() {
            if let Some(path) = line.strip_prefix(MOVE).filter(|_| self.at == first + 1) {
                moved_to = Some(path.trim().to_owned());
            } else if line.trim_end() == END_OF_FILE {
                hunk.is_at_end = true;
                hunks.push(std::mem::take(&mut hunk));
            } else if let Some(anchor) = line.strip_prefix("@@") {
                if !hunk.lines.is_empty() {
                    hunks.push(std::mem::take(&mut hunk));
                }
                hunk.anchors.extend(read_anchor(anchor));
            } else {
                hunk.lines.push(match (line.split_at_checked(1), line) {
                    (_, "") => HunkLine::Kept(String::new()),
                    (Some((" ", rest)), _) => HunkLine::Kept(rest.to_owned()),
                    (Some(("-", rest)), _) => HunkLine::Removed(rest.to_owned()),
                    (Some(("+", rest)), _) => HunkLine::Added(rest.to_owned()),
                    _ => {
                        return Err(refuse_line(
                            self.at - 1,
                            "a line that begins with a blank, + or -, or @@",
                        ));
                    }
                });
            }
        }
        if hunk.lines.iter().any(|line| !matches!(line, HunkLine::Kept(text) if text.is_empty())) {
            // A blank line before the next file is layout.
            while hunk
                .lines
                .last()
                .is_some_and(|line| matches!(line, HunkLine::Kept(text) if text.is_empty()))
            {
                hunk.lines.pop();
            }
            hunks.push(hunk);
        }
        if hunks.is_empty() && moved_to.is_none() {
            return Err(refuse_line(self.at, "a change of the file: lines that begin with + or -"));
        }
        Ok(FileAction::Hunks { hunks, moved_to })
    }
}

/// The line after `@@`. Numbers of lines, as in `@@ -1,3 +1,4 @@`, are no line of the file.
fn read_anchor(written: &str) -> Option<String> {
    let text = written.trim();
    let text = match text.strip_prefix('-').and_then(|rest| rest.split_once("@@")) {
        Some((numbers, _)) if numbers.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '+' | ' ')) => {
            ""
        }
        _ => text,
    };
    (!text.is_empty()).then(|| text.to_owned())
}

/// The refusal of a diff of git or of `diff -u`, with its first file in the form that is taken.
pub(crate) fn refuse_git_diff(text: &str) -> Option<ElementFault> {
    let lines: Vec<&str> = text.lines().collect();
    let is_head =
        |two: &[&str]| matches!(two, [old, new] if old.starts_with("--- ") && new.starts_with("+++ "));
    let head = lines.windows(2).position(is_head)?;
    let named = |line: &str, mark: &str| {
        let path = line.get(4..).unwrap_or_default().split('\t').next().unwrap_or_default().trim_end();
        (path != "/dev/null").then(|| path.strip_prefix(mark).unwrap_or(path).to_owned())
    };
    let (old, new) = (lines.get(head)?, lines.get(head + 1)?);
    let file = match (named(old, "a/"), named(new, "b/")) {
        (None, Some(path)) => format!("{ADD}{path} and the lines with +"),
        (Some(path), None) => format!("{DELETE}{path}"),
        (_, path) => format!("{UPDATE}{} and the lines from @@ on, as they are", path.unwrap_or_default()),
    };
    let message = format!(
        "line {} of the patch: a diff of git is not taken; write {BEGIN}, for each file a line as {file}, and {END}",
        head + 1
    );
    Some(ElementFault::new(fault::BAD_PATCH, message))
}

fn refuse_line(at: usize, expected: &str) -> ElementFault {
    ElementFault::new(fault::BAD_PATCH, format!("line {} of the patch: expected {expected}", at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_a_patch_of_several_files_is_read() {
        let text = "*** Begin Patch\n*** Add File: a/new.py\n+one\n+\n+two\n*** Update File: old.py\n*** Move to: moved.py\n@@ class A\n@@   def f():\n-    x\n+    y\n\n     z\n@@\n-last\n+end\n*** End of File\n\n*** Delete File: gone.py\n*** End Patch";
        let found = read_edits(text).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].action, FileAction::Create { text: "one\n\ntwo".to_owned() });
        let FileAction::Hunks { hunks, moved_to } = &found[1].action else { panic!("{found:?}") };
        assert_eq!(moved_to.as_deref(), Some("moved.py"));
        assert_eq!(hunks[0].anchors, ["class A", "def f():"]);
        assert_eq!(hunks[0].lines.len(), 4);
        assert!(hunks[1].is_at_end && hunks[1].anchors.is_empty() && hunks.len() == 2);
        assert_eq!((found[2].path.as_str(), &found[2].action), ("gone.py", &FileAction::Delete));
        let numbered =
            read_edits("*** Begin Patch\n*** Update File: a\n@@ -1,2 +1,2 @@ fn x\n-a\n+b\n*** End Patch")
                .unwrap();
        let FileAction::Hunks { hunks, .. } = &numbered[0].action else { panic!("{numbered:?}") };
        assert!(hunks[0].anchors.is_empty());
    }

    #[test]
    fn g2_a_diff_of_git_is_refused_with_the_form_that_is_taken() {
        let head = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n";
        for (text, words) in [
            ("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n", "line 3 of the patch: a diff of git"),
            (
                "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n",
                "*** Update File: src/a.rs and the lines from @@",
            ),
            ("--- /dev/null\n+++ b/new.rs\n@@ -0,0 +1 @@\n+b\n", "*** Add File: new.rs"),
            ("--- a/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", "*** Delete File: old.rs"),
        ] {
            let fault = refuse_git_diff(&format!("{head}{text}")).unwrap();
            assert!(fault.code == fault::BAD_PATCH && fault.message.contains(words), "{}", fault.message);
        }
        assert_eq!(refuse_git_diff("a.rs\n<<<<<<< SEARCH\n--- a\n=======\n+++ b\n>>>>>>> REPLACE"), None);
    }

    #[test]
    fn g2_a_broken_patch_is_refused_with_its_line() {
        for (text, line) in [
            ("*** Begin Patch", "line 2"),
            ("*** Begin Patch\n*** End Patch", "line 3"),
            ("*** Begin Patch\nwhat\n*** End Patch", "line 2"),
            ("*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch", "line 3"),
            ("*** Begin Patch\n*** Update File: a\n@@\n*** End Patch", "line 4"),
            ("*** Begin Patch\n*** Update File: a\nXYZ\n*** End Patch", "line 3"),
            ("*** Begin Patch\n*** Update File: a\n-x\n+y\n", "line 5"),
        ] {
            let message = read_edits(text).unwrap_err().message;
            assert!(message.starts_with(line), "{text:?}: {message}");
        }
    }
}
