//! How many requests and tokens a model takes in a time. All agents of a process share the count of a model.
//!
//! A request takes its share of the time at once, and is told how long to wait until it may go out. The tokens that
//! an answer turns out to need count against later requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::spec::{AmountRate, ModelRates};

/// The count of one model.
#[derive(Debug)]
pub struct ModelRateGate {
    begun: Instant,
    state: Mutex<GateState>,
}

/// When all that was taken would be used up, one after the other, in microseconds from the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct GateState {
    requests: u64,
    tokens: u64,
}

impl Default for ModelRateGate {
    fn default() -> Self {
        Self { begun: Instant::now(), state: Mutex::default() }
    }
}

impl ModelRateGate {
    /// Takes a request of that many tokens, and says how long it has to wait.
    ///
    /// # Errors
    /// The wait, if it is longer than `most`. Then nothing is taken.
    pub(super) fn take_request(
        &self,
        rates: &ModelRates,
        tokens: u64,
        most: Duration,
    ) -> Result<Duration, Duration> {
        let now = self.read_clock();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let GateState { mut requests, tokens: mut used } = *state;
        let by_requests = rates.requests.map(|rate| take_amount(&mut requests, rate, 1, now));
        let by_tokens = rates.tokens.map(|rate| take_amount(&mut used, rate, tokens, now));
        let wait = Duration::from_micros(by_requests.max(by_tokens).unwrap_or(0));
        if wait > most {
            return Err(wait);
        }
        *state = GateState { requests, tokens: used };
        Ok(wait)
    }

    /// Counts tokens that were not known before.
    pub(super) fn add_tokens(&self, rates: &ModelRates, tokens: u64) {
        let now = self.read_clock();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = rates.tokens {
            take_amount(&mut state.tokens, rate, tokens, now);
        }
    }

    fn read_clock(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Takes an amount, and says how many microseconds later it fits into the rate. At first, the amount of a whole period
/// fits at once; one that is larger waits until nothing else counts.
fn take_amount(until: &mut u64, rate: AmountRate, amount: u64, now: u64) -> u64 {
    let period = u64::try_from(Duration::from_millis(rate.period_ms).as_micros()).unwrap_or(u64::MAX);
    let share = u128::from(period) * u128::from(amount) / u128::from(rate.amount.max(1));
    let share = u64::try_from(share).unwrap_or(u64::MAX);
    *until = (*until).max(now).saturating_add(share);
    until.saturating_sub(period.max(share)).saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_period_fits_at_once_and_then_one_after_the_other() {
        let minute = |amount| AmountRate { amount, period_ms: 60_000 };
        let mut until = 0;
        let waits: Vec<u64> = (0..5).map(|_| take_amount(&mut until, minute(3), 1, 0) / 1_000).collect();
        assert_eq!(waits, [0, 0, 0, 20_000, 40_000]);
        assert_eq!(take_amount(&mut until, minute(3), 1, 100_000_000), 0, "after a pause there is room");
        // More than a period holds waits until nothing else counts, and then for no longer.
        let mut until = 0;
        assert_eq!(take_amount(&mut until, minute(100), 50, 0), 0);
        assert_eq!(take_amount(&mut until, minute(100), 250, 0) / 1_000, 30_000);
    }
}
