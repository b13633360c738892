//! Judges values by a JSON Schema of any origin, within bounds.
//!
//! A schema and a value come in; the first breach goes out. Nothing is fetched: a reference that leaves the schema is
//! an error. Patterns stop after a number of steps, and a value whose pattern stops is refused.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use systole_kit::writer::make_visible;

use crate::limits;

/// What a value breaks in a JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaBreach {
    /// The place in the value, as a JSON pointer; empty for the whole value.
    pub place: String,
    /// The keyword.
    pub keyword: String,
    /// The place of the keyword in the schema, as a JSON pointer.
    pub rule: String,
    /// What is wrong, shortened.
    pub message: String,
}

/// A compiled JSON Schema.
#[derive(Debug)]
pub(super) struct JsonJudge(Validator);

impl JsonJudge {
    /// Compiles a schema, or says why it cannot judge.
    pub(super) fn from_schema(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(limits::BACKTRACKS)
            .size_limit(limits::PATTERN_BYTES)
            .dfa_size_limit(limits::PATTERN_BYTES);
        let options =
            jsonschema::options().should_validate_formats(false).with_pattern_options(patterns).offline();
        options.build(schema).map(Self).map_err(|error| shorten_text(&error.to_string()))
    }

    /// The first breach of a value.
    pub(super) fn find_breach(&self, value: &Value) -> Option<SchemaBreach> {
        let error = self.0.iter_errors(value).next()?;
        Some(SchemaBreach {
            place: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            rule: error.schema_path().to_string(),
            message: shorten_text(&error.to_string()),
        })
    }
}

/// The first breach of one value.
pub(crate) fn judge_once(schema: &Value, value: &Value) -> Result<Option<SchemaBreach>, String> {
    JsonJudge::from_schema(schema).map(|judge| judge.find_breach(value))
}

/// The beginning of a text of any origin, with every hidden character shown.
pub(super) fn shorten_text(text: &str) -> String {
    let mut shown = make_visible(text).replace('\n', " ");
    if shown.len() > limits::BREACH_BYTES {
        shown.truncate(shown.floor_char_boundary(limits::BREACH_BYTES));
        shown.push('…');
    }
    shown
}
