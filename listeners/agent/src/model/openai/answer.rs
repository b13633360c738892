//! Answers as chat completions stream them. The first choice counts, for no second one is asked for.
//!
//! Whole is an answer with a `finish_reason` and `[DONE]`. Some servers leave `[DONE]` out; where the body's own length
//! shows that nothing was cut off, the reason is enough. Where only the connection ended, it is not.

use serde::Deserialize;
use serde_json::Value;

use super::NAME;
use crate::model::draft::{Draft, Slot};
use crate::model::form::{Close, Reading, Step, Wrong, complaint, json};
use crate::model::http::Event;
use crate::model::{FaultKind, Stop};

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Fragment>>,
}

#[derive(Deserialize)]
struct Fragment {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// A reader of one answer.
#[derive(Default)]
pub(super) struct Answering {
    /// Calls by the number that their fragments bear.
    calls: Vec<(Option<u64>, Slot)>,
    refused: bool,
}

impl Reading for Answering {
    fn take(&mut self, event: &Event, draft: &mut Draft) -> Result<Step, Wrong> {
        if event.text.trim() == "[DONE]" {
            return Ok(Step::End);
        }
        if let Some(wrong) = complaint(event) {
            return Err(wrong);
        }
        let chunk: Chunk = json(event, draft)?;
        let mut step = Step::Nothing;
        if let Some(used) = chunk.usage {
            let cached = used.prompt_tokens_details.and_then(|details| details.cached_tokens);
            draft.usage.tokens_in = used.prompt_tokens.or(draft.usage.tokens_in);
            draft.usage.tokens_out = used.completion_tokens.or(draft.usage.tokens_out);
            draft.usage.cached = cached.or(used.prompt_cache_hit_tokens).or(draft.usage.cached);
        }
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if self.delta(choice.delta.unwrap_or_default(), draft)? {
                step = Step::Content;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                draft.stop = Some(self.stop(&reason, draft)?);
                step = Step::Content;
            }
        }
        Ok(step)
    }

    fn is_whole(&self, close: Close) -> bool {
        close == Close::Measured
    }
}

impl Answering {
    /// Whether the answer grew.
    fn delta(&mut self, delta: Delta, draft: &mut Draft) -> Result<bool, Wrong> {
        let mut grew = false;
        for (field, words) in [("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)]
        {
            let words = words.unwrap_or_default();
            grew |= !words.is_empty();
            draft.thought(NAME, field, &words)?;
        }
        let refusal = delta.refusal.unwrap_or_default();
        self.refused |= !refusal.is_empty();
        for text in delta.content.iter().flat_map(texts).chain([refusal.as_str()]) {
            grew |= !text.is_empty();
            draft.text(text)?;
        }
        for fragment in delta.tool_calls.into_iter().flatten() {
            grew = true;
            self.fragment(fragment, draft)?;
        }
        Ok(grew)
    }

    /// A fragment belongs to the call of its number, unless it names another. One without a number begins a call where
    /// it names one, and else goes on with the last.
    fn fragment(&mut self, fragment: Fragment, draft: &mut Draft) -> Result<(), Wrong> {
        let Function { name, arguments } = fragment.function.unwrap_or_default();
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        let id = fragment.id.filter(|id| !id.is_empty());
        let known = match fragment.index {
            Some(index) => self.calls.iter().rev().find(|(number, _)| *number == Some(index)),
            None if id.is_some() => None,
            None => self.calls.last(),
        };
        let known = known.map(|(_, slot)| *slot).filter(|slot| {
            let named = draft.called(*slot).map(|call| call.id.as_str());
            id.is_none() || named == id.as_deref()
        });
        let slot = match known {
            Some(slot) => {
                // Servers that say the name again with each fragment say it whole.
                if draft.called(slot).is_some_and(|call| call.name != name) {
                    draft.name(slot, &name)?;
                }
                slot
            }
            None => {
                let slot = draft.call(id.as_deref(), &name)?;
                self.calls.push((fragment.index, slot));
                slot
            }
        };
        Ok(draft.arguments(slot, &arguments)?)
    }

    fn stop(&self, reason: &str, draft: &Draft) -> Result<Stop, Wrong> {
        Ok(match reason {
            _ if self.refused => Stop::Filtered,
            "tool_calls" | "function_call" => Stop::Tool,
            // Some servers say so of an answer that calls tools.
            "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => {
                if draft.has_calls() {
                    Stop::Tool
                } else {
                    Stop::End
                }
            }
            "length" | "max_tokens" | "model_length" => Stop::Length,
            "content_filter" => Stop::Filtered,
            other => {
                let words = format!("ended its answer for a reason that says nothing about it: {other}");
                return Err(Wrong::Fault(draft.fault(FaultKind::Truncated, words)));
            }
        })
    }
}

/// The texts of a content, which is one or a list of blocks.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
}
