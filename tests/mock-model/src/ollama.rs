//! The wire format of Ollama's chat: one JSON value per line. Requests and answers.

use serde_json::Value;

use crate::asked::{Asked, Mode, Rules, Wanted, field, list, text};
use crate::json::{Json, fields};
use crate::refusal::Refusal;
use crate::schema;
use crate::script::Stop;
use crate::turn::{Frame, Frames, Turn};

/// The only path.
const PATH: &str = "/api/chat";

/// The creation time of every answer; the mock has no clock.
const CREATED: &str = "2024-01-01T00:00:00.000000Z";

/// Judges a request.
pub(crate) fn judge(asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
    if asked.path() != PATH {
        return Err(Refusal::new(404, "404 page not found").called(PLAIN));
    }
    if asked.method != axum::http::Method::POST {
        return Err(Refusal::new(405, "405 method not allowed").called(PLAIN));
    }
    if asked.body.is_empty() {
        return Err(Refusal::bad("missing request body"));
    }
    let body = asked.json().map_err(|error| Refusal::bad(error.to_string()))?;
    let model = text(&body, "model");
    if model.is_empty() {
        return Err(Refusal::bad("model is required"));
    }
    if !rules.has_model(model) {
        return Err(Refusal::new(404, format!("model '{model}' not found")));
    }
    for message in list(&body, "messages") {
        let role = text(message, "role");
        if !["system", "user", "assistant", "tool"].contains(&role) {
            let words = format!(
                "invalid role: {role}: must be one of [\"system\", \"user\", \"assistant\", \"tool\"]"
            );
            return Err(Refusal::bad(words));
        }
        let calls = list(message, "tool_calls").iter();
        let mut arguments =
            calls.filter_map(|call| call.get("function").and_then(|it| field(it, "arguments")));
        if arguments.any(|arguments| !arguments.is_object()) {
            return Err(Refusal::bad(
                "json: cannot unmarshal string into Go struct field \
                 ToolCallFunction.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments",
            ));
        }
    }
    schema::ollama(&body)?;
    let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(true);
    let mode = if streams { Mode::Stream } else { Mode::Whole };
    let wanted = Wanted::of(model, mode, &body, "messages", &["messages", "tools"]);
    if rules.window.is_some_and(|window| wanted.input > window) {
        return Err(Refusal::bad("the input length exceeds the context length"));
    }
    Ok(wanted)
}

/// Marks refusals by Ollama's router, which are plain text.
const PLAIN: &str = "plain";

/// Whether a refusal is plain text.
pub(crate) fn is_plain(refusal: &Refusal) -> bool {
    refusal.code == Some(PLAIN)
}

/// A refusal in the provider's form.
pub(crate) fn refused(refusal: &Refusal) -> String {
    if is_plain(refusal) {
        refusal.message.clone()
    } else {
        fields! { "error": refusal.message.as_str() }.line()
    }
}

fn head(turn: &Turn) -> Json {
    fields! { "model": turn.model.as_str(), "created_at": CREATED }
}

fn calls(turn: &Turn) -> Option<Json> {
    let calls = turn.calls.iter().enumerate().map(|(place, call)| {
        let function = fields! {
            "index": u64::try_from(place).unwrap_or(u64::MAX),
            "name": call.name.as_str(),
            "arguments": call.value(),
        };
        fields! { "id": turn.call_id("call_", place, call), "function": function }
    });
    (!turn.calls.is_empty()).then(|| Json::List(calls.collect()))
}

/// The end of an answer: the reason, the durations, and the token counts.
fn ended(turn: &Turn, message: Json) -> Json {
    let reason = match turn.stop {
        Stop::End | Stop::Tool | Stop::Filter => Some("stop"),
        Stop::Length => Some("length"),
        Stop::None => None,
    };
    let answer = head(turn).with("message", message).with("done", reason.is_some());
    let Some(reason) = reason else { return answer };
    let ended = fields! { "done_reason": reason, "total_duration": 4_000_000, "load_duration": 1_000_000 };
    let counts = fields! {
        "prompt_eval_count": turn.usage.input,
        "prompt_eval_duration": 1_000_000,
        "eval_count": turn.usage.output,
        "eval_duration": 2_000_000,
    };
    [ended, counts].into_iter().fold(answer, |answer, more| match more {
        Json::Fields(fields) => {
            fields.into_iter().fold(answer, |answer, (key, value)| answer.with(key, value))
        }
        _ => answer,
    })
}

/// The answer in one piece.
pub(crate) fn whole(turn: &Turn) -> Frames {
    if let Some(refusal) = &turn.error {
        return Box::new(std::iter::once(Frame::end(refused(refusal))));
    }
    let content = if turn.words.is_some() { Json::Said } else { Json::from("") };
    let mut message = fields! { "role": "assistant", "content": content };
    if let Some(thinking) = &turn.thinking {
        message = message.with("thinking", thinking.as_str());
    }
    if let Some(calls) = calls(turn) {
        message = message.with("tool_calls", calls);
    }
    turn.whole(&ended(turn, message), "")
}

fn line(value: &Json) -> String {
    format!("{}\n", value.line())
}

/// The answer line by line.
pub(crate) fn stream(turn: &Turn) -> Frames {
    let part = |head: &Json, message: Json| {
        Frame::body(line(&head.clone().with("message", message).with("done", false)))
    };
    let head = head(turn);
    let mut first = Vec::new();
    for piece in turn.pieces_of(turn.thinking.as_deref().unwrap_or_default()) {
        first.push(part(&head, fields! { "role": "assistant", "content": "", "thinking": piece }));
    }
    let mut last = Vec::new();
    if let Some(calls) = calls(turn) {
        last.push(part(&head, fields! { "role": "assistant", "content": "", "tool_calls": calls }));
    }
    if let Some(refusal) = &turn.error {
        last.push(Frame::end(line(&fields! { "error": refusal.message.as_str() })));
    } else if turn.stop != Stop::None {
        last.push(Frame::end(line(&ended(turn, fields! { "role": "assistant", "content": "" }))));
    }
    let said = turn.pieces().filter(|piece| !piece.is_empty());
    let said = said.map(move |piece| part(&head, fields! { "role": "assistant", "content": piece }));
    Box::new(first.into_iter().chain(said).chain(last))
}
