//! Times as the API writes them.

use std::time::Duration;

use systole_core::types::time::Millis;

/// Seconds since 1970.
pub(super) fn count_seconds(time: Millis) -> u64 {
    Duration::from_millis(time.0).as_secs()
}
