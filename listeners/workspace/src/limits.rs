//! The bounds of a change set and a command. They hold whatever a request, a file or a command holds.

use std::time::Duration;

pub(crate) use systole_kit::limits::TEXT_BYTES;

// A change set

/// Edits of a change set: a patch has one for each of its files.
pub(crate) const EDITS: usize = 256;
/// Packages of one installation.
pub(crate) const PACKAGES: usize = 50;
/// Depth of the folder of an edited file.
pub(crate) const FOLDERS: usize = 60;
/// Lines of a missing text that are looked for.
pub(crate) const NEAR_LINES: usize = 30;
/// How long the search for near paths, and the comparison of two texts, may take.
pub(crate) const NEAR_TIME: Duration = Duration::from_secs(2);
/// Matches whose lines a refusal names.
pub(crate) const MATCHES: usize = 20;
/// Lines that a refusal shows.
pub(crate) const SHOWN_LINES: usize = 12;
/// Bytes of a line that a refusal shows.
pub(crate) const SHOWN_BYTES: usize = 200;
/// How often a waiting change set checks whether its turn has come.
pub(crate) const TURN_LOOK: Duration = Duration::from_millis(50);
/// Attempts to put back what another process goes on writing.
pub(crate) const SWAP_TRIES: usize = 16;

// A command

/// Bytes of the output of a command that are kept: of its start, and of its end.
pub(crate) const OUTPUT_BYTES: usize = 16 << 10;
/// Milliseconds of the longest time limit of a command: one day.
pub(crate) const COMMAND_MS: u64 = 24 * 60 * 60 * 1000;
/// How long output may still come after a command has ended.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(2);
/// How often a running command is reported.
pub(crate) const PROGRESS_TIME: Duration = Duration::from_secs(5);
/// How long the files of the folder may be compared before and after a command.
pub(crate) const SCAN_TIME: Duration = Duration::from_secs(10);
/// Bytes of files whose hashes are taken in one comparison.
pub(crate) const SCAN_BYTES: u64 = 256 << 20;
/// Bytes of a file that has a hash: of larger ones, size and times show a change.
pub(crate) const HASHED_BYTES: u64 = SCAN_BYTES / 16;
/// Hooks of a repository that are looked at.
pub(crate) const HOOKS: usize = 200;
/// Bytes of a hook or a configuration that is looked at.
pub(crate) const HOOK_BYTES: usize = 1 << 20;
/// Changed files that a result lists.
pub(crate) const CHANGED: usize = 500;
/// Bytes of their paths.
pub(crate) const CHANGED_BYTES: usize = 32 << 10;
/// Bytes of all texts of a result, as they are written.
pub(crate) const RESULT_BYTES: usize = 500 << 10;

// What is kept

/// Bytes that are read of what a session keeps.
pub(crate) const SESSION_BYTES: usize = 256 << 10;
/// Bytes of the variables of a session: a person reads them.
pub(crate) const VARIABLES_BYTES: usize = 8 << 10;
/// Threads whose sessions are kept.
pub(crate) const SESSION_THREADS: usize = 200;
/// Change sets that are kept for an undo.
pub(crate) const KEPT_CHANGES: usize = 1_000;
/// Bytes of a file of the journal.
pub(crate) const JOURNAL_BYTES: u64 = 8 << 20;
/// Attempts to lock the journal.
pub(crate) const LOCK_TRIES: u32 = 50;
/// How long to wait between two of them: one second in all.
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(20);
