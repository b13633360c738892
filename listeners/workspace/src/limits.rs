//! The bounds of a change set. They hold whatever a request, a file or a command holds.

use std::time::Duration;

/// Most edits of a change set. A patch has one for each of its files.
pub(crate) const EDITS: usize = 256;
/// Largest `<apply>`. It is one payload, and a payload has at most 1 MiB.
pub(crate) const APPLY_BYTES: usize = 900 << 10;
/// Most matches whose lines a refusal names.
pub(crate) const MATCHES: usize = 20;
/// Most lines that a refusal shows.
pub(crate) const SHOWN_LINES: usize = 12;
/// How much of a line a refusal shows.
pub(crate) const SHOWN_BYTES: usize = 200;
/// Most lines of a missing text that are looked for.
pub(crate) const NEAR_LINES: usize = 30;
/// How long the search for near paths, and the comparison of two texts, may take.
pub(crate) const NEAR_TIME: Duration = Duration::from_secs(2);
/// Deepest folder of an edited file.
pub(crate) const FOLDERS: usize = 60;
/// How much of the output of a command is kept: of its start, and of its end.
pub(crate) const OUTPUT_BYTES: usize = 16 << 10;
/// The longest time limit of a command.
pub(crate) const COMMAND_MS: u64 = 24 * 60 * 60 * 1000;
/// How long output may still come after a command has ended.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(2);
/// How often a running command is reported.
pub(crate) const PROGRESS_TIME: Duration = Duration::from_secs(5);
/// How long the files of the folder may be compared before and after a command.
pub(crate) const SCAN_TIME: Duration = Duration::from_secs(10);
/// Most bytes of files whose hashes are taken in one comparison.
pub(crate) const SCAN_BYTES: u64 = 256 << 20;
/// Most changed files that a result lists.
pub(crate) const CHANGED: usize = 500;
/// Most bytes of their paths.
pub(crate) const CHANGED_BYTES: usize = 32 << 10;
/// Most bytes of all texts of a result, as they are written.
pub(crate) const RESULT_BYTES: usize = 500 << 10;
/// Most that is read of what a session keeps.
pub(crate) const SESSION_BYTES: usize = 256 << 10;
/// Most bytes of the variables of a session: a person reads them.
pub(crate) const VARIABLES_BYTES: usize = 8 << 10;
/// Most threads whose sessions are kept.
pub(crate) const SESSION_THREADS: usize = 200;
/// Most change sets that are kept for an undo.
pub(crate) const KEPT_CHANGES: usize = 1_000;
/// Largest file of the journal.
pub(crate) const JOURNAL_BYTES: u64 = 8 << 20;
