//! Gemini's streamed answers: parts, and with the last of them the stop reason.
//!
//! The form has no end sign. An answer is complete if it has a `finishReason` and its body is known to be complete.
//! If only the connection ended, a part may be missing: Gemini has sent a reason with every part.
//!
//! Reasoning is kept as: `{"at": "call" | "text", "thoughtSignature": …}` for a signature, before its call or after
//! its text; `{"part": …}` for a part that is nothing else; `{"thought": …}` for thoughts in words.

use serde::Deserialize;
use serde_json::json as made;
use serde_json::value::RawValue;

use super::request::NAME;
use crate::model::form::{
    AnswerReading, BodyClose, EventFault, EventStep, find_complaint, read_arguments, read_json, read_value,
};
use crate::model::halves::HalvedText;
use crate::model::lenient::{Count, Lenient};
use crate::model::partial_answer::PartialAnswer;
use crate::model::{ModelFault, ModelFaultKind, ServedBy, StopReason};
use systole_http::StreamEvent;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'e> {
    #[serde(default, borrow)]
    candidates: Option<Vec<Candidate<'e>>>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    usage_metadata: Lenient<Used>,
    #[serde(default)]
    model_version: Lenient<String>,
    #[serde(default)]
    response_id: Lenient<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'e> {
    #[serde(default)]
    index: u64,
    #[serde(default, borrow)]
    content: Option<Content<'e>>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content<'e> {
    #[serde(default, borrow)]
    parts: Option<Vec<&'e RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'e> {
    #[serde(default)]
    text: Option<HalvedText>,
    #[serde(default)]
    thought: bool,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(default, borrow)]
    function_call: Option<Function<'e>>,
}

#[derive(Deserialize)]
struct Function<'e> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default, borrow)]
    args: Option<&'e RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
    #[serde(default)]
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Used {
    #[serde(default)]
    prompt_token_count: Count,
    #[serde(default)]
    tool_use_prompt_token_count: Count,
    #[serde(default)]
    candidates_token_count: Count,
    #[serde(default)]
    thoughts_token_count: Count,
    #[serde(default)]
    cached_content_token_count: Count,
}

/// A reader of one answer.
pub(super) struct GeminiReader;

impl AnswerReading for GeminiReader {
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault> {
        if let Some(wrong) = find_complaint(event) {
            return Err(wrong);
        }
        let chunk: Chunk<'_> = read_json(event, partial)?;
        let mut step = EventStep::Nothing;
        if let Lenient(Some(used)) = chunk.usage_metadata {
            used.count_usage(partial);
        }
        ServedBy::keep(&mut partial.served.model, chunk.model_version.0.as_deref());
        ServedBy::keep(&mut partial.served.request, chunk.response_id.0.as_deref());
        if let Some(reason) = chunk.prompt_feedback.as_ref().and_then(|said| said.block_reason.as_deref()) {
            let said = chunk.prompt_feedback.as_ref().and_then(|said| said.block_reason_message.as_deref());
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            let fault = partial.build_fault(
                ModelFaultKind::Refused,
                format!("would not answer this prompt ({reason}){said}"),
            );
            let may_be_paid = partial.usage.tokens_in.is_some_and(|tokens| tokens > 0);
            let used = may_be_paid.then(|| partial.estimate_use());
            return Err(EventFault::Fault(ModelFault { may_be_paid, used, ..fault }));
        }
        for candidate in chunk.candidates.into_iter().flatten().filter(|candidate| candidate.index == 0) {
            for raw in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                read_part(raw.get(), partial)?;
                step = EventStep::Content;
            }
            if let Some(reason) = candidate.finish_reason {
                let said = candidate.finish_message.as_deref();
                partial.set_stop(&reason, |partial| read_stop(&reason, said, partial))?;
                partial.reason.extend(said.map(|said| format!(", {said}")));
                step = EventStep::Content;
            }
        }
        Ok(step)
    }

    fn is_whole(&self, close: BodyClose) -> bool {
        close == BodyClose::Measured
    }
}

impl Used {
    fn count_usage(&self, partial: &mut PartialAnswer) {
        let sum = |one: Count, more: Count| match (one.0, more.0) {
            (None, None) => None,
            (one, more) => Some(one.unwrap_or(0).saturating_add(more.unwrap_or(0))),
        };
        let usage = &mut partial.usage;
        usage.tokens_in = sum(self.prompt_token_count, self.tool_use_prompt_token_count).or(usage.tokens_in);
        usage.tokens_out = sum(self.candidates_token_count, self.thoughts_token_count).or(usage.tokens_out);
        usage.reasoning = self.thoughts_token_count.0.or(usage.reasoning);
        usage.cached = self.cached_content_token_count.0.or(usage.cached);
    }
}

fn read_part(raw: &str, partial: &mut PartialAnswer) -> Result<(), EventFault> {
    let event = StreamEvent::from_text(raw);
    let part: Part<'_> = read_json(&event, partial)?;
    if let Some(function) = part.function_call {
        if let Some(signature) = part.thought_signature {
            let bytes = signature.len();
            partial.add_block(NAME, made!({"at": "call", "thoughtSignature": signature}), bytes)?;
        }
        let slot = partial.begin_call(function.id.as_deref(), &function.name)?;
        return Ok(partial.add_arguments(slot, &read_arguments(function.args))?);
    }
    let Some(text) = part.text else {
        let part = read_value(raw, partial)?;
        return Ok(partial.add_block(NAME, made!({"part": part}), raw.len())?);
    };
    if part.thought {
        if part.thought_signature.is_none() {
            return Ok(partial.add_thought(NAME, "thought", &text)?);
        }
        partial.show_reasoning(&text.join_alone())?;
        let part = read_value(raw, partial)?;
        return Ok(partial.add_block(NAME, made!({"part": part}), raw.len())?);
    }
    let Some(signature) = part.thought_signature else { return Ok(partial.add_text(&text)?) };
    // A signed part is separate, even if it is empty.
    let bytes = signature.len();
    if text.is_empty() {
        let part = read_value(raw, partial)?;
        return Ok(partial.add_block(NAME, made!({"part": part}), bytes)?);
    }
    partial.end_part()?;
    partial.add_text(&text)?;
    Ok(partial.add_block(NAME, made!({"at": "text", "thoughtSignature": signature}), bytes)?)
}

fn read_stop(reason: &str, said: Option<&str>, partial: &PartialAnswer) -> Result<StopReason, EventFault> {
    Ok(match reason.to_ascii_uppercase().as_str() {
        // Mocks and servers that speak for Gemini name the end of a call as other providers do.
        "STOP" | "FUNCTION_CALL" if partial.has_calls() => StopReason::Tool,
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" => StopReason::Filtered,
        _ => {
            let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
            let words = format!("ended its answer for an unknown reason: {reason}{said}");
            return Err(EventFault::Fault(partial.build_fault(ModelFaultKind::Truncated, words)));
        }
    })
}
