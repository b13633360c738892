//! The limits of the stores: how much is read, kept and waited for at once.

use std::time::Duration;

pub(crate) use systole_bus::limits::STREAM_PAUSE;
pub(crate) use systole_core::types::limits::{CHECKPOINT_RECORDS, LARGE_BODY, RECORDS_TO_FOLD};
pub(crate) use systole_system::limits::{LOCK_PAUSE, LOCK_TRIES};

// Waiting

/// Milliseconds in which nothing may fail before an alarm ends.
pub const CALM_MS: u64 = 3_000;
/// Milliseconds before the first new try of a batch for which the disk had no room.
pub(crate) const RETRY_PAUSE_MS: u64 = 100;
/// Milliseconds between tries: how late it is noticed that there is room again.
pub(crate) const RETRY_LONGEST_PAUSE_MS: u64 = 2_000;
/// How often an idle thread looks whether the log is still in its place.
pub(crate) const PLACE_LOOK: Duration = Duration::from_secs(1);
/// Unknown commits of one batch that end the log: a disk that loses every sync stays so.
pub(crate) const UNKNOWN_IN_A_ROW: u32 = 3;
/// Batches that may wait: one of records, and a checkpoint handed over behind it.
pub(crate) const WAITING_BATCHES: usize = 2;
/// How long a statement waits for another connection's lock: only a foreign program holds one.
pub(crate) const STATEMENT_WAIT: Duration = Duration::from_secs(5);
/// How long a statement waits for another process that writes the index: it commits in seconds.
pub(crate) const SEARCH_WAIT: Duration = Duration::from_secs(60);
/// Reads of bytes that do not fit: another program may be copying the log into the file.
pub(crate) const UNFIT_READS: u32 = 4;
/// How long to wait before each of these reads.
pub(crate) const UNFIT_PAUSE: Duration = Duration::from_millis(25);

// The stream of a broker

/// How often the writer shows that it is alive.
pub(crate) const WRITER_BEAT: Duration = Duration::from_secs(1);
/// How long the writer may be silent before another process takes over: four beats.
pub(crate) const WRITER_SILENCE: Duration = Duration::from_secs(4);
/// How long releasing the partition may take, at the end.
pub(crate) const LETTING_GO: Duration = Duration::from_secs(2);
/// Records that fill a bundle.
pub(crate) const BUNDLE_RECORDS: usize = 1024;
/// Bytes that fill a bundle.
pub(crate) const BUNDLE_BYTES: usize = 1 << 20;
/// Sends of one bundle in one try: another one may come first, and then holds none.
pub(crate) const BUNDLE_TRIES: usize = 2;
/// Bytes of a body: the space for values stored apart is made before they are read.
pub const BODY_BYTES: u64 = 64 << 20;

// The notes beside a log

/// Bytes that are read: a checkpoint in each minute of a year.
pub(crate) const NOTES_BYTES: u64 = 256 << 20;
/// Bytes at the end that hold the newest checkpoints: the largest one fits.
pub(crate) const NOTES_NEWEST_BYTES: u64 = 2 * systole_proof::limits::NOTE_BYTES as u64;

// The search file and the index

/// Bytes of new entries in memory until they are written in one sorted piece.
pub(crate) const PIECE_BYTES: i64 = 64 << 20;
/// Records of one commit: a kill loses little, and the search file stays in few pieces.
pub(crate) const INDEX_RECORDS: u64 = 65_536;
/// Calls of an hour that are kept as its slowest, for each listener, model and client.
pub const SLOWEST: usize = 10;
/// Hex digits of a term: two values never share one by accident.
pub(crate) const TERM_DIGITS: usize = 16;

// The file of a log

/// Bytes of a page: seven records with a body of 1 KB fit; larger pages make small commits dear.
pub(crate) const PAGE_BYTES: u32 = 8192;
/// Pages of the write-ahead log before a commit copies them: what an open after a crash reads.
pub(crate) const CHECKPOINT_PAGES: u32 = 2048;
/// Bytes of a file with a tip or a cursor: two pages and a slot, so anything larger is something else.
pub(crate) const SLOT_FILE_BYTES: usize = 64 << 10;
/// Connections kept open between reads: the pump's, the console's and two spares, 2 MB each.
pub(crate) const CONNECTIONS: usize = 4;
/// Records that opening takes into memory at once; otherwise each thread is folded by itself.
pub(crate) const OPEN_RECORDS: u64 = 4 * RECORDS_TO_FOLD as u64;
/// Records that wait for the next run: more make runs cheaper and looks at them dearer.
pub(crate) const RUN_RECORDS: u64 = 4_096;
/// Newest records verified before a log is opened: a crash damages what was written last.
pub(crate) const VERIFIED_AT_OPEN: u64 = 10_000;
/// Newest records verified before a log is trusted again after an unknown commit.
pub(crate) const VERIFIED_AFTER_DOUBT: u64 = 1_000;
/// Words with a remembered number: the names of a large organism, about 100 bytes each.
pub(crate) const KNOWN_WORDS: usize = 4_096;
/// Threads whose number, or last head, is remembered, about 150 bytes each; others are looked up.
pub const KNOWN_THREADS: usize = 16_384;
/// Configurations with a remembered number: the current one, and those of open calls.
pub(crate) const KNOWN_CONFIGS: usize = 64;
/// Old copies that are kept next to the new one.
pub(crate) const OLD_COPIES: u32 = 1_000;
/// Names of threads, or counts of rows, that a report lists one by one.
pub(crate) const NAMED: i64 = 5;
/// Bytes from which a field of a document is a piece by itself.
pub(crate) const PIECE_LEAST_BYTES: usize = 512;
/// Bytes of a document that is stored in pieces: a foreign list of pieces is soon known as such.
pub(crate) const DOCUMENT_BYTES: usize = 16 << 20;
