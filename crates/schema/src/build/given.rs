//! What somebody gave to make a payload of, before it is one: values, lists and records with the place of each.
//!
//! Fields of a command line and JSON both become this. Never knows the schema. What is wrong with what was given
//! is a `Slip`, worded so that its author can mend it from these words alone.

/// The most slips that are told at once.
pub(crate) const SLIPS: usize = 20;

/// Longest piece of what was given that is quoted whole.
const QUOTED: usize = 120;

/// What is wrong with values that should become a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    /// Where in the payload, as `/search/limit` or `/order/line[2]`.
    pub path: String,
    /// Line and column in the JSON text, both from 1; none for fields and for values in memory.
    pub place: Option<(u64, u64)>,
    /// What is wrong: `limit: 0 is less than 1, the smallest allowed`.
    pub message: String,
    /// What is allowed there: `limit: whole number, 1 to 100, may be left out`.
    pub expected: String,
    /// What was given, shortened where it is long.
    pub received: String,
    /// What to write instead.
    pub fix: String,
}

/// A value that was given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    Null,
    Truth(bool),
    /// As it is spelt.
    Number(String),
    Text(String),
    List(Vec<Part>),
    /// In the order in which they were given.
    Record(Vec<(String, Part)>),
}

/// A value and where it was given: the byte of the JSON text, or the number of the field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) given: Given,
    pub(crate) offset: usize,
}

/// Which writing it came in: it decides how values are spelt and how a mend is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `name=value`: every value is text, and a name may come again.
    Fields,
    Json,
}

impl Given {
    /// What it is, to follow `is`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Truth(true) => "true",
            Self::Truth(false) => "false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Record(_) => "an object",
        }
    }
}

impl Part {
    /// The value as it would be written in that manner.
    pub(crate) fn shown(&self, manner: Manner) -> String {
        let mut out = String::new();
        match (&self.given, manner) {
            (Given::Text(text), Manner::Fields) => out.push_str(text),
            (Given::Record(fields), Manner::Fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                out.push_str(&if names.is_empty() { "no fields".to_owned() } else { names.join(", ") });
            }
            _ => self.spell(&mut out),
        }
        shortened(out)
    }

    /// As JSON, as far as somebody would look at.
    fn spell(&self, out: &mut String) {
        if out.len() > QUOTED {
            return;
        }
        match &self.given {
            Given::Null => out.push_str("null"),
            Given::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Given::Number(spelt) => out.push_str(spelt),
            Given::Text(text) => out.push_str(&text_as_json(text)),
            Given::List(parts) => {
                out.push('[');
                for (at, part) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    part.spell(out);
                }
                out.push(']');
            }
            Given::Record(fields) => {
                out.push('{');
                for (at, (key, part)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(&text_as_json(key));
                    out.push_str(": ");
                    part.spell(out);
                }
                out.push('}');
            }
        }
    }
}

/// A text as it stands in JSON.
pub(crate) fn text_as_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The beginning of what is long.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > QUOTED {
        text.truncate(text.floor_char_boundary(QUOTED));
        text.push('…');
    }
    text
}
