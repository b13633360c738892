//! The wire format of `OpenAI`'s Responses: the answers. `judge` handles the requests.

mod judge;

pub(crate) use judge::judge;

use crate::anthropic::signature;
use crate::json::{Json, fields};
use crate::openai::refused;
use crate::script::Stop;
use crate::turn::{Called, Frame, Frames, Turn};

/// The only path.
pub(crate) const PATH: &str = "/v1/responses";

/// The second in which the first answer was created; the mock has no clock.
const CREATED: u64 = 1_700_000_000;

/// An event before it has its number, and whether it marks the end of the answer.
type Event = (Json, bool);

/// The status of an answer, and why it is incomplete.
fn status(turn: &Turn) -> (&'static str, Option<&'static str>) {
    match turn.stop {
        Stop::Length => ("incomplete", Some("max_output_tokens")),
        Stop::Filter => ("incomplete", Some("content_filter")),
        Stop::End | Stop::Tool => ("completed", None),
        Stop::None => ("in_progress", None),
    }
}

fn response(turn: &Turn, status: &str, reason: Option<&str>, output: Vec<Json>) -> Json {
    fields! {
        "id": format!("resp_mock{:06}", turn.number),
        "object": "response",
        "created_at": CREATED + turn.number,
        "status": status,
        "error": Json::Null,
        "incomplete_details": reason.map(|reason| fields! { "reason": reason }),
        "model": turn.model.as_str(),
        "output": output,
        "parallel_tool_calls": true,
        "store": false,
        "tool_choice": "auto",
        "tools": Vec::<Json>::new(),
    }
}

fn usage(turn: &Turn) -> Json {
    let usage = turn.usage;
    fields! {
        "input_tokens": usage.input,
        "input_tokens_details": fields! { "cached_tokens": usage.cached, "cache_write_tokens": 0 },
        "output_tokens": usage.output,
        "output_tokens_details": fields! { "reasoning_tokens": usage.thought },
        "total_tokens": usage.input + usage.output,
    }
}

fn reasoning(turn: &Turn, thinking: &str) -> Json {
    fields! {
        "id": format!("rs_mock{:06}", turn.number),
        "type": "reasoning",
        "encrypted_content": signature(thinking),
        "summary": vec![fields! { "type": "summary_text", "text": thinking }],
    }
}

fn message(turn: &Turn, status: &str, content: Vec<Json>) -> Json {
    fields! {
        "id": format!("msg_mock{:06}", turn.number),
        "type": "message",
        "status": status,
        "content": content,
        "role": "assistant",
    }
}

fn part(text: Json) -> Json {
    let none = Vec::<Json>::new;
    fields! { "type": "output_text", "annotations": none(), "logprobs": none(), "text": text }
}

fn call_item(turn: &Turn, place: usize, call: &Called, status: &str, arguments: &str) -> Json {
    fields! {
        "id": format!("fc_mock{:06}{place:02}", turn.number),
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": turn.call_id("call_", place, call),
        "name": call.name.as_str(),
    }
}

/// The items of an answer, with that text.
fn output(turn: &Turn, text: Json) -> Vec<Json> {
    let mut items: Vec<Json> = turn.thinking.iter().map(|thinking| reasoning(turn, thinking)).collect();
    if turn.words.is_some() {
        items.push(message(turn, "completed", vec![part(text)]));
    }
    let calls = turn.calls.iter().enumerate();
    items.extend(calls.map(|(place, call)| call_item(turn, place, call, "completed", &call.arguments)));
    items
}

/// The answer in one piece.
pub(crate) fn whole(turn: &Turn) -> Frames {
    if let Some(refusal) = &turn.error {
        return Box::new(std::iter::once(Frame::end(refused(refusal).line())));
    }
    let (status, reason) = status(turn);
    let answer = response(turn, status, reason, output(turn, Json::Said)).with("usage", usage(turn));
    turn.whole(&answer, "")
}

/// The answer event by event.
pub(crate) fn stream(turn: &Turn) -> Frames {
    let created = ["response.created", "response.in_progress"].map(|kind| {
        let response = response(turn, "in_progress", None, Vec::new()).with("usage", Json::Null);
        (fields! { "type": kind, "response": response }, false)
    });
    let before: Vec<Event> = created.into_iter().chain(think(turn)).collect();
    let (calls, end) = (call_events(turn), turn.clone());
    let events = before.into_iter().chain(say(turn)).chain(calls);
    let events = events.chain(std::iter::once_with(move || closing(&end)).flatten());
    let numbered = (0_u64..).zip(events).map(|(number, (event, is_end))| {
        let kind = match &event {
            Json::Fields(fields) => fields.first().map(|(_, kind)| kind.line()).unwrap_or_default(),
            _ => String::new(),
        };
        let line = event.with("sequence_number", number).line();
        let text = format!("event: {}\ndata: {line}\n\n", kind.trim_matches('"'));
        if is_end { Frame::end(text) } else { Frame::body(text) }
    });
    Box::new(numbered)
}

fn item_event(kind: &str, at: u64, item: Json) -> Event {
    (fields! { "type": kind, "output_index": at, "item": item }, false)
}

fn think(turn: &Turn) -> Vec<Event> {
    let Some(thinking) = &turn.thinking else { return Vec::new() };
    let id = format!("rs_mock{:06}", turn.number);
    let begun = fields! {
        "id": id.as_str(), "type": "reasoning", "encrypted_content": "begun", "summary": Vec::<Json>::new(),
    };
    let mut events = vec![item_event("response.output_item.added", 0, begun)];
    for piece in turn.pieces_of(thinking) {
        let delta = fields! {
            "type": "response.reasoning_summary_text.delta", "item_id": id.as_str(), "output_index": 0,
            "summary_index": 0, "delta": piece,
        };
        events.push((delta, false));
    }
    events.push(item_event("response.output_item.done", 0, reasoning(turn, thinking)));
    events
}

fn say(turn: &Turn) -> Box<dyn Iterator<Item = Event> + Send> {
    if turn.words.is_none() {
        return Box::new(std::iter::empty());
    }
    let at = u64::from(turn.thinking.is_some());
    let turn = turn.clone();
    let id = format!("msg_mock{:06}", turn.number);
    let begin = fields! {
        "type": "response.content_part.added", "item_id": id.as_str(), "output_index": at, "content_index": 0,
        "part": part(Json::from("")),
    };
    let added = message(&turn, "in_progress", Vec::new());
    let before = [item_event("response.output_item.added", at, added), (begin, false)];
    let pieces = turn.pieces().filter(|piece| !piece.is_empty()).map(move |piece| {
        let delta = fields! {
            "type": "response.output_text.delta", "item_id": id.as_str(), "output_index": at,
            "content_index": 0, "delta": piece, "logprobs": Vec::<Json>::new(),
        };
        (delta, false)
    });
    let done = std::iter::once_with(move || {
        let text = part(Json::from(turn.pieces().collect::<String>()));
        item_event("response.output_item.done", at, message(&turn, "completed", vec![text]))
    });
    Box::new(before.into_iter().chain(pieces).chain(done))
}

fn call_events(turn: &Turn) -> Vec<Event> {
    let before = u64::from(turn.thinking.is_some()) + u64::from(turn.words.is_some());
    let mut events = Vec::new();
    for (place, call) in turn.calls.iter().enumerate() {
        let at = before + u64::try_from(place).unwrap_or(u64::MAX);
        let begun = call_item(turn, place, call, "in_progress", "");
        events.push(item_event("response.output_item.added", at, begun));
        for piece in turn.pieces_of(&call.arguments) {
            let delta = fields! {
                "type": "response.function_call_arguments.delta",
                "item_id": format!("fc_mock{:06}{place:02}", turn.number),
                "output_index": at, "delta": piece,
            };
            events.push((delta, false));
        }
        let done = call_item(turn, place, call, "completed", &call.arguments);
        events.push(item_event("response.output_item.done", at, done));
    }
    events
}

fn closing(turn: &Turn) -> Option<Event> {
    if let Some(refusal) = &turn.error {
        let error = fields! {
            "type": "error", "code": "server_error", "message": refusal.message.as_str(), "param": Json::Null,
        };
        return Some((error, true));
    }
    let (status, reason) = status(turn);
    let kind = match status {
        "completed" => "response.completed",
        "incomplete" => "response.incomplete",
        _ => return None,
    };
    let text = Json::from(turn.pieces().collect::<String>());
    let response = response(turn, status, reason, output(turn, text)).with("usage", usage(turn));
    Some((fields! { "type": kind, "response": response }, true))
}
