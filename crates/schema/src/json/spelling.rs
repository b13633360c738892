//! One value of a simple type: its spelling in JSON and in XML.
//!
//! A value in XML spelling comes in and a JSON value goes out, or the other way round; other code decides whether it
//! is a value of the type. No digit is ever lost: a number that JSON readers would round becomes text. `JsonKind` says
//! which types this can happen to, and the JSON Schema shows it.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use crate::build::given::{GivenPart, GivenValue};
use crate::explain::amend;
use crate::judge::builtin::{Builtin, TypeFamily};
use crate::judge::{check_value, value};
use crate::limits;
use crate::shape::{FacetValue, SimpleType, SimpleVariety, ValueBound};
use systole_wire::characters::is_white;

/// The JSON form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JsonKind<'s> {
    /// Text in XML spelling, of this built-in type if it has one.
    Text(Option<Builtin>),
    Truth,
    /// A number; or text, if the type allows values beyond 64 bits.
    Whole {
        may_be_text: bool,
    },
    /// A number; or text, if the type allows more than `SAFE_DIGITS`.
    Decimal {
        may_be_text: bool,
    },
    /// A number, or `INF`, `-INF`, `NaN` as text.
    Floating,
    /// A list with the form of each item.
    List(&'s SimpleType),
    /// The form of the member that reads the value.
    Union(&'s [Arc<SimpleType>]),
}

impl<'s> JsonKind<'s> {
    pub(crate) fn from_simple(simple: &'s SimpleType) -> Self {
        let digits = simple.total_digits.as_ref().map_or(usize::MAX, |most| most.value);
        match &simple.variety {
            // A boolean that excludes 1 and 0 has one spelling for each value.
            SimpleVariety::Atomic(base) if base.family() == TypeFamily::Truth && has_no_digits(simple) => {
                Self::Truth
            }
            // A pattern applies to the spelling, so the spelling must be kept.
            SimpleVariety::Atomic(base) if !simple.patterns.is_empty() => Self::Text(Some(*base)),
            _ if !simple.patterns.is_empty() => Self::Text(None),
            SimpleVariety::List(item) => Self::List(item),
            SimpleVariety::Union(members) => Self::Union(members),
            SimpleVariety::Atomic(base) => match base.family() {
                TypeFamily::Truth => Self::Truth,
                TypeFamily::Whole => {
                    // 18 digits fit in 64 bits.
                    let small = digits <= 18 || has_64_bits(simple, *base);
                    Self::Whole { may_be_text: !small }
                }
                TypeFamily::Decimal => Self::Decimal { may_be_text: digits > limits::SAFE_DIGITS },
                TypeFamily::Floating => Self::Floating,
                TypeFamily::Text | TypeFamily::Moment | TypeFamily::Span | TypeFamily::Bytes => {
                    Self::Text(Some(*base))
                }
            },
        }
    }

    /// The required form, in words.
    fn describe_needed(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Truth => "true or false",
            Self::Whole { .. } => "a whole number",
            Self::Decimal { .. } | Self::Floating => "a number",
            Self::List(_) => "a list",
            Self::Union(_) => "a value of one of its types",
        }
    }
}

/// Whether a boolean excludes 1 and 0.
fn has_no_digits(simple: &SimpleType) -> bool {
    !["1", "0"].iter().any(|digit| value::is_admitted(simple, digit))
}

/// Whether every value of a whole type fits in 64 bits, signed or unsigned.
fn has_64_bits(simple: &SimpleType, base: Builtin) -> bool {
    let (low, high) = base.limits();
    let read = |bound: &Option<ValueBound>| {
        bound.as_ref().and_then(|bound| bound.value.trim_start_matches('+').parse::<i128>().ok())
    };
    let limit = |limit: Option<&str>| limit.and_then(|limit| limit.parse::<i128>().ok());
    let least = read(&simple.least).into_iter().chain(limit(low)).max();
    let most = read(&simple.most).into_iter().chain(limit(high)).min();
    least.is_some_and(|least| least >= i128::from(i64::MIN))
        && most.is_some_and(|most| most <= i128::from(u64::MAX))
}

/// A value in JSON spelling.
pub(crate) fn to_json(simple: &SimpleType, written: &str) -> Value {
    let mut value = simple.space.normalize_value(written);
    // One value has one form: that of the enumeration, if it is in one.
    if let Some(listed) = simple.values.iter().find(|listed| value::is_same(simple, &listed.value, &value)) {
        value.clone_from(&listed.value);
    }
    match JsonKind::from_simple(simple) {
        JsonKind::Truth => Value::Bool(matches!(value.as_str(), "true" | "1")),
        JsonKind::Whole { .. } => {
            ExactDecimal::parse(&value).map_or(Value::Null, |whole| whole.whole_number())
        }
        JsonKind::Decimal { .. } => {
            ExactDecimal::parse(&value).map_or(Value::Null, |decimal| decimal.to_number())
        }
        JsonKind::Floating => write_floating(&value),
        JsonKind::List(item) => value::split_items(&value).map(|one| to_json(item, one)).collect(),
        JsonKind::Union(members) => match value::find_reader(members, &value) {
            Some((member, value)) => to_json(member, &value),
            None => Value::String(value),
        },
        JsonKind::Text(Some(Builtin::Base64)) if simple.patterns.is_empty() => {
            let known = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
            Value::String(value.chars().filter(known).collect())
        }
        JsonKind::Text(_) => Value::String(match &simple.variety {
            SimpleVariety::Union(members) => {
                value::find_reader(members, &value).map_or(value, |(_, value)| value)
            }
            _ => value,
        }),
    }
}

pub(crate) fn write_floating(value: &str) -> Value {
    let read: f64 = match value {
        "INF" => f64::INFINITY,
        "-INF" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        _ => value.parse().unwrap_or(f64::NAN),
    };
    let plain = ExactDecimal::parse(value).filter(|_| read != 0.0 || !value.starts_with('-'));
    match plain.filter(|plain| plain.digits() <= limits::SAFE_DIGITS && plain.fraction.is_empty()) {
        Some(whole) if read.is_finite() => whole.to_number(),
        _ => Number::from_f64(read).map_or_else(|| Value::from(name_special(read)), Value::Number),
    }
}

fn name_special(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "INF",
        f64::NEG_INFINITY => "-INF",
        _ => "NaN",
    }
}

/// A JSON value in XML spelling, or the form needed instead. Nothing is coerced.
pub(crate) fn spell_given(simple: &SimpleType, given: &GivenValue) -> Result<String, String> {
    let spelt = by_kind(simple, given)?;
    // A value of an enumeration has only the listed form.
    let listed = simple.values.iter().find(|listed| value::is_same(simple, &listed.value, &spelt));
    let form = |listed: &FacetValue<String>| to_json(simple, &listed.value);
    match (listed.map(form), to_plain(given)) {
        (Some(form), given)
            if form != given && !matches!(JsonKind::from_simple(simple), JsonKind::Floating) =>
        {
            Err(format!("exactly {form}"))
        }
        _ => Ok(spelt),
    }
}

fn by_kind(simple: &SimpleType, given: &GivenValue) -> Result<String, String> {
    let kind = JsonKind::from_simple(simple);
    let written = match (kind, given) {
        (JsonKind::Text(base), GivenValue::Text(text)) => return spell_text(simple, base, text),
        (JsonKind::Truth, GivenValue::Truth(truth)) => Some(truth.to_string()),
        (JsonKind::Whole { may_be_text }, GivenValue::Number(number)) => {
            let whole = ExactDecimal::parse(number).filter(|decimal| decimal.fraction.is_empty());
            if let Some(large) =
                whole.as_ref().filter(|whole| whole.whole_number().is_string() && may_be_text)
            {
                return Err(format!("the text \"{}\", which keeps every digit,", large.to_text()));
            }
            whole.map(|whole| whole.to_text())
        }
        (JsonKind::Whole { may_be_text: true }, GivenValue::Text(text)) => {
            let large = ExactDecimal::parse(text).filter(|whole| whole.to_text() == *text);
            large
                .filter(|whole| whole.fraction.is_empty() && whole.whole_number().is_string())
                .map(|w| w.to_text())
        }
        (JsonKind::Decimal { .. }, GivenValue::Number(number)) => {
            ExactDecimal::parse(number).map(|decimal| decimal.to_text())
        }
        (JsonKind::Decimal { may_be_text: true }, GivenValue::Text(text)) => {
            let long =
                |decimal: &ExactDecimal| decimal.all_digits() > limits::SAFE_DIGITS && !text.starts_with('+');
            let spelt = text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            let spelt =
                spelt && Builtin::Decimal.can_spell(text) && !text.ends_with('.') && !text.starts_with("-.");
            ExactDecimal::parse(text).filter(|decimal| spelt && long(decimal)).map(|_| text.clone())
        }
        (JsonKind::Floating, GivenValue::Number(number)) => {
            if !number.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err("a number that a double can hold, at most 1.7976931348623157e308,".to_owned());
            }
            Some(number.clone())
        }
        (JsonKind::Floating, GivenValue::Text(text)) if matches!(text.as_str(), "INF" | "-INF" | "NaN") => {
            Some(text.clone())
        }
        (JsonKind::List(item), GivenValue::List(parts)) => return spell_list(item, parts),
        (JsonKind::Union(members), given) => spell_union(simple, members, given),
        _ => None,
    };
    written.ok_or_else(|| kind.describe_needed().to_owned())
}

/// Text in its JSON form: without insignificant blanks.
fn spell_text(simple: &SimpleType, base: Option<Builtin>, text: &str) -> Result<String, String> {
    if simple.space.normalize_value(text) != text {
        return Err("text without blanks around it, or more than one inside,".to_owned());
    }
    let stray = |b: u8| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    if base == Some(Builtin::Base64) && simple.patterns.is_empty() && text.bytes().any(stray) {
        return Err("base64 text without blanks".to_owned());
    }
    Ok(text.to_owned())
}

fn spell_list(item: &SimpleType, parts: &[GivenPart]) -> Result<String, String> {
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        let one = spell_given(item, &part.given).map_err(|needed| format!("a list, each item {needed}"))?;
        if one.is_empty() || one.contains(is_white) {
            return Err("a list of texts that are not empty and have no blanks".to_owned());
        }
        items.push(one);
    }
    Ok(items.join(" "))
}

/// The member that a value was meant for must be the member that reads it.
fn spell_union(simple: &SimpleType, members: &[Arc<SimpleType>], given: &GivenValue) -> Option<String> {
    let mut tried = members.iter().filter_map(|member| Some((member, spell_given(member, given).ok()?)));
    let read_by = |member: &SimpleType, spelt: &str| {
        value::find_reader(members, spelt).is_some_and(|(reader, _)| std::ptr::eq(reader, member))
    };
    let meant = tried.clone().find(|(member, spelt)| read_by(member, spelt));
    // A value that no member reads goes on unchanged, so that the error is reported.
    meant
        .or_else(|| tried.find(|(_, spelt)| check_value::check_value(simple, spelt).is_some()))
        .map(|(_, spelt)| spelt)
}

/// The input as a JSON value.
fn to_plain(given: &GivenValue) -> Value {
    match given {
        GivenValue::Null => Value::Null,
        GivenValue::Truth(truth) => Value::Bool(*truth),
        GivenValue::Number(number) => {
            ExactDecimal::parse(number).map_or(Value::Null, |decimal| match decimal.to_number() {
                Value::String(_) => decimal.whole_number(),
                number => number,
            })
        }
        GivenValue::Text(text) | GivenValue::Xml(text) => Value::String(text.clone()),
        GivenValue::List(parts) => parts.iter().map(|part| to_plain(&part.given)).collect(),
        GivenValue::Record(_) => Value::Object(Map::new()),
    }
}

/// The probable meaning of a value of another kind.
pub(crate) fn suggest_meant(simple: &SimpleType, given: &GivenValue) -> Option<String> {
    let spelt = match given {
        GivenValue::Text(text) | GivenValue::Number(text) => text.clone(),
        GivenValue::Truth(truth) => truth.to_string(),
        GivenValue::List(parts) => match parts.as_slice() {
            [only] => spell_given(simple, &only.given).ok()?,
            _ => return amend::find_sample(simple),
        },
        GivenValue::Null | GivenValue::Record(_) | GivenValue::Xml(_) => return amend::find_sample(simple),
    };
    match check_value::check_value(simple, &spelt) {
        None => Some(spelt),
        Some(wrong) => wrong.instead,
    }
}

/// An exact decimal number: digits before and after the point, without insignificant zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExactDecimal {
    negative: bool,
    whole: String,
    pub(crate) fraction: String,
}

impl ExactDecimal {
    /// Reads an XML decimal or a JSON number; the exponent is unfolded.
    pub(crate) fn parse(spelt: &str) -> Option<Self> {
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
        let shift =
            usize::try_from(exponent.unsigned_abs()).ok().filter(|shift| *shift <= limits::UNFOLDED_DIGITS);
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

    /// Significant digits: without leading zeros.
    fn digits(&self) -> usize {
        if self.whole.is_empty() {
            self.fraction.trim_start_matches('0').len()
        } else {
            self.whole.len().saturating_add(self.fraction.len())
        }
    }

    /// Written digits, including the zero before the point.
    fn all_digits(&self) -> usize {
        self.whole.len().max(1).saturating_add(self.fraction.len())
    }

    /// The one spelling of this number.
    pub(crate) fn to_text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let whole = if self.whole.is_empty() { "0" } else { &self.whole };
        let point = if self.fraction.is_empty() { "" } else { "." };
        [sign, whole, point, &self.fraction].concat()
    }

    /// A whole number in JSON: text if it has more than 64 bits.
    fn whole_number(&self) -> Value {
        let spelt = self.to_text();
        match (spelt.parse::<i64>(), spelt.parse::<u64>()) {
            (Ok(number), _) => Value::from(number),
            (_, Ok(number)) => Value::from(number),
            _ => Value::String(spelt),
        }
    }

    /// A decimal in JSON: text if a reader could lose digits.
    pub(crate) fn to_number(&self) -> Value {
        let spelt = self.to_text();
        if self.digits() > limits::SAFE_DIGITS {
            return Value::String(spelt);
        }
        let number = match spelt.parse::<i64>() {
            Ok(whole) => Some(Number::from(whole)),
            Err(_) => spelt.parse::<f64>().ok().and_then(Number::from_f64),
        };
        number.map_or(Value::String(spelt), Value::Number)
    }
}
