//! How often something may happen: `20/s`, `300/m`, `1000/h`. As many as that may come at once; then there is room for one
//! more whenever its share of the time is over. This is the generic cell rate algorithm, on a clock that its caller
//! passes in.

use std::fmt;

use super::limits;
use super::time::Millis;

/// So many in a second, a minute or an hour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    count: u32,
    unit: RateUnit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RateUnit {
    Second,
    Minute,
    Hour,
}

impl RateUnit {
    const ALL: [RateUnit; 3] = [RateUnit::Second, RateUnit::Minute, RateUnit::Hour];

    /// Its letter, and its microseconds.
    const fn describe(self) -> (&'static str, u64) {
        match self {
            RateUnit::Second => ("s", limits::SECOND_US),
            RateUnit::Minute => ("m", 60 * limits::SECOND_US),
            RateUnit::Hour => ("h", 60 * 60 * limits::SECOND_US),
        }
    }
}

impl Rate {
    /// Reads a rate. `None` for anything else, and for none at all.
    pub fn parse(text: &str) -> Option<Rate> {
        let (count, unit) = text.split_once('/')?;
        let unit = *RateUnit::ALL.iter().find(|one| one.describe().0 == unit)?;
        let is_plain = count.bytes().all(|byte| byte.is_ascii_digit()) && !count.starts_with('0');
        let count = is_plain.then(|| count.parse().ok())??;
        (count <= limits::RATE_COUNT).then_some(Rate { count, unit })
    }

    /// The whole time, and the part of it that one takes, in microseconds.
    fn measure_us(self) -> (u64, u64) {
        let (_, us) = self.unit.describe();
        (us, us / u64::from(self.count))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit.describe().0)
    }
}

/// What has passed at a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateGate {
    /// When all that has passed would be over, one after the other, in microseconds.
    until_us: u64,
}

impl RateGate {
    /// How long it takes until one more may pass; 0 if it may now.
    pub fn find_wait_ms(&self, rate: Rate, now: Millis) -> u64 {
        let (whole_us, one_us) = rate.measure_us();
        let room_at = self.until_us.saturating_add(one_us).saturating_sub(whole_us);
        room_at.saturating_sub(now.0.saturating_mul(limits::MS_US)).div_ceil(limits::MS_US)
    }

    /// Notes that one passes.
    pub fn pass(&mut self, rate: Rate, now: Millis) {
        let (_, one_us) = rate.measure_us();
        self.until_us = self.until_us.max(now.0.saturating_mul(limits::MS_US)).saturating_add(one_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_whole_number_of_a_second_a_minute_or_an_hour() {
        for text in ["1/s", "20/m", "100000/h"] {
            assert_eq!(Rate::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "0/s", "01/s", "20", "20/", "/s", "20/d", "-1/s", "1.5/s", "100001/s", "1/s ", "٣/s"]
        {
            assert_eq!(Rate::parse(text), None, "{text}");
        }
    }

    /// What passes in each second if something wants to pass in each millisecond.
    fn count_passing(rate: &str, seconds: u64) -> Vec<u64> {
        let (rate, mut gate) = (Rate::parse(rate).unwrap(), RateGate::default());
        let second = |second: u64| {
            let start = 500 + second * 1_000;
            let passes = |now: u64, gate: &mut RateGate| {
                let passes = gate.find_wait_ms(rate, Millis(now)) == 0;
                if passes {
                    gate.pass(rate, Millis(now));
                }
                u64::from(passes)
            };
            (start..start + 1_000).map(|now| passes(now, &mut gate)).sum()
        };
        (0..seconds).map(second).collect()
    }

    #[test]
    fn as_many_pass_at_once_and_then_one_whenever_its_time_is_over() {
        assert_eq!(count_passing("20/s", 4), [39, 20, 20, 20]);
        assert_eq!(count_passing("3/m", 62)[..1], [3]);
        assert_eq!(count_passing("3/m", 62).iter().sum::<u64>(), 3 + 3);
        assert_eq!(count_passing("100000/s", 2), [1_000, 1_000]);
    }

    #[test]
    fn the_wait_that_is_named_is_enough_and_no_longer() {
        let (rate, mut gate) = (Rate::parse("7/s").unwrap(), RateGate::default());
        let mut now = Millis(1_000);
        for _ in 0..100 {
            let wait = gate.find_wait_ms(rate, now);
            if wait > 0 {
                assert_ne!(gate.find_wait_ms(rate, now.add_ms(wait - 1)), 0);
            }
            now = now.add_ms(wait);
            assert_eq!(gate.find_wait_ms(rate, now), 0);
            gate.pass(rate, now);
        }
        // 93 behind the first seven, each a seventh of a second.
        assert_eq!(now.0, 1_000 + 93_000 / 7 + 1);
    }
}
