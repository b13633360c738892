//! The limits of a listener's traffic: with the pump over a pipe, with a broker, and of what is read out of an answer.

use std::time::Duration;

pub use systole_wire::limits::{DocumentLimits, STRAY_BYTES};

// With a broker

/// How long the broker may take to answer a connect, a document, or the wait of a pull.
#[cfg(feature = "nats")]
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection may be quiet before a ping.
#[cfg(feature = "nats")]
pub(crate) const QUIET: Duration = Duration::from_secs(10);
/// The longest pause between two attempts to connect.
#[cfg(feature = "nats")]
pub(crate) const RECONNECT_PAUSE: Duration = Duration::from_secs(4);
/// The shortest pause after a pull that the broker refused.
#[cfg(feature = "nats")]
pub(crate) const REFUSED_PAUSE: Duration = Duration::from_millis(500);
/// How long a worker that is to stop waits for a broker that is away.
#[cfg(feature = "nats")]
pub(crate) const AWAY: Duration = Duration::from_secs(30);
/// How much later the end of a pull may arrive.
#[cfg(feature = "nats")]
pub(crate) const PULL_MARGIN: Duration = Duration::from_secs(2);
/// How often a delivery is renewed: an `idle` timeout is hardly below a few seconds.
#[cfg(feature = "nats")]
pub(crate) const RENEW: Duration = Duration::from_secs(1);
/// Deliveries that one process works on at once.
pub const SLOTS: usize = 256;
/// Calls that are kept, and cancels of deliveries not in hand; the oldest is forgotten first.
pub(crate) const REMEMBERED: usize = 1024;
/// Bytes of a message beside its document, so that it fits under the broker's limit.
#[cfg(feature = "nats")]
pub(crate) const FRAME_BYTES: usize = 1024;
/// Schemas that a service shows.
pub const SHOWN_SCHEMAS: usize = 16;
/// Elements that a service shows.
#[cfg(feature = "nats")]
pub(crate) const SHOWN_ELEMENTS: usize = 64;
/// Bytes of one text that a service shows.
#[cfg(feature = "nats")]
pub(crate) const SHOWN_BYTES: usize = 1024;
/// Bytes of the last error that are shown.
#[cfg(feature = "nats")]
pub(crate) const ERROR_BYTES: usize = SHOWN_BYTES / 2;

// Over a pipe

/// Bytes of a text that fits with its tags into a payload of 1 MiB.
pub const TEXT_BYTES: usize = 900 << 10;
/// Bytes of a read: the usual size of a pipe.
pub const PORTION_BYTES: usize = 64 << 10;
/// The exit code of a program that cannot work as it was started.
pub(crate) const UNFIT: u8 = 2;
/// How long work may go on after its cancel before its place is given back: the pump waits for five seconds.
pub(crate) const LET_GO: Duration = Duration::from_secs(3);
/// How long work may go on after TERM: a program is ended after five seconds.
pub(crate) const AFTER_TERM: Duration = Duration::from_secs(4);
/// How long work may go on after the end of stdin, when no organism may be there to end the program.
pub(crate) const AFTER_END: Duration = Duration::from_secs(9);
/// Documents that wait for the pump to read them.
#[cfg(feature = "pipe")]
pub(crate) const WAITING_DOCUMENTS: usize = 64;
/// How long work may go on without the organism: a program is ended after five seconds.
#[cfg(feature = "pipe")]
pub(crate) const LAST: Duration = Duration::from_secs(4);

// Reading out of an answer

/// Bytes that must be forgettable before it is worth moving the rest.
pub(crate) const SETTLED_BYTES: usize = 64 << 10;
/// Levels up that an end tag looks for its start tag: deeper nesting is refused in any case.
pub(crate) const LEVELS: usize = 64;
/// Depth of the own tag in itself.
pub(crate) const OWN_LEVELS: usize = 4;
/// Nested lists that are tracked.
pub(crate) const LISTS: usize = 16;
/// Bytes of an end tag to look back for.
pub(crate) const END_TAG_BYTES: usize = 2 * TAG_NAME_BYTES;
/// Bytes of a name.
pub(crate) const TAG_NAME_BYTES: usize = 256;
/// Bytes collected if nothing in them can end anything, or checked for a fence.
pub(crate) const PLAIN_BYTES: usize = 256;
/// Names whose meaning is remembered.
pub(crate) const MEANINGS: usize = 256;
/// Bytes of a chunk that is searched while it is stored.
pub(crate) const SHORT_BYTES: usize = 64;
/// Near names that a problem lists.
pub(crate) const NEAR_NAMES: usize = 3;
/// Letters of a name in which one may be wrong: a shorter one is too near to others.
pub(crate) const SLIP_LETTERS: usize = 3;

// Names

/// Bytes of the name of a package with its version: the registry allows no longer one.
pub(crate) const PACKAGE_NAME_BYTES: usize = 214;
