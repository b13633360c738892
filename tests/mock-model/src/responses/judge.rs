//! The requests that Responses accept, and their messages when they refuse others.

use serde_json::Value;

use super::PATH;
use crate::anthropic::signature;
use crate::asked::{Asked, Mode, Rules, Wanted, field, is_tool_name, list, text};
use crate::openai::{check_key, find_body};
use crate::refusal::Refusal;
use crate::schema;

/// Judges a request.
pub(crate) fn judge(asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
    if asked.method != axum::http::Method::POST {
        let words = format!("Not allowed to {} on {PATH}.", asked.method);
        return Err(Refusal::new(405, words).called("method_not_supported"));
    }
    check_key(asked, rules)?;
    let (body, model) = find_body(asked, rules)?;
    tools(&body)?;
    input(&body)?;
    schema::responses(&body)?;
    let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let mode = if streams { Mode::Stream } else { Mode::Whole };
    let wanted = Wanted::of(&model, mode, &body, "input", &["instructions", "input", "tools"]);
    match rules.window.filter(|window| wanted.input > *window) {
        Some(_) => Err(Refusal::bad(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        )
        .at("input")
        .called("context_length_exceeded")),
        None => Ok(wanted),
    }
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = list(body, "tools");
    if tools.is_empty() && field(body, "tool_choice").is_some() {
        let words = "Tool choice must not be specified when 'tools' is empty.";
        return Err(Refusal::bad(words).at("tool_choice"));
    }
    for (place, tool) in tools.iter().enumerate() {
        let at = format!("tools[{place}].name");
        if text(tool, "type") != "function" || !is_tool_name(text(tool, "name"), 64) {
            return Err(Refusal::bad(format!("Missing required parameter: '{at}'.")).at(at));
        }
        // Without the field a tool is strict.
        if tool.get("strict").and_then(Value::as_bool) != Some(false) {
            let what = format!("function '{}'", text(tool, "name"));
            let at = format!("tools[{place}].parameters");
            schema::check_strict(&what, &at, field(tool, "parameters"))?;
        }
    }
    Ok(())
}

/// Checks the items: each output answers an earlier call, each call has its output, and reasoning is unchanged.
fn input(body: &Value) -> Result<(), Refusal> {
    let items = list(body, "input");
    if items.is_empty() && text(body, "input").is_empty() {
        let words = "One of \"input\" or \"previous_response_id\" or 'prompt' must be provided.";
        return Err(Refusal::bad(words).called("missing_required_parameter"));
    }
    let mut open: Vec<&str> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        match text(item, "type") {
            "function_call" => open.push(text(item, "call_id")),
            "function_call_output" => {
                let id = text(item, "call_id");
                let Some(at) = open.iter().position(|call| *call == id) else {
                    let words = format!("No tool call found for function call output with call_id {id}.");
                    return Err(Refusal::bad(words).at("input"));
                };
                open.remove(at);
            }
            "reasoning" => reasoning(item, items.get(place + 1))?,
            "message" | "" if ["user", "assistant", "system", "developer"].contains(&text(item, "role")) => {
                if let Some(id) = open.first().filter(|_| text(item, "role") != "assistant") {
                    return Err(unanswered(id));
                }
            }
            kind => {
                let words = format!("Invalid value: '{kind}'.");
                return Err(Refusal::bad(words).at(format!("input[{place}]")).called("invalid_value"));
            }
        }
    }
    open.first().map_or(Ok(()), |id| Err(unanswered(id)))
}

fn unanswered(id: &str) -> Refusal {
    Refusal::bad(format!("No tool output found for function call {id}.")).at("input")
}

fn reasoning(item: &Value, next: Option<&Value>) -> Result<(), Refusal> {
    let id = text(item, "id");
    let summary: String = list(item, "summary").iter().map(|part| text(part, "text")).collect();
    if text(item, "encrypted_content") != signature(&summary) {
        let words = format!("The encrypted content for item {id} could not be verified.");
        return Err(Refusal::bad(words).called("invalid_encrypted_content"));
    }
    let leads = next.is_some_and(|next| {
        text(next, "role") == "assistant" || ["function_call", "reasoning"].contains(&text(next, "type"))
    });
    if leads {
        return Ok(());
    }
    let words = format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
    Err(Refusal::bad(words).at("input"))
}
