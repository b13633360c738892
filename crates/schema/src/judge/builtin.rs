//! The built-in types of the profile: their spellings, and how their values compare.
//!
//! Lexical rules follow the judge, libxml2, including its quirks, so that the model has words for exactly what the
//! judge refuses. Unsigned types take no `+`, there is no year 0, and numbers end at 24 digits. The digit limit is
//! separate from spelling, because a bound is the better message if there is one. A normalized value comes in; yes or
//! no, or an ordering, goes out. It words nothing.

use std::cmp::Ordering;

use crate::judge::calendar;
use crate::judge::classes::{is_name_char, is_name_start};
use crate::judge::uri;

/// How white space is normalized before a value is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhiteSpace {
    Preserve,
    Replace,
    Collapse,
}

impl WhiteSpace {
    pub(crate) fn normalize_value(self, value: &str) -> String {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        match self {
            Self::Preserve => value.to_owned(),
            Self::Replace => value.replace(blank, " "),
            Self::Collapse => {
                value.split(blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The digits that the judge counts against its limit: leading zeros are free, trailing zeros are not.
pub(crate) fn counted_digits(value: &str) -> usize {
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    unsigned.trim_start_matches('0').bytes().filter(u8::is_ascii_digit).count()
}

macro_rules! builtins {
    ($($variant:ident $name:literal),+ $(,)?) => {
        /// A built-in type of the profile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Builtin { $($variant),+ }

        impl Builtin {
            /// The names of all types of the profile.
            pub(crate) const NAMES: &[&str] = &[$($name),+];

            /// The type of this local name, without prefix.
            pub(crate) fn from_name(local: &str) -> Option<Self> {
                match local { $($name => Some(Self::$variant),)+ _ => None }
            }

            /// The name without its prefix.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

builtins! {
    String "string", NormalizedString "normalizedString", Token "token", NmToken "NMTOKEN", Name "Name",
    NcName "NCName", Language "language", AnyUri "anyURI", Boolean "boolean", Decimal "decimal",
    Integer "integer", NonPositive "nonPositiveInteger", Negative "negativeInteger", Long "long", Int "int",
    Short "short", Byte "byte", NonNegative "nonNegativeInteger", Positive "positiveInteger",
    UnsignedLong "unsignedLong", UnsignedInt "unsignedInt", UnsignedShort "unsignedShort",
    UnsignedByte "unsignedByte", Double "double", Float "float", Date "date", DateTime "dateTime",
    Time "time", Duration "duration", Base64 "base64Binary", Hex "hexBinary",
}

/// The kind of value behind a type: it decides facets, comparison and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeFamily {
    Text,
    Truth,
    Whole,
    Decimal,
    Floating,
    Moment,
    Span,
    Bytes,
}

impl Builtin {
    pub(crate) fn family(self) -> TypeFamily {
        match self {
            Self::String
            | Self::NormalizedString
            | Self::Token
            | Self::NmToken
            | Self::Name
            | Self::NcName
            | Self::Language
            | Self::AnyUri => TypeFamily::Text,
            Self::Boolean => TypeFamily::Truth,
            Self::Decimal => TypeFamily::Decimal,
            Self::Double | Self::Float => TypeFamily::Floating,
            Self::Date | Self::DateTime | Self::Time => TypeFamily::Moment,
            Self::Duration => TypeFamily::Span,
            Self::Base64 | Self::Hex => TypeFamily::Bytes,
            _ => TypeFamily::Whole,
        }
    }

    pub(crate) fn white_space(self) -> WhiteSpace {
        match self {
            Self::String => WhiteSpace::Preserve,
            Self::NormalizedString => WhiteSpace::Replace,
            _ => WhiteSpace::Collapse,
        }
    }

    /// The smallest and the largest value of the type itself.
    pub(crate) fn limits(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Long => (Some("-9223372036854775808"), Some("9223372036854775807")),
            Self::Int => (Some("-2147483648"), Some("2147483647")),
            Self::Short => (Some("-32768"), Some("32767")),
            Self::Byte => (Some("-128"), Some("127")),
            Self::NonNegative => (Some("0"), None),
            Self::Positive => (Some("1"), None),
            Self::NonPositive => (None, Some("0")),
            Self::Negative => (None, Some("-1")),
            Self::UnsignedLong => (Some("0"), Some("18446744073709551615")),
            Self::UnsignedInt => (Some("0"), Some("4294967295")),
            Self::UnsignedShort => (Some("0"), Some("65535")),
            Self::UnsignedByte => (Some("0"), Some("255")),
            _ => (None, None),
        }
    }

    /// Whether a normalized value has the spelling of this type; limits are not checked.
    pub(crate) fn can_spell(self, value: &str) -> bool {
        match self {
            Self::String | Self::NormalizedString | Self::Token => true,
            Self::NmToken => !value.is_empty() && value.chars().all(is_name_char),
            Self::Name => is_name(value),
            Self::NcName => is_name(value) && !value.contains(':'),
            Self::Language => is_language(value),
            Self::AnyUri => uri::is_uri(value),
            Self::Boolean => matches!(value, "true" | "false" | "1" | "0"),
            Self::Decimal => is_decimal(value),
            Self::Double | Self::Float => is_floating(value),
            Self::Date => calendar::parse_date(value).is_some(),
            Self::DateTime => calendar::date_time(value).is_some(),
            Self::Time => calendar::parse_time(value).is_some(),
            Self::Duration => calendar::is_duration(value),
            Self::Base64 => base64_length(value).is_some(),
            Self::Hex => value.len().is_multiple_of(2) && value.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::UnsignedLong | Self::UnsignedInt | Self::UnsignedShort | Self::UnsignedByte => {
                is_whole(value) && !value.starts_with(['+', '-'])
            }
            _ => is_whole(value),
        }
    }

    /// Whether the judge refuses blanks before and after a value. XSD would strip them; libxml2 strips them for these
    /// types only if there is a pattern or an enumeration.
    pub(crate) fn refuses_blanks(self, value: &str) -> (bool, bool) {
        match self {
            Self::Long | Self::Int | Self::Short | Self::Byte | Self::Date => (true, true),
            Self::DateTime => {
                let zoned = value.rsplit('T').next().is_some_and(|time| time.contains(['Z', '+', '-']));
                (true, !zoned)
            }
            Self::UnsignedLong | Self::UnsignedInt | Self::UnsignedShort | Self::UnsignedByte => (true, true),
            Self::Time | Self::Duration => (false, true),
            Self::Double | Self::Float => (false, value.ends_with(['F', 'N'])),
            _ => (false, false),
        }
    }

    /// How two values of this type compare; `None` if they do not, or if no words are known.
    pub(crate) fn compare_values(self, left: &str, right: &str) -> Option<Ordering> {
        match self.family() {
            TypeFamily::Whole | TypeFamily::Decimal => Some(compare_decimals(left, right)),
            TypeFamily::Floating => compare_floating(parse_floating(left)?, parse_floating(right)?),
            TypeFamily::Moment => compare_moments(self, left, right),
            TypeFamily::Text | TypeFamily::Truth | TypeFamily::Span | TypeFamily::Bytes => None,
        }
    }

    /// Whether two spellings are one value, as an enumeration compares them.
    pub(crate) fn is_same(self, left: &str, right: &str) -> bool {
        match self.family() {
            TypeFamily::Whole | TypeFamily::Decimal | TypeFamily::Floating | TypeFamily::Moment => {
                left == right || self.compare_values(left, right) == Some(Ordering::Equal)
            }
            TypeFamily::Truth => matches!(left, "true" | "1") == matches!(right, "true" | "1"),
            TypeFamily::Bytes => match self {
                Self::Hex => left.eq_ignore_ascii_case(right),
                _ => left.bytes().filter(is_base64).eq(right.bytes().filter(is_base64)),
            },
            TypeFamily::Span => calendar::is_same_duration(left, right),
            TypeFamily::Text => left == right,
        }
    }

    /// The length that length facets count: characters of text, octets of binary values.
    pub(crate) fn measure_length(self, value: &str) -> usize {
        match self {
            Self::Hex => value.len() / 2,
            Self::Base64 => base64_length(value).unwrap_or_default(),
            _ => value.chars().count(),
        }
    }
}

fn is_name(value: &str) -> bool {
    value.starts_with(is_name_start) && value.chars().all(is_name_char)
}

/// Parts of 1 to 8 letters; digits from the second part on.
fn is_language(value: &str) -> bool {
    value.split('-').enumerate().all(|(at, part)| {
        let spelt = part.bytes().all(|b| b.is_ascii_alphabetic() || (at > 0 && b.is_ascii_digit()));
        spelt && (1..=8).contains(&part.len())
    })
}

fn is_whole(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_decimal(value: &str) -> bool {
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let some = !whole.is_empty() || !fraction.is_empty();
    some && digits(whole) && digits(fraction)
}

fn is_floating(value: &str) -> bool {
    if matches!(value, "NaN" | "INF" | "-INF") {
        return true;
    }
    let (mantissa, exponent) = value.split_once(['e', 'E']).unwrap_or((value, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    !(whole.is_empty() && fraction.is_empty()) && digits(whole) && digits(fraction) && digits(exponent)
}

fn parse_floating(value: &str) -> Option<f64> {
    match value {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => value.parse().ok(),
    }
}

/// The judge treats NaN as larger than every other value and equal to itself.
fn compare_floating(left: f64, right: f64) -> Option<Ordering> {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.partial_cmp(&right),
        (left, right) => Some(left.cmp(&right)),
    }
}

/// The order of two moments of that type, if they compare.
fn compare_moments(of: Builtin, left: &str, right: &str) -> Option<Ordering> {
    let read = match of {
        Builtin::Date => calendar::parse_date,
        Builtin::DateTime => calendar::date_time,
        _ => calendar::parse_time,
    };
    read(left)?.compare_to(&read(right)?)
}

/// Compares two spellings of decimals exactly, whatever their length.
fn compare_decimals(left: &str, right: &str) -> Ordering {
    let (left, right) = (DecimalDigits::from_text(left), DecimalDigits::from_text(right));
    match (left.negative, right.negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => left.compare_magnitude(&right),
        (true, true) => right.compare_magnitude(&left),
    }
}

/// A decimal without sign, leading zeros and trailing zeros of the fraction.
struct DecimalDigits<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> DecimalDigits<'a> {
    fn from_text(value: &'a str) -> Self {
        let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let zero = whole.is_empty() && fraction.is_empty();
        Self { negative: value.starts_with('-') && !zero, whole, fraction }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        (self.whole.len().cmp(&other.whole.len()))
            .then_with(|| self.whole.cmp(other.whole))
            .then_with(|| self.fraction.cmp(other.fraction))
    }
}

/// All digits of a decimal and those after the point, as the digit facets count them.
pub(crate) fn digit_counts(value: &str) -> (usize, usize) {
    let digits = DecimalDigits::from_text(value);
    let all = digits.whole.len().saturating_add(digits.fraction.len());
    (all.max(1), digits.fraction.len())
}

/// The number of octets of a base64 text, or `None` if it is not one. Like the judge, it skips characters outside the
/// alphabet, as RFC 2045 says.
fn base64_length(value: &str) -> Option<usize> {
    let text: Vec<u8> = value.bytes().filter(is_base64).collect();
    let padding = text.iter().rev().take_while(|b| **b == b'=').count();
    let digits = text.get(..text.len().checked_sub(padding)?)?;
    // The bits that the padding leaves over must be zero.
    let last_fits = match (padding, digits.last()) {
        (1, Some(last)) => b"AEIMQUYcgkosw048".contains(last),
        (2, Some(last)) => b"AQgw".contains(last),
        (0, _) => true,
        _ => false,
    };
    let whole = text.len().is_multiple_of(4) && !digits.contains(&b'=');
    (last_fits && whole).then(|| (digits.len().saturating_mul(3)) / 4)
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
