//! The pause before a request is retried: twice as long each time, up to a limit, and randomly up to half shorter, so
//! that requests that failed together do not return together. Waiting is behind a trait, so tests can skip it.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::time::Duration;

use crate::spec::RequestRetry;

/// A source of random numbers.
pub trait RandomSource: Send + Sync {
    /// A number from 0 to `most`.
    fn up_to(&self, most: u64) -> u64;
}

/// Unpredictable numbers, good enough to spread requests and for nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl RandomSource for SystemRandom {
    fn up_to(&self, most: u64) -> u64 {
        // Each state has new keys from the system's random source.
        let drawn = RandomState::new().hash_one(most);
        most.checked_add(1).map_or(drawn, |sides| drawn % sides)
    }
}

/// Waits for a pause.
pub trait Sleeper: std::fmt::Debug + Send + Sync {
    /// Ends when the pause is over.
    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Waits on the machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealTime;

impl Sleeper for RealTime {
    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(pause))
    }
}

/// Milliseconds before the request that follows the `failed`th failure, counted from 1.
pub(super) fn pause_ms(retry: &RequestRetry, failed: u32, chance: &dyn RandomSource) -> u64 {
    let doublings = failed.saturating_sub(1).min(63);
    let whole = retry.first_ms.saturating_mul(1_u64 << doublings).min(retry.longest_ms);
    let half = whole / 2;
    whole - chance.up_to(half).min(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(u64);

    impl RandomSource for Always {
        fn up_to(&self, most: u64) -> u64 {
            self.0.min(most)
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_chance_takes_up_to_half() {
        let retry = RequestRetry { attempts: 9, first_ms: 1_000, longest_ms: 60_000 };
        let pauses = |chance: u64| [1, 2, 3, 7, 99].map(|failed| pause_ms(&retry, failed, &Always(chance)));
        assert_eq!(pauses(0), [1_000, 2_000, 4_000, 60_000, 60_000]);
        assert_eq!(pauses(u64::MAX), [500, 1_000, 2_000, 30_000, 30_000]);
        assert_eq!(pauses(250), [750, 1_750, 3_750, 59_750, 59_750]);
        let drawn: std::collections::BTreeSet<u64> = (0..64).map(|_| SystemRandom.up_to(9)).collect();
        assert!(drawn.len() > 1 && drawn.iter().all(|drawn| *drawn <= 9), "{drawn:?}");
    }
}
