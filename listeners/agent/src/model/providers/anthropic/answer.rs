//! Anthropic's streamed answers: blocks that begin, grow and end, then the stop reason, then the end.
//!
//! An answer is complete if it has a `stop_reason` and its body ended properly: gateways that speak this form omit
//! `message_stop`. Unknown kinds of events are ignored, as the form requires. A server that does not stream sends one
//! message with all its blocks.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::request::NAME;
use crate::model::form::{
    AnswerReading, BodyClose, EventFault, EventStep, find_complaint, read_json, read_value,
};
use crate::model::halves::{HalvedText, PendingHalf};
use crate::model::lenient::{Count, Lenient};
use crate::model::partial_answer::{CallSlot, PartialAnswer};
use crate::model::{ModelFault, ModelFaultKind, ServedBy, StopReason};
use systole_http::StreamEvent;

#[derive(Deserialize)]
struct Kind<'e> {
    #[serde(rename = "type", default, borrow)]
    kind: std::borrow::Cow<'e, str>,
}

#[derive(Deserialize)]
struct Started {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    model: Lenient<String>,
    #[serde(default)]
    usage: Lenient<Used>,
}

/// A message that was not streamed.
#[derive(Deserialize)]
struct Whole<'e> {
    #[serde(default, borrow)]
    content: Vec<&'e RawValue>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
}

#[derive(Deserialize)]
struct BlockStart<'e> {
    #[serde(borrow)]
    content_block: &'e RawValue,
}

#[derive(Deserialize)]
struct ToolUse<'e> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default, borrow)]
    input: Option<&'e RawValue>,
}

/// The start of a block of text or reasoning.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    text: Option<HalvedText>,
    #[serde(default)]
    thinking: Option<HalvedText>,
    #[serde(default)]
    signature: Option<String>,
}

#[derive(Deserialize)]
struct BlockDelta<'e> {
    #[serde(borrow)]
    delta: Delta<'e>,
}

/// An addition to a block. Its kind decides which of these fields it has.
#[derive(Deserialize)]
struct Delta<'e> {
    #[serde(rename = "type", default, borrow)]
    kind: std::borrow::Cow<'e, str>,
    #[serde(default)]
    text: Option<HalvedText>,
    #[serde(default, borrow)]
    partial_json: Option<&'e RawValue>,
    #[serde(default)]
    thinking: Option<HalvedText>,
    #[serde(default)]
    signature: Option<String>,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Ending,
    #[serde(default)]
    usage: Lenient<Used>,
}

#[derive(Deserialize)]
struct Ending {
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    stop_details: Lenient<StopDetails>,
}

/// Why the provider refused.
#[derive(Deserialize)]
struct StopDetails {
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    explanation: Option<String>,
}

/// The stop reason of an answer for whose rest the window has no room.
const WINDOW_FULL: &str = "model_context_window_exceeded";

/// The open block.
enum OpenPart {
    Text,
    Call {
        slot: CallSlot,
        /// The arguments at the start of the block. They count if nothing follows.
        begun: HalvedText,
        grew: bool,
    },
    Thinking {
        block: Value,
        thinking: String,
        half: PendingHalf,
        signature: String,
    },
}

/// A reader of one answer.
#[derive(Default)]
pub(super) struct AnthropicReader {
    open: Option<OpenPart>,
    /// Tokens read: new, written to the cache, read from the cache.
    read: [Option<u64>; 3],
}

impl AnswerReading for AnthropicReader {
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault> {
        if let Some(wrong) = find_complaint(event) {
            return Err(wrong);
        }
        let Kind { kind } = read_json(event, partial)?;
        match kind.as_ref() {
            "message_start" => {
                let Started { message } = read_json(event, partial)?;
                ServedBy::keep(&mut partial.served.model, message.model.0.as_deref());
                self.count_usage(message.usage, partial);
                Ok(EventStep::Nothing)
            }
            "content_block_start" => {
                let BlockStart { content_block } = read_json(event, partial)?;
                self.begin_block(content_block.get(), partial)?;
                Ok(EventStep::Content)
            }
            "content_block_delta" => {
                let BlockDelta { delta } = read_json(event, partial)?;
                self.grow_block(delta, partial)
            }
            "content_block_stop" => {
                self.end_block(partial)?;
                Ok(EventStep::Content)
            }
            "message_delta" => {
                let MessageDelta { delta, usage } = read_json(event, partial)?;
                self.count_usage(usage, partial);
                end_answer(delta, partial)?;
                Ok(EventStep::Content)
            }
            "message_stop" => Ok(EventStep::End),
            "message" => {
                let Message { model, usage } = read_json(event, partial)?;
                ServedBy::keep(&mut partial.served.model, model.0.as_deref());
                self.count_usage(usage, partial);
                let Whole { content } = read_json(event, partial)?;
                for block in content {
                    self.begin_block(block.get(), partial)?;
                    self.end_block(partial)?;
                }
                end_answer(read_json(event, partial)?, partial)?;
                Ok(EventStep::End)
            }
            _ => Ok(EventStep::Nothing),
        }
    }

    fn is_whole(&self, _close: BodyClose) -> bool {
        true
    }
}

impl AnthropicReader {
    fn count_usage(&mut self, used: Lenient<Used>, partial: &mut PartialAnswer) {
        let Lenient(Some(used)) = used else { return };
        let said = [used.input_tokens, used.cache_creation_input_tokens, used.cache_read_input_tokens];
        let said = said.map(|count| count.0);
        for (known, said) in self.read.iter_mut().zip(said) {
            *known = said.or(*known);
        }
        let [anew, cache_write, cached] = self.read;
        // The first number excludes tokens written to the cache and read from it.
        partial.usage.tokens_in =
            anew.map(|_| self.read.iter().flatten().fold(0, |sum: u64, n| sum.saturating_add(*n)));
        (partial.usage.cached, partial.usage.cache_write) = (cached, cache_write);
        partial.usage.tokens_out = used.output_tokens.0.or(partial.usage.tokens_out);
    }

    fn begin_block(&mut self, block: &str, partial: &mut PartialAnswer) -> Result<(), EventFault> {
        let event = StreamEvent::from_text(block);
        let Kind { kind } = read_json(&event, partial)?;
        match kind.as_ref() {
            "text" => {
                let Said { text, .. } = read_json(&event, partial)?;
                partial.end_part()?;
                partial.add_text(&text.unwrap_or_default())?;
                self.open = Some(OpenPart::Text);
            }
            "tool_use" => {
                let ToolUse { id, name, input } = read_json(&event, partial)?;
                let slot = partial.begin_call(id.as_deref(), &name)?;
                let begun = input.map(HalvedText::from_value).unwrap_or_default();
                self.open = Some(OpenPart::Call { slot, begun, grew: false });
            }
            "thinking" => {
                let Said { thinking, signature, .. } = read_json(&event, partial)?;
                let (block, mut half) = (read_value(block, partial)?, PendingHalf::default());
                let thinking = half.join_next(&thinking.unwrap_or_default()).into_owned();
                partial.show_reasoning(&thinking)?;
                let signature = signature.unwrap_or_default();
                self.open = Some(OpenPart::Thinking { block, thinking, half, signature });
            }
            // Reasoning that only its provider can read, and unknown blocks: kept as they are.
            _ => {
                self.open = None;
                partial.add_block(NAME, read_value(block, partial)?, block.len())?;
            }
        }
        Ok(())
    }

    fn grow_block(&mut self, delta: Delta<'_>, partial: &mut PartialAnswer) -> Result<EventStep, EventFault> {
        let Delta { kind, text, partial_json, thinking, signature } = delta;
        match (kind.as_ref(), &mut self.open) {
            ("text_delta", _) => partial.add_text(&text.unwrap_or_default())?,
            ("input_json_delta", Some(OpenPart::Call { slot, grew, .. })) => {
                let arguments = partial_json.map(HalvedText::from_value).unwrap_or_default();
                *grew |= !arguments.is_empty();
                partial.add_arguments(*slot, &arguments)?;
            }
            ("thinking_delta", Some(OpenPart::Thinking { thinking: before, half, .. })) => {
                let more = thinking.unwrap_or_default();
                let words = half.join_next(&more);
                before.push_str(&words);
                partial.show_reasoning(&words)?;
            }
            ("signature_delta", Some(OpenPart::Thinking { signature: before, .. })) => {
                before.push_str(&signature.unwrap_or_default());
                if before.len() > partial.most_bytes() {
                    return Err(EventFault::Fault(partial.too_large()));
                }
            }
            _ => return Ok(EventStep::Nothing),
        }
        Ok(EventStep::Content)
    }

    fn end_block(&mut self, partial: &mut PartialAnswer) -> Result<(), ModelFault> {
        match self.open.take() {
            None => Ok(()),
            Some(OpenPart::Text) => partial.end_part(),
            Some(OpenPart::Call { grew: true, .. }) => Ok(()),
            Some(OpenPart::Call { slot, begun, .. }) => partial.add_arguments(slot, &begun),
            Some(OpenPart::Thinking { mut block, mut thinking, mut half, signature }) => {
                let further = signature.len();
                let lone = half.end_text();
                thinking.push_str(lone);
                partial.show_reasoning(lone)?;
                if let Some(block) = block.as_object_mut() {
                    block.insert("thinking".to_owned(), Value::String(thinking));
                    block.insert("signature".to_owned(), Value::String(signature));
                }
                partial.add_block(NAME, block, further)
            }
        }
    }
}

fn end_answer(
    Ending { stop_reason, stop_details }: Ending,
    partial: &mut PartialAnswer,
) -> Result<(), EventFault> {
    let Some(reason) = stop_reason else { return Ok(()) };
    partial.set_stop(&reason, |partial| read_stop(&reason, partial))?;
    partial.is_window_full = reason.eq_ignore_ascii_case(WINDOW_FULL);
    if let Lenient(Some(StopDetails { category, explanation })) = stop_details {
        for more in [category, explanation].into_iter().flatten() {
            partial.reason.push_str(&format!(", {more}"));
        }
    }
    Ok(())
}

fn read_stop(reason: &str, partial: &PartialAnswer) -> Result<StopReason, EventFault> {
    Ok(match reason.to_ascii_lowercase().as_str() {
        "end_turn" | "stop_sequence" => StopReason::End,
        "max_tokens" | WINDOW_FULL => StopReason::Length,
        "tool_use" => StopReason::Tool,
        "refusal" => StopReason::Filtered,
        _ => {
            let words = format!("ended its answer for an unknown reason: {reason}");
            return Err(EventFault::Fault(partial.build_fault(ModelFaultKind::Truncated, words)));
        }
    })
}
