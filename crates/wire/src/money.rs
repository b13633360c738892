//! An amount of money: exact, in millionths of one currency's unit.
//!
//! It never rounds and never converts: an amount without such a form is invalid. Text such as `0.0134 USD` comes in
//! and an amount goes out, or the other way round.

use std::fmt;

/// The number of digits after the point.
const DECIMALS: usize = 6;

/// An amount and its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// Millionths of the currency's unit.
    pub micros: u64,
    /// The currency.
    pub currency: Currency,
}

/// A currency by its three capital letters, such as `USD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The currency of that code.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 3] = text.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }

    /// Its three letters, as bytes.
    #[must_use]
    pub const fn letters(self) -> [u8; 3] {
        self.0
    }

    /// Its three letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The constructor accepts only capital letters.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Money {
    /// Reads an amount, one blank, and the currency. The amount has at most six digits after the point.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (amount, currency) = text.split_once(' ')?;
        Some(Self { micros: parse_micros(amount)?, currency: Currency::parse(currency)? })
    }
}

impl fmt::Display for Money {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&format!("{} {}", write_decimal(self.micros), self.currency.as_str()))
    }
}

/// Reads an amount such as `2`, `0.5` or `0.000001` as millionths; `None` if it is not such a number, has more than
/// six decimals, or is too large.
#[must_use]
pub fn parse_micros(amount: &str) -> Option<u64> {
    let (whole, part) = amount.split_once('.').unwrap_or((amount, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > DECIMALS {
        return None;
    }
    let part: u64 = format!("{part:0<DECIMALS$}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

/// Writes millionths as the shortest amount that reads back to them.
#[must_use]
pub fn write_decimal(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_reads_back_to_the_millionth() {
        for (text, micros) in [
            ("2 USD", 2_000_000),
            ("0.5 EUR", 500_000),
            ("0.000001 USD", 1),
            ("0 USD", 0),
            ("18446744073709.551615 JPY", u64::MAX),
        ] {
            let read = Money::parse(text).expect(text);
            assert_eq!((read.micros, read.to_string().as_str()), (micros, text));
        }
        assert_eq!(Money::parse("1.50 USD").map(|money| money.to_string()).as_deref(), Some("1.5 USD"));
    }

    #[test]
    fn what_is_no_exact_amount_of_a_currency_is_none() {
        for text in [
            "",
            "2",
            "USD",
            "2USD",
            "2  USD",
            " 2 USD",
            "2 USD ",
            "2 usd",
            "2 US",
            "2 USDT",
            "-1 USD",
            "+1 USD",
            "1. USD",
            ".5 USD",
            "1,5 USD",
            "1e3 USD",
            "0.0000001 USD",
            "18446744073709.551616 USD",
            "NaN USD",
        ] {
            assert_eq!(Money::parse(text), None, "{text}");
        }
    }
}
