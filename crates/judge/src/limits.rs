//! The limits of the judge.

use std::time::Duration;

/// Bytes of text in one refusal: libxml2 reports every fault, a reader takes in the first few.
pub(crate) const WORDS_BYTES: usize = 2048;
/// Bytes that a trial writes: a verdict is small.
pub(crate) const TRIAL_BYTES: u64 = 1 << 20;
/// The pause between two looks at the process, if the system cannot report its end.
pub(crate) const TRIAL_PAUSE: Duration = Duration::from_millis(10);
