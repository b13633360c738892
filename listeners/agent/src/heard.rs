//! A model's answer, as the journal keeps it: its words as received, or, if it is more than words, its parts as JSON.
//!
//! An answer comes in and a text with the stop reason goes out, or the reverse. Nothing is lost in between.

use serde_json::{Value, json};

use crate::model::{Answer, Call, Part, Stop};

/// The suffix of a stop reason if the text is a list of parts.
const PARTS: &str = "+parts";

/// The stop reason and the text.
pub(crate) fn written(answer: &Answer) -> (String, String) {
    let stop = match answer.stop {
        Stop::End => "end",
        Stop::Length => "length",
        Stop::Tool => "tool",
        Stop::Filtered => "filtered",
        Stop::Cut => "cut",
    };
    match answer.parts.as_slice() {
        [] => (stop.to_owned(), String::new()),
        [Part::Text(text)] => (stop.to_owned(), text.clone()),
        parts => {
            let parts: Vec<Value> = parts.iter().filter_map(as_json).collect();
            ([stop, PARTS].concat(), Value::Array(parts).to_string())
        }
    }
}

fn as_json(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) => Some(json!({ "text": text })),
        Part::Call(call) => {
            Some(json!({ "call": { "id": call.id, "name": call.name, "arguments": call.arguments } }))
        }
        Part::Reasoning(kept) => Some(json!({ "reasoning": kept })),
        // A model never answers a call.
        Part::Result { .. } => None,
    }
}

/// The most bytes of a text in a journal entry, written as XML. An entry is no longer than a message.
const PIECE: usize = 900 << 10;

/// Splits a text so that each piece fits into a journal entry or a document.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        // The longest escape of one of these has six characters.
        let is_escaped = character.is_ascii_control() || matches!(character, '<' | '>' | '&' | '"' | '\'');
        let size = if is_escaped { 6 } else { character.len_utf8() };
        if bytes + size > PIECE {
            pieces.extend(text.get(from..at));
            (from, bytes) = (at, 0);
        }
        bytes += size;
    }
    pieces.extend(text.get(from..));
    pieces
}

/// The beginning of a stop reason if there is no answer.
const FAULT: &str = "model.";

/// A model's answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
}

impl Heard {
    /// Reads an answer back. `None` if there was no answer, even if parts of one had come. Text that cannot be read
    /// was not written by this program, and is taken as it is.
    pub(crate) fn read(stop: &str, text: &str) -> Option<Self> {
        if stop.starts_with(FAULT) {
            return None;
        }
        let (reason, parts) = match stop.strip_suffix(PARTS) {
            Some(reason) => (reason, parts(text)),
            None => (stop, None),
        };
        let plain = || if text.is_empty() { Vec::new() } else { vec![Part::Text(text.to_owned())] };
        let stop = match reason {
            "length" => Stop::Length,
            "tool" => Stop::Tool,
            "filtered" => Stop::Filtered,
            "cut" => Stop::Cut,
            _ => Stop::End,
        };
        Some(Self { parts: parts.unwrap_or_else(plain), stop })
    }

    /// All its text parts, joined.
    pub(crate) fn text(&self) -> String {
        let words = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect()
    }

    /// Whether it holds reasoning in the provider's own form.
    pub(crate) fn reasons(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Reasoning(_)))
    }

    /// Its native calls, in their order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

fn parts(text: &str) -> Option<Vec<Part>> {
    let Ok(Value::Array(parts)) = serde_json::from_str(text) else { return None };
    parts.iter().map(part).collect()
}

fn part(value: &Value) -> Option<Part> {
    if let Some(text) = value.get("text").and_then(Value::as_str) {
        return Some(Part::Text(text.to_owned()));
    }
    if let Some(kept) = value.get("reasoning") {
        return Some(Part::Reasoning(kept.clone()));
    }
    let call = value.get("call")?;
    let field = |name: &str| Some(call.get(name)?.as_str()?.to_owned());
    Some(Part::Call(Call { id: field("id")?, name: field("name")?, arguments: field("arguments")? }))
}
