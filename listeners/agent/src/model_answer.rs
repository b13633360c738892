//! A model's answer, as the journal keeps it: its words as received, or, if it is more than words, its parts as JSON.
//!
//! An answer comes in and a text with the stop reason goes out, or the reverse. Nothing is lost in between.

use serde_json::{Value, json};

use crate::model::{MessagePart, ModelAnswer, NativeCall, StopReason};

/// The suffix of a stop reason if the text is a list of parts.
const PARTS: &str = "+parts";

/// The stop reason and the text.
pub(crate) fn write_answer(answer: &ModelAnswer) -> (String, String) {
    let stop = match answer.stop {
        StopReason::End => "end",
        StopReason::Length => "length",
        StopReason::Tool => "tool",
        StopReason::Filtered => "filtered",
        StopReason::Cut => "cut",
    };
    match answer.parts.as_slice() {
        [] => (stop.to_owned(), String::new()),
        [MessagePart::Text(text)] => (stop.to_owned(), text.clone()),
        parts => {
            let parts: Vec<Value> = parts.iter().filter_map(as_json).collect();
            (format!("{stop}{PARTS}"), Value::Array(parts).to_string())
        }
    }
}

fn as_json(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text(text) => Some(json!({ "text": text })),
        MessagePart::Call(call) => {
            Some(json!({ "call": { "id": call.id, "name": call.name, "arguments": call.arguments } }))
        }
        MessagePart::Reasoning(kept) => Some(json!({ "reasoning": kept })),
        // A model never answers a call.
        MessagePart::Result { .. } | MessagePart::File(_) => None,
    }
}

/// Splits a text so that each piece fits into a journal entry or a document.
pub(crate) fn split_pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        // The longest escape of one of these has six characters.
        let is_escaped = character.is_ascii_control() || matches!(character, '<' | '>' | '&' | '"' | '\'');
        let size = if is_escaped { 6 } else { character.len_utf8() };
        if bytes + size > crate::limits::TEXT_BYTES {
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
pub(crate) struct HeardAnswer {
    pub(crate) parts: Vec<MessagePart>,
    pub(crate) stop: StopReason,
    /// The tokens of the request, if the provider reported them.
    pub(crate) tokens_in: Option<u64>,
}

impl HeardAnswer {
    /// Reads an answer back. `None` if there was no answer, even if parts of one had come. Text that cannot be read
    /// was not written by this program, and is taken as it is.
    pub(crate) fn from_text(stop: &str, text: &str) -> Option<Self> {
        if stop.starts_with(FAULT) {
            return None;
        }
        let (reason, parts) = match stop.strip_suffix(PARTS) {
            Some(reason) => (reason, read_parts(text)),
            None => (stop, None),
        };
        let plain = || if text.is_empty() { Vec::new() } else { vec![MessagePart::Text(text.to_owned())] };
        let stop = match reason {
            "length" => StopReason::Length,
            "tool" => StopReason::Tool,
            "filtered" => StopReason::Filtered,
            "cut" => StopReason::Cut,
            _ => StopReason::End,
        };
        Some(Self { parts: parts.unwrap_or_else(plain), stop, tokens_in: None })
    }

    /// The same, with the tokens that the provider reported for the request.
    pub(crate) fn with_tokens_in(self, tokens_in: Option<u64>) -> Self {
        Self { tokens_in, ..self }
    }

    /// All its text parts, joined.
    pub(crate) fn joined_text(&self) -> String {
        let words = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect()
    }

    /// Its text without the thoughts at the beginning.
    pub(crate) fn answer_text(&self) -> String {
        let text = self.joined_text();
        match skip_thoughts(&text) {
            Some(answer) => answer.to_owned(),
            None => text,
        }
    }

    /// Whether it holds reasoning: in the provider's own form, or as thoughts in its text.
    pub(crate) fn has_reasoning(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, MessagePart::Reasoning(_)))
            || skip_thoughts(&self.joined_text()).is_some()
    }

    /// Its native calls, in their order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &NativeCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// The text after the thoughts at its beginning. Some servers cut the first tag off. Then the last tag has to be alone
/// on its line, so that an answer about such tags stays whole.
fn skip_thoughts(text: &str) -> Option<&str> {
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(inside) = text.trim_start().strip_prefix(open) {
            return inside.split_once(close).map(|(_, answer)| answer.trim_start());
        }
    }
    let (thoughts, answer) = text.split_once("\n</think>\n")?;
    (!thoughts.contains("<think>")).then(|| answer.trim_start())
}

fn read_parts(text: &str) -> Option<Vec<MessagePart>> {
    let Ok(Value::Array(parts)) = serde_json::from_str(text) else { return None };
    parts.iter().map(read_part).collect()
}

fn read_part(value: &Value) -> Option<MessagePart> {
    if let Some(text) = value.get("text").and_then(Value::as_str) {
        return Some(MessagePart::Text(text.to_owned()));
    }
    if let Some(kept) = value.get("reasoning") {
        return Some(MessagePart::Reasoning(kept.clone()));
    }
    let call = value.get("call")?;
    let field = |name: &str| Some(call.get(name)?.as_str()?.to_owned());
    Some(MessagePart::Call(NativeCall {
        id: field("id")?,
        name: field("name")?,
        arguments: field("arguments")?,
    }))
}
