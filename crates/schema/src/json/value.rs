//! A simple type as JSON Schema, and the rules that JSON Schema cannot express.
//!
//! A type comes in. A schema for the form that `spelling` gives its values goes out, never narrower than the type,
//! with a line for each rule that it leaves open.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::explain::describe;
use crate::json::ecma;
use crate::json::spelling::{self, JsonKind};
use crate::judge::builtin::{Builtin, TypeFamily, WhiteSpace};
use crate::judge::{check_value, value};
use crate::limits;
use crate::shape::{SimpleType, SimpleVariety, ValueBound};

/// A schema, and the rules that it leaves open.
pub(crate) struct DrawnValue {
    pub(crate) schema: Value,
    pub(crate) open: Vec<String>,
}

/// A schema that leaves nothing open.
fn draw_exact(schema: Value) -> DrawnValue {
    DrawnValue { schema, open: Vec::new() }
}

pub(crate) fn draw_simple(simple: &SimpleType) -> DrawnValue {
    if !simple.values.is_empty() {
        let admitted =
            simple.values.iter().filter(|listed| check_value::check_value(simple, &listed.value).is_none());
        let mut values: Vec<Value> = Vec::new();
        for listed in admitted {
            let value = spelling::to_json(simple, &listed.value);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        return draw_exact(json!({ "enum": values }));
    }
    match (JsonKind::from_simple(simple), &simple.variety) {
        (JsonKind::Truth, _) => {
            match [true, false].map(|truth| value::is_admitted(simple, &truth.to_string())) {
                [true, false] => draw_exact(json!({ "enum": [true] })),
                [false, true] => draw_exact(json!({ "enum": [false] })),
                _ => draw_exact(json!({ "type": "boolean" })),
            }
        }
        (JsonKind::Whole { may_be_text }, SimpleVariety::Atomic(base)) => {
            draw_whole(simple, *base, may_be_text)
        }
        (JsonKind::Decimal { may_be_text }, _) => draw_decimal(simple, may_be_text),
        (JsonKind::Floating, _) => draw_floating(simple),
        (JsonKind::List(item), _) => draw_list(simple, item),
        (JsonKind::Union(members), _) => draw_union(members),
        (JsonKind::Text(Some(base)), _) => draw_text(simple, base),
        (JsonKind::Text(None) | JsonKind::Whole { .. }, _) => spelt_as_a_whole(simple),
    }
}

fn draw_list(simple: &SimpleType, item: &SimpleType) -> DrawnValue {
    let DrawnValue { schema, mut open } = draw_simple(item);
    // Blanks separate the items, so no item has any.
    let blanks = json!({ "type": "string", "pattern": "[ \\t\\n\\r]|^$" });
    let items = if may_have_blanks(item) { json!({ "allOf": [schema, { "not": blanks }] }) } else { schema };
    let mut drawn = Map::from_iter([("type".to_owned(), Value::from("array")), ("items".to_owned(), items)]);
    let limit = |facet: &Option<crate::shape::FacetValue<usize>>| facet.as_ref().map(|facet| facet.value);
    let (exact, least, most) = (limit(&simple.length), limit(&simple.min_length), limit(&simple.max_length));
    for (key, limit) in [("minItems", exact.or(least)), ("maxItems", exact.or(most))] {
        if let Some(limit) = limit {
            drawn.insert(key.to_owned(), Value::from(limit));
        }
    }
    open.dedup();
    DrawnValue { schema: Value::Object(drawn), open }
}

/// Whether the schema of an item would admit texts with blanks, or an empty text.
fn may_have_blanks(item: &SimpleType) -> bool {
    match JsonKind::from_simple(item) {
        JsonKind::Text(_) => item.values.is_empty(),
        JsonKind::Union(members) => members.iter().any(|member| may_have_blanks(member)),
        _ => false,
    }
}

fn draw_union(members: &[Arc<SimpleType>]) -> DrawnValue {
    let (mut each, mut open) = (Vec::new(), Vec::new());
    let mut texts = 0_usize;
    for member in members {
        let drawn = draw_simple(member);
        texts = texts.saturating_add(usize::from(matches!(JsonKind::from_simple(member), JsonKind::Text(_))));
        open.extend(drawn.open);
        if !each.contains(&drawn.schema) {
            each.push(drawn.schema);
        }
    }
    if texts > 0 && members.len() > texts {
        open.push("text that one of the other types would read: it is that value, not text".to_owned());
    }
    DrawnValue { schema: json!({ "anyOf": each }), open }
}

/// A list or a union whose patterns apply to the whole text.
fn spelt_as_a_whole(simple: &SimpleType) -> DrawnValue {
    let (mut schema, mut open) = (make_string(), Vec::new());
    let mut patterns = Vec::new();
    facet_patterns(simple, &mut patterns, &mut open);
    add_patterns(&mut schema, &patterns);
    let words = "a value whose whole spelling follows a pattern is text: its types and lengths";
    open.push(words.to_owned());
    DrawnValue { schema: Value::Object(schema), open }
}

fn make_string() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from("string"))])
}

/// Requires a text to match all of these patterns.
fn add_patterns(schema: &mut Map<String, Value>, patterns: &[String]) {
    match patterns {
        [] => {}
        [only] => drop(schema.insert("pattern".to_owned(), Value::from(only.as_str()))),
        several => {
            let all: Vec<Value> = several.iter().map(|pattern| json!({ "pattern": pattern })).collect();
            schema.insert("allOf".to_owned(), Value::from(all));
        }
    }
}

fn facet_patterns(simple: &SimpleType, patterns: &mut Vec<String>, open: &mut Vec<String>) {
    for step in &simple.patterns {
        let each: Vec<String> = step.iter().map(|pattern| ecma::write_whole(&pattern.value.tree)).collect();
        patterns.push(each.join("|"));
        if step.iter().any(|pattern| ecma::is_near(&pattern.value.tree)) {
            open.push("which letters beyond ASCII \\w, \\i and \\c of the pattern mean".to_owned());
        }
    }
}

fn draw_whole(simple: &SimpleType, base: Builtin, may_be_text: bool) -> DrawnValue {
    let (low, high) = base.limits();
    let limit = |limit: Option<&str>| limit.and_then(|limit| limit.parse::<i128>().ok());
    let bound = |bound: &Option<ValueBound>, step: i128| {
        let bound = bound.as_ref()?;
        let value = bound.value.trim_start_matches('+').parse::<i128>().ok()?;
        Some(if bound.inclusive { value } else { value.saturating_add(step) })
    };
    let digits = simple.total_digits.as_ref().and_then(|most| u32::try_from(most.value).ok());
    let largest =
        digits.and_then(|digits| 10_i128.checked_pow(digits)).map(|beyond| beyond.saturating_sub(1));
    let (least, most) = (i128::from(i64::MIN), i128::from(u64::MAX));
    let given_least = [limit(low), bound(&simple.least, 1), largest.map(|l| l.saturating_neg())];
    let given_most = [limit(high), bound(&simple.most, -1), largest];
    let floor = given_least.into_iter().flatten().fold(least, i128::max);
    let ceiling = given_most.into_iter().flatten().fold(most, i128::min);
    let number = |value: i128| match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Value::from(value),
        (_, Ok(value)) => Value::from(value),
        // A type without any value: its minimum is above its maximum.
        _ => Value::from(if value < 0 { i64::MIN } else { i64::MAX }),
    };
    let number = json!({ "type": "integer", "minimum": number(floor), "maximum": number(ceiling) });
    if !may_be_text {
        return draw_exact(number);
    }
    let sign = match (floor > least, ceiling < most) {
        (true, true) => return draw_exact(number),
        (true, false) => "",
        (false, true) => "-",
        (false, false) => "-?",
    };
    let pattern = format!("^{sign}[1-9][0-9]{{18,23}}$");
    let schema = json!({ "anyOf": [number, { "type": "string", "pattern": pattern }] });
    let open = "whole numbers beyond 64 bits are text: which of them are within the bounds";
    DrawnValue { schema, open: vec![open.to_owned()] }
}

fn draw_decimal(simple: &SimpleType, may_be_text: bool) -> DrawnValue {
    let mut open = Vec::new();
    let mut schema = draw_bounds(simple, &mut open);
    if simple.total_digits.is_some() || simple.fraction_digits.is_some() {
        open.push("how many digits a number has in all and behind the point".to_owned());
    }
    if may_be_text {
        let digits = limits::SAFE_DIGITS.saturating_add(1).to_string();
        let pattern = format!("^(?=-?(?:[0-9]\\.?){{{digits},}}$)-?[0-9]+(?:\\.[0-9]+)?$");
        schema = json!({ "anyOf": [schema, { "type": "string", "pattern": pattern }] });
        open.push(
            "numbers of more than 15 digits are text: whether they are within bounds, and at most 24 digits"
                .to_owned(),
        );
    }
    DrawnValue { schema, open }
}

/// A number with the bounds that JSON can spell.
fn draw_bounds(simple: &SimpleType, open: &mut Vec<String>) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), Value::from("number"))]);
    for (bound, inclusive, exclusive) in
        [(&simple.least, "minimum", "exclusiveMinimum"), (&simple.most, "maximum", "exclusiveMaximum")]
    {
        let Some(bound) = bound else { continue };
        if matches!(simple.variety, SimpleVariety::Atomic(Builtin::Double) if describe::is_edge(Builtin::Double, bound))
        {
            // Every number of JSON that can be read is within it.
            continue;
        }
        let value = match JsonKind::from_simple(simple) {
            JsonKind::Floating => spelling::write_floating(&bound.value),
            _ => spelling::ExactDecimal::parse(&bound.value).map_or(Value::Null, |bound| bound.to_number()),
        };
        if value.is_number() {
            let key = if bound.inclusive { inclusive } else { exclusive };
            schema.insert(key.to_owned(), value);
        } else {
            open.push(format!("the bound {}", bound.value));
        }
    }
    Value::Object(schema)
}

fn draw_floating(simple: &SimpleType) -> DrawnValue {
    let mut open = Vec::new();
    let number = draw_bounds(simple, &mut open);
    let special: Vec<&str> = ["INF", "-INF", "NaN"]
        .into_iter()
        .filter(|value| check_value::check_value(simple, value).is_none())
        .collect();
    if special.is_empty() {
        return DrawnValue { schema: number, open };
    }
    DrawnValue { schema: json!({ "anyOf": [number, { "enum": special }] }), open }
}

fn draw_text(simple: &SimpleType, base: Builtin) -> DrawnValue {
    let mut open = Vec::new();
    let mut patterns: Vec<String> = Vec::new();
    add_spelling(base, &mut patterns, &mut open);
    match simple.space {
        WhiteSpace::Preserve => {}
        WhiteSpace::Replace => patterns.push("^[^\\t\\n\\r]*$".to_owned()),
        WhiteSpace::Collapse if patterns.is_empty() => {
            patterns.push("^(?:[^ \\t\\n\\r]+(?: [^ \\t\\n\\r]+)*)?$".to_owned());
        }
        // A type with its own spelling rule has no blanks.
        WhiteSpace::Collapse => {}
    }
    facet_patterns(simple, &mut patterns, &mut open);
    let mut schema = make_string();
    add_lengths(simple, base, &mut schema, &mut open);
    let bounded = simple.least.is_some() || simple.most.is_some();
    match base.family() {
        TypeFamily::Moment if bounded => {
            open.push("days that a month does not have, and the bounds".to_owned())
        }
        TypeFamily::Moment if base != Builtin::Time => {
            open.push("days that a month does not have".to_owned())
        }
        TypeFamily::Whole | TypeFamily::Decimal => {
            open.push("a number whose spelling follows a pattern is text: bounds and digits".to_owned());
        }
        TypeFamily::Floating if bounded => {
            open.push("a number whose spelling follows a pattern is text: its bounds".to_owned());
        }
        _ if base == Builtin::AnyUri => open.push("how a URI is spelt".to_owned()),
        _ => {}
    }
    add_patterns(&mut schema, &patterns);
    DrawnValue { schema: Value::Object(schema), open }
}

fn add_lengths(simple: &SimpleType, base: Builtin, schema: &mut Map<String, Value>, open: &mut Vec<String>) {
    let limit = |facet: &Option<crate::shape::FacetValue<usize>>| facet.as_ref().map(|facet| facet.value);
    let (exact, least, most) = (limit(&simple.length), limit(&simple.min_length), limit(&simple.max_length));
    let (least, most) = (exact.or(least), exact.or(most));
    let characters = |bytes: usize| match base {
        Builtin::Hex => bytes.saturating_mul(2),
        Builtin::Base64 => bytes.div_ceil(3).saturating_mul(4),
        _ => bytes,
    };
    for (key, limit) in [("minLength", least), ("maxLength", most)] {
        if let Some(limit) = limit {
            schema.insert(key.to_owned(), Value::from(characters(limit)));
        }
    }
    if base == Builtin::Base64 && (least.is_some() || most.is_some()) {
        open.push("the length of base64 text to the byte; it is held to groups of three".to_owned());
    }
}

const ZONE: &str = "(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?";
const DAY: &str = "-?(?!0000)(?:[1-9][0-9]{4,}|[0-9]{4})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const CLOCK: &str = "(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?|24:00:00(?:\\.0+)?)";

/// The pattern of a built-in type that has its own spelling rule.
fn add_spelling(base: Builtin, patterns: &mut Vec<String>, open: &mut Vec<String>) {
    let mut names = |pattern: &str| {
        open.push("which letters beyond ASCII a name may have".to_owned());
        Some(pattern.to_owned())
    };
    // Within ASCII these exclude exactly the characters that no name has; beyond ASCII they exclude nothing.
    let pattern = match base {
        Builtin::String | Builtin::NormalizedString | Builtin::Token | Builtin::AnyUri => None,
        Builtin::NmToken => names("^[^\\x00-,/;-@\\[-\\^`{-\\x7f]+$"),
        Builtin::Name => names("^(?![0-9.-])[^\\x00-,/;-@\\[-\\^`{-\\x7f]+$"),
        Builtin::NcName => names("^(?![0-9.-])[^\\x00-,/:-@\\[-\\^`{-\\x7f]+$"),
        Builtin::Language => Some("^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$".to_owned()),
        Builtin::Boolean => Some("^(?:true|false|1|0)$".to_owned()),
        Builtin::Date => Some(format!("^{DAY}{ZONE}$")),
        Builtin::DateTime => Some(format!("^{DAY}T{CLOCK}{ZONE}$")),
        Builtin::Time => Some(format!("^{CLOCK}{ZONE}$")),
        Builtin::Duration => Some(
            "^-?P(?!$)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?!$)(?:[0-9]+H)?(?:[0-9]+M)?(?:(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)S)?)?$"
                .to_owned(),
        ),
        Builtin::Base64 => Some(
            "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?$".to_owned(),
        ),
        Builtin::Hex => Some("^(?:[0-9A-Fa-f]{2})*$".to_owned()),
        Builtin::Decimal => Some("^[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)$".to_owned()),
        Builtin::Double | Builtin::Float => {
            Some("^(?:[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]*)?|-?INF|NaN)$".to_owned())
        }
        _ => Some("^[+-]?[0-9]+$".to_owned()),
    };
    patterns.extend(pattern);
}
