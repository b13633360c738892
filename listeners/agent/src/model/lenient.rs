//! Token counts in any form that a provider uses. A bad one never costs an answer.

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value that is left out if it has an unexpected form.
#[derive(Debug)]
pub(super) struct Lenient<T>(pub(super) Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// A count: a whole number, one with decimals (rounded up), or either as a string. Anything else, such as a negative
/// number, is ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u64>);

impl Count {
    fn read_count(text: &str) -> Option<u64> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_number = part.bytes().all(|digit| digit.is_ascii_digit());
        let more = u64::from(part.bytes().any(|digit| digit != b'0'));
        whole.parse::<u64>().ok().filter(|_| is_number)?.checked_add(more)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Ok(Self(Self::read_count(raw.get().trim_matches('"').trim())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_every_form_and_what_is_none_is_left_out() {
        for (json, count) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("2.5", Some(3)),
            ("\" 12 \"", Some(12)),
            ("\"1.01\"", Some(2)),
            ("-1", None),
            ("1e3", None),
            ("1.5e3", None),
            ("18446744073709551616", None),
            ("18446744073709551615.5", None),
            ("null", None),
            ("{}", None),
            ("\"\"", None),
        ] {
            let read: Count = serde_json::from_str(json).expect("anything is taken");
            assert_eq!(read.0, count, "{json}");
        }
        let odd: Lenient<u64> = serde_json::from_str("[1]").expect("anything is taken");
        assert_eq!(odd.0, None);
    }
}
