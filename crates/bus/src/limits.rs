//! The limits of the traffic with a broker, and of a broker that the program keeps itself.

use std::time::Duration;

pub(crate) use systole_system::limits::{LOCK_PAUSE, LOCK_TRIES};

// Waiting for a broker

/// How long the broker may take to let the pump in, and for each answer after that.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before a stream is asked again that lost something, or an object with a gap.
pub const STREAM_PAUSE: Duration = Duration::from_millis(250);
/// How long a copy may lag before a loss is believed: it catches up within a few heartbeats.
pub const LEFT_BEHIND: Duration = Duration::from_secs(10);
/// How long workers may take to answer: the asker gets their count within a second.
pub(crate) const WORKERS_ANSWER: Duration = Duration::from_millis(500);
/// How often a quiet connection is tested: after three tests it is made again.
pub(crate) const PING: Duration = Duration::from_secs(2);
/// The longest pause between two tries to reconnect.
pub(crate) const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// How long the broker knows which deliveries it had.
pub const REMEMBERS: Duration = Duration::from_secs(600);
/// How long the broker's words are kept: an attempt ends at its timeout, a day at most.
pub(crate) const SILENCE_AGE: Duration = Duration::from_secs(2 * 24 * 60 * 60);

// What is held

/// Questions under way at once: their answers, of up to 900 KB, are in memory.
pub(crate) const QUESTIONS: usize = 16;
/// Latest places that are remembered: more than can be on their way when a connection breaks.
pub(crate) const CONFIRMED: usize = 4096;
/// Workers of one name that are counted.
pub(crate) const WORKERS: usize = 10_000;
/// The broker's words kept for each listener: twice as much as a listener may have out.
pub(crate) const SILENCE_WORDS: i64 = 2048;

// Sizes of messages

/// Bytes of a message beside its body: the headers and the subject.
pub(crate) const HEADER_BYTES: usize = 1024;
/// Bytes of a bundle in one message, even if the broker would take more.
pub(crate) const BUNDLE_BYTES: usize = 900 << 10;
/// Bytes of one chunk of a large object, even if the broker would take more.
pub(crate) const CHUNK_BYTES: usize = 128 << 10;
/// Bytes of a page of the broker's monitor that are read.
pub(crate) const MONITOR_BYTES: u64 = 1 << 20;
/// Bytes of a report about a refusal that are read; one has about a thousand.
pub(crate) const REFUSAL_BYTES: usize = 16 << 10;
/// Characters of the server's words that are repeated: two lines.
pub(crate) const REPEATED: usize = 200;
/// Characters of a subject that are repeated: one line with what stands around it.
pub(crate) const REPEATED_SUBJECT: usize = 120;
/// Characters that are repeated of a program that should have said its version.
pub(crate) const REPEATED_VERSION: usize = 60;

// The managed server

/// The port from which the first start chooses: the system never assigns it to other programs.
pub(crate) const FIRST_PORT: u16 = 20_000;
/// Ports from which it chooses.
pub(crate) const PORTS: u16 = 12_000;
/// Ports that are tried: others may be in use.
pub(crate) const PORT_TRIES: usize = 100;
/// The pause after the first death in a row; it doubles with each further one.
pub(crate) const DEATH_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause after a death.
pub(crate) const DEATH_LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long it may take until it is ready, and live until a death is the first in a row again.
pub(crate) const READY: Duration = Duration::from_secs(60);
/// How long a server may take to report its version.
pub(crate) const VERSION_WAIT: Duration = Duration::from_secs(10);
/// How long it may take to end by itself, and after each signal.
pub(crate) const END: Duration = Duration::from_secs(5);
/// Orders that may wait; there are two.
pub(crate) const ORDERS: usize = 2;
/// Bytes of a file with a process id: more than one has.
pub(crate) const PROCESS_ID_BYTES: u64 = 16;
