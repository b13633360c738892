//! Streamed chat completions. Only the first choice counts, since no second one is requested.
//!
//! An answer is complete if it has a `finish_reason` and its body ended properly: several servers omit `[DONE]`. A
//! server that does not stream sends the same with a `message` in place of a `delta`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::NAME;
use crate::model::form::{AnswerReading, BodyClose, EventFault, EventStep, find_complaint, read_json};
use crate::model::halves::HalvedText;
use crate::model::lenient::{Count, Lenient};
use crate::model::partial_answer::{CallSlot, PartialAnswer};
use crate::model::{ModelFaultKind, ServedBy, StopReason, TokenUsage};
use systole_http::StreamEvent;

#[derive(Deserialize)]
struct Chunk<'e> {
    #[serde(default, borrow)]
    choices: Option<Vec<Choice<'e>>>,
    #[serde(default)]
    usage: Lenient<Used>,
    #[serde(default)]
    id: Lenient<String>,
    #[serde(default)]
    model: Lenient<String>,
    #[serde(default)]
    system_fingerprint: Lenient<String>,
}

#[derive(Deserialize)]
struct Choice<'e> {
    #[serde(default)]
    index: u64,
    #[serde(default, borrow)]
    delta: Option<Delta<'e>>,
    #[serde(default, borrow)]
    message: Option<Delta<'e>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta<'e> {
    #[serde(default, borrow)]
    content: Option<&'e RawValue>,
    #[serde(default)]
    refusal: Option<HalvedText>,
    #[serde(default)]
    reasoning_content: Option<HalvedText>,
    #[serde(default)]
    reasoning: Option<HalvedText>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<Fragment<'e>>>,
}

#[derive(Deserialize)]
struct Fragment<'e> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default, borrow)]
    function: Option<Function<'e>>,
}

#[derive(Deserialize, Default)]
struct Function<'e> {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, borrow)]
    arguments: Option<&'e RawValue>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Lenient<Details>,
    #[serde(default)]
    completion_tokens_details: Lenient<WrittenDetails>,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
}

#[derive(Deserialize)]
struct WrittenDetails {
    #[serde(default)]
    reasoning_tokens: Count,
}

/// A reader of one answer.
#[derive(Default)]
pub(super) struct OpenAiReader {
    /// Calls by the number in their fragments.
    calls: Vec<(Option<u64>, CallSlot)>,
    refused: bool,
}

impl AnswerReading for OpenAiReader {
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault> {
        if event.text.trim() == "[DONE]" {
            return Ok(EventStep::End);
        }
        if let Some(wrong) = find_complaint(event) {
            return Err(wrong);
        }
        let chunk: Chunk<'_> = read_json(event, partial)?;
        let mut step = EventStep::Nothing;
        if let Lenient(Some(used)) = chunk.usage {
            used.count_usage(&mut partial.usage);
        }
        ServedBy::keep(&mut partial.served.model, chunk.model.0.as_deref());
        ServedBy::keep(&mut partial.served.fingerprint, chunk.system_fingerprint.0.as_deref());
        ServedBy::keep(&mut partial.served.request, chunk.id.0.as_deref());
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            let whole = choice.message.map(number_calls);
            if self.add_delta(choice.delta.or(whole).unwrap_or_default(), partial)? {
                step = EventStep::Content;
            }
            if let Some(reason) = choice.finish_reason {
                partial.set_stop(&reason, |partial| self.read_stop(&reason, partial))?;
                if partial.stop.is_some() {
                    step = EventStep::Content;
                }
            }
        }
        Ok(step)
    }

    fn is_whole(&self, _close: BodyClose) -> bool {
        true
    }
}

impl Used {
    fn count_usage(self, usage: &mut TokenUsage) {
        let (read, written) = (self.prompt_tokens_details.0, self.completion_tokens_details.0);
        let cached = read.as_ref().and_then(|details| details.cached_tokens.0);
        let cache_write = read.and_then(|details| details.cache_write_tokens.0);
        let reasoning = written.and_then(|details| details.reasoning_tokens.0);
        usage.tokens_in = self.prompt_tokens.0.or(usage.tokens_in);
        usage.tokens_out = self.completion_tokens.0.or(usage.tokens_out);
        usage.cached = cached.or(self.prompt_cache_hit_tokens.0).or(usage.cached);
        usage.cache_write = cache_write.or(usage.cache_write);
        usage.reasoning = reasoning.or(usage.reasoning);
    }
}

impl OpenAiReader {
    /// Whether the answer grew.
    fn add_delta(&mut self, delta: Delta<'_>, partial: &mut PartialAnswer) -> Result<bool, EventFault> {
        let mut grew = false;
        for (field, words) in [("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)]
        {
            let words = words.unwrap_or_default();
            grew |= !words.is_empty();
            partial.add_thought(NAME, field, &words)?;
        }
        let refusal = delta.refusal.unwrap_or_default();
        self.refused |= !refusal.is_empty();
        for text in delta.content.into_iter().flat_map(read_texts).chain([refusal]) {
            grew |= !text.is_empty();
            partial.add_text(&text)?;
        }
        for fragment in delta.tool_calls.into_iter().flatten() {
            grew = true;
            self.add_fragment(fragment, partial)?;
        }
        Ok(grew)
    }

    /// A fragment belongs to the call with its number, unless it names another. A fragment without a number begins a
    /// call if it names one, and otherwise continues the last.
    fn add_fragment(
        &mut self,
        fragment: Fragment<'_>,
        partial: &mut PartialAnswer,
    ) -> Result<(), EventFault> {
        let Function { name, arguments } = fragment.function.unwrap_or_default();
        let (name, arguments) =
            (name.unwrap_or_default(), arguments.map(HalvedText::from_value).unwrap_or_default());
        let id = fragment.id.filter(|id| !id.is_empty());
        let known = match fragment.index {
            Some(index) => self.calls.iter().rev().find(|(number, _)| *number == Some(index)),
            None if id.is_some() => None,
            None => self.calls.last(),
        };
        let known = known.map(|(_, slot)| *slot).filter(|slot| {
            let named = partial.find_call(*slot).map(|call| call.id.as_str());
            id.is_none() || named == id.as_deref()
        });
        let slot = match known {
            Some(slot) => {
                // Servers that repeat the name with each fragment repeat all of it.
                if partial.find_call(slot).is_some_and(|call| call.name != name) {
                    partial.add_name(slot, &name)?;
                }
                slot
            }
            None => {
                let slot = partial.begin_call(id.as_deref(), &name)?;
                self.calls.push((fragment.index, slot));
                slot
            }
        };
        Ok(partial.add_arguments(slot, &arguments)?)
    }

    fn read_stop(&self, reason: &str, partial: &PartialAnswer) -> Result<StopReason, EventFault> {
        Ok(match reason.to_ascii_lowercase().as_str() {
            _ if self.refused => StopReason::Filtered,
            "tool_calls" | "function_call" => StopReason::Tool,
            // Some servers give this reason for an answer that calls tools.
            "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => {
                if partial.has_calls() {
                    StopReason::Tool
                } else {
                    StopReason::End
                }
            }
            "length" | "max_tokens" | "model_length" => StopReason::Length,
            "content_filter" => StopReason::Filtered,
            _ => {
                let words = format!("ended its answer for an unknown reason: {reason}");
                return Err(EventFault::Fault(partial.build_fault(ModelFaultKind::Truncated, words)));
            }
        })
    }
}

/// Numbers the calls of a complete message, so that each is separate.
fn number_calls(mut message: Delta<'_>) -> Delta<'_> {
    for (index, call) in (0..).zip(message.tool_calls.iter_mut().flatten()) {
        call.index = Some(index);
    }
    message
}

/// The texts of a content, which is one text or a list of blocks.
fn read_texts(content: &RawValue) -> Vec<HalvedText> {
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: Option<HalvedText>,
    }
    if let Ok(text) = serde_json::from_str(content.get()) {
        return vec![text];
    }
    let blocks: Vec<Lenient<Block>> = serde_json::from_str(content.get()).unwrap_or_default();
    blocks.into_iter().filter_map(|block| block.0?.text).collect()
}
