//! The limits of a test.

use std::time::Duration;

/// How long a test may take in real time: skipped time does not count.
pub(crate) const TIME: Duration = Duration::from_secs(60);
/// Times that the clock is advanced during one wait: timers that set each other never end.
pub(crate) const SKIPS: usize = 200;
/// Lines that have most words of an expected text.
pub(crate) const NEAREST: usize = 3;
