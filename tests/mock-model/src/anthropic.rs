//! Anthropic's wire format: the answers. `judge` handles the requests.

mod judge;

pub(crate) use judge::judge;

use crate::json::{Json, fields};
use crate::refusal::Refusal;
use crate::script::Stop;
use crate::turn::{Called, Frame, Frames, Turn};

/// The only path.
pub(crate) const PATH: &str = "/v1/messages";

fn stop_reason(stop: Stop) -> Option<&'static str> {
    match stop {
        Stop::End => Some("end_turn"),
        Stop::Length => Some("max_tokens"),
        Stop::Tool => Some("tool_use"),
        Stop::Filter => Some("refusal"),
        Stop::None => None,
    }
}

/// The tokens read, and those written so far. The provider counts cached tokens separately.
fn usage(turn: &Turn, output: u64) -> Json {
    fields! {
        "input_tokens": turn.usage.input.saturating_sub(turn.usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": turn.usage.cached,
        "output_tokens": output,
    }
}

fn message(turn: &Turn, content: Vec<Json>, stop: Option<&str>, output: u64) -> Json {
    fields! {
        "id": format!("msg_mock{:06}", turn.number),
        "type": "message",
        "role": "assistant",
        "model": turn.model.as_str(),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": Json::Null,
        "usage": usage(turn, output).with("service_tier", "standard"),
    }
}

/// The signature of a thought. It is computed from the thought, so an altered thought is
/// detected.
pub(crate) fn signature(thinking: &str) -> String {
    // FNV-1a: it does not prevent forgery, but it detects accidental changes.
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("mock{hash:016x}")
}

fn call_head(turn: &Turn, place: usize, call: &Called, input: Json) -> Json {
    fields! {
        "type": "tool_use",
        "id": turn.call_id("toolu_", place, call),
        "name": call.name.as_str(),
        "input": input,
    }
}

/// The answer in one piece.
pub(crate) fn whole(turn: &Turn) -> Frames {
    if let Some(refusal) = &turn.error {
        return Box::new(std::iter::once(Frame::end(refused(refusal, turn.number).line())));
    }
    let mut content = Vec::new();
    if let Some(thinking) = &turn.thinking {
        content.push(fields! {
            "type": "thinking",
            "thinking": thinking.as_str(),
            "signature": signature(thinking),
        });
    }
    if turn.words.is_some() {
        content.push(fields! { "type": "text", "text": Json::Said });
    }
    for (place, call) in turn.calls.iter().enumerate() {
        content.push(call_head(turn, place, call, call.value()));
    }
    turn.whole(&message(turn, content, stop_reason(turn.stop), turn.usage.output), "")
}

fn event(name: &str, fields: Json) -> String {
    format!("event: {name}\ndata: {}\n\n", fields.line())
}

fn start(index: u64, block: Json) -> Frame {
    let fields = fields! { "type": "content_block_start", "index": index, "content_block": block };
    Frame::body(event("content_block_start", fields))
}

fn delta(index: u64, delta: Json) -> Frame {
    let fields = fields! { "type": "content_block_delta", "index": index, "delta": delta };
    Frame::body(event("content_block_delta", fields))
}

fn stop(index: u64) -> Frame {
    Frame::body(event("content_block_stop", fields! { "type": "content_block_stop", "index": index }))
}

/// The answer event by event.
pub(crate) fn stream(turn: &Turn) -> Frames {
    let begun = fields! { "type": "message_start", "message": message(turn, Vec::new(), None, 1) };
    let mut first = vec![Frame::body(event("message_start", begun))];
    let ping = || Frame::body(event("ping", fields! { "type": "ping" }));
    let mut index = 0;
    if let Some(thinking) = &turn.thinking {
        first.push(start(index, fields! { "type": "thinking", "thinking": "", "signature": "" }));
        first.push(ping());
        for piece in turn.pieces_of(thinking) {
            first.push(delta(index, fields! { "type": "thinking_delta", "thinking": piece }));
        }
        let signed = fields! { "type": "signature_delta", "signature": signature(thinking) };
        first.extend([delta(index, signed), stop(index)]);
        index += 1;
    }
    let text = index;
    let mut last = Vec::new();
    if turn.words.is_some() {
        first.push(start(text, fields! { "type": "text", "text": "" }));
        if text == 0 {
            first.push(ping());
        }
        last.push(stop(text));
        index += 1;
    }
    for (place, call) in turn.calls.iter().enumerate() {
        last.push(start(index, call_head(turn, place, call, Json::Fields(Vec::new()))));
        if index == 0 {
            last.push(ping());
        }
        last.push(delta(index, fields! { "type": "input_json_delta", "partial_json": "" }));
        for piece in turn.pieces_of(&call.arguments) {
            last.push(delta(index, fields! { "type": "input_json_delta", "partial_json": piece }));
        }
        last.push(stop(index));
        index += 1;
    }
    last.extend(closing(turn));
    let said = turn.pieces().filter(|piece| !piece.is_empty());
    let said = said.map(move |piece| delta(text, fields! { "type": "text_delta", "text": piece }));
    Box::new(first.into_iter().chain(said).chain(last))
}

fn closing(turn: &Turn) -> Vec<Frame> {
    if let Some(refusal) = &turn.error {
        let fields = fields! { "type": "error", "error": error(refusal) };
        return vec![Frame::end(event("error", fields))];
    }
    if turn.stop == Stop::None {
        return Vec::new();
    }
    let ended = fields! {
        "type": "message_delta",
        "delta": fields! { "stop_reason": stop_reason(turn.stop), "stop_sequence": Json::Null },
        "usage": usage(turn, turn.usage.output),
    };
    vec![
        Frame::end(event("message_delta", ended)),
        Frame::end(event("message_stop", fields! { "type": "message_stop" })),
    ]
}

fn error(refusal: &Refusal) -> Json {
    let kind = match refusal.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    fields! { "type": kind, "message": refusal.message.as_str() }
}

/// A refusal in the provider's form.
pub(crate) fn refused(refusal: &Refusal, number: u64) -> Json {
    fields! { "type": "error", "error": error(refusal), "request_id": format!("req_mock{number:06}") }
}
