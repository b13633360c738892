//! One value of a simple type: how JSON spells it, and how XML does.
//!
//! A value as XML spells it comes in and a JSON value goes out, or the other way round; what is no value of the type is
//! judged elsewhere. No digit is ever lost: a number that JSON readers would round stands as text, and which types that
//! can happen to is said by `Kind`, which the JSON Schema shows.

use serde_json::{Number, Value};

use super::builtin::{Builtin, Family};
use super::given::Given;
use super::shape::{Bound, Simple};

/// Digits of a decimal that survive every reader of JSON, which keep numbers as binary fractions.
pub(super) const SAFE_DIGITS: usize = 15;

/// Digits that a spelling with an exponent may unfold into.
const UNFOLDED: usize = 400;

/// What stands for a value in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Truth,
    /// A number; text too, where the type allows values beyond 64 bits.
    Whole {
        may_be_text: bool,
    },
    /// A number; text too, where the type allows more than `SAFE_DIGITS`.
    Decimal {
        may_be_text: bool,
    },
    /// A number, or `INF`, `-INF`, `NaN` as text.
    Floating,
}

impl Kind {
    pub(super) fn of(simple: &Simple) -> Self {
        // A pattern speaks of the spelling, so that the spelling must be kept.
        if !simple.patterns.is_empty() {
            return Self::Text;
        }
        let digits = simple.total_digits.as_ref().map_or(usize::MAX, |most| most.value);
        match simple.base.family() {
            Family::Truth => Self::Truth,
            Family::Whole => {
                // 18 digits are less than 64 bits.
                let small = digits <= 18 || !simple.values.is_empty() || has_64_bits(simple);
                Self::Whole { may_be_text: !small }
            }
            Family::Decimal => Self::Decimal { may_be_text: digits > SAFE_DIGITS },
            Family::Floating => Self::Floating,
            Family::Text | Family::Moment | Family::Span | Family::Bytes => Self::Text,
        }
    }

    /// What is needed, in words.
    fn needed(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Truth => "true or false",
            Self::Whole { .. } => "a whole number",
            Self::Decimal { .. } | Self::Floating => "a number",
        }
    }
}

/// Whether every value of a whole type has 64 bits, with or without a sign.
fn has_64_bits(simple: &Simple) -> bool {
    let (low, high) = simple.base.limits();
    let read = |bound: &Option<Bound>| bound.as_ref().and_then(|bound| bound.value.parse::<i128>().ok());
    let limit = |limit: Option<&str>| limit.and_then(|limit| limit.parse::<i128>().ok());
    let least = read(&simple.least).into_iter().chain(limit(low)).max();
    let most = read(&simple.most).into_iter().chain(limit(high)).min();
    least.is_some_and(|least| least >= i128::from(i64::MIN))
        && most.is_some_and(|most| most <= i128::from(u64::MAX))
}

/// A value as JSON spells it.
pub(super) fn json(simple: &Simple, written: &str) -> Value {
    let mut value = simple.space.normalize(written);
    // One value has one form: that of the enumeration, if it is in one.
    if let Some(listed) = simple.values.iter().find(|listed| simple.base.same(&listed.value, &value)) {
        value.clone_from(&listed.value);
    }
    match Kind::of(simple) {
        Kind::Truth => Value::Bool(matches!(value.as_str(), "true" | "1")),
        Kind::Whole { .. } => Decimal::read(&value).map_or(Value::Null, |whole| whole.whole_number()),
        Kind::Decimal { .. } => Decimal::read(&value).map_or(Value::Null, |decimal| decimal.number()),
        Kind::Floating => floating(&value),
        Kind::Text if simple.base == Builtin::Base64 && simple.patterns.is_empty() => {
            let known = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
            Value::String(value.chars().filter(known).collect())
        }
        Kind::Text => Value::String(value),
    }
}

fn floating(value: &str) -> Value {
    let read: f64 = match value {
        "INF" => f64::INFINITY,
        "-INF" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        _ => value.parse().unwrap_or(f64::NAN),
    };
    let plain = Decimal::read(value).filter(|_| read != 0.0 || !value.starts_with('-'));
    match plain.filter(|plain| plain.digits() <= SAFE_DIGITS && plain.fraction.is_empty()) {
        Some(whole) if read.is_finite() => whole.number(),
        _ => Number::from_f64(read).map_or_else(|| Value::from(special(read)), Value::Number),
    }
}

fn special(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "INF",
        f64::NEG_INFINITY => "-INF",
        _ => "NaN",
    }
}

/// A value that was given in JSON as XML spells it, or what is needed instead. Nothing is coerced.
pub(super) fn written(simple: &Simple, given: &Given) -> Result<String, String> {
    let kind = Kind::of(simple);
    let written = match (kind, given) {
        (Kind::Text, Given::Text(text)) => Some(text.clone()),
        (Kind::Truth, Given::Truth(truth)) => Some(truth.to_string()),
        (Kind::Whole { may_be_text }, Given::Number(spelt)) => {
            let whole = Decimal::read(spelt).filter(|decimal| decimal.fraction.is_empty());
            if let Some(large) =
                whole.as_ref().filter(|whole| whole.whole_number().is_string() && may_be_text)
            {
                return Err(["text, \"", &large.spelt(), "\", for so large a number"].concat());
            }
            whole.map(|whole| whole.spelt())
        }
        (Kind::Whole { may_be_text: true }, Given::Text(text)) => {
            let large = Decimal::read(text).filter(|whole| whole.spelt() == *text);
            large
                .filter(|whole| whole.fraction.is_empty() && whole.whole_number().is_string())
                .map(|w| w.spelt())
        }
        (Kind::Decimal { .. }, Given::Number(spelt)) => Decimal::read(spelt).map(|decimal| decimal.spelt()),
        (Kind::Decimal { may_be_text: true }, Given::Text(text)) => {
            let long = |decimal: &Decimal| decimal.all_digits() > SAFE_DIGITS;
            Decimal::read(text).filter(|_| simple.base.spells(text)).filter(long).map(|_| text.clone())
        }
        (Kind::Floating, Given::Number(spelt)) => {
            let finite = spelt.parse::<f64>().is_ok_and(f64::is_finite);
            if !finite {
                return Err("a number that a double can hold, at most 1.7976931348623157e308,".to_owned());
            }
            Some(spelt.clone())
        }
        (Kind::Floating, Given::Text(text)) if matches!(text.as_str(), "INF" | "-INF" | "NaN") => {
            Some(text.clone())
        }
        _ => None,
    };
    written.ok_or_else(|| kind.needed().to_owned())
}

/// What was probably meant by a value of another kind.
pub(super) fn meant(simple: &Simple, given: &Given) -> Option<String> {
    let spelt = match given {
        Given::Text(text) | Given::Number(text) => text.clone(),
        Given::Truth(truth) => truth.to_string(),
        Given::List(parts) => match parts.as_slice() {
            [only] => written(simple, &only.given).ok()?,
            _ => return super::value::sample(simple),
        },
        Given::Null | Given::Record(_) => return super::value::sample(simple),
    };
    match super::value::check(simple, &spelt) {
        None => Some(spelt),
        Some(wrong) => wrong.instead,
    }
}

/// A decimal number, exactly: digits before and behind the point, without zeros that say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    whole: String,
    pub(super) fraction: String,
}

impl Decimal {
    /// Reads a decimal of XML or a number of JSON, whose exponent is unfolded.
    pub(super) fn read(spelt: &str) -> Option<Self> {
        let (mantissa, exponent) = match spelt.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.trim_start_matches('+').parse::<i32>().ok()?),
            None => (spelt, 0),
        };
        let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let shift = usize::try_from(exponent.unsigned_abs()).ok().filter(|shift| *shift <= UNFOLDED);
        // Zero stays zero, whatever its exponent.
        let nothing = digits.bytes().all(|b| b == b'0');
        let shift = if nothing { 0 } else { shift? };
        let (whole, fraction) = if exponent >= 0 {
            let padded = [fraction, &"0".repeat(shift.saturating_sub(fraction.len()))].concat();
            let (moved, left) = padded.split_at_checked(shift)?;
            ([whole, moved].concat(), left.to_owned())
        } else {
            let padded = [&"0".repeat(shift.saturating_sub(whole.len())), whole].concat();
            let (left, moved) = padded.split_at_checked(padded.len().saturating_sub(shift))?;
            (left.to_owned(), [moved, fraction].concat())
        };
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        Some(Self { negative: mantissa.starts_with('-') && !nothing, whole, fraction })
    }

    /// Digits that count: without zeros in front.
    fn digits(&self) -> usize {
        if self.whole.is_empty() {
            self.fraction.trim_start_matches('0').len()
        } else {
            self.whole.len().saturating_add(self.fraction.len())
        }
    }

    /// Digits as they stand, the zero before the point among them.
    fn all_digits(&self) -> usize {
        self.whole.len().max(1).saturating_add(self.fraction.len())
    }

    /// The one spelling of this number.
    pub(super) fn spelt(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let whole = if self.whole.is_empty() { "0" } else { &self.whole };
        let point = if self.fraction.is_empty() { "" } else { "." };
        [sign, whole, point, &self.fraction].concat()
    }

    /// A whole number as JSON has it: as text where it has more than 64 bits.
    fn whole_number(&self) -> Value {
        let spelt = self.spelt();
        match (spelt.parse::<i64>(), spelt.parse::<u64>()) {
            (Ok(number), _) => Value::from(number),
            (_, Ok(number)) => Value::from(number),
            _ => Value::String(spelt),
        }
    }

    /// A decimal as JSON has it: as text where a reader could lose digits.
    pub(super) fn number(&self) -> Value {
        let spelt = self.spelt();
        if self.digits() > SAFE_DIGITS {
            return Value::String(spelt);
        }
        let number = match spelt.parse::<i64>() {
            Ok(whole) => Some(Number::from(whole)),
            Err(_) => spelt.parse::<f64>().ok().and_then(Number::from_f64),
        };
        number.map_or(Value::String(spelt), Value::Number)
    }
}
