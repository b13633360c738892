//! The limits of a running organism: its queues, its pauses, and what it keeps in memory.

use std::time::Duration;

pub(crate) use systole_core::types::limits::is_with_broker;
pub(crate) use systole_kit::limits::{SHOWN_SCHEMAS, SLOTS};

// Queues. A full one slows those who send to it.

/// Inputs, reports, look-ups or documents that may wait: a few milliseconds of the pump's work.
pub(crate) const QUEUE: usize = 1024;
/// Documents of one client or listener that may wait for a validator thread.
pub(crate) const DOCUMENTS_OF_ONE: usize = QUEUE;
/// Messages of one delivery or listener, or reports of one program, that may wait.
pub(crate) const SHORT_QUEUE: usize = 64;
/// Messages of the writer that may wait: it reports at most two things about each batch.
pub(crate) const OUTCOMES: usize = 2;
/// Requests to report everything: one, at the end.
pub(crate) const ORDERS: usize = 1;

// The pump

/// Inputs that are decided on before the writer is checked again: enough to fill a batch.
pub(crate) const BATCH_INPUTS: usize = 1024;
/// Records of a batch that the pump writes itself: a larger one says that more is coming.
pub(crate) const OWN_RECORDS: usize = 4;
/// Documents that are judged before the results go to the pump.
pub(crate) const JUDGED: usize = 64;
/// How long nothing must happen before the dirty folds are written as rows.
pub(crate) const IDLE: Duration = Duration::from_secs(1);
/// How often the wall clock is read while a schedule waits for its next tick.
pub(crate) const WALL_CLOCK_LOOK: Duration = Duration::from_secs(10);
/// How long the index waits after a record for more of them.
pub(crate) const INDEX_PAUSE: Duration = Duration::from_secs(1);
/// How often calls are looked for that wait for too long, within the time that is too long.
pub(crate) const LOOKS_WITHIN_STUCK: u64 = 6;

// Files that clients have sent

/// Files of one client that wait for their message.
pub(crate) const CLIENT_FILES: usize = 64;
/// Their bytes.
pub(crate) const CLIENT_FILE_BYTES: usize = 64 << 20;
/// Bytes of the files of all other clients up to which one more is taken.
pub(crate) const HELD_FILE_BYTES: usize = 256 << 20;
/// How long a file waits for its message.
pub(crate) const FILE_WAIT: Duration = Duration::from_secs(600);

// The end

/// How long the last batch, and the places of the last checkpoint, may take.
pub(crate) const LAST_WRITE: Duration = Duration::from_secs(5);
/// How long readers that follow the log may read its end before it is closed.
pub(crate) const LAST_READS: Duration = Duration::from_secs(1);
/// How long the places of a checkpoint may take together.
pub const CHECKPOINT_SENDING: Duration = Duration::from_secs(20);
/// How long running deliveries may take to end when a host stops.
pub(crate) const HOST_GRACE: Duration = Duration::from_secs(5);
/// How much longer the stop of a host may take: a request under way has seven seconds.
pub(crate) const HOST_END: Duration = Duration::from_secs(10);

// A host of workers

/// Milliseconds at most interval between a host's signs of life; a short idle time shortens it.
pub(crate) const RENEW_MS: u64 = 1_000;
/// How long to wait before the carriers get a delivery again that they could not start.
pub(crate) const START_PAUSE: Duration = Duration::from_secs(1);

// What is kept and read

/// Messages that are kept for the slowest observer, and for those who connect a little late.
pub(crate) const SPOKEN: usize = 256;
/// Calls whose words are kept for who looks at them: more than a person follows.
pub(crate) const SPEAKING: usize = 256;
/// Characters of what a call says that are shown: the last ones.
pub(crate) const LIVE_CHARACTERS: usize = 4_000;
/// Bytes of it that are kept, at least that many characters of any kind.
pub(crate) const LIVE_BYTES: usize = 4 * LIVE_CHARACTERS;
/// Threads that are looked at to say who works on a call.
pub(crate) const WORKING_THREADS: usize = 64;
/// Records per read: with the largest bodies some tens of megabytes.
pub(crate) const TAIL_PAGE: usize = 32;
/// Records in the inbox of one follower, and taken from memory at once.
pub(crate) const TAIL_INBOX: usize = 256;
/// The newest records that are kept for followers that begin, or fall behind a little.
pub(crate) const TAIL_KEPT: usize = 4 * TAIL_INBOX;
/// Bytes of the bodies of either.
pub(crate) const TAIL_BYTES: usize = 4 << 20;
/// Bytes of a file beside the log: more than one needs, as anyone could have put one there.
pub(crate) const NOTE_BYTES: u64 = 4096;
/// Bytes of a token: a shorter one can be guessed while an organism runs.
pub(crate) const TOKEN_LEAST_BYTES: usize = 16;
/// Bytes of a token: it must fit into a header.
pub(crate) const TOKEN_MOST_BYTES: usize = 1024;

// Replay

/// Inputs that a replay takes in any case: more mean that it does not end.
pub(crate) const REPLAY_INPUTS: usize = 10_000;
/// Inputs that it takes for each recorded record.
pub(crate) const REPLAY_INPUTS_PER_RECORD: usize = 64;
/// Records that are looked through for the cause of an end, to each side.
pub(crate) const REPLAY_NEAR: usize = 256;
/// Requests that wait for a recorded answer: one without an answer keeps its place.
pub(crate) const REPLAY_REQUESTS: usize = 1 << 20;
/// Deliveries of one listener that may be out: their order is recorded.
pub(crate) const REPLAY_IN_FLIGHT: usize = 1 << 16;
/// Milliseconds of a delivery in a replay: no clock decides, as timeouts are recorded.
pub(crate) const REPLAY_TIMEOUT_MS: u64 = 10 * 365 * 24 * 3_600_000;
/// Threads of one tree: a message from outside may spawn far fewer.
pub(crate) const TREE_THREADS: usize = 1_000_000;
