//! Streamed answers: items that begin, grow and end, then the whole response once more with its status and its usage.
//!
//! An item that ends is kept whole. What is encrypted in it is complete only there. A server that does not stream sends
//! the response alone.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::request::NAME;
use crate::limits;
use crate::model::complaint::ProviderComplaint;
use crate::model::form::{
    AnswerReading, BodyClose, EventFault, EventStep, find_complaint, read_json, read_part, read_value,
};
use crate::model::halves::{HalvedText, PendingHalf};
use crate::model::lenient::{Count, Lenient};
use crate::model::partial_answer::{CallSlot, PartialAnswer};
use crate::model::{ModelFaultKind, ServedBy, StopReason, TokenUsage};
use systole_http::StreamEvent;

#[derive(Deserialize)]
struct Kind<'e> {
    #[serde(rename = "type", default, borrow)]
    kind: std::borrow::Cow<'e, str>,
    #[serde(default)]
    object: Lenient<String>,
}

/// An event. Its kind decides which of these fields it has.
#[derive(Deserialize)]
struct Event<'e> {
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    delta: Option<HalvedText>,
    #[serde(default, borrow)]
    item: Option<&'e RawValue>,
    #[serde(default, borrow)]
    response: Option<&'e RawValue>,
}

#[derive(Deserialize)]
struct Response<'e> {
    #[serde(default)]
    id: Lenient<String>,
    #[serde(default)]
    model: Lenient<String>,
    #[serde(default)]
    status: Lenient<String>,
    #[serde(default)]
    incomplete_details: Lenient<IncompleteDetails>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    usage: Lenient<Used>,
    #[serde(default, borrow)]
    output: Option<Vec<&'e RawValue>>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    input_tokens_details: Lenient<ReadDetails>,
    #[serde(default)]
    output_tokens_details: Lenient<WrittenDetails>,
}

#[derive(Deserialize)]
struct ReadDetails {
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

/// The fields of an item that are read. The rest is kept as it is.
#[derive(Deserialize)]
struct Item<'e> {
    #[serde(rename = "type", default, borrow)]
    kind: std::borrow::Cow<'e, str>,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default, borrow)]
    arguments: Option<&'e RawValue>,
    #[serde(default)]
    content: Option<Vec<Said>>,
    #[serde(default)]
    summary: Option<Vec<Said>>,
}

/// A part of a message or of reasoning.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    text: Option<HalvedText>,
    #[serde(default)]
    refusal: Option<HalvedText>,
}

/// An item that has begun.
#[derive(Default)]
struct OpenItem {
    /// Its place in the response.
    index: Option<u64>,
    slot: Option<CallSlot>,
    /// Whether text of it came.
    grew: bool,
    /// Bytes of its reasoning that were shown.
    shown: usize,
    half: PendingHalf,
}

/// A reader of one answer.
#[derive(Default)]
pub(super) struct ResponsesReader {
    open: Vec<OpenItem>,
    /// Whether an item came outside of the response.
    has_items: bool,
    refused: bool,
}

impl AnswerReading for ResponsesReader {
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault> {
        if let Some(wrong) = find_complaint(event) {
            return Err(wrong);
        }
        let Kind { kind, object } = read_json(event, partial)?;
        if kind == "error" {
            return Err(build_complaint(read_value(&event.text, partial)?));
        }
        if kind.is_empty() && object.0.as_deref() == Some("response") {
            return self.end_response(&event.text, partial);
        }
        if !kind.starts_with("response.") {
            return Ok(EventStep::Nothing);
        }
        let Event { output_index, delta, item, response } = read_json(event, partial)?;
        let delta = delta.unwrap_or_default();
        match (kind.as_ref(), item, response) {
            ("response.output_item.added", Some(item), _) => {
                self.begin_item(output_index, item.get(), partial)?;
            }
            ("response.output_item.done", Some(item), _) => {
                self.end_item(output_index, item.get(), partial)?;
            }
            ("response.content_part.added", ..) => partial.end_part()?,
            ("response.output_text.delta", ..) => {
                self.note_text(output_index);
                partial.add_text(&delta)?;
            }
            ("response.refusal.delta", ..) => {
                self.note_text(output_index);
                self.refused = true;
                partial.add_text(&delta)?;
            }
            ("response.function_call_arguments.delta", ..) => {
                if let Some(slot) = self.find_open(output_index).and_then(|open| open.slot) {
                    partial.add_arguments(slot, &delta)?;
                }
            }
            ("response.reasoning_summary_text.delta" | "response.reasoning_text.delta", ..) => {
                if let Some(open) = self.find_open(output_index) {
                    let words = open.half.join_next(&delta);
                    open.shown += words.len();
                    partial.show_reasoning(&words)?;
                }
            }
            (
                "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled",
                _,
                Some(response),
            ) => return self.end_response(response.get(), partial),
            _ => return Ok(EventStep::Nothing),
        }
        Ok(EventStep::Content)
    }

    fn is_whole(&self, _close: BodyClose) -> bool {
        true
    }
}

impl ResponsesReader {
    /// The open item at that place, or the last one if the event names none.
    fn find_open(&mut self, index: Option<u64>) -> Option<&mut OpenItem> {
        let is_it = |open: &OpenItem| index.is_none() || open.index == index;
        if !self.open.iter().any(is_it) {
            self.open.push(OpenItem { index, ..OpenItem::default() });
        }
        self.open.iter_mut().rev().find(|open| is_it(open))
    }

    /// Notes that text of an item came.
    fn note_text(&mut self, index: Option<u64>) {
        if let Some(open) = self.find_open(index) {
            open.grew = true;
        }
    }

    fn begin_item(
        &mut self,
        index: Option<u64>,
        item: &str,
        partial: &mut PartialAnswer,
    ) -> Result<(), EventFault> {
        let Item { kind, call_id, name, .. } = read_part(item, partial)?;
        partial.end_part()?;
        let slot = match kind.as_ref() {
            "function_call" => Some(partial.begin_call(call_id.as_deref(), &name)?),
            _ => None,
        };
        self.open.push(OpenItem { index, slot, ..OpenItem::default() });
        Ok(())
    }

    /// Takes what did not come before, and keeps the rest.
    fn end_item(
        &mut self,
        index: Option<u64>,
        item: &str,
        partial: &mut PartialAnswer,
    ) -> Result<(), EventFault> {
        self.has_items = true;
        let known = self.open.iter().rposition(|open| index.is_none() || open.index == index);
        let open = known.map(|at| self.open.remove(at)).unwrap_or_default();
        let block = read_value(item, partial)?;
        let read: Item<'_> = read_part(item, partial)?;
        match read.kind.as_ref() {
            "function_call" => end_call(&open, &read, block, partial),
            "message" => self.end_message(&open, read.content.unwrap_or_default(), block, partial),
            _ => {
                let OpenItem { mut half, shown, .. } = open;
                partial.show_reasoning(half.end_text())?;
                let said = read.summary.into_iter().chain(read.content).flatten();
                for text in said.filter_map(|said| said.text).filter(|_| shown == 0) {
                    partial.show_reasoning(&text.join_alone())?;
                }
                Ok(partial.add_block(NAME, block, item.len().saturating_sub(shown))?)
            }
        }
    }

    fn end_message(
        &mut self,
        open: &OpenItem,
        content: Vec<Said>,
        mut block: Value,
        partial: &mut PartialAnswer,
    ) -> Result<(), EventFault> {
        let mut has_text = false;
        for Said { text, refusal } in content {
            self.refused |= refusal.as_ref().is_some_and(|refusal| !refusal.is_empty());
            for words in [text, refusal].into_iter().flatten().filter(|words| !words.is_empty()) {
                has_text = true;
                if !open.grew {
                    partial.end_part()?;
                    partial.add_text(&words)?;
                }
            }
        }
        for part in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            let is_empty = part.get("text").is_none_or(|text| text == "");
            if let Some(part) = part.as_object_mut().filter(|_| !is_empty) {
                part.remove("text");
            }
        }
        // A refusal is no answer that goes back.
        if has_text && !self.refused { Ok(keep_rest(block, partial)?) } else { Ok(()) }
    }

    fn end_response(&mut self, response: &str, partial: &mut PartialAnswer) -> Result<EventStep, EventFault> {
        let Response { id, model, status, incomplete_details, error, usage, output } =
            read_part(response, partial)?;
        ServedBy::keep(&mut partial.served.model, model.0.as_deref());
        ServedBy::keep(&mut partial.served.request, id.0.as_deref());
        if let Lenient(Some(used)) = usage {
            used.count_usage(&mut partial.usage);
        }
        if let Some(error) = error.filter(|error| !error.is_null()) {
            return Err(build_complaint(error));
        }
        if !self.has_items {
            for item in output.into_iter().flatten() {
                self.end_item(None, item.get(), partial)?;
            }
        }
        let status = status.0.unwrap_or_default();
        let details = incomplete_details.0.and_then(|details| details.reason);
        let reason = details.filter(|_| status == "incomplete").unwrap_or(status);
        partial.set_stop(&reason, |partial| self.read_stop(&reason, partial))?;
        Ok(EventStep::End)
    }

    fn read_stop(&self, reason: &str, partial: &PartialAnswer) -> Result<StopReason, EventFault> {
        Ok(match reason {
            "completed" | "content_filter" if self.refused => StopReason::Filtered,
            "completed" if partial.has_calls() => StopReason::Tool,
            "completed" => StopReason::End,
            "max_output_tokens" => StopReason::Length,
            "content_filter" => StopReason::Filtered,
            _ => {
                let words = format!("ended its answer for an unknown reason: {reason}");
                return Err(EventFault::Fault(partial.build_fault(ModelFaultKind::Truncated, words)));
            }
        })
    }
}

impl Used {
    fn count_usage(self, usage: &mut TokenUsage) {
        let read = self.input_tokens_details.0;
        usage.tokens_in = self.input_tokens.0.or(usage.tokens_in);
        usage.tokens_out = self.output_tokens.0.or(usage.tokens_out);
        usage.cached = read.as_ref().and_then(|details| details.cached_tokens.0);
        usage.cache_write = read.and_then(|details| details.cache_write_tokens.0);
        usage.reasoning = self.output_tokens_details.0.and_then(|details| details.reasoning_tokens.0);
    }
}

fn end_call(
    open: &OpenItem,
    read: &Item<'_>,
    mut block: Value,
    partial: &mut PartialAnswer,
) -> Result<(), EventFault> {
    let slot = match open.slot {
        Some(slot) => slot,
        None => partial.begin_call(read.call_id.as_deref(), &read.name)?,
    };
    // The deltas may be left out.
    if partial.find_call(slot).is_some_and(|call| call.arguments.is_empty()) {
        let arguments = read.arguments.map(HalvedText::from_value).unwrap_or_default();
        partial.add_arguments(slot, &arguments)?;
    }
    if let Some(block) = block.as_object_mut() {
        for part in ["call_id", "name", "arguments"] {
            block.remove(part);
        }
    }
    Ok(keep_rest(block, partial)?)
}

/// Keeps what is left of an item, if that is more than its kind.
fn keep_rest(block: Value, partial: &mut PartialAnswer) -> Result<(), crate::model::ModelFault> {
    let further = block.to_string().len().saturating_sub(limits::ITEM_BYTES);
    if block.as_object().is_some_and(|block| block.len() > 1) {
        return partial.add_block(NAME, block, further);
    }
    Ok(())
}

/// The provider's error. As an event it has its fields beside its kind.
fn build_complaint(mut error: Value) -> EventFault {
    if let Some(fields) = error.as_object_mut().filter(|fields| fields.get("type") == Some(&json!("error"))) {
        fields.remove("type");
    }
    let error = Value::Object(Map::from_iter([("error".to_owned(), error)]));
    EventFault::Complaint(ProviderComplaint::from_value(&error).unwrap_or_default())
}
