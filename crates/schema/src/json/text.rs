//! Reads JSON strictly into values for a payload.
//!
//! Text or a value in memory comes in; parts with their places go out, or the first error. It refuses a repeated key,
//! depth and size beyond the limits, and a number that would lose digits. Numbers are kept as they are spelled, so no
//! reader of ours turns them into binary fractions.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::build::given::{GivenPart, GivenValue, ValueSlip, shorten_text};
use crate::limits;
use crate::tree::line_and_column;
use systole_wire::DocumentLimits;

/// Reads a text; `root` is the path of the value.
pub(crate) fn read_text(json: &[u8], root: &str) -> Result<GivenPart, Box<ValueSlip>> {
    let reading = JsonReader { json };
    let most = DocumentLimits::default().message_bytes;
    if json.len() > most {
        let message = format!("the JSON has {} bytes, the limit is {most}", json.len());
        let expected = format!("at most {most} bytes");
        return Err(reading.make_slip(root, 0, message, expected, "send less".to_owned()));
    }
    let utf8 = std::str::from_utf8(json).map_err(|error| {
        let message = "the JSON is not UTF-8".to_owned();
        reading.make_slip(
            root,
            error.valid_up_to(),
            message,
            "UTF-8".to_owned(),
            "write it in UTF-8".to_owned(),
        )
    })?;
    let whole: &RawValue =
        serde_json::from_str(utf8).map_err(|error| reading.report_broken(root, 0, &error))?;
    reading.read_part(whole.get(), root, 0)
}

/// The value that a text spells. A repeated key is an error: readers differ in which of the values they take.
pub(crate) fn parse_text(json: &str) -> Result<Value, Box<ValueSlip>> {
    read_text(json.as_bytes(), "")?;
    let reading = JsonReader { json: json.as_bytes() };
    serde_json::from_str(json).map_err(|error| reading.report_broken("", 0, &error))
}

/// Takes a value in memory.
pub(crate) fn read_value(value: &Value, root: &str) -> Result<GivenPart, Box<ValueSlip>> {
    take_value(value, 0).ok_or_else(|| too_deep(root, None))
}

fn take_value(value: &Value, depth: usize) -> Option<GivenPart> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
    let deeper = depth.saturating_add(1);
    let given = match value {
        Value::Null => GivenValue::Null,
        Value::Bool(truth) => GivenValue::Truth(*truth),
        Value::Number(number) => GivenValue::Number(number.to_string()),
        Value::String(text) => GivenValue::Text(text.clone()),
        Value::Array(values) => {
            GivenValue::List(values.iter().map(|value| take_value(value, deeper)).collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Some((key.clone(), take_value(value, deeper)?));
            GivenValue::Record(fields.iter().map(field).collect::<Option<_>>()?)
        }
    };
    Some(GivenPart { given, offset: 0 })
}

fn too_deep(path: &str, place: Option<(u64, u64)>) -> Box<ValueSlip> {
    let limit = limits::JSON_DEPTH.to_string();
    Box::new(ValueSlip {
        path: path.to_owned(),
        place,
        message: format!("the JSON is nested deeper than {limit}"),
        expected: format!("at most {limit} objects and lists inside one another"),
        received: "…".to_owned(),
        fix: "nest it less deep".to_owned(),
    })
}

struct JsonReader<'j> {
    json: &'j [u8],
}

impl<'j> JsonReader<'j> {
    fn make_slip(
        &self,
        path: &str,
        offset: usize,
        message: String,
        expected: String,
        fix: String,
    ) -> Box<ValueSlip> {
        let there = self.json.get(offset..).unwrap_or_default();
        let there = there.get(..there.len().min(160)).unwrap_or_default();
        let received = shorten_text(String::from_utf8_lossy(there).trim_end_matches('\u{fffd}').to_owned());
        let place = Some(line_and_column(self.json, offset));
        Box::new(ValueSlip { path: path.to_owned(), place, message, expected, received, fix })
    }

    /// The JSON reader's error, at its place in the whole text.
    fn report_broken(&self, path: &str, from: usize, error: &serde_json::Error) -> Box<ValueSlip> {
        let text = self.json.get(from..).unwrap_or_default();
        let before = text.split_inclusive(|b| *b == b'\n').take(error.line().saturating_sub(1));
        let start: usize = before.map(<[u8]>::len).sum();
        let offset = from.saturating_add(start).saturating_add(error.column().saturating_sub(1));
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        let message = format!("the JSON cannot be read: {words}");
        self.make_slip(
            path,
            offset,
            message,
            "one JSON object".to_owned(),
            "write well-formed JSON".to_owned(),
        )
    }

    fn read_part(&self, raw: &'j str, path: &str, depth: usize) -> Result<GivenPart, Box<ValueSlip>> {
        let offset = raw.as_ptr().addr().saturating_sub(self.json.as_ptr().addr());
        if depth > limits::JSON_DEPTH {
            return Err(too_deep(path, Some(line_and_column(self.json, offset))));
        }
        let broken = |error: serde_json::Error| self.report_broken(path, offset, &error);
        let deeper = depth.saturating_add(1);
        let given = match raw.bytes().next() {
            Some(b'{') => {
                let JsonEntries(entries) = serde_json::from_str(raw).map_err(broken)?;
                GivenValue::Record(self.read_record(entries, path, deeper)?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(broken)?;
                let item = |(at, item): (usize, &&'j RawValue)| {
                    let path = format!("{path}[{}]", at.saturating_add(1));
                    self.read_part(item.get(), &path, deeper)
                };
                GivenValue::List(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
            Some(b'"') => GivenValue::Text(serde_json::from_str(raw).map_err(broken)?),
            Some(b'n') => GivenValue::Null,
            Some(b't') => GivenValue::Truth(true),
            Some(b'f') => GivenValue::Truth(false),
            _ => GivenValue::Number(raw.to_owned()),
        };
        Ok(GivenPart { given, offset })
    }

    fn read_record(
        &self,
        entries: Vec<(String, &'j RawValue)>,
        path: &str,
        depth: usize,
    ) -> Result<Vec<(String, GivenPart)>, Box<ValueSlip>> {
        let mut seen = HashSet::with_capacity(entries.len());
        let mut fields = Vec::with_capacity(entries.len());
        for (key, raw) in &entries {
            let path = if key == crate::form::OWN { path.to_owned() } else { format!("{path}/{key}") };
            if !seen.insert(key.as_str()) {
                let offset = raw.get().as_ptr().addr().saturating_sub(self.json.as_ptr().addr());
                let message = format!("{}: the key comes twice in one object", shorten_text(key.clone()));
                let fix = "keep one of them; several values of one name are a list".to_owned();
                return Err(self.make_slip(&path, offset, message, "each key once".to_owned(), fix));
            }
            fields.push((key.clone(), self.read_part(raw.get(), &path, depth)?));
        }
        Ok(fields)
    }
}

/// The entries of an object in order; a repeated key appears repeatedly.
struct JsonEntries<'j>(Vec<(String, &'j RawValue)>);

impl<'de> Deserialize<'de> for JsonEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct JsonObject;

        impl<'de> Visitor<'de> for JsonObject {
            type Value = JsonEntries<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(JsonEntries(entries))
            }
        }

        from.deserialize_map(JsonObject)
    }
}
