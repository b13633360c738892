//! The input for a payload: values, lists and records with the place of each.
//!
//! Fields of a command line and JSON both become this. It does not know the schema. An error in the input is a
//! `ValueSlip`, worded so that its author can fix it from the message alone.

use crate::limits;

/// An error in values for a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSlip {
    /// The place in the payload, such as `/search/limit` or `/order/line[2]`.
    pub path: String,
    /// Line and column in the JSON text, both from 1; none for fields and for values in memory.
    pub place: Option<(u64, u64)>,
    /// The error: `limit: 0 is less than 1, the smallest allowed`.
    pub message: String,
    /// What is allowed there: `limit: whole number, 1 to 100, may be left out`.
    pub expected: String,
    /// The given value, shortened if it is long.
    pub received: String,
    /// What to write instead.
    pub fix: String,
}

/// A value in the input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GivenValue {
    Null,
    Truth(bool),
    /// As spelled in the input.
    Number(String),
    Text(String),
    List(Vec<GivenPart>),
    /// In input order.
    Record(Vec<(String, GivenPart)>),
    /// A whole element as XML.
    Xml(String),
}

/// A value and its place: the byte of the JSON text, or the number of the field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenPart {
    pub(crate) given: GivenValue,
    pub(crate) offset: usize,
}

/// The syntax of the input: it decides how values are spelled and what a fix looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueManner {
    /// `name=value`: every value is text, and a name may come again.
    Fields,
    Json,
}

impl GivenValue {
    /// The kind of value, to follow `is`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Truth(true) => "true",
            Self::Truth(false) => "false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Record(_) => "an object",
            Self::Xml(_) => "XML",
        }
    }
}

impl GivenPart {
    /// The value as it is written in that syntax.
    pub(crate) fn show_for(&self, manner: ValueManner) -> String {
        let mut out = String::new();
        match (&self.given, manner) {
            (GivenValue::Text(text), ValueManner::Fields) => out.push_str(text),
            (GivenValue::Record(fields), ValueManner::Fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                out.push_str(&if names.is_empty() { "no fields".to_owned() } else { names.join(", ") });
            }
            _ => self.spell_into(&mut out),
        }
        shorten_text(out)
    }

    /// As JSON, up to the quoted length.
    fn spell_into(&self, out: &mut String) {
        if out.len() > limits::QUOTED_INPUT {
            return;
        }
        match &self.given {
            GivenValue::Null => out.push_str("null"),
            GivenValue::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
            GivenValue::Number(spelt) => out.push_str(spelt),
            GivenValue::Text(text) | GivenValue::Xml(text) => out.push_str(&text_as_json(text)),
            GivenValue::List(parts) => {
                out.push('[');
                for (at, part) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    part.spell_into(out);
                }
                out.push(']');
            }
            GivenValue::Record(fields) => {
                out.push('{');
                for (at, (key, part)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(&text_as_json(key));
                    out.push_str(": ");
                    part.spell_into(out);
                }
                out.push('}');
            }
        }
    }
}

/// A text as JSON.
pub(crate) fn text_as_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The beginning of a long text.
pub(crate) fn shorten_text(mut text: String) -> String {
    if text.len() > limits::QUOTED_INPUT {
        text.truncate(text.floor_char_boundary(limits::QUOTED_INPUT));
        text.push('…');
    }
    text
}
