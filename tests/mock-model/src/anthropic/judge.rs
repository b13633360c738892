//! The requests that Anthropic accepts, and its messages when it refuses others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{PATH, signature};
use crate::asked::{Asked, Mode, Rules, Wanted, field, is_tool_name, list, text};
use crate::refusal::Refusal;
use crate::schema;

/// Judges a request.
pub(crate) fn judge(asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
    if asked.path() != PATH {
        return Err(Refusal::new(404, "Not found"));
    }
    if asked.method != axum::http::Method::POST {
        return Err(Refusal::new(405, "Method Not Allowed"));
    }
    // The provider's own library sends the key as a bearer.
    match asked.header("x-api-key").or_else(|| asked.bearer()).filter(|key| !key.is_empty()) {
        None => return Err(Refusal::new(401, "x-api-key header is required")),
        Some(key) if !rules.takes(key) => return Err(Refusal::new(401, "invalid x-api-key")),
        Some(_) => {}
    }
    if asked.header("anthropic-version").is_none_or(str::is_empty) {
        return Err(Refusal::bad("anthropic-version: header is required"));
    }
    let body =
        asked.json().map_err(|error| Refusal::bad(format!("The request body is not valid JSON: {error}")))?;
    for needed in ["model", "max_tokens", "messages"] {
        if field(&body, needed).is_none() {
            return Err(Refusal::bad(format!("{needed}: Field required")));
        }
    }
    let model = text(&body, "model");
    if !rules.has_model(model) {
        return Err(Refusal::new(404, format!("model: {model}")));
    }
    let Some(most) = body.get("max_tokens").and_then(Value::as_u64) else {
        return Err(Refusal::bad("max_tokens: Input should be a valid integer"));
    };
    if most == 0 {
        return Err(Refusal::bad("max_tokens: Input should be greater than or equal to 1"));
    }
    let budget = field(&body, "thinking").and_then(|thinking| thinking.get("budget_tokens")?.as_u64());
    if budget.is_some_and(|budget| budget >= most) {
        return Err(Refusal::bad("`max_tokens` must be greater than `thinking.budget_tokens`."));
    }
    tools(&body)?;
    messages(&body)?;
    schema::anthropic(&body)?;
    let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let mode = if streams { Mode::Stream } else { Mode::Whole };
    let wanted = Wanted::of(model, mode, &body, "messages", &["system", "messages", "tools"]);
    window(rules, wanted.input, most)?;
    Ok(wanted)
}

fn window(rules: &Rules, input: u64, most: u64) -> Result<(), Refusal> {
    let Some(window) = rules.window else { return Ok(()) };
    if input > window {
        return Err(Refusal::bad(format!("prompt is too long: {input} tokens > {window} maximum")));
    }
    if input.saturating_add(most) > window {
        return Err(Refusal::bad(format!(
            "input length and `max_tokens` exceed context limit: {input} + {most} > {window}, decrease input length or \
             `max_tokens` and try again"
        )));
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = list(body, "tools");
    if field(body, "tool_choice").is_some() && tools.is_empty() {
        return Err(Refusal::bad("tool_choice: tool_choice may only be specified while providing tools."));
    }
    let mut names = BTreeSet::new();
    for (place, tool) in tools.iter().enumerate() {
        let name = text(tool, "name");
        if name.is_empty() {
            return Err(Refusal::bad(format!("tools.{place}.custom.name: Field required")));
        }
        if !is_tool_name(name, 128) {
            let words =
                format!("tools.{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
            return Err(Refusal::bad(words));
        }
        let Some(schema) = field(tool, "input_schema") else {
            return Err(Refusal::bad(format!("tools.{place}.custom.input_schema: Field required")));
        };
        if text(schema, "type") != "object" {
            return Err(Refusal::bad(format!(
                "tools.{place}.custom.input_schema.type: Input should be 'object'"
            )));
        }
        if !names.insert(name) {
            return Err(Refusal::bad("tools: Tool names must be unique."));
        }
    }
    schema::anthropic_tools(body)
}

/// The blocks of a message's content. A text counts as one text block.
fn blocks(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::String(words)) => vec![serde_json::json!({"type": "text", "text": words})],
        _ => list(message, "content").to_vec(),
    }
}

fn messages(body: &Value) -> Result<(), Refusal> {
    let messages = list(body, "messages");
    if messages.is_empty() {
        return Err(Refusal::bad("messages: at least one message is required"));
    }
    let mut before: &str = "";
    // The ids of the calls in the previous message.
    let mut open: Vec<String> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role == "system" {
            return Err(Refusal::bad(
                "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \
                 \"system\" as an input message role.",
            ));
        }
        if role != "user" && role != "assistant" {
            return Err(Refusal::bad(format!(
                "messages.{place}.role: Input should be 'user' or 'assistant'"
            )));
        }
        if place == 0 && role != "user" {
            return Err(Refusal::bad("messages: first message must use the \"user\" role"));
        }
        if role == before {
            return Err(Refusal::bad(format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles \
                 in a row"
            )));
        }
        before = role;
        let blocks = blocks(message);
        let last = place + 1 == messages.len();
        if blocks.is_empty() && !(last && role == "assistant") {
            return Err(Refusal::bad(format!(
                "messages.{place}: all messages must have non-empty content except for the optional final assistant \
                 message"
            )));
        }
        open = results(place, &blocks, &open)?;
        let ends = blocks.last().map(|block| text(block, "text")).unwrap_or_default();
        if last && role == "assistant" && ends.ends_with(char::is_whitespace) {
            return Err(Refusal::bad(
                "messages: final assistant content cannot end with trailing whitespace",
            ));
        }
    }
    unanswered(messages.len().saturating_sub(1), &open)
}

fn unanswered(place: usize, open: &[String]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::bad(format!(
        "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
         block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    )))
}

/// Judges the blocks of a message against the calls of the previous one. Returns the calls in this message.
fn results(place: usize, blocks: &[Value], open: &[String]) -> Result<Vec<String>, Refusal> {
    let (mut waiting, mut calls) = (open.to_vec(), Vec::new());
    for (at, block) in blocks.iter().enumerate() {
        match text(block, "type") {
            "text" if text(block, "text").is_empty() => {
                return Err(Refusal::bad("messages: text content blocks must be non-empty"));
            }
            "tool_result" => {
                let id = text(block, "tool_use_id");
                let Some(found) = waiting.iter().position(|call| call == id) else {
                    return Err(Refusal::bad(format!(
                        "messages.{place}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                         Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )));
                };
                waiting.remove(found);
            }
            "tool_use" => {
                let id = text(block, "id");
                if calls.iter().any(|call| call == id) {
                    return Err(Refusal::bad("messages: `tool_use` ids must be unique"));
                }
                if !block.get("input").is_some_and(Value::is_object) {
                    let words = "tool_use.input: Input should be a valid dictionary";
                    return Err(Refusal::bad(format!("messages.{place}.content.{at}.{words}")));
                }
                calls.push(id.to_owned());
            }
            "thinking" if text(block, "signature") != signature(text(block, "thinking")) => {
                return Err(Refusal::bad(format!(
                    "messages.{place}.content.{at}: Invalid `signature` in `thinking` block"
                )));
            }
            _ => {}
        }
    }
    unanswered(place.saturating_sub(1), &waiting)?;
    Ok(calls)
}
