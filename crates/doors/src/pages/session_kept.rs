//! A session of a browser as it is kept, in memory and in the file beside the log: hashes, and its times.

use serde::{Deserialize, Serialize};

use crate::limits;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::time::Millis;

/// A signed-in browser.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptSession {
    /// Who signed in.
    pub(super) client: Name,
    /// The hash of its cookie, for the address where it was opened.
    pub(super) cookie: Digest,
    /// The hash of its secret. None for a session at the public address, where the cookie makes changes.
    pub(super) secret: Option<Digest>,
    /// Whether it lasts long, also unused.
    pub(super) stays: bool,
    /// When it was opened.
    pub(super) opened: Millis,
    /// When it was used last.
    pub(super) used: Millis,
}

impl KeptSession {
    /// Whether it still counts.
    pub(super) fn is_open(&self, now: Millis) -> bool {
        match self.stays {
            true => now.count_since(self.opened) < limits::LONG_SESSION_MS,
            false => now.count_since(self.used) < limits::SESSION_MS,
        }
    }
}
