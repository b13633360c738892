//! The limits of those who follow.

use std::time::Duration;

pub(crate) use systole_doorway::limits::QUIET;

/// Chats of one client whose threads are known, the newest.
pub const CHATS: usize = 4_096;
/// How often a client of the whole log gets what came together: often enough for a person.
pub(crate) const EVENT_PACE: Duration = Duration::from_millis(50);
/// Seconds of the longest wait: a broker keeps the reply path for twice as long.
pub const LONGEST_WAIT: u64 = systole_bus::limits::REMEMBERS.as_secs() / 2;
/// Records since a message up to which its run is read with all others, which are mostly in memory.
pub(crate) const NEW_RECORDS: u64 = 256;
/// How long a stream of another agent may be silent: a library for Python gives up after 5 s.
pub(crate) const STREAM_SIGN: Duration = Duration::from_secs(4);
