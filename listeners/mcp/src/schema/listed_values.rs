//! Values that a JSON Schema lists: `enum` and `const`.
//!
//! The list comes in; a choice of words goes out, one for each kind of value, as a union if there are several.

use serde_json::{Map, Value};
use systole_kit::characters::first_illegal;

use super::read::ShapeReader;
use super::shape::{ElementShape, ListedBase, SAFE, ShapeNode, SimpleShape};
use super::trial;

impl ShapeReader<'_> {
    pub(super) fn read_enum(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let keyword = if fields.contains_key("const") { "const" } else { "enum" };
        let own;
        let values: &[Value] = match (fields.get("const"), fields.get("enum")) {
            (Some(only), _) => {
                own = [only.clone()];
                &own
            }
            (None, Some(Value::Array(values))) => values,
            _ => return self.as_json(place, keyword, "it is no list"),
        };
        let values: Vec<&Value> = values.iter().filter(|value| self.is_valid(value, fields)).collect();
        let nullable = values.iter().any(|value| value.is_null());
        if values.iter().any(|value| value.is_object() || value.is_array()) {
            return self.as_json(place, keyword, "it lists objects or lists");
        }
        if nullable && values.iter().all(|value| value.is_null()) {
            return ShapeNode::from_shape(ElementShape::Null);
        }
        let mut members = Vec::new();
        members.extend(read_truths(&values));
        members.extend(self.read_numbers(&values, keyword, place));
        members.extend(self.read_texts(&values, keyword, place));
        let simple = match members.len() {
            0 => return self.as_json(place, keyword, "none of its values can be sent"),
            1 => members.pop().unwrap_or(SimpleShape::Truth),
            _ => SimpleShape::Union(members),
        };
        match trial::find_refusal(&simple, None) {
            None => ShapeNode { nullable, ..ShapeNode::from_shape(ElementShape::Value(simple)) },
            Some(reason) => self.as_json(place, keyword, &format!("the schema profile refuses it: {reason}")),
        }
    }

    /// Whether a listed value follows the other rules beside the list.
    fn is_valid(&self, value: &Value, fields: &Map<String, Value>) -> bool {
        let mut rules = fields.clone();
        for keyword in ["enum", "const", "$ref", "anyOf", "oneOf", "allOf", "not"] {
            if !(keyword == "enum" && fields.contains_key("const")) {
                rules.remove(keyword);
            }
        }
        super::judge::JsonJudge::from_schema(&Value::Object(rules))
            .is_ok_and(|judge| judge.find_breach(value).is_none())
    }

    fn read_numbers(&mut self, values: &[&Value], keyword: &str, place: &str) -> Option<SimpleShape> {
        let numbers: Vec<&serde_json::Number> = values.iter().filter_map(|value| value.as_number()).collect();
        if numbers.is_empty() {
            return None;
        }
        let wholes: Option<Vec<i64>> = numbers.iter().map(|number| number.as_i64()).collect();
        let is_safe = |whole: &i64| (-SAFE..=SAFE).contains(whole);
        let (base, mut values): (_, Vec<String>) = match wholes {
            Some(wholes) if wholes.iter().all(is_safe) => {
                (ListedBase::Whole, wholes.iter().map(ToString::to_string).collect())
            }
            _ => (ListedBase::Number, numbers.iter().map(ToString::to_string).collect()),
        };
        values.dedup();
        if base == ListedBase::Number && numbers.iter().any(|number| number.as_f64().is_none()) {
            self.remark_narrowed(place, keyword, "a number is too large to be sent");
        }
        Some(SimpleShape::Listed { base, values })
    }

    fn read_texts(&mut self, values: &[&Value], keyword: &str, place: &str) -> Option<SimpleShape> {
        let mut kept: Vec<String> = Vec::new();
        for text in values.iter().filter_map(|value| value.as_str()) {
            if first_illegal(text).is_some() {
                self.remark_narrowed(
                    place,
                    keyword,
                    "one of its texts has a character that XML cannot carry",
                );
            } else if !kept.iter().any(|known| known == text) {
                kept.push(text.to_owned());
            }
        }
        if values.iter().any(|value| !value.is_string() && !value.is_null()) && !kept.is_empty() {
            self.remark_narrowed(
                place,
                keyword,
                "a text that is also a number or a truth value is read as that",
            );
        }
        (!kept.is_empty()).then_some(SimpleShape::Listed { base: ListedBase::Text, values: kept })
    }
}

fn read_truths(values: &[&Value]) -> Option<SimpleShape> {
    let truths: Vec<bool> = values.iter().filter_map(|value| value.as_bool()).collect();
    match (truths.contains(&true), truths.contains(&false)) {
        (false, false) => None,
        (true, true) => Some(SimpleShape::Truth),
        (only, _) => Some(SimpleShape::Listed { base: ListedBase::Truth, values: vec![only.to_string()] }),
    }
}
