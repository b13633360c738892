//! A session of a browser as it is kept, in memory and in the file beside the log: hashes, and its times.

use serde::{Deserialize, Serialize};

use crate::limits;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::time::Millis;

/// A signed-in browser.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptSession {
    /// Who signed in.
    pub client: Name,
    /// The hash of its cookie, for the address where it was opened.
    pub cookie: Digest,
    /// The hash of its secret. None for a session at the public address, where the cookie makes changes.
    pub secret: Option<Digest>,
    /// Whether it lasts long, also unused.
    pub stays: bool,
    /// When it was opened.
    pub opened: Millis,
    /// When it was used last.
    pub used: Millis,
}

impl KeptSession {
    /// Whether it still counts.
    pub(crate) fn is_open(&self, now: Millis) -> bool {
        match self.stays {
            true => now.count_since(self.opened) < limits::LONG_SESSION_MS,
            false => now.count_since(self.used) < limits::SESSION_MS,
        }
    }
}
