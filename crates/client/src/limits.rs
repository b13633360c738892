//! The limits of the client: how long it waits for an organism elsewhere, and how much it takes and keeps.

use std::time::Duration;

pub(crate) use systole_api::limits::{ENTRIES, MOST_ENTRIES, MOST_IDS};
pub(crate) use systole_core::types::limits::{LOG_PAGE_FIRST, RECORD_BYTES};

/// How long a connection may take.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// How long it may take to begin an answer: it answers after a commit, or with a refusal.
pub(crate) const BEGIN: Duration = Duration::from_secs(60);
/// How long without a commit: a hundred times what a busy machine needs.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// How long an answer may take that is only an addition to other output.
pub(crate) const SOON: Duration = Duration::from_secs(2);
/// How long an answer may take once it has begun, unless it is a stream.
pub(crate) const WHOLE_ANSWER: Duration = Duration::from_secs(300);
/// Bytes of an answer that is not a stream: several times the largest page.
pub(crate) const REMOTE_BYTES: u64 = 64 << 20;
/// Characters of an address that another server names.
pub(crate) const SERVER_ADDRESS: usize = 200;
/// Bytes of records after which all that is kept is forgotten.
pub(crate) const REMOTE_KEPT_BYTES: usize = 32 << 20;
/// Bytes of the value of a header: a longer one is no name and no address.
pub(crate) const HEADER_BYTES: usize = 8 << 10;
