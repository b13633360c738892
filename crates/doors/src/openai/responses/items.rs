//! The items of a response, in the form of the API.

use serde_json::{Value, json};

/// The items that are a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextKind {
    /// A message of the organism.
    Message,
    /// A thought, as it is on record.
    Thought,
}

impl TextKind {
    /// How its events are called.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            TextKind::Message => "output_text",
            TextKind::Thought => "reasoning_text",
        }
    }

    pub(super) fn write_part(self, text: &str) -> Value {
        match self {
            TextKind::Message => {
                json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
            }
            TextKind::Thought => json!({"type": "reasoning_text", "text": text}),
        }
    }

    /// The item. What has just begun has no text.
    pub(super) fn write_item(self, id: &str, status: &str, text: Option<&str>) -> Value {
        let content: Vec<Value> = text.into_iter().map(|text| self.write_part(text)).collect();
        match self {
            TextKind::Message => {
                json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content})
            }
            TextKind::Thought => {
                json!({"id": id, "type": "reasoning", "status": status, "summary": [], "content": content})
            }
        }
    }
}

/// A message of the client.
pub(super) fn write_asked(id: &str, text: &str) -> Value {
    let content = json!([{"type": "input_text", "text": text}]);
    json!({"id": id, "type": "message", "role": "user", "status": "completed", "content": content})
}

/// A call of a listener. It is the one kind of call that a client must not run itself.
#[derive(Clone, Debug)]
pub(super) struct CallItem {
    pub(super) id: String,
    pub(super) listener: String,
    pub(super) element: String,
    pub(super) arguments: String,
}

impl CallItem {
    /// The item, with what the call gave or why it failed.
    pub(super) fn write_item(&self, status: &str, output: Option<&str>, error: Option<&Value>) -> Value {
        json!({
            "id": self.id,
            "type": "mcp_call",
            "status": status,
            "server_label": self.listener,
            "name": self.element,
            "arguments": self.arguments,
            "output": output,
            "error": error,
            "approval_request_id": null,
        })
    }
}

/// A list of items in the form of the API.
pub(super) fn write_list(items: Vec<Value>, has_more: bool) -> Value {
    let id = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned().unwrap_or_default();
    let (first, last) = (id(items.first()), id(items.last()));
    json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more})
}
