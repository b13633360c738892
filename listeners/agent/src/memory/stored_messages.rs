//! Messages as the log has them, and how many tokens they have.
//!
//! Messages come in; JSON and estimates go out.

use serde_json::{Value, json};

use crate::model::{MessageAuthor, MessageFile, MessagePart, PromptMessage};

/// Messages as the prompt chain stores them: JSON, one message per line.
pub(crate) fn as_text(messages: &[PromptMessage]) -> String {
    let lines: Vec<String> = messages.iter().map(|message| build_line_json(message).to_string()).collect();
    lines.join("\n")
}

fn build_line_json(message: &PromptMessage) -> Value {
    let parts: Vec<Value> = message.parts.iter().map(build_part_json).collect();
    let role = match message.role {
        MessageAuthor::User => "user",
        MessageAuthor::Assistant => "assistant",
    };
    json!({ "role": role, "parts": parts })
}

fn build_part_json(part: &MessagePart) -> Value {
    match part {
        MessagePart::Text(text) => json!({ "text": text }),
        MessagePart::Call(call) => {
            json!({ "call": { "id": call.id, "name": call.name, "arguments": call.arguments } })
        }
        MessagePart::Result { id, name, text, is_error } => {
            json!({ "result": { "id": id, "name": name, "text": text, "is_error": is_error } })
        }
        MessagePart::File(file) => {
            let MessageFile { number, hash, media_type, bytes, .. } = file;
            json!({ "file": { "number": number, "sha256": hash, "type": media_type, "bytes": bytes } })
        }
        MessagePart::Reasoning(kept) => json!({ "reasoning": kept }),
    }
}

/// An estimate of the tokens of a message.
pub(super) fn estimate_tokens(message: &PromptMessage) -> u64 {
    let parts = message.parts.iter().map(|part| match part {
        MessagePart::Text(text) => crate::tokens::estimate_text(text),
        MessagePart::Call(call) => {
            crate::tokens::estimate_text(&call.name) + crate::tokens::estimate_text(&call.arguments)
        }
        MessagePart::Result { name, text, .. } => {
            crate::tokens::estimate_text(name) + crate::tokens::estimate_text(text)
        }
        MessagePart::File(file) => file.estimate_tokens(),
        MessagePart::Reasoning(kept) => crate::tokens::estimate_text(&kept.to_string()),
    });
    parts.sum::<u64>() + crate::tokens::estimate_message("")
}
