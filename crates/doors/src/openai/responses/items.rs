//! The items of a response, in the form of the API.

use serde_json::{Value, json};

/// A text of a message.
pub(super) fn write_text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// A message of the organism.
pub(super) fn write_message(id: &str, status: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.into_iter().map(write_text_part).collect();
    json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content})
}

/// A message of the client.
pub(super) fn write_asked(id: &str, text: &str) -> Value {
    let content = json!([{"type": "input_text", "text": text}]);
    json!({"id": id, "type": "message", "role": "user", "status": "completed", "content": content})
}

/// A thought, as it is on record.
pub(super) fn write_thought_part(text: &str) -> Value {
    json!({"type": "reasoning_text", "text": text})
}

/// A thought.
pub(super) fn write_thought(id: &str, status: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.into_iter().map(write_thought_part).collect();
    json!({"id": id, "type": "reasoning", "status": status, "summary": [], "content": content})
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
