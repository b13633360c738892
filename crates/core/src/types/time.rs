//! Time as data: milliseconds since 1970 in UTC, and their one text form. Reads no clock.

use std::fmt;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment and `ms` milliseconds more.
    pub fn add_ms(self, ms: u64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment. 0 if the clock went backwards.
    pub fn count_since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Its date in UTC, as `2026-11-20`.
    pub fn to_date(self) -> String {
        self.to_text().iter().take(10).map(|digit| char::from(*digit)).collect()
    }

    /// Reads an RFC 3339 moment.
    pub fn parse(text: &str) -> Option<Millis> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(stamp.as_millisecond()).ok().map(Millis)
    }

    /// RFC 3339 with milliseconds, in UTC, as in records and stamps. The year has four digits, so the
    /// length is fixed. A moment beyond the calendar is written as the last possible date.
    pub fn to_text(self) -> [u8; 24] {
        let stamp = i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = jiff::tz::Offset::UTC.to_datetime(stamp.unwrap_or(jiff::Timestamp::MAX));
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Each part with the position of its last digit. Digits are written from right to left.
        let parts = [
            (3, at.year()),
            (6, at.month().into()),
            (9, at.day().into()),
            (12, at.hour().into()),
            (15, at.minute().into()),
            (18, at.second().into()),
            (22, at.millisecond()),
        ];
        for (last, part) in parts {
            let mut left = part.unsigned_abs();
            for place in text.iter_mut().take(last + 1).rev() {
                if left == 0 {
                    break;
                }
                *place = b'0' + u8::try_from(left % 10).unwrap_or(0);
                left /= 10;
            }
        }
        text
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Digits and signs are ASCII.
        f.write_str(std::str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

/// The duration units that people write, and the milliseconds of each.
pub const UNITS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a duration: a whole number and its unit, without a space. One that is too long becomes the
/// longest possible.
pub fn stretch_ms(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).filter(|_| digits > 0)?;
    Some(number.parse::<u64>().ok().and_then(|n| n.checked_mul(*factor)).unwrap_or(u64::MAX))
}

/// A duration in the form that `stretch_ms` reads, in the largest unit that divides it exactly.
pub fn spell_stretch(ms: u64) -> String {
    let fits = |(_, factor): &&(&str, u64)| ms != 0 && ms.is_multiple_of(*factor);
    let (unit, factor) = UNITS.iter().rev().find(fits).unwrap_or(&("ms", 1));
    format!("{}{unit}", ms / factor)
}

/// A duration for people: `0.2 s`, `4 m 12 s`, `55 m`, `1 h 5 m`.
pub fn spell_duration(ms: u64) -> String {
    let s = ms / 1000;
    let two = |large: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit} {small}{part}"),
    };
    match s {
        0..10 => format!("{s}.{} s", (ms % 1000 / 100)),
        10..60 => format!("{s} s"),
        60..3600 => two(s / 60, " m", s % 60, " s"),
        3600..86_400 => two(s / 3600, " h", s % 3600 / 60, " m"),
        _ => two(s / 86_400, " d", s % 86_400 / 3600, " h"),
    }
}

/// The same for a duration that a person measures by: below a second it is exact, as `12 ms`.
pub fn spell_measured(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { spell_duration(ms) }
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
    fn every_moment_is_written_as_the_calendar_has_it() {
        let leap_day = 951_782_399_999;
        for ms in [1, 999, 86_399_999, leap_day, leap_day + 1, 1_795_158_000_007, 253_402_207_199_999] {
            let stamp = jiff::Timestamp::from_millisecond(ms).unwrap();
            assert_eq!(Millis(ms.unsigned_abs()).to_string(), format!("{stamp:.3}"));
        }
        assert_eq!(Millis(u64::MAX).to_string(), format!("{:.3}", jiff::Timestamp::MAX));
    }

    #[test]
    fn stretches_are_read_with_their_unit() {
        for (text, ms) in
            [("10ms", 10), ("1s", 1_000), ("90m", 5_400_000), ("2h", 7_200_000), ("1d", 86_400_000)]
        {
            assert_eq!(stretch_ms(text), Some(ms));
        }
        assert_eq!(stretch_ms("99999999999999999999d"), Some(u64::MAX));
        for text in ["", "10", "s", "10 s", "-1s", "1.5s", "1w", "1S"] {
            assert_eq!(stretch_ms(text), None, "{text}");
        }
    }

    #[test]
    fn stretches_are_written_as_they_are_read() {
        for text in ["0ms", "1ms", "1500ms", "59s", "90s", "30m", "24h", "3d"] {
            let ms = stretch_ms(text).unwrap();
            assert_eq!(stretch_ms(&spell_stretch(ms)), Some(ms));
        }
        assert_eq!(
            [spell_stretch(0), spell_stretch(90_000), spell_stretch(1_800_000)],
            ["0ms", "90s", "30m"]
        );
    }

    #[test]
    fn stretches_are_spoken() {
        assert_eq!([0, 12, 999].map(spell_measured), ["0 ms", "12 ms", "999 ms"]);
        assert_eq!([1_000, 252_000].map(spell_measured), ["1.0 s", "4 m 12 s"]);
        assert_eq!(spell_duration(240), "0.2 s");
        assert_eq!(spell_duration(252_000), "4 m 12 s");
        assert_eq!(spell_duration(3_900_000), "1 h 5 m");
    }
}
