//! Judges one text value against a simple type, describes the type, and finds a value that fits.
//!
//! A value as written comes in; what is wrong with it goes out in words, with the facet that says so and
//! a value to write instead. The suggestion is always checked against the same type before it is made.

use std::cmp::Ordering;

use super::builtin::{self, Builtin, Family};
use super::nearest::nearest;
use super::shape::{Bound, Simple};

/// Longest value that is quoted in words.
const QUOTED: usize = 60;

/// Longest value that patterns are tried on; beyond it the judge's own words must do.
const MATCHED: usize = 16 * 1024;

/// Most values of an enumeration that are listed.
const LISTED: usize = 24;

/// What is wrong with a value, worded to follow the name of its element or attribute.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) words: String,
    /// The facet that refuses it, as it stands in the schema; none where the type itself does.
    pub(super) fragment: Option<String>,
    /// A value that fits.
    pub(super) instead: Option<String>,
}

pub(super) fn check(simple: &Simple, written: &str) -> Option<Wrong> {
    let value = simple.space.normalize(written);
    let (words, fragment) = fault(simple, &value)?;
    Some(Wrong { words, fragment, instead: suggestion(simple, &value) })
}

/// The first rule that the value breaks, and the facet that holds it.
fn fault(simple: &Simple, value: &str) -> Option<(String, Option<String>)> {
    if !simple.base.spells(value) {
        let words = if value.is_empty() {
            join(&["is empty, ", kind(simple.base), " is needed"])
        } else {
            join(&[&quoted(value), " is not ", article(simple.base), kind(simple.base)])
        };
        return Some((words, None));
    }
    if !simple.values.is_empty() && !simple.values.iter().any(|v| simple.base.same(&v.value, value)) {
        let shown = if value.is_empty() { "is empty, not".to_owned() } else { quoted(value) + " is not" };
        let near = nearest(value, simple.values.iter().map(|v| v.value.as_str()));
        let fragment =
            simple.values.iter().find(|v| Some(v.value.as_str()) == near).or(simple.values.first());
        let words = join(&[&shown, " one of ", &listed(simple)]);
        return Some((words, fragment.map(|v| v.fragment.clone())));
    }
    bounds_fault(simple, value)
        .or_else(|| limits_fault(simple.base, value))
        .or_else(|| length_fault(simple, value))
        .or_else(|| digits_fault(simple, value))
        .or_else(|| pattern_fault(simple, value))
}

fn bounds_fault(simple: &Simple, value: &str) -> Option<(String, Option<String>)> {
    let shown = quoted(value);
    if let Some(least) = &simple.least {
        let order = simple.base.compare(value, &least.value)?;
        if order == Ordering::Less || (order == Ordering::Equal && !least.inclusive) {
            let words = if least.inclusive {
                join(&[&shown, " is less than ", &least.value, ", the smallest allowed"])
            } else {
                join(&[&shown, " is not more than ", &least.value])
            };
            return Some((words, Some(least.fragment.clone())));
        }
    }
    let most = simple.most.as_ref()?;
    let order = simple.base.compare(value, &most.value)?;
    if order == Ordering::Less || (order == Ordering::Equal && most.inclusive) {
        return None;
    }
    let words = if most.inclusive {
        join(&[&shown, " is more than ", &most.value, ", the largest allowed"])
    } else {
        join(&[&shown, " is not less than ", &most.value])
    };
    Some((words, Some(most.fragment.clone())))
}

fn limits_fault(base: Builtin, value: &str) -> Option<(String, Option<String>)> {
    let (least, most) = base.limits();
    let beyond =
        |limit: Option<&'static str>, order| limit.filter(|limit| base.compare(value, limit) == Some(order));
    if let Some(least) = beyond(least, Ordering::Less) {
        return Some((join(&[&quoted(value), " is less than ", least, ", the smallest allowed"]), None));
    }
    let most = beyond(most, Ordering::Greater)?;
    Some((join(&[&quoted(value), " is more than ", most, ", the largest allowed"]), None))
}

fn length_fault(simple: &Simple, value: &str) -> Option<(String, Option<String>)> {
    let length = simple.base.length(value);
    let has = || {
        if length == 0 { "is empty".to_owned() } else { join(&["has ", &counted(simple, length)]) }
    };
    if let Some(exact) = simple.length.as_ref().filter(|exact| exact.value != length) {
        let words = join(&[&has(), ", exactly ", &exact.value.to_string(), are_or_is(exact.value), "needed"]);
        return Some((words, Some(exact.fragment.clone())));
    }
    if let Some(least) = simple.min_length.as_ref().filter(|least| length < least.value) {
        let needed = counted(simple, least.value);
        let words = join(&[&has(), ", at least ", &needed, are_or_is(least.value), "needed"]);
        return Some((words, Some(least.fragment.clone())));
    }
    let most = simple.max_length.as_ref().filter(|most| length > most.value)?;
    let words = join(&[&has(), ", at most ", &most.value.to_string(), are_or_is(most.value), "allowed"]);
    Some((words, Some(most.fragment.clone())))
}

fn digits_fault(simple: &Simple, value: &str) -> Option<(String, Option<String>)> {
    let (all, behind) = builtin::digit_counts(value);
    let worded = |count: usize, which: &str, limit: usize| {
        let (count, limit) = (count.to_string(), limit.to_string());
        join(&[&quoted(value), " has ", &count, which, ", at most ", &limit, " allowed"])
    };
    if let Some(most) = simple.total_digits.as_ref().filter(|most| all > most.value) {
        return Some((worded(all, " digits", most.value), Some(most.fragment.clone())));
    }
    let most = simple.fraction_digits.as_ref().filter(|most| behind > most.value)?;
    Some((worded(behind, " digits behind the point", most.value), Some(most.fragment.clone())))
}

fn pattern_fault(simple: &Simple, value: &str) -> Option<(String, Option<String>)> {
    if value.len() > MATCHED {
        return None;
    }
    let missed = simple.patterns.iter().find(|step| !step.iter().any(|p| p.value.matches(value)))?;
    let first = missed.first()?;
    let sources: Vec<&str> = missed.iter().map(|p| p.value.source.as_str()).collect();
    let shown = if value.is_empty() { "an empty value".to_owned() } else { quoted(value) };
    let words = join(&[&shown, " does not match the pattern ", &sources.join(" or ")]);
    Some((words, Some(first.fragment.clone())))
}

/// A value to write instead: as near to what was meant as can be told, and always one that fits.
fn suggestion(simple: &Simple, value: &str) -> Option<String> {
    let mut tries = Vec::new();
    if !value.is_empty() {
        tries.extend(nearest(value, simple.values.iter().map(|v| v.value.as_str())).map(str::to_owned));
        tries.extend(respelt(simple.base, value));
    }
    if let Some(most) = simple.length.as_ref().or(simple.max_length.as_ref()) {
        tries.push(value.chars().take(most.value).collect());
    }
    let inclusive = |bound: &Option<Bound>| bound.as_ref().filter(|b| b.inclusive).map(|b| b.value.clone());
    let above = |bound: &Option<Bound>| {
        bound.as_ref().is_some_and(|b| simple.base.compare(value, &b.value) == Some(Ordering::Greater))
    };
    if above(&simple.most) {
        tries.extend(inclusive(&simple.most));
    }
    let fits = |text: &String| fault(simple, &simple.space.normalize(text)).is_none();
    tries.into_iter().find(fits).or_else(|| sample(simple))
}

/// What people and models write for a value of another spelling.
fn respelt(base: Builtin, value: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    match base.family() {
        Family::Truth => match lower.as_str() {
            "true" | "yes" | "on" | "y" => Some("true".to_owned()),
            "false" | "no" | "off" | "n" => Some("false".to_owned()),
            _ => None,
        },
        Family::Whole => {
            let digits: String = value.chars().filter(|c| !matches!(c, ',' | '_' | ' ' | '\'')).collect();
            let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
            let exact = fraction.chars().all(|c| c == '0');
            exact.then(|| whole.trim_start_matches('+').to_owned())
        }
        Family::Decimal | Family::Floating => Some(value.replace([',', '_', ' '], "")),
        Family::Moment => match base {
            Builtin::Date => value.get(..10).map(str::to_owned),
            Builtin::DateTime => Some(value.replacen(' ', "T", 1)),
            _ => Some([value, ":00"].concat()),
        },
        _ => Some(lower.replace(' ', "-")),
    }
}

/// Some value that fits: the first of an enumeration, the shortest of a pattern, else a plain one.
pub(super) fn sample(simple: &Simple) -> Option<String> {
    let least = simple.length.as_ref().or(simple.min_length.as_ref()).map_or(0, |l| l.value);
    let mut tries: Vec<String> = simple.values.iter().map(|v| v.value.clone()).collect();
    for step in simple.patterns.iter().rev() {
        tries.extend(step.iter().filter_map(|p| p.value.sample(least.max(1)).or_else(|| p.value.sample(0))));
    }
    let plain = match simple.base {
        Builtin::Boolean => &["true"] as &[&str],
        Builtin::Date => &["2026-01-31"],
        Builtin::DateTime => &["2026-01-31T12:00:00Z"],
        Builtin::Time => &["12:00:00"],
        Builtin::Duration => &["PT30S"],
        Builtin::Base64 => &["dGV4dA==", "AAAA"],
        Builtin::Hex => &["00"],
        Builtin::Language => &["en"],
        Builtin::AnyUri => &["https://example.org/"],
        _ if matches!(simple.base.family(), Family::Whole | Family::Decimal | Family::Floating) => {
            &["1", "0", "-1", "0.5"]
        }
        _ => &["text"],
    };
    tries.extend(plain.iter().map(|p| (*p).to_owned()));
    tries.extend(simple.least.iter().chain(&simple.most).map(|bound| bound.value.clone()));
    tries.extend(beside(&simple.least, 1.0).into_iter().chain(beside(&simple.most, -1.0)));
    if simple.base.family() == Family::Text && least <= MATCHED {
        let most = simple.max_length.as_ref().map_or(usize::MAX, |most| most.value);
        tries.push("text".chars().cycle().take(least.max(4).min(most)).collect());
    }
    if simple.base == Builtin::Hex && least <= MATCHED {
        tries.push("00".repeat(least));
    }
    tries.into_iter().find(|text| fault(simple, &simple.space.normalize(text)).is_none())
}

/// A number next to an exclusive bound.
fn beside(bound: &Option<Bound>, step: f64) -> Option<String> {
    let value: f64 = bound.as_ref().filter(|b| !b.inclusive)?.value.parse().ok()?;
    Some((value + step).to_string())
}

/// The type in words: `whole number, 1 to 100`.
pub(super) fn describe(simple: &Simple) -> String {
    if !simple.values.is_empty() {
        return join(&["one of ", &listed(simple)]);
    }
    let mut words = vec![kind(simple.base).to_owned()];
    words.extend(range_words(simple));
    words.extend(length_words(simple));
    if let Some(most) = &simple.total_digits {
        words.push(join(&["at most ", &most.value.to_string(), " digits"]));
    }
    if let Some(most) = &simple.fraction_digits {
        words.push(join(&["at most ", &most.value.to_string(), " digits behind the point"]));
    }
    for step in &simple.patterns {
        let sources: Vec<&str> = step.iter().map(|p| p.value.source.as_str()).collect();
        words.push(join(&["matching ", &sources.join(" or ")]));
    }
    words.join(", ")
}

fn range_words(simple: &Simple) -> Option<String> {
    // The limits of the 64-bit types say nothing that a reader would act on.
    let small = !matches!(simple.base, Builtin::Long | Builtin::UnsignedLong);
    let (low, high) = simple.base.limits();
    let limit = |value: Option<&str>| {
        value.map(|value| Bound { value: value.to_owned(), inclusive: true, fragment: String::new() })
    };
    let least = simple.least.clone().or_else(|| limit(low.filter(|low| small || *low == "0")));
    let most = simple.most.clone().or_else(|| limit(high.filter(|_| small)));
    let side = |bound: &Bound, inclusive: &str, exclusive: &str| {
        join(&[if bound.inclusive { inclusive } else { exclusive }, &bound.value])
    };
    match (least, most) {
        (Some(least), Some(most)) if least.inclusive && most.inclusive => {
            Some(join(&[&least.value, " to ", &most.value]))
        }
        (Some(least), Some(most)) => {
            let (low, high) =
                (side(&least, "at least ", "more than "), side(&most, "at most ", "less than "));
            Some(join(&[&low, " and ", &high]))
        }
        (Some(least), None) => Some(side(&least, "at least ", "more than ")),
        (None, Some(most)) => Some(side(&most, "at most ", "less than ")),
        (None, None) => None,
    }
}

fn length_words(simple: &Simple) -> Option<String> {
    let count = |n: usize| counted(simple, n);
    match (&simple.length, &simple.min_length, &simple.max_length) {
        (Some(exact), ..) => Some(join(&["exactly ", &count(exact.value)])),
        (None, Some(least), Some(most)) => {
            Some(join(&[&least.value.to_string(), " to ", &count(most.value)]))
        }
        (None, Some(least), None) => Some(join(&["at least ", &count(least.value)])),
        (None, None, Some(most)) => Some(join(&["at most ", &count(most.value)])),
        (None, None, None) => None,
    }
}

fn counted(simple: &Simple, count: usize) -> String {
    let unit = if simple.base.family() == Family::Bytes { " byte" } else { " character" };
    join(&[&count.to_string(), unit, if count == 1 { "" } else { "s" }])
}

fn are_or_is(count: usize) -> &'static str {
    if count == 1 { " is " } else { " are " }
}

fn listed(simple: &Simple) -> String {
    let mut values: Vec<&str> = simple.values.iter().take(LISTED).map(|v| v.value.as_str()).collect();
    let more = simple.values.len().saturating_sub(LISTED);
    let tail = join(&["and ", &more.to_string(), " more"]);
    if more > 0 {
        values.push(&tail);
    }
    values.join(", ")
}

/// A value as it is named in words: whole where it is short.
pub(super) fn quoted(value: &str) -> String {
    let mut shown: String = value.chars().take(QUOTED).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

fn article(base: Builtin) -> &'static str {
    match base.family() {
        Family::Truth | Family::Bytes => "",
        _ => "a ",
    }
}

fn kind(base: Builtin) -> &'static str {
    match base {
        Builtin::String | Builtin::NormalizedString | Builtin::Token => "text",
        Builtin::NmToken => "word of letters, digits and . - _ :",
        Builtin::Name | Builtin::NcName => "name that starts with a letter, without blanks",
        Builtin::Language => "language tag, as en",
        Builtin::AnyUri => "URI",
        Builtin::Boolean => "true or false",
        Builtin::Decimal | Builtin::Double | Builtin::Float => "number",
        Builtin::Date => "date, as 2026-01-31",
        Builtin::DateTime => "date and time, as 2026-01-31T12:00:00Z",
        Builtin::Time => "time, as 12:00:00",
        Builtin::Duration => "duration, as PT30S",
        Builtin::Base64 => "base64 text",
        Builtin::Hex => "hexadecimal text, two digits per byte",
        _ => "whole number",
    }
}

fn join(parts: &[&str]) -> String {
    parts.concat()
}
