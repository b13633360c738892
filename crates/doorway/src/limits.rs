//! The limits of connections and of clients.

use std::time::Duration;

pub(crate) use systole_log::limits::CALM_MS;

/// How long to wait without a descriptor, or a broker, before the next try.
pub const PAUSE: Duration = Duration::from_secs(1);
/// How long a client may take to close the connection after the last answer.
pub const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are read and dropped at once.
pub const DROPPED_BYTES: usize = 4096;
/// How long a connection may take to send a whole request head with a token.
pub const HEAD: Duration = Duration::from_secs(10);
/// Connections without a token at once: each costs some kilobytes.
pub const STRANGERS: usize = 2_048;
/// The divisor for all descriptors that limits these connections, and those that get their last answer.
pub const STRANGERS_SHARE: usize = 16;
/// Milliseconds in which a connection ends for no newer one: its request may not be read yet.
pub const UNREAD_MS: u64 = 100;
/// How long a connection of a client may be idle.
pub const IDLE: Duration = Duration::from_secs(120);
/// Idle connections of one client.
pub const OWN_IDLE: usize = 256;
/// The divisor for all descriptors that limits the idle connections of all clients.
pub const IDLE_SHARE: usize = 16;
/// Requests of one client that are under way: those that wait, streams, and a thousand others.
pub const OWN_REQUESTS: usize = WAITING + 1_000;
/// Those of all that are only for the operator.
pub const OPERATOR_REQUESTS: usize = 16;
/// Bytes of a line that are kept: enough for the headers that say how long a body is.
pub const HEADER_LINE: usize = 256;
/// Senders of one client that may wait: each costs some kilobytes, and its connection.
pub const WAITING: usize = 5_000;
/// Messages of one client with the validators and the pump: others wait behind them.
pub const UNJUDGED: usize = 1_024;
/// KiB of the messages of one client whose senders have no receipt yet.
pub const UNJUDGED_KIB: usize = 64 << 10;
/// How long without an event, or a refresh, however many come: proxies close later.
pub const QUIET: Duration = Duration::from_secs(15);
/// Milliseconds in which a reported source of failed logins is only counted.
pub const FAILED_MS: u64 = 60_000;
/// Sources that are told apart: the rest count under the unspecified address.
pub const FAILED_SOURCES: usize = 256;
/// Wrong tokens of one address at the page to sign in that are looked at at once.
pub const GUESSES_AT_ONCE: u64 = 10;
/// Milliseconds until one more is: some hundred in an hour find no token of 16 characters.
pub const GUESS_MS: u64 = 5_000;
/// Bytes of an answer that is compressed: a shorter one fits into one packet anyway.
pub(crate) const COMPRESSED_BYTES: u64 = 1024;
/// Answers that are kept.
pub(crate) const KEPT_ANSWERS: usize = 16;
/// Bytes of an answer that is kept.
pub(crate) const KEPT_ANSWER_BYTES: u64 = 1 << 20;
/// Values of one view that are kept.
pub(crate) const KEPT_VIEWS: usize = 8;
/// How long records are gathered into one refresh of a page.
pub(crate) const PAGE_PACE: Duration = Duration::from_millis(150);
/// What may be spent at once after a quiet time, as the time that pays for it.
pub(crate) const REFRESH_AHEAD: Duration = Duration::from_secs(1);
/// Parts of one processor of which refreshes may have one.
pub(crate) const REFRESH_SHARE: u32 = 20;
/// Seconds for which a browser may keep the answer to a preflight request.
pub(crate) const PREFLIGHT_S: u32 = 600;
/// Bytes of the id of a request, as JSON: it is kept while its call waits.
pub const REQUEST_ID_BYTES: usize = 256;
