//! Ollama's streamed answers: a line for each piece. The last line has `done` and the reason.
//!
//! An answer is complete if its last line has `done` and a `done_reason`. Nothing else shows completeness, so
//! nothing else counts.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::NAME;
use crate::model::draft::Draft;
use crate::model::form::{Close, Reading, Step, Wrong, arguments, complaint, json};
use crate::model::halves::Halved;
use crate::model::http::Event;
use crate::model::lenient::Count;
use crate::model::{FaultKind, Stop};

#[derive(Deserialize)]
struct Chunk<'e> {
    #[serde(default, borrow)]
    message: Option<Message<'e>>,
    #[serde(default)]
    done: bool,
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
    content: Option<Halved>,
    #[serde(default)]
    thinking: Option<Halved>,
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
pub(super) struct Answering;

impl Reading for Answering {
    fn take(&mut self, event: &Event, draft: &mut Draft) -> Result<Step, Wrong> {
        if let Some(wrong) = complaint(event) {
            return Err(wrong);
        }
        let chunk: Chunk<'_> = json(event, draft)?;
        let mut step = Step::Nothing;
        if let Some(message) = chunk.message {
            let (thinking, content) =
                (message.thinking.unwrap_or_default(), message.content.unwrap_or_default());
            draft.thought(NAME, "thinking", &thinking)?;
            draft.text(&content)?;
            if !thinking.is_empty() || !content.is_empty() {
                step = Step::Content;
            }
            for call in message.tool_calls.into_iter().flatten() {
                let slot = draft.call(call.id.as_deref(), &call.function.name)?;
                draft.arguments(slot, &arguments(call.function.arguments))?;
                step = Step::Content;
            }
        }
        if !chunk.done {
            return Ok(step);
        }
        draft.usage.tokens_in = chunk.prompt_eval_count.0;
        draft.usage.tokens_out = chunk.eval_count.0;
        if let Some(reason) = chunk.done_reason {
            draft.ends(&reason, |draft| stop(&reason, draft))?;
        }
        Ok(Step::End)
    }

    fn is_whole(&self, _close: Close) -> bool {
        false
    }
}

fn stop(reason: &str, draft: &Draft) -> Result<Stop, Wrong> {
    Ok(match reason.to_ascii_lowercase().as_str() {
        "stop" if draft.has_calls() => Stop::Tool,
        "stop" => Stop::End,
        "length" => Stop::Length,
        _ => {
            let words = format!("ended its answer for an unknown reason: {reason}");
            return Err(Wrong::Fault(draft.fault(FaultKind::Truncated, words)));
        }
    })
}
