//! The limits of what is asked of the system.

use std::time::Duration;

/// Descriptors that a start asks for, if the hard limit allows it.
pub(crate) const DESCRIPTORS: u64 = 65_536;
/// Bytes of the file of a seed: more than one has.
pub(crate) const SEED_BYTES: u64 = 256;
/// How long an event is only counted after a report.
pub(crate) const TALLY_QUIET: Duration = Duration::from_secs(60);
/// How often to check whether a report is due.
pub const TALLY_LOOK: Duration = Duration::from_secs(1);
/// Tries of a lock without a living signer: a child that becomes a program needs a moment.
pub const LOCK_TRIES: u32 = 200;
/// How long to wait between two such tries: two seconds in all.
pub const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Attempts to remove a copy: a command that is being ended may still write there.
pub(crate) const REMOVE_TRIES: usize = 100;
/// How long to wait between them.
pub(crate) const REMOVE_PAUSE: Duration = Duration::from_millis(20);
