//! JSON with its keys in order: libraries write the same keys in any order, and what they write is the same message.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits;

/// The same JSON with its keys in order, and all else as it is written. An error says what is wrong with it.
pub fn sort_keys(json: &RawValue) -> Result<String, String> {
    sort_below(json, limits::DATA_DEPTH)
}

fn sort_below(json: &RawValue, depth: usize) -> Result<String, String> {
    let unfit = |error: serde_json::Error| format!("cannot be read: {error}");
    let deeper =
        depth.checked_sub(1).ok_or_else(|| format!("is nested deeper than {}", limits::DATA_DEPTH))?;
    let written = json.get();
    match written.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(written).map_err(unfit)?;
            let fields = fields
                .into_iter()
                .map(|(key, value)| Ok(format!("{}:{}", Value::from(key), sort_below(value, deeper)?)));
            Ok(format!("{{{}}}", fields.collect::<Result<Vec<_>, String>>()?.join(",")))
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(written).map_err(unfit)?;
            let values = values.into_iter().map(|value| sort_below(value, deeper));
            Ok(format!("[{}]", values.collect::<Result<Vec<_>, String>>()?.join(",")))
        }
        Some(b'"') => {
            serde_json::from_str::<String>(written).map_err(unfit).map(|text| Value::from(text).to_string())
        }
        _ => Ok(written.to_owned()),
    }
}
