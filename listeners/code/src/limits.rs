//! The bounds of a search. They hold for every file and every request.

use std::time::Duration;

/// Largest file that is read.
pub(crate) const FILE_BYTES: usize = 1 << 20;
/// Most files of a search.
pub(crate) const FILES: usize = 20_000;
/// Most names that are read from one folder.
pub(crate) const NAMES: usize = 50_000;
/// Deepest folder.
pub(crate) const FOLDERS: usize = 64;
/// Largest file of ignore rules.
pub(crate) const RULES_BYTES: usize = 64 << 10;
/// How long a request may work. What was found by then is the answer.
pub(crate) const TIME: Duration = Duration::from_secs(5);
/// Largest text of all hits of an answer.
pub(crate) const ANSWER_BYTES: usize = 32 << 10;
/// Largest text of one hit.
pub(crate) const HIT_BYTES: usize = 6 << 10;
/// Largest text of an extract.
pub(crate) const EXTRACT_BYTES: usize = 64 << 10;
/// Most hits of an answer.
pub(crate) const HITS: usize = 10;
/// Most files whose syntax is read for one search: those that fit the query best.
pub(crate) const PARSED: usize = 60;
/// Most lines of one file that count as matches.
pub(crate) const LINES: usize = 5_000;
/// How much of a line is looked at.
pub(crate) const LINE_BYTES: usize = 2_000;
/// Deepest syntax tree. Deeper ones are read as plain text, because some steps of a match use the stack.
pub(crate) const SYNTAX_DEPTH: usize = 500;
/// Most nearest names of a failure.
pub(crate) const NEAREST: usize = 5;
/// Bytes at the start of a file in which a zero byte means that it is no text.
pub(crate) const BINARY_BYTES: usize = 8 << 10;
