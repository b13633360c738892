//! Checks whether the JSON of a final follows the composer's schema, with our own messages.
//!
//! A schema and a value come in; nothing, or the faulty places with what is expected there, goes
//! out.

use serde_json::Value;

/// The message for text that is not JSON.
pub(super) fn describe_unread(error: &serde_json::Error) -> String {
    format!("Its parser says: {error}.")
}

/// Checks a value.
///
/// # Errors
/// The places where it does not follow the schema.
pub(super) fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|_| "The schema itself cannot be read.".to_owned())?;
    let places: Vec<String> = validator
        .iter_errors(value)
        .take(crate::limits::PLACES)
        .map(|error| {
            let place = error.instance_path().to_string();
            let at = if place.is_empty() { "The whole" } else { place.as_str() };
            let rule = error.schema_path().to_string();
            let asked = schema.pointer(&rule).map(ToString::to_string).unwrap_or_default();
            let shown: String = asked.chars().take(200).collect();
            format!("{at} breaks {rule}: {shown}.")
        })
        .collect();
    if places.is_empty() { Ok(()) } else { Err(places.join("\n")) }
}
