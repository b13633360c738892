//! The bounds of a search. They hold for every file and every request.

use std::time::Duration;

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
