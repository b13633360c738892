//! Decides whether a condition holds: one value compared with its requirement.
//!
//! Text comes in; a yes or no goes out. Numbers are compared as XSD writes them, digit by digit, so that none is
//! rounded.

use std::cmp::Ordering;

use crate::known::KnownOutputs;
use crate::spec::{Condition, ValueTest};

/// Whether all conditions hold. A condition on a missing value never holds.
pub(crate) fn check_conditions(conditions: &[Condition], known: &KnownOutputs) -> bool {
    conditions
        .iter()
        .all(|one| known.find_texts(&one.path).first().is_some_and(|value| passes_test(value, &one.test)))
}

fn passes_test(value: &str, test: &ValueTest) -> bool {
    match test {
        ValueTest::Text(texts) => texts.iter().any(|text| text == value),
        ValueTest::Flag(wanted) => matches!(value.trim(), "true" | "1") == *wanted,
        ValueTest::Number(ranges) => ranges.iter().any(|(least, most)| {
            let fits = |end: &Option<String>, sign: char, is_beyond: fn(Ordering) -> bool| {
                let Some(end) = end else { return true };
                let (end, is_included) =
                    end.strip_prefix(sign).map_or((end.as_str(), true), |end| (end, false));
                compare_numbers(value, end)
                    .is_some_and(|order| is_beyond(order) || (is_included && order.is_eq()))
            };
            fits(least, '>', Ordering::is_gt) && fits(most, '<', Ordering::is_lt)
        }),
    }
}

/// Compares two decimals, or two other numbers as floating point.
fn compare_numbers(left: &str, right: &str) -> Option<Ordering> {
    match (DecimalDigits::read(left.trim()), DecimalDigits::read(right.trim())) {
        (Some(left), Some(right)) => Some(left.compare_digits(&right)),
        _ => left.trim().parse::<f64>().ok()?.partial_cmp(&right.trim().parse::<f64>().ok()?),
    }
}

/// A decimal by its significant digits.
struct DecimalDigits<'t> {
    is_below_zero: bool,
    whole: &'t str,
    part: &'t str,
}

impl<'t> DecimalDigits<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = (!whole.is_empty() || !part.is_empty())
            && whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
        let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
        let is_zero = whole.is_empty() && part.is_empty();
        is_number.then_some(Self { is_below_zero: sign && !is_zero, whole, part })
    }

    fn compare_digits(&self, other: &Self) -> Ordering {
        let size = |one: &Self, two: &Self| {
            let whole = one.whole.len().cmp(&two.whole.len()).then_with(|| one.whole.cmp(two.whole));
            whole.then_with(|| one.part.cmp(two.part))
        };
        match (self.is_below_zero, other.is_below_zero) {
            (false, false) => size(self, other),
            (true, true) => size(other, self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_their_value_and_never_rounded() {
        let in_order =
            ["-10", "-9.5", "-0.25", "0", "0.1", "0.10000000000000000001", "1", "9", "10", "10.01"];
        for (at, left) in in_order.iter().enumerate() {
            for (to, right) in in_order.iter().enumerate() {
                assert_eq!(compare_numbers(left, right), Some(at.cmp(&to)), "{left} and {right}");
            }
        }
        for (left, right) in
            [("1", "1.0"), ("-0", "0"), ("007", "7"), ("+3", "3"), ("1e1", "10"), (" 4\n", "4")]
        {
            assert_eq!(compare_numbers(left, right), Some(Ordering::Equal), "{left} and {right}");
        }
        assert_eq!(compare_numbers("words", "1"), None);
    }

    #[test]
    fn a_range_holds_its_ends_and_an_absent_end_is_open() {
        let range = |least: Option<&str>, most: Option<&str>| {
            ValueTest::Number(vec![(least.map(str::to_owned), most.map(str::to_owned))])
        };
        assert!(passes_test("9", &range(Some("9"), None)));
        assert!(!passes_test("8.99", &range(Some("9"), None)));
        assert!(passes_test("10", &range(Some("0"), Some("10"))));
        assert!(
            !passes_test("9", &range(Some(">9"), None)) && passes_test("9.001", &range(Some(">9"), None))
        );
        assert!(
            !passes_test("10.0", &range(Some("0"), Some("<10")))
                && passes_test("9.9", &range(Some("0"), Some("<10")))
        );
        assert!(!passes_test("many", &range(Some("0"), None)));
        assert!(
            passes_test("true", &ValueTest::Flag(true))
                && passes_test("0", &ValueTest::Flag(false))
                && !passes_test("1", &ValueTest::Flag(false))
        );
        assert!(
            passes_test("go", &ValueTest::Text(vec!["go".into(), "stop".into()]))
                && !passes_test("Go", &ValueTest::Text(vec!["go".into()]))
        );
    }
}
