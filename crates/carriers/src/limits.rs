//! The limits of the carriers. Those of the core that they use stand beside them.

use std::time::Duration;

pub(crate) use systole_bus::limits::REMEMBERS;
pub(crate) use systole_core::types::limits::{ASKS, JOURNAL, OWN_WORDS_BYTES};
pub(crate) use systole_kit::limits::{PORTION_BYTES, STRAY_BYTES};

// Leases and mailboxes

/// Leases remembered after their end, so that a late reply is refused in its own thread.
pub(crate) const LEASES_OVER: usize = 4096;
/// Answers that wait for a listener, for each delivery: what it may ask for, and as many refusals.
pub(crate) const ANSWERS: usize = 2 * (ASKS + JOURNAL);
/// Dead deliveries remembered for each live one: an answer comes within moments of the end.
pub(crate) const DEAD_DELIVERIES: usize = 16;

// Workers behind a broker

/// How long a worker may go without a sign of life if the file does not say.
pub(crate) const WORKER_SILENCE: Duration = Duration::from_secs(30);
/// How long to wait before the broker, or a worker, is asked or looked at again.
pub(crate) const BROKER_PAUSE: Duration = Duration::from_secs(1);
/// How long a delivery may lie in the stream before it counts as one that waited.
pub(crate) const TAKEN_AT_ONCE: Duration = Duration::from_secs(2);
/// How long the end of a carrier waits until the last receipts are with the broker.
pub(crate) const LAST_RECEIPTS: Duration = Duration::from_secs(1);
/// Pulls that may wait, also of standby workers; the same for all, as a consumer keeps its number.
pub(crate) const PULLS: i64 = 512;
/// Tries of a fence, and of a delivery behind it.
pub(crate) const FENCE_ROUNDS: usize = 3;
/// Looks for a word: the broker may store it a moment after the connection stands again.
pub(crate) const UNHEARD_LOOKS: u8 = 2;
/// Milliseconds that a word of the broker may need before it is heard or stored.
pub(crate) const WORD_ON_ITS_WAY_MS: u64 = 60_000;
/// Milliseconds after which a broker that is back has looked at all that workers have.
pub(crate) const BROKER_BACK_MS: u64 = 5_000;
/// Questions whose askers are remembered; the oldest unanswered one is forgotten first.
pub(crate) const ASKERS: usize = 4096;

// Programs

/// Bytes that a program may print.
pub(crate) const OUTPUT_BYTES: usize = 8 << 20;
/// Bytes of a file that is listed with its hash.
pub(crate) const HASHED_BYTES: u64 = 256 << 20;
/// Bytes of the file of this program that is hashed: a larger one is a debug build.
pub(crate) const OWN_HASHED_BYTES: u64 = HASHED_BYTES / 2;
/// Files whose hash is remembered.
pub(crate) const KNOWN_HASHES: usize = 256;
/// Wardens that wait for a program, to save the time of their start.
pub(crate) const SPARE_WARDENS: usize = 8;
/// Tries after which the pause before the next one stays the same: most of a second.
pub(crate) const STAY_TRIES: u32 = 4;
/// Milliseconds that a program has to live to count as one that stays.
pub(crate) const STAY_LIVES_MS: u64 = 1_500;
/// How long a program may take to end with its stdin when the organism is gone.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// How long the end of a program waits for the end of what it started.
pub(crate) const LEFT_BEHIND: Duration = Duration::from_secs(1);
