//! Ollama's streamed answers: a line for each piece. The last line has `done` and the reason.
//!
//! An answer is complete if its last line has `done` and a `done_reason`. Nothing else shows completeness, so
//! nothing else counts.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::NAME;
use crate::model::form::{
    AnswerReading, BodyClose, EventFault, EventStep, find_complaint, read_arguments, read_json,
};
use crate::model::halves::HalvedText;
use crate::model::lenient::{Count, Lenient};
use crate::model::partial_answer::PartialAnswer;
use crate::model::{ModelFaultKind, ServedBy, StopReason};
use systole_http::StreamEvent;

#[derive(Deserialize)]
struct Chunk<'e> {
    #[serde(default, borrow)]
    message: Option<Message<'e>>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    model: Lenient<String>,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
}

#[derive(Deserialize)]
struct Message<'e> {
    #[serde(default)]
    content: Option<HalvedText>,
    #[serde(default)]
    thinking: Option<HalvedText>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<ToolCall<'e>>>,
}

#[derive(Deserialize)]
struct ToolCall<'e> {
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow)]
    function: Function<'e>,
}

#[derive(Deserialize)]
struct Function<'e> {
    #[serde(default)]
    name: String,
    #[serde(default, borrow)]
    arguments: Option<&'e RawValue>,
}

/// A reader of one answer.
pub(super) struct OllamaReader;

impl AnswerReading for OllamaReader {
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault> {
        if let Some(wrong) = find_complaint(event) {
            return Err(wrong);
        }
        let chunk: Chunk<'_> = read_json(event, partial)?;
        ServedBy::keep(&mut partial.served.model, chunk.model.0.as_deref());
        let mut step = EventStep::Nothing;
        if let Some(message) = chunk.message {
            let (thinking, content) =
                (message.thinking.unwrap_or_default(), message.content.unwrap_or_default());
            partial.add_thought(NAME, "thinking", &thinking)?;
            partial.add_text(&content)?;
            if !thinking.is_empty() || !content.is_empty() {
                step = EventStep::Content;
            }
            for call in message.tool_calls.into_iter().flatten() {
                let slot = partial.begin_call(call.id.as_deref(), &call.function.name)?;
                partial.add_arguments(slot, &read_arguments(call.function.arguments))?;
                step = EventStep::Content;
            }
        }
        if !chunk.done {
            return Ok(step);
        }
        partial.usage.tokens_in = chunk.prompt_eval_count.0;
        partial.usage.tokens_out = chunk.eval_count.0;
        if let Some(reason) = chunk.done_reason {
            partial.set_stop(&reason, |partial| read_stop(&reason, partial))?;
        }
        Ok(EventStep::End)
    }

    fn is_whole(&self, _close: BodyClose) -> bool {
        false
    }
}

fn read_stop(reason: &str, partial: &PartialAnswer) -> Result<StopReason, EventFault> {
    Ok(match reason.to_ascii_lowercase().as_str() {
        "stop" if partial.has_calls() => StopReason::Tool,
        "stop" => StopReason::End,
        "length" => StopReason::Length,
        _ => {
            let words = format!("ended its answer for an unknown reason: {reason}");
            return Err(EventFault::Fault(partial.build_fault(ModelFaultKind::Truncated, words)));
        }
    })
}
