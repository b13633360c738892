//! Judges one text value against a simple type.
//!
//! A value comes in. The error goes out in words, with the facet that causes it. `describe` words what a type allows;
//! `check_value` adds a value to write instead.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::judge::builtin::{self, Builtin, TypeFamily};
use crate::limits;
use crate::nearest::find_nearest;
use crate::shape::{SimpleType, SimpleVariety};

use crate::explain::describe::{
    TRUE_OR_FALSE, choose_article, describe_simple, join_parts, list_values, name_kind, quote_value,
    spell_count,
};

/// An error in a value, worded to follow the name of its element or attribute.
#[derive(Debug)]
pub(crate) struct WrongValue {
    pub(crate) words: String,
    /// The facet that refuses it, as in the schema; none if the type itself refuses it.
    pub(crate) fragment: Option<String>,
    /// A value that fits.
    pub(crate) instead: Option<String>,
}

/// The words of a broken rule, and its facet.
type ValueFault = (String, Option<String>);

/// Whether a normalized value breaks no rule.
pub(crate) fn is_admitted(simple: &SimpleType, value: &str) -> bool {
    // Without the words: a list asks this for every item, and finding the nearest of many values is
    // expensive.
    match &simple.variety {
        SimpleVariety::Atomic(base) => {
            base.can_spell(value) && is_among(simple, value) && limits_fault(simple, *base, value).is_none()
        }
        SimpleVariety::List(item) => {
            split_items(value).all(|one| is_admitted(item, one)) && of_list(simple, value).is_none()
        }
        SimpleVariety::Union(members) => {
            find_reader(members, value).is_some_and(|read| of_union(simple, &read).is_none())
        }
    }
}

/// The items of a list whose white space is normalized.
pub(crate) fn split_items(value: &str) -> impl Iterator<Item = &str> {
    value.split(' ').filter(|item| !item.is_empty())
}

/// The member of a union that reads a value, and the value as that member normalizes it.
pub(crate) fn find_reader<'m>(
    members: &'m [Arc<SimpleType>],
    value: &str,
) -> Option<(&'m SimpleType, String)> {
    members.iter().find_map(|member| {
        let value = member.space.normalize_value(value);
        is_admitted(member, &value).then_some((member.as_ref(), value))
    })
}

/// A value that is correct except for the blanks around it. Inside lists and unions the judge strips
/// them.
pub(super) fn blanks_fault(simple: &SimpleType, written: &str, value: String) -> Option<WrongValue> {
    let SimpleVariety::Atomic(base) = simple.variety else { return None };
    let (before, behind) = base.refuses_blanks(&value);
    let blanks = (before && !written.starts_with(value.get(..1)?))
        || (behind && !written.ends_with(value.chars().next_back()?));
    let met = simple.patterns.is_empty() && simple.values.is_empty();
    (blanks && met).then(|| {
        let words = join_parts(&[&quote_value(&value), " has blanks around it, write it without"]);
        WrongValue { words, fragment: None, instead: Some(value) }
    })
}

/// The first broken rule, and its facet.
pub(super) fn find_fault(simple: &SimpleType, value: &str) -> Option<ValueFault> {
    match &simple.variety {
        SimpleVariety::Atomic(base) => atomic_fault(simple, *base, value),
        SimpleVariety::List(item) => list_fault(simple, item, value),
        SimpleVariety::Union(members) => match find_reader(members, value) {
            Some(read) => of_union(simple, &read),
            None => Some(union_fault(simple, members, value)),
        },
    }
}

fn atomic_fault(simple: &SimpleType, base: Builtin, value: &str) -> Option<ValueFault> {
    if !base.can_spell(value) {
        let words = if value.is_empty() {
            join_parts(&["is empty, ", choose_article(base), name_kind(base), " is needed"])
        } else {
            join_parts(&[&quote_value(value), " is not ", choose_article(base), name_kind(base)])
        };
        return Some((words, None));
    }
    values_fault(simple, value).or_else(|| limits_fault(simple, base, value))
}

/// All rules except spelling and enumeration.
fn limits_fault(simple: &SimpleType, base: Builtin, value: &str) -> Option<ValueFault> {
    bounds_fault(simple, base, value)
        .or_else(|| range_fault(base, value))
        .or_else(|| length_fault(simple, base.measure_length(value)))
        .or_else(|| digits_fault(simple, base, value))
        .or_else(|| pattern_fault(simple, value))
}

/// The first wrong item, otherwise the error of the list itself.
fn list_fault(simple: &SimpleType, item: &SimpleType, value: &str) -> Option<ValueFault> {
    let wrong = split_items(value).enumerate().find(|(_, one)| !is_admitted(item, one));
    let Some((at, one)) = wrong else { return of_list(simple, value) };
    let (words, fragment) = find_fault(item, one)?;
    Some((join_parts(&["item ", &at.saturating_add(1).to_string(), ": ", &words]), fragment))
}

/// The error of a list whose items are all right.
fn of_list(simple: &SimpleType, value: &str) -> Option<ValueFault> {
    values_fault(simple, value)
        .or_else(|| length_fault(simple, split_items(value).count()))
        .or_else(|| pattern_fault(simple, value))
}

/// The error of a union for a value that one of its members reads.
fn of_union(simple: &SimpleType, (member, value): &(&SimpleType, String)) -> Option<ValueFault> {
    let single = if simple.values.is_empty() { None } else { list_atoms(member, value) };
    if single
        .is_some_and(|single| !simple.values.iter().any(|known| is_read_as(simple, &known.value, &single)))
    {
        return Some(report_unlisted(simple, value));
    }
    pattern_fault(simple, value)
}

/// No member reads the value: the message of one member if only one is close, otherwise a message for
/// all.
fn union_fault(simple: &SimpleType, members: &[Arc<SimpleType>], value: &str) -> ValueFault {
    let shown = if value.trim().is_empty() { "an empty value".to_owned() } else { quote_value(value.trim()) };
    let mut spelt = members.iter().filter(|member| is_spelt(member, value));
    if let (Some(meant), None) = (spelt.next(), spelt.next())
        && let Some((words, fragment)) = find_fault(meant, &meant.space.normalize_value(value))
    {
        return (words, fragment);
    }
    (join_parts(&[&shown, " does not match what is allowed: ", &describe_simple(simple)]), None)
}

/// Whether a value has the form of this type; a number that is too large still has it.
fn is_spelt(simple: &SimpleType, value: &str) -> bool {
    match &simple.variety {
        // Any text has the form of text, so that says nothing about the intent.
        SimpleVariety::Atomic(base) => {
            base.family() != TypeFamily::Text && base.can_spell(&simple.space.normalize_value(value))
        }
        SimpleVariety::List(item) => {
            split_items(&simple.space.normalize_value(value)).all(|one| is_spelt(item, one))
        }
        SimpleVariety::Union(_) => false,
    }
}

/// Whether a value is in the enumeration, if there is one.
fn is_among(simple: &SimpleType, value: &str) -> bool {
    if simple.values.is_empty() || matches!(simple.variety, SimpleVariety::Atomic(_)) {
        return simple.values.is_empty()
            || simple.values.iter().any(|known| is_same(simple, &known.value, value));
    }
    let single = list_atoms(simple, value);
    single.is_some_and(|single| simple.values.iter().any(|known| is_read_as(simple, &known.value, &single)))
}

/// Whether two values that the type admits are the same value.
pub(crate) fn is_same(simple: &SimpleType, left: &str, right: &str) -> bool {
    match &simple.variety {
        SimpleVariety::Atomic(base) => base.is_same(left, right),
        SimpleVariety::List(_) | SimpleVariety::Union(_) => {
            list_atoms(simple, left).is_some_and(|left| is_read_as(simple, right, &left))
        }
    }
}

/// Whether a value has these single values: item by item, and only items of one kind can be the same. As in libxml2, a
/// list of one item is the same as the item alone.
fn is_read_as(simple: &SimpleType, value: &str, single: &[(Builtin, String)]) -> bool {
    list_atoms(simple, value).is_some_and(|read| {
        let mut pairs = read.iter().zip(single);
        read.len() == single.len()
            && pairs.all(|((a, left), (b, right))| is_kin(*a, *b) && a.is_same(left, right))
    })
}

/// Whether values of two types are compared. Others are never the same, as in libxml2.
fn is_kin(one: Builtin, other: Builtin) -> bool {
    let is_number = |base: Builtin| matches!(base.family(), TypeFamily::Whole | TypeFamily::Decimal);
    match one {
        Builtin::AnyUri | Builtin::Base64 | Builtin::Hex | Builtin::Float | Builtin::Double => one == other,
        _ if other == Builtin::AnyUri => false,
        _ => one.family() == other.family() || (is_number(one) && is_number(other)),
    }
}

/// The single values of a value, each with the built-in type that it was read as.
fn list_atoms(simple: &SimpleType, value: &str) -> Option<Vec<(Builtin, String)>> {
    match &simple.variety {
        SimpleVariety::Atomic(base) => Some(vec![(*base, value.to_owned())]),
        SimpleVariety::List(item) => {
            let each = split_items(value).map(|one| list_atoms(item, one)).collect::<Option<Vec<_>>>()?;
            Some(each.concat())
        }
        SimpleVariety::Union(members) => {
            find_reader(members, value).and_then(|(member, value)| list_atoms(member, &value))
        }
    }
}

fn values_fault(simple: &SimpleType, value: &str) -> Option<ValueFault> {
    (!is_among(simple, value)).then(|| report_unlisted(simple, value))
}

fn report_unlisted(simple: &SimpleType, value: &str) -> ValueFault {
    let near = find_nearest(value, simple.values.iter().map(|v| v.value.as_str()));
    let fragment = simple.values.iter().find(|v| Some(v.value.as_str()) == near).or(simple.values.first());
    let words = if value.is_empty() {
        join_parts(&["is empty, one of ", &list_values(simple), " is needed"])
    } else {
        join_parts(&[&quote_value(value), " is not one of ", &list_values(simple)])
    };
    (words, fragment.map(|v| v.fragment.clone()))
}

fn bounds_fault(simple: &SimpleType, base: Builtin, value: &str) -> Option<ValueFault> {
    let shown = quote_value(value);
    let (below, above, smallest, largest) = if base.family() == TypeFamily::Moment {
        (" is before ", " after ", ", the earliest allowed", ", the latest allowed")
    } else {
        (" is less than ", " more than ", ", the smallest allowed", ", the largest allowed")
    };
    if let Some(least) = &simple.least {
        let order = base.compare_values(value, &least.value)?;
        if order == Ordering::Less || (order == Ordering::Equal && !least.inclusive) {
            let words = if least.inclusive {
                join_parts(&[&shown, below, &least.value, smallest])
            } else {
                join_parts(&[&shown, " is not", above, &least.value])
            };
            return Some((words, Some(least.fragment.clone())));
        }
    }
    let most = simple.most.as_ref()?;
    let order = base.compare_values(value, &most.value)?;
    if order == Ordering::Less || (order == Ordering::Equal && most.inclusive) {
        return None;
    }
    let words = if most.inclusive {
        join_parts(&[&shown, " is", above, &most.value, largest])
    } else {
        join_parts(&[&shown, " is not", below.trim_start_matches(" is"), &most.value])
    };
    Some((words, Some(most.fragment.clone())))
}

/// The range of a built-in type itself.
fn range_fault(base: Builtin, value: &str) -> Option<ValueFault> {
    let (least, most) = base.limits();
    let beyond = |limit: Option<&'static str>, order| {
        limit.filter(|limit| base.compare_values(value, limit) == Some(order))
    };
    if let Some(least) = beyond(least, Ordering::Less) {
        return Some((
            join_parts(&[&quote_value(value), " is less than ", least, ", the smallest allowed"]),
            None,
        ));
    }
    let most = beyond(most, Ordering::Greater)?;
    Some((join_parts(&[&quote_value(value), " is more than ", most, ", the largest allowed"]), None))
}

fn length_fault(simple: &SimpleType, length: usize) -> Option<ValueFault> {
    let has = || {
        if length == 0 { "is empty".to_owned() } else { join_parts(&["has ", &spell_count(simple, length)]) }
    };
    if let Some(exact) = simple.length.as_ref().filter(|exact| exact.value != length) {
        let words =
            join_parts(&[&has(), ", exactly ", &exact.value.to_string(), are_or_is(exact.value), "needed"]);
        return Some((words, Some(exact.fragment.clone())));
    }
    if let Some(least) = simple.min_length.as_ref().filter(|least| length < least.value) {
        let needed = spell_count(simple, least.value);
        let words = join_parts(&[&has(), ", at least ", &needed, are_or_is(least.value), "needed"]);
        return Some((words, Some(least.fragment.clone())));
    }
    let most = simple.max_length.as_ref().filter(|most| length > most.value)?;
    let words =
        join_parts(&[&has(), ", at most ", &most.value.to_string(), are_or_is(most.value), "allowed"]);
    Some((words, Some(most.fragment.clone())))
}

fn digits_fault(simple: &SimpleType, base: Builtin, value: &str) -> Option<ValueFault> {
    let read = builtin::counted_digits(value);
    let number = matches!(base.family(), TypeFamily::Whole | TypeFamily::Decimal);
    if number && read > limits::DIGITS {
        let (read, most) = (read.to_string(), limits::DIGITS.to_string());
        return Some((
            join_parts(&[&quote_value(value), " has ", &read, " digits, at most ", &most, " are read"]),
            None,
        ));
    }
    let (all, behind) = builtin::digit_counts(value);
    let worded = |count: usize, which: &str, limit: usize| {
        let (count, limit) = (count.to_string(), limit.to_string());
        join_parts(&[&quote_value(value), " has ", &count, which, ", at most ", &limit, " allowed"])
    };
    if let Some(most) = simple.total_digits.as_ref().filter(|most| all > most.value) {
        return Some((worded(all, " digits", most.value), Some(most.fragment.clone())));
    }
    let most = simple.fraction_digits.as_ref().filter(|most| behind > most.value)?;
    Some((worded(behind, " digits after the point", most.value), Some(most.fragment.clone())))
}

fn pattern_fault(simple: &SimpleType, value: &str) -> Option<ValueFault> {
    if value.len() > limits::MATCHED_BYTES {
        return None;
    }
    let missed = simple.patterns.iter().find(|step| !step.iter().any(|p| p.value.is_match(value)))?;
    let first = missed.first()?;
    let sources: Vec<&str> = missed.iter().map(|p| p.value.source.as_str()).collect();
    let shown = if value.is_empty() { "an empty value".to_owned() } else { quote_value(value) };
    let words = match sources.as_slice() {
        [".*"] => join_parts(&[&shown, " has a line break, and none is allowed"]),
        ["\\S*"] => join_parts(&[&shown, " has white space, and none is allowed"]),
        [TRUE_OR_FALSE] => join_parts(&[&shown, " is not true or false"]),
        _ => join_parts(&[&shown, " does not match the pattern ", &sources.join(" or ")]),
    };
    Some((words, Some(first.fragment.clone())))
}

fn are_or_is(count: usize) -> &'static str {
    if count == 1 { " is " } else { " are " }
}
