//! Finds a value that fits a simple type: close to a given value if possible, otherwise any.
//!
//! A type comes in, with or without a value that it refuses. A value that the type admits goes out, or
//! nothing. Every found value is checked against the type first.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::judge::builtin::{Builtin, TypeFamily};
use crate::judge::value::{is_admitted, split_items};
use crate::limits;
use crate::nearest::find_nearest;
use crate::shape::{SimpleType, SimpleVariety, ValueBound};

/// A value to write instead: as close as possible to the intended value, and always one that fits. A word of an
/// enumeration is suggested only if it is near: any other would be a guess.
pub(crate) fn suggest_value(simple: &SimpleType, value: &str) -> Option<String> {
    let mut tries = Vec::new();
    if !value.is_empty() {
        let words = || simple.values.iter().map(|v| v.value.as_str());
        tries.extend(
            find_nearest(value, words()).or_else(|| find_prefixed(value, words())).map(str::to_owned),
        );
    }
    match &simple.variety {
        SimpleVariety::Atomic(base) => tries.extend(of_atomic(simple, *base, value)),
        SimpleVariety::List(item) => tries.extend(of_list(simple, item, value)),
        SimpleVariety::Union(members) => tries.extend(of_union(members, value)),
    }
    let near = tries.into_iter().find(|text| can_fit(simple, text));
    near.or_else(|| if is_enumerated(simple) { None } else { find_sample(simple) })
}

/// Whether only listed words fit.
fn is_enumerated(simple: &SimpleType) -> bool {
    let all_members = || match &simple.variety {
        SimpleVariety::Union(members) => members.iter().all(|member| is_enumerated(member)),
        SimpleVariety::List(item) => is_enumerated(item),
        SimpleVariety::Atomic(_) => false,
    };
    !simple.values.is_empty() || all_members()
}

/// The only word that begins with the value, or that the value begins with.
fn find_prefixed<'w>(value: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let value = value.to_lowercase();
    let is_near = |word: &&str| {
        let word = word.to_lowercase();
        word.starts_with(&value) || (!word.is_empty() && value.starts_with(&word))
    };
    let mut near = words.filter(is_near);
    near.next().filter(|_| near.next().is_none())
}

fn can_fit(simple: &SimpleType, text: &str) -> bool {
    is_admitted(simple, &simple.space.normalize_value(text))
}

/// The same list with its wrong items fixed and its surplus items removed.
fn of_list(simple: &SimpleType, item: &SimpleType, value: &str) -> Option<String> {
    let most =
        simple.length.as_ref().or(simple.max_length.as_ref()).map_or(limits::LISTED_ITEMS, |most| most.value);
    if split_items(value).nth(limits::LISTED_ITEMS).is_some() {
        return None;
    }
    let repaired =
        |one: &str| if is_admitted(item, one) { Some(one.to_owned()) } else { suggest_value(item, one) };
    let repaired: Option<Vec<String>> = split_items(value).take(most).map(repaired).collect();
    repaired.map(|all| all.join(" "))
}

/// The suggestions of the members. A text member accepts nearly anything, so it comes last.
fn of_union(members: &[Arc<SimpleType>], value: &str) -> Vec<String> {
    let is_text = |member: &&Arc<SimpleType>| matches!(&member.variety, SimpleVariety::Atomic(base) if base.family() == TypeFamily::Text && !member.has_facets());
    let (texts, others): (Vec<_>, Vec<_>) = members.iter().partition(is_text);
    let near = |member: &Arc<SimpleType>| {
        let value = member.space.normalize_value(value);
        find_nearest(&value, member.values.iter().map(|v| v.value.as_str())).map(str::to_owned)
    };
    let named = others.iter().filter_map(|member| near(member));
    let made = others.iter().chain(&texts).filter_map(|m| suggest_value(m, &m.space.normalize_value(value)));
    let all: Vec<String> = named.chain(made).collect();
    let nearest = find_nearest(value, all.iter().map(String::as_str)).map(str::to_owned);
    nearest.into_iter().chain(all).collect()
}

fn of_atomic(simple: &SimpleType, base: Builtin, value: &str) -> Vec<String> {
    let mut tries = Vec::new();
    if !value.is_empty() {
        tries.extend(respell_value(base, value));
    }
    if let Some(most) = simple.length.as_ref().or(simple.max_length.as_ref()) {
        tries.push(value.chars().take(most.value).collect());
    }
    let inclusive =
        |bound: &Option<ValueBound>| bound.as_ref().filter(|b| b.inclusive).map(|b| b.value.clone());
    let above = |bound: &Option<ValueBound>| {
        let spelt = base.can_spell(value);
        spelt
            && bound.as_ref().is_some_and(|b| base.compare_values(value, &b.value) == Some(Ordering::Greater))
    };
    if above(&simple.most) {
        tries.extend(inclusive(&simple.most));
    }
    if let (Some(most), Some((whole, fraction))) = (&simple.fraction_digits, value.split_once('.')) {
        let kept: String = fraction.chars().take(most.value).collect();
        tries.push(format!("{whole}.{kept}").trim_end_matches('.').to_owned());
    }
    if let (true, (_, Some(most))) = (base.can_spell(value), base.limits())
        && base.compare_values(value, most) == Some(Ordering::Greater)
    {
        tries.push(most.to_owned());
    }
    tries
}

/// Common spellings by people and models for a value that XSD spells differently.
fn respell_value(base: Builtin, value: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    match base.family() {
        TypeFamily::Truth => match lower.as_str() {
            "true" | "yes" | "on" | "y" => Some("true".to_owned()),
            "false" | "no" | "off" | "n" => Some("false".to_owned()),
            _ => None,
        },
        TypeFamily::Whole => {
            let digits: String = value.chars().filter(|c| !matches!(c, ',' | '_' | ' ' | '\'')).collect();
            let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
            let exact = fraction.chars().all(|c| c == '0');
            exact.then(|| whole.trim_start_matches('+').to_owned())
        }
        TypeFamily::Decimal | TypeFamily::Floating => {
            // A comma before three digits separates thousands; before any other number it is a decimal
            // point.
            let spaceless = value.replace(['_', ' '], "");
            match spaceless.split_once(',') {
                Some((whole, fraction)) if fraction.len() != 3 && !fraction.contains([',', '.']) => {
                    Some(format!("{whole}.{fraction}"))
                }
                _ => Some(spaceless.replace(',', "")),
            }
        }
        TypeFamily::Moment => match base {
            Builtin::Date => value.get(..10).map(str::to_owned),
            Builtin::DateTime => Some(value.replacen(' ', "T", 1)),
            _ => Some(format!("{value}:00")),
        },
        _ => Some(lower.replace(' ', "-")),
    }
}

/// Some fitting value: the first of an enumeration, the shortest of a pattern, otherwise a plain value.
pub(crate) fn find_sample(simple: &SimpleType) -> Option<String> {
    let least = simple.length.as_ref().or(simple.min_length.as_ref()).map_or(0, |l| l.value);
    let mut tries: Vec<String> = simple.values.iter().map(|v| v.value.clone()).collect();
    for step in simple.patterns.iter().rev() {
        tries.extend(
            step.iter().filter_map(|p| p.value.find_sample(least.max(1)).or_else(|| p.value.find_sample(0))),
        );
    }
    match &simple.variety {
        SimpleVariety::Atomic(base) => tries.extend(samples_of(simple, *base)),
        SimpleVariety::List(item) => {
            // One item is a better example than none, even if none is allowed.
            let count = least.max(1).min(simple.max_length.as_ref().map_or(usize::MAX, |most| most.value));
            let one = find_sample(item).filter(|_| count <= limits::LISTED_ITEMS);
            tries.extend(one.map(|one| vec![one; count].join(" ")));
        }
        SimpleVariety::Union(members) => {
            tries.extend(members.iter().filter_map(|member| find_sample(member)))
        }
    }
    tries.into_iter().find(|text| can_fit(simple, text))
}

fn samples_of(simple: &SimpleType, base: Builtin) -> Vec<String> {
    let least = simple.length.as_ref().or(simple.min_length.as_ref()).map_or(0, |l| l.value);
    let mut tries = Vec::new();
    let plain = match base {
        Builtin::Boolean => &["true"] as &[&str],
        Builtin::Date => &["2026-01-31"],
        Builtin::DateTime => &["2026-01-31T12:00:00Z"],
        Builtin::Time => &["12:00:00"],
        Builtin::Duration => &["PT30S"],
        Builtin::Base64 => &["dGV4dA==", "AAAA"],
        Builtin::Hex => &["00"],
        Builtin::Language => &["en"],
        Builtin::AnyUri => &["https://example.org/"],
        _ if matches!(base.family(), TypeFamily::Whole | TypeFamily::Decimal | TypeFamily::Floating) => {
            &["1", "0", "-1", "0.5"]
        }
        _ => &["text"],
    };
    tries.extend(plain.iter().map(|p| (*p).to_owned()));
    tries.extend(simple.least.iter().chain(&simple.most).map(|bound| bound.value.clone()));
    tries.extend(step_beside(&simple.least, 1.0).into_iter().chain(step_beside(&simple.most, -1.0)));
    if base.family() == TypeFamily::Text && least <= limits::MATCHED_BYTES {
        let most = simple.max_length.as_ref().map_or(usize::MAX, |most| most.value);
        tries.push("text".chars().cycle().take(least.max(4).min(most)).collect());
    }
    // Values of the least and the greatest length; if only one length is allowed, both are equal.
    let most = simple.max_length.as_ref().map_or(least, |most| most.value);
    for bytes in [least, least.max(1), most].into_iter().filter(|bytes| *bytes <= limits::MATCHED_BYTES) {
        match base {
            Builtin::Hex => tries.push("00".repeat(bytes)),
            Builtin::Base64 => {
                let rest = ["", "AA==", "AAA="].get(bytes % 3).copied().unwrap_or_default();
                tries.push(format!("{}{rest}", "AAAA".repeat(bytes / 3)));
            }
            _ => {}
        }
    }
    tries
}

/// A number next to an exclusive bound.
fn step_beside(bound: &Option<ValueBound>, step: f64) -> Option<String> {
    let value: f64 = bound.as_ref().filter(|b| !b.inclusive)?.value.parse().ok()?;
    Some((value + step).to_string())
}
