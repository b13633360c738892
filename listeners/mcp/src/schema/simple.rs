//! Texts, numbers and truth values of a JSON Schema.
//!
//! One type keyword with its facets comes in; a simple shape goes out. What the shape does not say is remarked.

use serde_json::{Map, Value};

use super::pattern;
use super::read::ShapeReader;
use super::shape::{ElementShape, NumberBound, SAFE, ShapeNode, SimpleShape};
use super::trial;

impl ShapeReader<'_> {
    /// The shape of one of the types without parts.
    pub(super) fn read_scalar(&mut self, kind: &str, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let simple = match kind {
            "string" => self.read_text(fields, place),
            "integer" => self.read_integer(fields, place),
            "number" => self.read_number(fields, place),
            _ => SimpleShape::Truth,
        };
        match trial::find_refusal(&simple, None) {
            None => ShapeNode::from_shape(ElementShape::Value(simple)),
            Some(reason) => self.as_json(place, "type", &format!("the schema profile refuses it: {reason}")),
        }
    }

    fn read_text(&mut self, fields: &Map<String, Value>, place: &str) -> SimpleShape {
        let count = |name: &str| fields.get(name).and_then(count_of);
        let least = count("minLength").filter(|least| *least > 0);
        // Any text that fits into a message has fewer characters than the largest count.
        let most = count("maxLength");
        let pattern = fields.get("pattern").and_then(Value::as_str);
        let mut kept = None;
        if let Some(source) = pattern {
            let translated = pattern::translate_pattern(source).and_then(|written| {
                let text = SimpleShape::Text { least: None, most: None, pattern: Some(written.clone()) };
                trial::find_refusal(&text, None).map_or(Ok(written), Err)
            });
            match translated {
                Ok(written) => kept = Some(written),
                Err(reason) => self.remark_dropped(place, "pattern", &format!("XSD cannot say it: {reason}")),
            }
        }
        SimpleShape::Text { least, most, pattern: kept }
    }

    fn read_integer(&mut self, fields: &Map<String, Value>, place: &str) -> SimpleShape {
        self.check_multiple(fields, place, true);
        self.note_old_bounds(fields, place);
        let number = |name: &str| fields.get(name).and_then(Value::as_f64);
        let exact = |name: &str| fields.get(name).and_then(Value::as_i64);
        let low = |name: &str| exact(name).or_else(|| number(name).map(|value| clamp_integer(value.ceil())));
        let high =
            |name: &str| exact(name).or_else(|| number(name).map(|value| clamp_integer(value.floor())));
        // An exclusive bound that is whole is one less.
        let above = |name: &str| {
            let next = number(name).map(|value| clamp_integer(value.floor()).saturating_add(1));
            exact(name).map(|value| value.saturating_add(1)).or(next)
        };
        let below = |name: &str| {
            let next = number(name).map(|value| clamp_integer(value.ceil()).saturating_sub(1));
            exact(name).map(|value| value.saturating_sub(1)).or(next)
        };
        let least = low("minimum").max(above("exclusiveMinimum"));
        let most = match (high("maximum"), below("exclusiveMaximum")) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if least.is_some_and(|least| least > SAFE) || most.is_some_and(|most| most < -SAFE) {
            self.remark_narrowed(place, "type", "whole numbers beyond 2^53 cannot be sent");
        }
        let least = least.filter(|least| *least > -SAFE);
        let most = most.filter(|most| *most < SAFE);
        SimpleShape::Whole { least, most }
    }

    fn read_number(&mut self, fields: &Map<String, Value>, place: &str) -> SimpleShape {
        self.check_multiple(fields, place, false);
        self.note_old_bounds(fields, place);
        let bound = |name: &str, inclusive| {
            let value = fields.get(name).and_then(Value::as_f64)?;
            Some(NumberBound { value, inclusive })
        };
        let tighter = |one: Option<NumberBound>, other: Option<NumberBound>, is_low: bool| match (one, other)
        {
            (Some(one), Some(other)) => {
                let keeps = if is_low { one.value > other.value } else { one.value < other.value };
                Some(if keeps { one } else { other })
            }
            (one, other) => one.or(other),
        };
        SimpleShape::Number {
            least: tighter(bound("minimum", true), bound("exclusiveMinimum", false), true),
            most: tighter(bound("maximum", true), bound("exclusiveMaximum", false), false),
        }
    }

    fn check_multiple(&mut self, fields: &Map<String, Value>, place: &str, is_whole: bool) {
        let Some(of) = fields.get("multipleOf").and_then(Value::as_f64) else { return };
        if !(is_whole && of == 1.0) {
            self.remark_dropped(place, "multipleOf", "XSD has no such rule");
        }
    }

    /// In old drafts a flag says whether a bound belongs to the range.
    fn note_old_bounds(&mut self, fields: &Map<String, Value>, place: &str) {
        for name in ["exclusiveMinimum", "exclusiveMaximum"] {
            if fields.get(name).is_some_and(Value::is_boolean) {
                self.remark_dropped(place, name, "it is that of an old draft");
            }
        }
    }
}

/// A count as JSON Schema writes it: a whole number, perhaps as `2.0`. One that is too large is no limit.
pub(super) fn count_of(value: &Value) -> Option<u32> {
    let whole = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0).then(|| clamp_integer(number).unsigned_abs())
    })?;
    u32::try_from(whole).ok()
}

/// A number without a fraction, at most a little beyond the safe ones. Within these it is spelt exactly.
fn clamp_integer(value: f64) -> i64 {
    let edge = 9_007_199_254_740_992.0;
    format!("{:.0}", value.clamp(-edge, edge)).parse().unwrap_or_default()
}
