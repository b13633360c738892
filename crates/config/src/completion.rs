//! The JSON Schema of the organism's file, for editors. It is made from the table of keys, so it names
//! exactly these keys. It checks only what can be checked for one value alone. Rules between values, and
//! the bounds of amounts, shares and pauses, are left to the loader. It never rejects a file that the
//! loader accepts.

use serde_json::{Map, Value, json};

use super::key::{ConfigKey, KeyForm, MeasureBounds};
use super::key::{SIZE_UNITS, THOUSANDS, TIME_UNITS};
use super::keys;
use super::kinds::list_kind_keys;

/// The path of all steps in the table of keys.
const STEPS: &str = "workflows.NAME.goals";

/// The schema's text, as stored in `schemas/organism.schema.json`.
pub const ORGANISM_JSON_SCHEMA: &str = include_str!("../../../schemas/organism.schema.json");

/// Makes the schema from the table of keys.
pub fn organism_json_schema() -> Value {
    let mut schema = map("");
    if let Value::Object(top) = &mut schema {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        // The file must have one of these two.
        top.insert("anyOf".to_owned(), json!([{"required": ["listeners"]}, {"required": ["agents"]}]));
        top.insert("title".to_owned(), json!("organism.yaml of Systole"));
        // Steps contain steps.
        top.insert("$defs".to_owned(), json!({"step": step()}));
    }
    schema
}

/// The schema of test files, as stored in `schemas/test.schema.json`.
pub const TEST_JSON_SCHEMA: &str = include_str!("../../../schemas/test.schema.json");

/// Makes the schema of test files from their table of keys.
pub fn test_json_schema() -> Value {
    let mut schema = map(super::rehearsal::TOP);
    if let Value::Object(top) = &mut schema {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("a test file of Systole (*.test.yaml)"));
    }
    schema
}

/// A map of the keys below a path in the table.
fn map(table: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, key) in keys::under(table) {
        properties.insert(name.to_owned(), describe_key(key));
        // A listener in Rust has no `run`.
        if key.default == "required"
            && !["listeners.NAME.run", "listeners.NAME.accepts", "clients.NAME.token_env"].contains(&key.path)
        {
            required.push(json!(name));
        }
    }
    let mut map = json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required});
    if let (Value::Object(map), "#test.tests") = (&mut map, table) {
        map.insert("oneOf".to_owned(), json!([{"required": ["steps"]}, {"required": ["export"]}]));
    }
    if let (Value::Object(map), "listeners.NAME") = (&mut map, table) {
        // What has its elements from elsewhere names none.
        let ways = ["accepts"].into_iter().chain(list_kind_keys());
        map.insert("anyOf".to_owned(), ways.map(|key| json!({"required": [key]})).collect());
    }
    map
}

fn describe_key(key: &ConfigKey) -> Value {
    let mut schema = form(key);
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(format!("{}; default: {}", key.meaning, key.default)));
    }
    schema
}

/// One step of a workflow: its id, with text or a map.
fn step() -> Value {
    let below = keys::under(STEPS).next().map_or(json!(true), |(_, below)| describe_key(below));
    json!({"type": "object", "minProperties": 1, "maxProperties": 1,
           "propertyNames": {"pattern": "^[a-z][a-z0-9-]{0,31}$"}, "additionalProperties": below})
}

/// A map of any names, each with the keys below `NAME`.
fn names(key: &ConfigKey, pattern: &str) -> Value {
    let below = keys::under(key.path).next().map_or(json!(true), |(_, below)| describe_key(below));
    json!({"type": "object", "propertyNames": {"pattern": pattern}, "additionalProperties": below})
}

/// A text, or several. Other scalars in a list are also read as text.
fn lines() -> Value {
    json!({"type": ["string", "number", "boolean", "null", "array"],
           "items": {"type": ["string", "number", "boolean", "null"]}})
}

fn form(key: &ConfigKey) -> Value {
    // For the loader, a plain number or `true` is a text; for an editor it is not.
    let text = json!({"type": ["string", "number", "boolean"], "minLength": 1});
    match key.form {
        KeyForm::Map => map(key.path),
        KeyForm::Names(pattern) => names(key, pattern),
        KeyForm::TextOrNames => json!({"anyOf": [text, names(key, "")]}),
        KeyForm::WordOrNames(word) => json!({"anyOf": [{"const": word}, names(key, "")]}),
        KeyForm::TextOrMap => json!({"anyOf": [text, map(key.path)]}),
        KeyForm::Steps => json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}),
        KeyForm::Text { empty: true } => json!({"type": ["string", "number", "boolean"]}),
        KeyForm::Text { empty: false } => text,
        KeyForm::Compact => json!({"type": ["string", "array", "object"]}),
        KeyForm::List => json!({"type": "array", "items": text, "minItems": 1}),
        KeyForm::Set => json!({"type": "array", "items": text, "uniqueItems": true}),
        KeyForm::SetOf(words) => json!({"type": "array", "items": {"enum": words}, "uniqueItems": true}),
        KeyForm::WordOrSetOf(word, words) => json!({"anyOf": [
            {"const": word},
            {"type": "array", "items": {"enum": words}, "uniqueItems": true},
        ]}),
        KeyForm::Flag => json!({"type": "boolean"}),
        KeyForm::Count(least, most) => {
            json!({"type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": "^[0-9]+$"})
        }
        KeyForm::Words(words) => json!({"enum": words}),
        KeyForm::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        KeyForm::Name(pattern) => json!({"type": ["string", "boolean"], "pattern": pattern}),
        KeyForm::Amount(pattern) => json!({"type": ["string", "number"], "pattern": pattern, "minimum": 0}),
        KeyForm::Lines => lines(),
        KeyForm::LinesOrMap => json!({"anyOf": [lines(), map(key.path)]}),
        KeyForm::Maps => json!({"type": "array", "items": map(key.path), "minItems": 1}),
        KeyForm::Texts => json!({"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}),
        KeyForm::Anything => json!({}),
        KeyForm::Duration(bounds) => measure(bounds, key.form, TIME_UNITS, "a duration").into(),
        KeyForm::Size(bounds) => measure(bounds, key.form, SIZE_UNITS, "a size").into(),
        KeyForm::Tokens(bounds) => {
            let mut schema = measure(bounds, key.form, THOUSANDS, "a number of tokens");
            schema.insert("type".to_owned(), json!(["string", "integer"]));
            schema.insert("minimum".to_owned(), json!(bounds.least));
            schema.insert("maximum".to_owned(), json!(bounds.most));
            schema.into()
        }
    }
}

/// A text of digits and a unit, within bounds. Editors show the words and not the pattern.
fn measure(bounds: MeasureBounds, form: KeyForm, units: &[(&str, u64)], what: &str) -> Map<String, Value> {
    let of_unit = |(unit, factor): &(&str, u64)| {
        let (least, most) = (bounds.least.div_ceil(*factor), bounds.most / factor);
        let zero = if least == 0 { "0|" } else { "" };
        (least <= most).then(|| format!("({zero}{}){unit}", numbers(least.max(1), most)))
    };
    let pattern = format!("^0*({})$", units.iter().filter_map(of_unit).collect::<Vec<_>>().join("|"));
    let words = format!("{what} from {}", form.show_bounds());
    let fields = [("type", "string"), ("pattern", &pattern), ("patternErrorMessage", &words)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

/// A pattern for the whole numbers from `least`, which is not 0, to `most`, without leading zeros.
fn numbers(least: u64, most: u64) -> String {
    let mut alternatives = Vec::new();
    // The lengths of which all numbers are within the bounds.
    let (mut shortest, mut longest) = (None, 0);
    let mut from = least;
    while from <= most {
        // From here on, numbers that differ in this digit and those after it are all within the bounds.
        let mut place: u64 = 1;
        while from.is_multiple_of(place * 10) && from + (place * 10 - 1) <= most {
            place *= 10;
        }
        let (before, digit) = (from / (place * 10), from / place % 10);
        let last = digit + ((most - from + 1) / place - 1).min(9 - digit);
        let digits = place.ilog10();
        if (before, digit, last) == (0, 1, 9) {
            shortest = shortest.or(Some(digits));
            longest = digits;
        } else {
            let before = if before == 0 { String::new() } else { before.to_string() };
            let here = if digit == last { digit.to_string() } else { format!("[{digit}-{last}]") };
            let after = if digits == 0 { String::new() } else { format!("[0-9]{{{digits}}}") };
            alternatives.push(format!("{before}{here}{after}"));
        }
        from += (last - digit + 1) * place;
    }
    alternatives.extend(shortest.map(|shortest| format!("[1-9][0-9]{{{shortest},{longest}}}")));
    alternatives.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_a_range_fits_its_numbers_alone() {
        for (least, most) in
            [(1, 1), (1, 9), (1, 24), (3, 10), (7, 1001), (86, 365), (250, 1000), (999, 1000)]
        {
            let pattern = json!({"pattern": format!("^({})$", numbers(least, most))});
            let judge = jsonschema::validator_for(&pattern).unwrap();
            for number in 0..1_200 {
                let fits = judge.is_valid(&json!(number.to_string()));
                assert_eq!(fits, (least..=most).contains(&number), "{number} in {pattern}");
            }
        }
    }

    #[test]
    fn the_pattern_of_a_measure_has_the_bounds_of_each_unit() {
        let bounds = MeasureBounds { least: 1_000, most: 86_400_000 };
        let judge = jsonschema::validator_for(&json!(measure(
            bounds,
            KeyForm::Duration(bounds),
            TIME_UNITS,
            "a duration"
        )))
        .unwrap();
        for (text, fits) in [
            ("1s", true),
            ("001s", true),
            ("1000ms", true),
            ("86400s", true),
            ("1440m", true),
            ("24h", true),
            ("1d", true),
            ("86400000ms", true),
            ("999ms", false),
            ("0s", false),
            ("86401s", false),
            ("86400001ms", false),
            ("25h", false),
            ("2d", false),
            ("1", false),
            ("1 s", false),
            ("-1s", false),
        ] {
            assert_eq!(judge.is_valid(&json!(text)), fits, "{text}");
        }
    }
}
