//! The limits of what all doors share: how long they wait, how much they take, and how much of a log they read.

pub(crate) use systole_api::limits::{ENTRIES, MOST_ENTRIES, MOST_IDS};
pub(crate) use systole_core::types::limits::{EXCERPT_BYTES, LOG_PAGE_FIRST};

// Connections and bodies

/// Milliseconds to send a body: a mebibyte over a slow line; no seat is held for ever.
pub(crate) const BODY_MS: u64 = 30_000;
/// Forms that may be read at once: each may have 12 MiB, and its answer more.
pub const FORMS: usize = 8;
/// Bytes of the address of a page, and of one value in it.
pub const ADDRESS_BYTES: usize = 4096;

// Who signs in

/// Milliseconds that a code counts.
pub(crate) const CODE_MS: u64 = 60_000;
/// Codes of one client that count at once; a newer one replaces the oldest.
pub(crate) const CODES: usize = 8;
/// Seconds that a session lasts from its sign-in, if the person stays signed in: 30 days. Its cookie ends then too.
pub const LONG_SESSION_SECONDS: u64 = 30 * 24 * 60 * 60;
/// The same in milliseconds.
pub(crate) const LONG_SESSION_MS: u64 = LONG_SESSION_SECONDS * 1000;
/// Milliseconds that a session lasts without a request: a day's work.
pub(crate) const SESSION_MS: u64 = 12 * 60 * 60 * 1000;
/// Sessions of all clients; a newer one replaces the one that was idle longest.
pub(crate) const SESSIONS: usize = 256;
/// Sessions of one client.
pub(crate) const OWN_SESSIONS: usize = 32;
/// Bytes of the file of the sessions: a session has less than a kilobyte there.
pub(crate) const SESSIONS_FILE_BYTES: usize = SESSIONS << 10;
/// Milliseconds after which sessions that were used are written again: so much of twelve hours may be lost.
pub(crate) const SESSIONS_WRITTEN_MS: u64 = 10 * 60 * 1000;

// The MCP door

/// Characters of what a host says of a form that it did not show.
pub(crate) const HOST_WORDS: usize = 300;
/// Forms of one call that are open at once: the next ones are shown when these are decided.
pub(crate) const CALL_FORMS: usize = 64;
/// Wrong answers to a form, before its call shows it no more.
pub(crate) const FORM_FAULTS: usize = 5;
/// Resources on one page of their list.
pub const RESOURCES: usize = 100;

// Chats

/// Hex digits of a hash that a chat shows.
pub const SHOWN_HASH: usize = 16;

// Reading

/// Bytes of payloads of one part, after which it ends early.
pub(crate) const PART_BYTES: usize = 8 << 20;
/// Readings of the log at once.
pub(crate) const READINGS: usize = 4;
/// Readings of one client at once.
pub(crate) const OWN_READINGS: usize = 2;
/// Files that are looked at, and listed, for one page.
pub(crate) const PAGE_FILES: usize = 64;
/// Bytes of files after which a page looks at no more: two of the largest.
pub(crate) const PAGE_FILE_BYTES: usize = 16 << 20;
/// Columns of the name or the type of a file, as its sender says them.
pub const FILE_NAME: usize = 60;

// Words of a page

/// Characters of a reason, a payload or a message in a list: two lines.
pub const WORDS: usize = 240;
/// Characters of a prompt's part or a file; the command prints all.
pub const TEXT: usize = 200_000;
