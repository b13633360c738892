//! How long a carrier waits before it takes the next harder step. Pure data; reads no clock.

/// The waits of a carrier, in milliseconds. The defaults are what the reference promises; tests shorten
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CarrierWaits {
    /// How long a program may still answer a delivery that was called back.
    pub called_back_ms: u64,
    /// From closing stdin to TERM.
    pub eof_ms: u64,
    /// From TERM to KILL.
    pub term_ms: u64,
    /// How long a program that closed its stdin or stdout may take to end by itself, and how long
    /// the output of one that has ended is still read.
    pub rest_ms: u64,
    /// Pause before the first restart; doubles with each further one in a row.
    pub first_pause_ms: u64,
    /// Longest pause, and the pause between two tries of a listener that is down.
    pub longest_pause_ms: u64,
    /// Deaths in a row without an answered delivery after which a listener is down.
    pub deaths: u32,
    /// How long a program that was down must stay up, unless it answers, to count as up again.
    pub proof_ms: u64,
}

impl Default for CarrierWaits {
    fn default() -> CarrierWaits {
        CarrierWaits {
            called_back_ms: 5_000,
            eof_ms: 5_000,
            term_ms: 5_000,
            rest_ms: 500,
            first_pause_ms: 100,
            longest_pause_ms: 30_000,
            deaths: 5,
            proof_ms: 1_000,
        }
    }
}

impl CarrierWaits {
    /// The pause after the n-th death in a row, counted from 1.
    pub(super) fn pause_ms(&self, deaths: u32) -> u64 {
        if deaths >= self.deaths {
            return self.longest_pause_ms;
        }
        let doublings = deaths.saturating_sub(1).min(32);
        self.first_pause_ms.saturating_mul(1 << doublings).min(self.longest_pause_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_the_listener_is_down() {
        let pace = CarrierWaits::default();
        let pauses: Vec<u64> = (1..=6).map(|deaths| pace.pause_ms(deaths)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 30_000, 30_000]);
    }
}
