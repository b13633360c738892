//! A grammar of JSON Schemas as servers write them, with rare keywords among them, and JSON values for a schema.
//!
//! A tape of numbers decides everything, so that a failing case shrinks.

use serde_json::{Map, Value, json};

use crate::tape::Tape;

const NAMES: [&str; 9] = ["path", "head", "item", "max count", "2d", "nextPage", "größe", "type", "value"];

const TEXTS: [&str; 12] =
    ["", "a", "abc", " a ", "line\nline", "true", "12", "<a & b>", "äöü€😀", "ab-1", "AB-1", "x@y.zz"];

const PATTERNS: [&str; 8] = [
    "^[a-z]+$",
    "^[A-Z]{2}-\\d+$",
    "b",
    "^a",
    "^(?:a|b|abc)?$",
    "^\\S+@\\S+\\.\\w{2}$",
    "^(?!x)",
    "\\bab\\b",
];

const NUMBERS: [f64; 8] = [0.0, 1.0, -1.0, 2.5, 10.0, 1e300, -1e-7, 100.0];

/// The schema of a tool: an object, with definitions that it refers to.
pub(super) fn tool(tape: &mut Tape) -> Value {
    let mut drawing = Drawing { tape, defs: Map::new(), left: 24 };
    let mut schema = drawing.object(0);
    if drawing.tape.one_in(12) {
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    }
    let defs = drawing.defs;
    if !defs.is_empty() {
        schema["$defs"] = Value::Object(defs);
    }
    schema
}

struct Drawing<'t> {
    tape: &'t mut Tape,
    defs: Map<String, Value>,
    /// How many more schemas are drawn.
    left: usize,
}

impl Drawing<'_> {
    fn schema(&mut self, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        let mut schema = match self.tape.below(if depth > 3 || self.left == 0 { 30 } else { 52 }) {
            0..=9 => json!({"type": "string"}),
            10..=12 => self.text(),
            13..=15 => self.number("number"),
            16..=18 => self.number("integer"),
            19..=22 => json!({"type": "boolean"}),
            23..=25 => json!({"type": "string", "enum": ["fast", "deep", "New York"]}),
            26 => json!({"enum": ["auto", 1, true, null]}),
            27 => json!({"const": self.tape.pick::<str>(&["x", "y z"])}),
            28 => json!({"type": ["string", self.tape.pick::<str>(&["boolean", "integer"])]}),
            29 => json!({"type": ["string", "null"], "default": null}),
            30..=35 => self.list(depth),
            36..=40 => self.object(depth + 1),
            41 | 42 => json!({"anyOf": [self.schema(depth + 1), {"type": "null"}]}),
            43 => json!({"type": "object", "additionalProperties": self.schema(depth + 1)}),
            44 => self.branches(),
            45 => json!({"anyOf": [{"type": "string"}, {"type": "array", "items": self.schema(depth + 1)}]}),
            46 => self.reference(depth),
            47 => json!({"allOf": [self.object(depth + 1), {"description": "both"}]}),
            48 => json!({"anyOf": [{"type": "integer"}, {"type": "number"}, {"enum": ["all"]}]}),
            _ => self.rare(depth),
        };
        if self.tape.one_in(3) {
            schema["description"] = json!("what it is for");
        }
        schema
    }

    fn text(&mut self) -> Value {
        match self.tape.below(5) {
            0 => json!({"type": "string", "minLength": 1}),
            1 => json!({"type": "string", "maxLength": 3}),
            2 => json!({"type": "string", "format": "uri", "default": "abc"}),
            _ => json!({"type": "string", "pattern": self.tape.pick::<str>(&PATTERNS)}),
        }
    }

    fn number(&mut self, kind: &str) -> Value {
        match self.tape.below(5) {
            0 => json!({"type": kind}),
            1 => json!({"type": kind, "minimum": 1, "maximum": 10}),
            2 => json!({"type": kind, "exclusiveMinimum": 0, "default": 1}),
            3 => json!({"type": kind, "maximum": 9_007_199_254_740_991_i64, "minimum": -1.5}),
            _ => json!({"type": kind, "exclusiveMaximum": 100, "default": 10}),
        }
    }

    fn list(&mut self, depth: usize) -> Value {
        let mut list = json!({"type": "array", "items": self.schema(depth + 1)});
        if self.tape.one_in(4) {
            list["minItems"] = json!(1);
        }
        if self.tape.one_in(6) {
            list["maxItems"] = json!(3);
        }
        list
    }

    fn object(&mut self, depth: usize) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for _ in 0..1 + self.tape.below(5) {
            let name = self.tape.pick::<str>(&NAMES).to_owned();
            let of = self.schema(depth + 1);
            if self.tape.one_in(2) && !required.contains(&name) {
                required.push(name.clone());
            }
            properties.insert(name, of);
        }
        let mut object = json!({"type": "object", "properties": properties, "required": required});
        if self.tape.one_in(2) {
            object["additionalProperties"] = json!(false);
        }
        object
    }

    fn branches(&mut self) -> Value {
        let branch = |kind: &str, more: Value| {
            json!({
                "type": "object", "properties": {"kind": {"const": kind}, "more": more}, "required": ["kind", "more"]
            })
        };
        let (one, two) = (self.schema(4), self.schema(4));
        json!({ (self.tape.pick::<str>(&["oneOf", "anyOf"])): [branch("one", one), branch("two", two)] })
    }

    fn reference(&mut self, depth: usize) -> Value {
        if self.tape.one_in(2) {
            let own = json!({"type": "array", "items": {"$ref": "#/$defs/Node"}});
            let node = json!({"type": "object", "properties": {"name": {"type": "string"}, "inside": own}});
            self.defs.insert("Node".to_owned(), node);
            return json!({"$ref": "#/$defs/Node"});
        }
        if !self.defs.contains_key("Part") {
            self.defs.insert("Part".to_owned(), json!({"type": "boolean"}));
            let part = self.schema(depth + 1);
            self.defs.insert("Part".to_owned(), part);
        }
        json!({"$ref": "#/$defs/Part"})
    }

    fn rare(&mut self, depth: usize) -> Value {
        let of = self.schema(depth + 2);
        match self.tape.below(10) {
            0 => json!({"type": "integer", "multipleOf": 2}),
            1 => json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            2 => json!({"type": "string", "not": {"const": "abc"}}),
            3 => {
                json!({"type": "object", "properties": {"a": of}, "patternProperties": {"^x": {"type": "string"}}})
            }
            4 => {
                json!({"type": "object", "properties": {"a": of, "b": {"type": "string"}}, "dependentRequired": {"a": ["b"]}})
            }
            5 => {
                json!({"type": "object", "properties": {"a": of}, "if": {"required": ["a"]}, "then": {"minProperties": 1}})
            }
            6 => json!({"type": "array", "prefixItems": [of]}),
            7 => json!({"type": "object", "additionalProperties": true}),
            8 => json!({"oneOf": [{"type": "string", "maxLength": 1}, {"type": "string", "minLength": 1}]}),
            _ => json!({}),
        }
    }
}

/// A value that may follow a schema; a validator says whether it does.
pub(super) fn value(schema: &Value, root: &Value, tape: &mut Tape, depth: usize) -> Value {
    let text = |tape: &mut Tape| Value::from(tape.pick::<str>(&TEXTS));
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(pointer.trim_start_matches('#')).unwrap();
        if depth > 20 {
            return Value::Null;
        }
        return value(target, root, tape, depth + 1);
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values[tape.below(values.len())].clone();
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            return value(
                &branches[tape.below(if keyword == "allOf" { 1 } else { branches.len() })],
                root,
                tape,
                depth,
            );
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[tape.below(kinds.len())].as_str().unwrap(),
        kind => kind.as_str().unwrap_or("any"),
    };
    match kind {
        "string" => text(tape),
        "integer" => match tape.below(3) {
            0 => schema.get("minimum").filter(|least| least.is_i64()).cloned().unwrap_or(json!(0)),
            1 => schema.get("maximum").cloned().unwrap_or(json!(7)),
            _ => json!(tape.below(120) as i64 - 10),
        },
        "number" => match tape.below(3) {
            0 => schema.get("minimum").or(schema.get("maximum")).cloned().unwrap_or(json!(3)),
            _ => {
                let number = NUMBERS[tape.below(NUMBERS.len())];
                whole(number)
            }
        },
        "boolean" => json!(tape.one_in(2)),
        "array" => {
            let count = if depth > 5 { 0 } else { tape.below(4) };
            (0..count)
                .map(|_| value(schema.get("items").unwrap_or(&Value::Null), root, tape, depth + 1))
                .collect()
        }
        "object" => object(schema, root, tape, depth),
        "null" => Value::Null,
        _ => match tape.below(4) {
            0 => json!({"any": [1, null]}),
            1 => json!([true]),
            2 => json!(4.5),
            _ => text(tape),
        },
    }
}

fn object(schema: &Value, root: &Value, tape: &mut Tape, depth: usize) -> Value {
    let mut fields = Map::new();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, of) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if required.iter().any(|known| known == name) || (depth < 6 && tape.one_in(2)) {
            fields.insert(name.clone(), value(of, root, tape, depth + 1));
        }
    }
    match schema.get("additionalProperties") {
        Some(of @ Value::Object(_)) => {
            for key in ["a", "b c", ""].into_iter().take(tape.below(4)) {
                fields.insert(key.to_owned(), value(of, root, tape, depth + 1));
            }
        }
        Some(Value::Bool(true)) => drop(fields.insert("free".to_owned(), json!([1]))),
        _ => {}
    }
    Value::Object(fields)
}

/// A number as JSON: a whole one without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e9 fits")]
fn whole(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e9 { json!(number as i64) } else { json!(number) }
}
