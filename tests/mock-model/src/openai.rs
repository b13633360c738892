//! The wire format of `OpenAI`'s chat completions, which most servers of open models speak too: the answers.
//! `judge` handles the requests.

mod judge;

pub(crate) use judge::{check_key, find_body, judge};

use crate::json::{Json, fields};
use crate::refusal::Refusal;
use crate::script::Stop;
use crate::turn::{Called, Frame, Frames, Turn};

/// The only path.
pub(crate) const PATH: &str = "/v1/chat/completions";

/// The second in which the first answer was created; the mock has no clock.
const CREATED: u64 = 1_700_000_000;

fn head(turn: &Turn, object: &str) -> Json {
    fields! {
        "id": format!("chatcmpl-mock{:06}", turn.number),
        "object": object,
        "created": CREATED + turn.number,
        "model": turn.model.as_str(),
        "service_tier": "default",
        "system_fingerprint": "fp_mock",
    }
}

fn finish(stop: Stop) -> Option<&'static str> {
    match stop {
        Stop::End => Some("stop"),
        Stop::Length => Some("length"),
        Stop::Tool => Some("tool_calls"),
        Stop::Filter => Some("content_filter"),
        Stop::None => None,
    }
}

fn usage(turn: &Turn) -> Json {
    let usage = turn.usage;
    fields! {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": fields! { "cached_tokens": usage.cached, "audio_tokens": 0 },
        "completion_tokens_details": fields! {
            "reasoning_tokens": usage.thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
}

/// The answer in one piece.
pub(crate) fn whole(turn: &Turn) -> Frames {
    if let Some(refusal) = &turn.error {
        return Box::new(std::iter::once(Frame::end(refused(refusal).line())));
    }
    let content = if turn.words.is_some() { Json::Said } else { Json::Null };
    let mut message = fields! { "role": "assistant", "content": content };
    if let Some(thinking) = &turn.thinking {
        message = message.with("reasoning_content", thinking.as_str());
    }
    if !turn.calls.is_empty() {
        let calls = turn.calls.iter().enumerate().map(|(place, call)| {
            fields! {
                "id": turn.call_id("call_", place, call),
                "type": "function",
                "function": fields! { "name": call.name.as_str(), "arguments": call.arguments.as_str() },
            }
        });
        message = message.with("tool_calls", calls.collect::<Vec<_>>());
    }
    let message = message.with("refusal", Json::Null).with("annotations", Vec::<Json>::new());
    let choice = fields! {
        "index": 0,
        "message": message,
        "logprobs": Json::Null,
        "finish_reason": finish(turn.stop),
    };
    let answer = head(turn, "chat.completion").with("choices", vec![choice]).with("usage", usage(turn));
    turn.whole(&answer, "")
}

/// Writes the events of a stream, which differ in one field only.
#[derive(Clone)]
struct Pen {
    head: Json,
    tells_usage: bool,
}

impl Pen {
    fn event(&self, value: &Json) -> String {
        format!("data: {}\n\n", value.line())
    }

    fn choice(&self, delta: Json, finish: Option<&str>) -> String {
        let choice = fields! { "index": 0, "delta": delta, "logprobs": Json::Null, "finish_reason": finish };
        let mut chunk = self.head.clone().with("choices", vec![choice]);
        if self.tells_usage {
            chunk = chunk.with("usage", Json::Null);
        }
        self.event(&chunk)
    }

    fn delta(&self, delta: Json) -> Frame {
        Frame::body(self.choice(delta, None))
    }
}

/// The answer event by event.
pub(crate) fn stream(turn: &Turn) -> Frames {
    let pen = Pen { head: head(turn, "chat.completion.chunk"), tells_usage: turn.tells_usage };
    if let (Some(refusal), None, None, true) =
        (&turn.error, &turn.words, &turn.thinking, turn.calls.is_empty())
    {
        return Box::new(std::iter::once(Frame::end(pen.event(&refused(refusal)))));
    }
    let content = if turn.words.is_some() && turn.thinking.is_none() { Json::from("") } else { Json::Null };
    let mut opening = fields! { "role": "assistant", "content": content };
    if turn.thinking.is_some() {
        opening = opening.with("reasoning_content", "");
    }
    let mut first = vec![pen.delta(opening.with("refusal", Json::Null))];
    for piece in turn.pieces_of(turn.thinking.as_deref().unwrap_or_default()) {
        first.push(pen.delta(fields! { "reasoning_content": piece }));
    }
    let mut last: Vec<Frame> = Vec::new();
    for (place, call) in turn.calls.iter().enumerate() {
        last.extend(called(turn, &pen, place, call));
    }
    last.extend(closing(turn, &pen));
    let said = turn.pieces().filter(|piece| !piece.is_empty());
    let said = said.map(move |piece| pen.delta(fields! { "content": piece }));
    Box::new(first.into_iter().chain(said).chain(last))
}

fn called(turn: &Turn, pen: &Pen, place: usize, call: &Called) -> Vec<Frame> {
    let index = u64::try_from(place).unwrap_or(u64::MAX);
    let head = fields! {
        "index": index,
        "id": turn.call_id("call_", place, call),
        "type": "function",
        "function": fields! { "name": call.name.as_str(), "arguments": "" },
    };
    let mut frames = vec![pen.delta(fields! { "tool_calls": vec![head] })];
    for piece in turn.pieces_of(&call.arguments) {
        let part = fields! { "index": index, "function": fields! { "arguments": piece } };
        frames.push(pen.delta(fields! { "tool_calls": vec![part] }));
    }
    frames
}

fn closing(turn: &Turn, pen: &Pen) -> Vec<Frame> {
    if let Some(refusal) = &turn.error {
        return vec![Frame::end(pen.event(&refused(refusal)))];
    }
    if turn.stop == Stop::None {
        return Vec::new();
    }
    let mut frames = vec![Frame::end(pen.choice(Json::Fields(Vec::new()), finish(turn.stop)))];
    if turn.tells_usage {
        let counted = pen.head.clone().with("choices", Vec::<Json>::new()).with("usage", usage(turn));
        frames.push(Frame::end(pen.event(&counted)));
    }
    frames.push(Frame::end("data: [DONE]\n\n"));
    frames
}

/// A refusal in the provider's form.
pub(crate) fn refused(refusal: &Refusal) -> Json {
    let kind = match refusal.status {
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let error = fields! {
        "message": refusal.message.as_str(),
        "type": kind,
        "param": refusal.param.clone(),
        "code": refusal.code,
    };
    fields! { "error": error }
}
