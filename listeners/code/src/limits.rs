//! The bounds of a request. They hold whatever the folder holds.

use std::time::Duration;

pub(crate) use systole_folder::limits::NEAREST;

// A request

/// How long a request may work: what was found by then is the answer.
pub(crate) const TIME: Duration = Duration::from_secs(5);
/// Requests at work at once: each uses a few threads itself.
pub(crate) const REQUESTS: usize = 2;
/// Threads of one request.
pub(crate) const THREADS: usize = 4;
/// Things from which on they are shared among threads: fewer are done sooner on one.
pub(crate) const FEW: usize = 8;

// An answer

/// Bytes of all hits of an answer.
pub(crate) const ANSWER_BYTES: usize = 32 << 10;
/// Bytes of one hit.
pub(crate) const HIT_BYTES: usize = 6 << 10;
/// Bytes of an extract.
pub(crate) const EXTRACT_BYTES: usize = 64 << 10;
/// Hits of an answer.
pub(crate) const HITS: usize = 10;
/// Hits of one file: another file says more.
pub(crate) const HITS_OF_FILE: usize = 2;
/// Lines around a line in no block, and before the first match in a block too long to be shown.
pub(crate) const LINES_AROUND: usize = 4;
/// Lines before and after a line of plain text.
pub(crate) const LINES_AROUND_TEXT: usize = 2;
/// Lines between two ranges that become one.
pub(crate) const GAP_LINES: usize = 5;
/// Lines of such a range; ranges that overlap are merged in any case.
pub(crate) const MERGED_LINES: usize = 80;

// What is read

/// Files whose syntax is read for one search: those that fit the query best.
pub(crate) const PARSED: usize = 60;
/// Lines of one file that count as matches.
pub(crate) const LINES: usize = 5_000;
/// Bytes of a line that are looked at.
pub(crate) const LINE_BYTES: usize = 2_000;
/// Bytes of a word that is looked at: longer ones are data.
pub(crate) const WORD_BYTES: usize = 64;
/// Blocks of a file.
pub(crate) const BLOCKS: usize = 20_000;
/// Lines of a holder that is a block of its own.
pub(crate) const HOLDER_LINES: usize = 40;
/// Depth of a syntax tree. Deeper ones are read as text, as some steps of a match use the stack.
pub(crate) const SYNTAX_DEPTH: usize = 500;

// A query and a pattern

/// Terms of a query.
pub(crate) const TERMS: usize = 32;
/// Depth of the brackets of a query.
pub(crate) const QUERY_DEPTH: usize = 16;
/// Bytes of a compiled pattern.
pub(crate) const PATTERN_BYTES: usize = 2 << 20;
/// Places of one file that a pattern finds.
pub(crate) const PATTERN_PLACES: usize = 50;
/// Depth of a pattern: a person writes no deeper one.
pub(crate) const PATTERN_DEPTH: usize = 100;
/// Tokens that are taken away to find a pattern that can be read.
pub(crate) const PATTERN_SHORTER: usize = 8;

// Weights of the ranking

/// How soon more of one term counts no more: `k1` of BM25.
pub(crate) const SATURATION: f64 = 1.2;
/// How much the length of a block counts: `b` of BM25.
pub(crate) const LENGTH_SHARE: f64 = 0.75;
/// How often a stem in the name of a block counts.
pub(crate) const IN_NAME: f64 = 3.0;
/// How often a stem in the path of its file counts.
pub(crate) const IN_PATH: f64 = 1.5;
/// How much the rest of a file counts: its score, and what fits only together with it.
pub(crate) const FILE_SHARE: f64 = 0.5;
/// How much a block of prose, data or markup counts: code answers what code does.
pub(crate) const PROSE_SHARE: f64 = 0.8;
/// How much a further hit of a file counts: another file says more.
pub(crate) const FURTHER_SHARE: f64 = 0.6;
/// How much more a block counts that defines a name of the query: more than any by its words.
pub(crate) const DEFINED: f64 = 1000.0;
