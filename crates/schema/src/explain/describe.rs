//! Describes what a simple type allows, and its kind.
//!
//! A type comes in, words go out: `whole number, 1 to 100`. It looks at a value only to shorten it.

use std::sync::Arc;

use crate::judge::builtin::{Builtin, TypeFamily};
use crate::limits;
use crate::shape::{SimpleType, SimpleVariety, ValueBound};

/// The type in words: `whole number, 1 to 100`.
pub(crate) fn describe_simple(simple: &SimpleType) -> String {
    if !simple.values.is_empty() {
        return join_parts(&["one of ", &list_values(simple)]);
    }
    let mut words = match &simple.variety {
        SimpleVariety::Atomic(base) => vec![name_kind(*base).to_owned()],
        // The number of items comes first: after the item's own words it would seem to belong to them.
        SimpleVariety::List(item) => {
            let count = length_words(simple).unwrap_or_else(|| "items".to_owned());
            vec![join_parts(&[&count, " parted by blanks, each: ", &bracket_range(item)])]
        }
        SimpleVariety::Union(members) => vec![union_words(members)],
    };
    if let SimpleVariety::Atomic(base) = simple.variety {
        words.extend(range_words(simple, base));
        words.extend(length_words(simple));
    }
    if let Some(most) = &simple.total_digits {
        words.push(join_parts(&["at most ", &most.value.to_string(), " digits"]));
    }
    if let Some(most) = &simple.fraction_digits {
        words.push(join_parts(&["at most ", &most.value.to_string(), " digits after the point"]));
    }
    for step in &simple.patterns {
        let sources: Vec<&str> = step.iter().map(|p| p.value.source.as_str()).collect();
        match sources.as_slice() {
            [source] if explain_pattern(source).is_some() => {
                words.extend(explain_pattern(source).map(|plain| plain.to_owned()))
            }
            // The description of `xs:boolean` does not mention its other spellings anyway.
            [TRUE_OR_FALSE] if matches!(simple.variety, SimpleVariety::Atomic(Builtin::Boolean)) => {}
            _ => words.push(join_parts(&["matching ", &sources.join(" or ")])),
        }
    }
    words.join(", ")
}

/// The pattern that excludes the digits from a truth value.
pub(crate) const TRUE_OR_FALSE: &str = "true|false";

/// The words for a pattern of text that has more than white space.
pub(crate) const NOT_BLANK: &str = "not blank";

/// Plain words for a pattern, if there are some.
pub(crate) fn explain_pattern(source: &str) -> Option<&'static str> {
    match source {
        ".*" => Some("on one line"),
        "\\S*" => Some("without white space"),
        "\\s*\\S[\\s\\S]*" | "\\s*\\S(\\s|\\S)*" | "[\\s\\S]*\\S\\s*" => Some(NOT_BLANK),
        _ => None,
    }
}

/// The members in order; they are tried in this order.
fn union_words(members: &[Arc<SimpleType>]) -> String {
    let mut words: Vec<String> =
        members.iter().take(limits::LISTED_NAMES).map(|member| bracket_range(member)).collect();
    if members.len() > limits::LISTED_NAMES {
        words.push("more".to_owned());
    }
    words.join(" or ")
}

/// In brackets if it would otherwise run into its neighbours.
fn bracket_range(simple: &SimpleType) -> String {
    let words = describe_simple(simple);
    if [", ", ": "].iter().any(|part| words.contains(part)) { join_parts(&["[", &words, "]"]) } else { words }
}

pub(crate) fn range_words(simple: &SimpleType, base: Builtin) -> Option<String> {
    // A reader cannot act on the limits of the 64-bit types.
    let small = !matches!(base, Builtin::Long | Builtin::UnsignedLong);
    let (low, high) = base.limits();
    let limit = |value: Option<&str>| {
        value.map(|value| ValueBound { value: value.to_owned(), inclusive: true, fragment: String::new() })
    };
    // Nor on those of JSON.
    let said = |bound: &Option<ValueBound>| bound.clone().filter(|bound| !is_edge(base, bound));
    let least = said(&simple.least).or_else(|| limit(low.filter(|low| small || *low == "0")));
    let most = said(&simple.most).or_else(|| limit(high.filter(|_| small)));
    let side = |bound: &ValueBound, inclusive: &str, exclusive: &str| {
        join_parts(&[if bound.inclusive { inclusive } else { exclusive }, &bound.value])
    };
    match (least, most) {
        (Some(least), Some(most)) if least.inclusive && most.inclusive => {
            Some(join_parts(&[&least.value, " to ", &most.value]))
        }
        (Some(least), Some(most)) => {
            let (low, high) =
                (side(&least, "at least ", "more than "), side(&most, "at most ", "less than "));
            Some(join_parts(&[&low, " and ", &high]))
        }
        (Some(least), None) => Some(side(&least, "at least ", "more than ")),
        (None, Some(most)) => Some(side(&most, "at most ", "less than ")),
        (None, None) => None,
    }
}

/// Whether a bound only says that a JSON reader can hold the number: the largest double, or the largest whole number
/// that a double holds exactly.
pub(crate) fn is_edge(base: Builtin, bound: &ValueBound) -> bool {
    let value = bound.value.trim_start_matches('-');
    bound.inclusive
        && match base {
            Builtin::Double => value.parse() == Ok(f64::MAX),
            Builtin::Long => value == "9007199254740991",
            _ => false,
        }
}

pub(crate) fn length_words(simple: &SimpleType) -> Option<String> {
    let count = |n: usize| spell_count(simple, n);
    match (&simple.length, &simple.min_length, &simple.max_length) {
        (Some(exact), ..) => Some(join_parts(&["exactly ", &count(exact.value)])),
        (None, Some(least), Some(most)) if least.value == most.value => {
            Some(join_parts(&["exactly ", &count(most.value)]))
        }
        (None, Some(least), Some(most)) => {
            Some(join_parts(&[&least.value.to_string(), " to ", &count(most.value)]))
        }
        (None, Some(least), None) => Some(join_parts(&["at least ", &count(least.value)])),
        (None, None, Some(most)) => Some(join_parts(&["at most ", &count(most.value)])),
        (None, None, None) => None,
    }
}

pub(crate) fn spell_count(simple: &SimpleType, count: usize) -> String {
    let unit = match &simple.variety {
        SimpleVariety::Atomic(base) if base.family() == TypeFamily::Bytes => " byte",
        SimpleVariety::Atomic(_) => " character",
        SimpleVariety::List(_) | SimpleVariety::Union(_) => " item",
    };
    join_parts(&[&count.to_string(), unit, if count == 1 { "" } else { "s" }])
}

pub(crate) fn list_values(simple: &SimpleType) -> String {
    let mut values: Vec<&str> =
        simple.values.iter().take(limits::LISTED_VALUES).map(|v| v.value.as_str()).collect();
    let more = simple.values.len().saturating_sub(limits::LISTED_VALUES);
    let tail = join_parts(&["and ", &more.to_string(), " more"]);
    if more > 0 {
        values.push(&tail);
    }
    values.join(", ")
}

/// A value for use in words: whole if it is short.
pub(crate) fn quote_value(value: &str) -> String {
    let mut shown: String = value.chars().take(limits::QUOTED_VALUE).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

pub(crate) fn choose_article(base: Builtin) -> &'static str {
    match base.family() {
        TypeFamily::Truth | TypeFamily::Bytes => "",
        _ if name_kind(base) == "text" => "",
        _ => "a ",
    }
}

pub(crate) fn name_kind(base: Builtin) -> &'static str {
    match base {
        Builtin::String | Builtin::NormalizedString | Builtin::Token => "text",
        Builtin::NmToken => "word of letters, digits and . - _ :",
        Builtin::Name | Builtin::NcName => "name that starts with a letter, without blanks",
        Builtin::Language => "language tag such as en",
        Builtin::AnyUri => "URI",
        Builtin::Boolean => "true or false",
        Builtin::Decimal | Builtin::Double | Builtin::Float => "number",
        Builtin::Date => "date such as 2026-01-31",
        Builtin::DateTime => "date and time such as 2026-01-31T12:00:00Z",
        Builtin::Time => "time such as 12:00:00",
        Builtin::Duration => "duration such as PT30S",
        Builtin::Base64 => "base64 text",
        Builtin::Hex => "hexadecimal text, two digits per byte",
        _ => "whole number",
    }
}

/// The parts as one text.
pub(crate) fn join_parts(parts: &[&str]) -> String {
    parts.concat()
}
