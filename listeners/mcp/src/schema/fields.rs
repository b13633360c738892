//! Objects, maps and lists of a JSON Schema.
//!
//! The fields of a schema come in; a shape goes out. A property that has no place in the shape is remarked.

use serde_json::{Map, Value};
use systole_kit::characters::first_illegal;

use super::names::NameScope;
use super::read::ShapeReader;
use super::remark::ToolSide;
use super::shape::{ElementShape, ListedBase, ShapeField, ShapeNode, SimpleShape};
use super::simple::count_of;
use super::trial;
use crate::limits::{OCCURS, PROPERTIES};

impl ShapeReader<'_> {
    /// An object: its properties, or a map if it only has other ones.
    pub(super) fn read_object(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let empty = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = match fields.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if properties.len() > PROPERTIES || required.len() > PROPERTIES {
            return self.as_json(place, "properties", &format!("it has more than {PROPERTIES} properties"));
        }
        if properties.is_empty()
            && required.is_empty()
            && let Some(node) = self.read_free_object(fields, place)
        {
            return node;
        }
        self.note_object_rules(fields, place);
        let (mut scope, mut read) = (NameScope::default(), Vec::new());
        for (key, schema) in properties {
            let place = &format!("{place}/properties/{}", key.replace('~', "~0").replace('/', "~1"));
            let is_required = required.contains(&key.as_str());
            if first_illegal(key).is_some() {
                if is_required {
                    return self.as_json(place, "required", "its name has a character that XML cannot carry");
                }
                self.remark_narrowed(place, "properties", "its name has a character that XML cannot carry");
                continue;
            }
            if *schema == Value::Bool(false) {
                continue;
            }
            let node = self.read_part(schema, place);
            let default = self.read_default(&node, schema, is_required);
            read.push(ShapeField {
                key: key.clone(),
                name: scope.choose_name(key),
                node,
                required: is_required,
                default,
            });
        }
        let order = required.clone();
        for key in required {
            if properties.get(key).is_some_and(|schema| *schema != Value::Bool(false)) {
                continue;
            }
            if first_illegal(key).is_some() || properties.contains_key(key) {
                return self.as_json(place, "required", "it requires a property that cannot be sent");
            }
            if read.iter().any(|field| field.key == key) {
                continue;
            }
            let node = self.as_json(place, "required", &format!("nothing says what {key} is"));
            read.push(ShapeField {
                key: key.to_owned(),
                name: scope.choose_name(key),
                node,
                required: true,
                default: None,
            });
        }
        // Keys of JSON have no order here, but the list of the required ones has.
        let rank = |field: &ShapeField| order.iter().position(|key| *key == field.key).unwrap_or(usize::MAX);
        read.sort_by_key(rank);
        ShapeNode::from_shape(ElementShape::Object(read))
    }

    /// An object without a property of its own, if it may have others.
    fn read_free_object(&mut self, fields: &Map<String, Value>, place: &str) -> Option<ShapeNode> {
        let is_root = place.is_empty();
        match fields.get("additionalProperties") {
            _ if fields.contains_key("patternProperties") => {
                Some(self.as_json(place, "patternProperties", "only patterns say which properties it has"))
            }
            Some(Value::Object(of)) if !of.is_empty() => Some(self.read_map(fields, place)),
            Some(Value::Bool(false)) => None,
            // An object of no known property: a tool without arguments, or one that takes anything.
            None if is_root || fields.contains_key("properties") => None,
            _ => Some(self.as_json(place, "additionalProperties", "it takes any properties")),
        }
    }

    /// Notes the rules of an object that its elements do not say.
    fn note_object_rules(&mut self, fields: &Map<String, Value>, place: &str) {
        let dropped =
            ["propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "maxProperties"];
        for keyword in dropped.into_iter().filter(|keyword| fields.contains_key(*keyword)) {
            self.remark_dropped(place, keyword, "XSD has no such rule");
        }
        if fields.get("minProperties").and_then(count_of).is_some_and(|least| least > 0) {
            self.remark_dropped(place, "minProperties", "XSD has no such rule");
        }
        if fields.contains_key("patternProperties") {
            self.remark_dropped(
                place,
                "patternProperties",
                "it is beside properties; such properties cannot be sent",
            );
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            if fields.get(keyword).is_some_and(|further| *further != Value::Bool(false)) {
                self.remark_narrowed(place, keyword, "further properties cannot be sent");
            }
        }
    }

    /// An object with any keys and values of one kind.
    fn read_map(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let Some(of) = fields.get("additionalProperties") else { return ShapeNode::new_json() };
        for keyword in ["propertyNames", "dependentRequired", "dependentSchemas", "dependencies"] {
            if fields.contains_key(keyword) {
                self.remark_dropped(place, keyword, "XSD has no such rule");
            }
        }
        let value = self.read_part(of, &format!("{place}/additionalProperties"));
        let names = ("minProperties", "maxProperties");
        match self.read_counts(fields, names, place) {
            Some((least, most)) => {
                ShapeNode::from_shape(ElementShape::Map { value: Box::new(value), least, most })
            }
            None => self.as_json(place, names.0, "no number of properties is valid"),
        }
    }

    /// A list of values of one kind.
    pub(super) fn read_list(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let is_tuple =
            |items: &str| matches!(fields.get(items), Some(Value::Array(each)) if !each.is_empty());
        if let Some(keyword) = ["prefixItems", "items"].into_iter().find(|items| is_tuple(items)) {
            return self.as_json(place, keyword, "each item has a schema of its own");
        }
        let Some(of) = fields.get("items").filter(|items| items.is_object()) else {
            return self.as_json(place, "items", "its items may be anything");
        };
        for keyword in ["contains", "minContains", "maxContains", "unevaluatedItems"] {
            if fields.contains_key(keyword) {
                self.remark_dropped(place, keyword, "XSD has no such rule");
            }
        }
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.remark_dropped(place, "uniqueItems", "XSD has no such rule");
        }
        let mut item = self.read_part(of, &format!("{place}/items"));
        if item.nullable {
            let about = item.about.take();
            item = ShapeNode {
                about,
                ..ShapeNode::from_shape(ElementShape::Choice(add_null(ShapeNode { nullable: false, ..item })))
            };
        }
        let names = ("minItems", "maxItems");
        match self.read_counts(fields, names, place) {
            Some((least, most)) => {
                ShapeNode::from_shape(ElementShape::List { item: Box::new(item), least, most })
            }
            None => self.as_json(place, names.0, "no number of items is valid"),
        }
    }

    /// The smallest and largest number of parts; `None` if no number is valid.
    fn read_counts(
        &mut self,
        fields: &Map<String, Value>,
        (least, most): (&str, &str),
        place: &str,
    ) -> Option<(u32, Option<u32>)> {
        let low = fields.get(least).and_then(count_of).unwrap_or(0);
        let high = fields.get(most).and_then(count_of);
        if high.is_some_and(|high| high < low) {
            return None;
        }
        if low > OCCURS {
            self.remark_dropped(place, least, &format!("XSD counts up to {OCCURS} here"));
        }
        if high.is_some_and(|high| high > OCCURS) {
            self.remark_dropped(place, most, &format!("XSD counts up to {OCCURS} here"));
        }
        // No part may come zero times in the profile, so a list of nothing is one that nothing limits.
        if high == Some(0) {
            self.remark_dropped(place, most, "an empty list has no items to declare");
        }
        Some((low.min(OCCURS), high.filter(|high| (1..=OCCURS).contains(high))))
    }

    /// The default of a property, as text, if the element can have it. The only value of a required property is its
    /// default too, so it may be left out.
    fn read_default(&self, node: &ShapeNode, schema: &Value, is_required: bool) -> Option<String> {
        if self.side == ToolSide::Answer || node.nullable {
            return None;
        }
        let ElementShape::Value(simple) = &node.shape else { return None };
        let only = match simple {
            SimpleShape::Listed { values, .. } => match values.as_slice() {
                [only] if is_required => Some(only.clone()),
                _ => None,
            },
            _ => None,
        };
        let text = match (schema.get("default"), simple) {
            (Some(Value::String(text)), simple) if is_textual(simple) => Some(text.clone()),
            (Some(Value::Bool(truth)), SimpleShape::Truth) => Some(truth.to_string()),
            (Some(Value::Number(number)), SimpleShape::Whole { .. }) => {
                number.as_i64().map(|whole| whole.to_string())
            }
            (Some(Value::Number(number)), SimpleShape::Number { .. } | SimpleShape::Listed { .. })
                if !is_textual(simple) =>
            {
                Some(number.to_string())
            }
            _ => None,
        };
        text.or(only)
            .filter(|text| first_illegal(text).is_none() && trial::find_refusal(simple, Some(text)).is_none())
    }
}

fn is_textual(simple: &SimpleShape) -> bool {
    matches!(simple, SimpleShape::Text { .. } | SimpleShape::Listed { base: ListedBase::Text, .. })
}

/// A value, or `null`, where a missing element would be no item.
fn add_null(value: ShapeNode) -> Vec<(String, ShapeNode)> {
    vec![("value".to_owned(), value), ("null".to_owned(), ShapeNode::from_shape(ElementShape::Null))]
}
