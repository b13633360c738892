//! The wire format of Gemini's content generation: the answers. `judge` handles the requests.

mod judge;

pub(crate) use judge::judge;

use crate::asked::{Asked, Mode};
use crate::json::{Json, fields};
use crate::refusal::Refusal;
use crate::script::Stop;
use crate::turn::{Called, Frame, Frames, Turn};

fn finish(stop: Stop) -> Option<&'static str> {
    match stop {
        // Calls have no stop reason here.
        Stop::End | Stop::Tool => Some("STOP"),
        Stop::Length => Some("MAX_TOKENS"),
        Stop::Filter => Some("SAFETY"),
        Stop::None => None,
    }
}

/// The tokens read, and at the end also those written.
fn usage(turn: &Turn, over: bool) -> Json {
    let usage = turn.usage;
    let mut counts = fields! { "promptTokenCount": usage.input };
    if usage.cached > 0 {
        counts = counts.with("cachedContentTokenCount", usage.cached);
    }
    let written = if over { usage.output } else { 0 };
    if over {
        counts = counts.with("candidatesTokenCount", usage.output.saturating_sub(usage.thought));
    }
    counts = counts.with("totalTokenCount", usage.input + written);
    if over && usage.thought > 0 {
        counts = counts.with("thoughtsTokenCount", usage.thought);
    }
    let details = fields! { "modality": "TEXT", "tokenCount": usage.input };
    counts.with("promptTokensDetails", vec![details])
}

fn answer(turn: &Turn, parts: Vec<Json>, over: bool) -> Json {
    let mut candidate = fields! { "content": fields! { "parts": parts, "role": "model" } };
    if let Some(reason) = finish(turn.stop).filter(|_| over) {
        candidate = candidate.with("finishReason", reason);
    }
    fields! {
        "candidates": vec![candidate.with("index", 0)],
        "usageMetadata": usage(turn, over),
        "modelVersion": turn.model.as_str(),
        "responseId": format!("mock{:06}", turn.number),
    }
}

fn call(call: &Called) -> Json {
    let mut fields = fields! { "name": call.name.as_str(), "args": call.value() };
    if let Some(id) = &call.id {
        fields = fields.with("id", id.as_str());
    }
    fields! { "functionCall": fields }
}

/// The answer in one piece.
pub(crate) fn whole(turn: &Turn) -> Frames {
    if let Some(refusal) = &turn.error {
        return Box::new(std::iter::once(Frame::end(refused(refusal).line())));
    }
    let mut parts = Vec::new();
    if let Some(thinking) = &turn.thinking {
        parts.push(fields! { "text": thinking.as_str(), "thought": true });
    }
    if turn.words.is_some() {
        parts.push(fields! { "text": Json::Said });
    }
    parts.extend(turn.calls.iter().map(call));
    turn.whole(&answer(turn, parts, true), "\n")
}

/// The answer part by part: events, or the elements of a growing array.
pub(crate) fn stream(turn: &Turn, mode: Mode) -> Frames {
    let mut first = Vec::new();
    for piece in turn.pieces_of(turn.thinking.as_deref().unwrap_or_default()) {
        first.push(Frame::body(answer(turn, vec![fields! { "text": piece, "thought": true }], false).line()));
    }
    let mut last = Vec::new();
    if !turn.calls.is_empty() {
        last.push(Frame::body(answer(turn, turn.calls.iter().map(call).collect(), false).line()));
    }
    if let Some(refusal) = &turn.error {
        last.push(Frame::end(refused(refusal).line()));
    } else if turn.stop != Stop::None {
        last.push(Frame::end(answer(turn, vec![fields! { "text": "" }], true).line()));
    }
    let own = turn.clone();
    let said = turn.pieces().filter(|piece| !piece.is_empty());
    let said =
        said.map(move |piece| Frame::body(answer(&own, vec![fields! { "text": piece }], false).line()));
    let parts = first.into_iter().chain(said).chain(last);
    match mode {
        Mode::Array => Box::new(array(parts)),
        Mode::Whole | Mode::Stream => Box::new(parts.map(|part| dressed(part, b"data: ", b"\r\n\r\n"))),
    }
}

fn dressed(part: Frame, before: &[u8], behind: &[u8]) -> Frame {
    Frame { bytes: [before, &part.bytes, behind].concat(), is_end: part.is_end }
}

fn array(parts: impl Iterator<Item = Frame> + Send) -> impl Iterator<Item = Frame> + Send {
    let mut before: &[u8] = b"[";
    let parts = parts.map(move |part| dressed(part, std::mem::replace(&mut before, b",\r\n"), b""));
    parts.chain(std::iter::once(Frame::end("]")))
}

/// Whether the answer, and so its refusal too, is an array.
pub(crate) fn wants_array(asked: &Asked) -> bool {
    asked.path().ends_with(":streamGenerateContent") && asked.query("alt") != Some("sse")
}

/// A refusal in the provider's form.
pub(crate) fn refused(refusal: &Refusal) -> Json {
    let status = match refusal.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    let mut error = fields! {
        "code": u64::from(refusal.status),
        "message": refusal.message.as_str(),
        "status": status,
    };
    if let Some(reason) = refusal.code.filter(|_| refusal.status == 401) {
        let details = fields! {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
            "metadata": fields! { "service": "generativelanguage.googleapis.com" },
        };
        error = error.with("details", vec![details]);
    }
    fields! { "error": error }
}
