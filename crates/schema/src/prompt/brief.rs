//! The words for a type in prompt text, as short as possible but enough to write a value: `whole number 1 to 100`.
//!
//! A type comes in, words go out. A text is not empty unless the words say so; everything else follows `describe`.

use crate::explain::describe::{self, TRUE_OR_FALSE};
use crate::judge::builtin::{Builtin, TypeFamily};
use crate::judge::check_value;
use crate::limits::{LISTED_NAMES, LISTED_VALUES};
use crate::shape::{SimpleType, SimpleVariety};

pub(crate) fn describe_simple(simple: &SimpleType) -> String {
    if !simple.values.is_empty() {
        return list_values(simple);
    }
    match &simple.variety {
        SimpleVariety::Atomic(base) => describe_atomic(simple, *base),
        SimpleVariety::List(item) => {
            let count = describe::length_words(simple).unwrap_or_else(|| "any number of items".to_owned());
            let whole = describe_patterns(simple, &[]).map(|all| format!(", the whole {all}"));
            format!("{count} parted by blanks, each {}{}", bracket_range(item), whole.unwrap_or_default())
        }
        SimpleVariety::Union(members) => {
            let mut each: Vec<String> =
                members.iter().take(LISTED_NAMES).map(|one| bracket_range(one)).collect();
            if members.len() > LISTED_NAMES {
                each.push("more".to_owned());
            }
            let whole = describe_patterns(simple, &[]).map(|all| format!(", {all}"));
            format!("{}{}", each.join(" or "), whole.unwrap_or_default())
        }
    }
}

/// In brackets if it would otherwise run into its neighbours.
fn bracket_range(simple: &SimpleType) -> String {
    let words = describe_simple(simple);
    if words.contains(", ") || words.contains(" or ") { format!("[{words}]") } else { words }
}

/// The values, in quotes if one would blend into the words around it.
fn list_values(simple: &SimpleType) -> String {
    let values = simple.values.iter().map(|listed| listed.value.as_str());
    let plain = |c: char| c.is_alphanumeric() || "-_.:/+#@%".contains(c);
    let quote = values.clone().any(|value| value.is_empty() || !value.chars().all(plain));
    let shown = |value: &str| if quote { format!("\"{value}\"") } else { value.to_owned() };
    let mut each: Vec<String> = values.take(LISTED_VALUES).map(shown).collect();
    let more = simple.values.len().saturating_sub(LISTED_VALUES);
    if more > 0 {
        each.push(format!("and {more} more"));
    }
    match each.as_slice() {
        [only] => format!("only {only}"),
        each => format!("one of {}", each.join(", ")),
    }
}

fn describe_atomic(simple: &SimpleType, base: Builtin) -> String {
    let is_text = describe::name_kind(base) == "text";
    let has = |wanted: &str| {
        simple.patterns.iter().any(|step| matches!(step.as_slice(), [one] if one.value.source == wanted))
    };
    let (kind, said): (&str, &[&str]) = match is_text {
        true if has("\\S*") || has("\\S+") => ("word", &["\\S*", "\\S+", ".*"]),
        true if has(".*") => ("line of text", &[".*"]),
        true => ("text", &[]),
        false => (describe::name_kind(base), &[TRUE_OR_FALSE]),
    };
    let mut words = vec![kind.to_owned()];
    if let Some(range) = describe::range_words(simple, base) {
        let glue = if base.family() == TypeFamily::Moment { ", " } else { " " };
        words.push(format!("{glue}{range}"));
    }
    let lengths = (&simple.length, &simple.min_length, &simple.max_length);
    let only_some = matches!(lengths, (None, Some(least), None) if least.value == 1);
    if let Some(length) = describe::length_words(simple).filter(|_| !only_some) {
        let glue = if kind.contains(", ") { ", " } else { " of " };
        words.push(format!("{glue}{length}"));
    }
    for (most, what) in
        [(&simple.total_digits, " digits"), (&simple.fraction_digits, " digits after the point")]
    {
        if let Some(most) = most {
            words.push(format!(", at most {}{what}", most.value));
        }
    }
    if let Some(all) = describe_patterns(simple, said) {
        words.push(format!(", {all}"));
    }
    if is_text && check_value::check_value(simple, "").is_none() {
        words.push(", may be empty".to_owned());
    }
    words.concat()
}

/// Patterns of any text with a visible character. The profile refuses the others, whose repetitions overlap.
const NOT_BLANK: [&str; 2] = ["\\s*\\S[\\s\\S]*", "\\s*\\S(\\s|\\S)*"];

/// The patterns that nothing else describes.
fn describe_patterns(simple: &SimpleType, said: &[&str]) -> Option<String> {
    let steps = simple.patterns.iter().map(|step| {
        let sources: Vec<&str> = step.iter().map(|pattern| pattern.value.source.as_str()).collect();
        sources.join(" or ")
    });
    let steps = steps.filter(|source| !said.contains(&source.as_str()));
    let (blank, each): (Vec<String>, Vec<String>) =
        steps.partition(|source| NOT_BLANK.contains(&source.as_str()));
    let matching = (!each.is_empty()).then(|| format!("matching {}", each.join(" and ")));
    let words: Vec<String> =
        (!blank.is_empty()).then(|| "not blank".to_owned()).into_iter().chain(matching).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
