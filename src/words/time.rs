//! Time as data: milliseconds since 1970 in UTC, and their one text form. Reads no clock.

use std::fmt;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment and `ms` milliseconds more.
    pub fn plus(self, ms: u64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment; 0 where the clock went backwards.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads an RFC 3339 moment.
    pub fn parse(text: &str) -> Option<Millis> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(stamp.as_millisecond()).ok().map(Millis)
    }
}

impl fmt::Display for Millis {
    /// RFC 3339 with milliseconds, in UTC, as records and stamps carry it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        write!(f, "{:.3}", stamp.unwrap_or(jiff::Timestamp::MAX))
    }
}

/// A stretch of time as a person would say it: `0.2 s`, `4 m 12 s`, `1 h 5 m`.
pub fn spoken(ms: u64) -> String {
    let s = ms / 1000;
    match s {
        0..10 => [(s).to_string(), ".".into(), (ms % 1000 / 100).to_string(), " s".into()].concat(),
        10..60 => [s.to_string(), " s".into()].concat(),
        60..3600 => [(s / 60).to_string(), " m ".into(), (s % 60).to_string(), " s".into()].concat(),
        3600..86_400 => {
            [(s / 3600).to_string(), " h ".into(), (s % 3600 / 60).to_string(), " m".into()].concat()
        }
        _ => [(s / 86_400).to_string(), " d ".into(), (s % 86_400 / 3600).to_string(), " h".into()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_one_text_form() {
        let at = Millis(1_795_158_000_007);
        assert_eq!(at.to_string(), "2026-11-20T07:00:00.007Z");
        assert_eq!(Millis::parse(&at.to_string()), Some(at));
        assert_eq!(Millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn stretches_are_spoken() {
        assert_eq!(spoken(240), "0.2 s");
        assert_eq!(spoken(252_000), "4 m 12 s");
        assert_eq!(spoken(3_900_000), "1 h 5 m");
    }
}
