//! Answers as Anthropic streams them: blocks that begin, grow and end, then why the answer ended, then that it did.
//!
//! Whole is an answer with a `stop_reason` and `message_stop`. One server speaks this form and always sends both, so
//! nothing stands for the latter. Kinds of events that nobody knows are passed over, as the form asks.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json as value};

use super::NAME;
use crate::model::draft::{Draft, Slot};
use crate::model::form::{Close, Reading, Step, Wrong, complaint, json};
use crate::model::http::Event;
use crate::model::{Fault, FaultKind, Stop};

#[derive(Deserialize)]
struct Kind<'e> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'e, str>,
}

#[derive(Deserialize)]
struct Started {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
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

#[derive(Deserialize)]
struct BlockDelta {
    delta: Delta,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Ending,
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Ending {
    #[serde(default)]
    stop_reason: Option<String>,
}

/// The block that is open.
enum Open {
    Text,
    Call {
        slot: Slot,
        /// What the block began with, which counts where nothing follows.
        begun: String,
        grew: bool,
    },
    Thinking {
        block: Value,
        thinking: String,
        signature: String,
    },
}

/// A reader of one answer.
#[derive(Default)]
pub(super) struct Answering {
    open: Option<Open>,
    /// Tokens that were read, by how: anew, into the cache, from it.
    read: [Option<u64>; 3],
}

impl Reading for Answering {
    fn take(&mut self, event: &Event, draft: &mut Draft) -> Result<Step, Wrong> {
        if let Some(wrong) = complaint(event) {
            return Err(wrong);
        }
        let Kind { kind } = json(event, draft)?;
        match kind.as_ref() {
            "message_start" => {
                let Started { message } = json(event, draft)?;
                self.used(message.usage, draft);
                Ok(Step::Nothing)
            }
            "content_block_start" => {
                let BlockStart { content_block } = json(event, draft)?;
                self.begin(content_block.get(), draft)?;
                Ok(Step::Content)
            }
            "content_block_delta" => {
                let BlockDelta { delta } = json(event, draft)?;
                self.grow(delta, draft)
            }
            "content_block_stop" => {
                self.end(draft)?;
                Ok(Step::Content)
            }
            "message_delta" => {
                let MessageDelta { delta, usage } = json(event, draft)?;
                self.used(usage, draft);
                if let Some(reason) = delta.stop_reason {
                    draft.stop = Some(stop(&reason, draft)?);
                }
                Ok(Step::Content)
            }
            "message_stop" => Ok(Step::End),
            _ => Ok(Step::Nothing),
        }
    }

    fn is_whole(&self, _close: Close) -> bool {
        false
    }
}

impl Answering {
    fn used(&mut self, used: Option<Used>, draft: &mut Draft) {
        let Some(used) = used else { return };
        let said = [used.input_tokens, used.cache_creation_input_tokens, used.cache_read_input_tokens];
        for (known, said) in self.read.iter_mut().zip(said) {
            *known = said.or(*known);
        }
        let [anew, _, cached] = self.read;
        // What goes into the cache and comes from it is not in the first number.
        draft.usage.tokens_in =
            anew.map(|_| self.read.iter().flatten().fold(0, |sum: u64, n| sum.saturating_add(*n)));
        draft.usage.cached = cached;
        draft.usage.tokens_out = used.output_tokens.or(draft.usage.tokens_out);
    }

    fn begin(&mut self, block: &str, draft: &mut Draft) -> Result<(), Wrong> {
        let event = Event { name: String::new(), text: block.to_owned() };
        let Kind { kind } = json(&event, draft)?;
        match kind.as_ref() {
            "text" => {
                let block: Value = json(&event, draft)?;
                draft.part_ends();
                draft.text(block.get("text").and_then(Value::as_str).unwrap_or_default())?;
                self.open = Some(Open::Text);
            }
            "tool_use" => {
                let ToolUse { id, name, input } = json(&event, draft)?;
                let slot = draft.call(id.as_deref(), &name)?;
                let begun = input.map(|input| input.get().to_owned()).unwrap_or_default();
                self.open = Some(Open::Call { slot, begun, grew: false });
            }
            "thinking" => {
                let block: Value = json(&event, draft)?;
                let said = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let (thinking, signature) = (said("thinking"), said("signature"));
                draft.reasoning_shown(&thinking)?;
                self.open = Some(Open::Thinking { block, thinking, signature });
            }
            // Reasoning that only its provider can read, and blocks that nobody knows: kept as they are.
            _ => {
                self.open = None;
                draft.block(NAME, json(&event, draft)?, block.len())?;
            }
        }
        Ok(())
    }

    fn grow(&mut self, delta: Delta, draft: &mut Draft) -> Result<Step, Wrong> {
        match (&mut self.open, delta) {
            (_, Delta::Text { text }) => draft.text(&text)?,
            (Some(Open::Call { slot, grew, .. }), Delta::Input { partial_json }) => {
                *grew |= !partial_json.is_empty();
                draft.arguments(*slot, &partial_json)?;
            }
            (Some(Open::Thinking { thinking: before, .. }), Delta::Thinking { thinking }) => {
                before.push_str(&thinking);
                draft.reasoning_shown(&thinking)?;
            }
            (Some(Open::Thinking { signature: before, .. }), Delta::Signature { signature }) => {
                before.push_str(&signature);
                if before.len() > draft.most() {
                    return Err(Wrong::Fault(draft.too_large()));
                }
            }
            _ => return Ok(Step::Nothing),
        }
        Ok(Step::Content)
    }

    fn end(&mut self, draft: &mut Draft) -> Result<(), Fault> {
        match self.open.take() {
            None => Ok(()),
            Some(Open::Text) => {
                draft.part_ends();
                Ok(())
            }
            Some(Open::Call { grew: true, .. }) => Ok(()),
            Some(Open::Call { slot, begun, .. }) => draft.arguments(slot, &begun),
            Some(Open::Thinking { mut block, thinking, signature }) => {
                let further = signature.len();
                if let Some(block) = block.as_object_mut() {
                    block.insert("thinking".to_owned(), value!(thinking));
                    block.insert("signature".to_owned(), value!(signature));
                }
                draft.block(NAME, block, further)
            }
        }
    }
}

fn stop(reason: &str, draft: &Draft) -> Result<Stop, Wrong> {
    Ok(match reason {
        "end_turn" | "stop_sequence" => Stop::End,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "tool_use" => Stop::Tool,
        "refusal" => Stop::Filtered,
        other => {
            let words = format!("ended its answer for a reason that says nothing about it: {other}");
            return Err(Wrong::Fault(draft.fault(FaultKind::Truncated, words)));
        }
    })
}
