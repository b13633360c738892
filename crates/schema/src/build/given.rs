//! The input for a payload: values, lists and records with the place of each.
//!
//! Fields of a command line and JSON both become this. It does not know the schema. An error in the input is a
//! `ValueSlip`, worded so that its author can fix it from the message alone.

/// The most slips reported at once.
pub(crate) const SLIPS: usize = 20;

/// Longest piece of input that is quoted whole.
const QUOTED: usize = 120;

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
pub(crate) enum Given {
    Null,
    Truth(bool),
    /// As spelled in the input.
    Number(String),
    Text(String),
    List(Vec<Part>),
    /// In input order.
    Record(Vec<(String, Part)>),
    /// A whole element as XML.
    Xml(String),
}

/// A value and its place: the byte of the JSON text, or the number of the field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) given: Given,
    pub(crate) offset: usize,
}

/// The syntax of the input: it decides how values are spelled and what a fix looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `name=value`: every value is text, and a name may come again.
    Fields,
    Json,
}

impl Given {
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

impl Part {
    /// The value as it is written in that syntax.
    pub(crate) fn show_for(&self, manner: Manner) -> String {
        let mut out = String::new();
        match (&self.given, manner) {
            (Given::Text(text), Manner::Fields) => out.push_str(text),
            (Given::Record(fields), Manner::Fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                out.push_str(&if names.is_empty() { "no fields".to_owned() } else { names.join(", ") });
            }
            _ => self.spell_into(&mut out),
        }
        shorten_text(out)
    }

    /// As JSON, up to the quoted length.
    fn spell_into(&self, out: &mut String) {
        if out.len() > QUOTED {
            return;
        }
        match &self.given {
            Given::Null => out.push_str("null"),
            Given::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Given::Number(spelt) => out.push_str(spelt),
            Given::Text(text) | Given::Xml(text) => out.push_str(&text_as_json(text)),
            Given::List(parts) => {
                out.push('[');
                for (at, part) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    part.spell_into(out);
                }
                out.push(']');
            }
            Given::Record(fields) => {
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
    if text.len() > QUOTED {
        text.truncate(text.floor_char_boundary(QUOTED));
        text.push('…');
    }
    text
}
