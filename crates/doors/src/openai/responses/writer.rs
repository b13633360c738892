//! A response, made of the events of its run: each becomes some events of the API with numbers of their own, and together
//! they make the response's items. A client that comes again gets those behind the number that it names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::door_settings::ShownSteps;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::record::Record;
use systole_kit::{DocumentLimits, Payload};
use systole_queries::costs::CostRow;
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::{CallPlace, PlacedEvent, RunEvent, RunRecord};

use super::super::api_time::count_seconds;
use super::super::chat_writer::count_tokens;
use super::super::fault::OpenaiFault;
use super::decision::write_request;
use super::items::{CallItem, TextKind};
use super::numbers::{EventNumber, PlacePart, RunPlace};
use crate::limits;
use systole_hall::runs::requests::name_request;
use systole_payloads::answers::{describe_failure, write_answer, write_called};

/// What is known of a response before its run begins.
#[derive(Clone, Debug)]
pub(super) struct ResponseHead {
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    /// The entry.
    pub(super) model: String,
    pub(super) conversation: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) background: bool,
    /// The position of the message.
    pub(super) begun: Position,
    /// What the run did up to there is in an earlier response.
    pub(super) from: Position,
}

/// Where a response stands.
#[derive(Clone, Debug)]
enum ResponseStatus {
    Running,
    Completed,
    Partial,
    Cancelled,
    Failed(OpenaiFault),
}

impl ResponseStatus {
    fn as_str(&self) -> &'static str {
        match self {
            ResponseStatus::Running => "in_progress",
            ResponseStatus::Completed => "completed",
            ResponseStatus::Partial => "incomplete",
            ResponseStatus::Cancelled => "cancelled",
            ResponseStatus::Failed(_) => "failed",
        }
    }
}

/// A text on its way.
struct TextItem {
    index: usize,
    id: String,
    text: String,
    /// The event behind which it began.
    base: RunPlace,
}

/// A response, as far as its run has come.
pub(super) struct ResponseWriter {
    organism: Arc<Composition>,
    shows: ShownSteps,
    head: ResponseHead,
    /// The newest event that the client has.
    has: Option<EventNumber>,
    /// `None` is an item that was taken back.
    items: Vec<Option<Value>>,
    /// The open calls, and where their items are.
    calls: BTreeMap<CallPlace, (CallItem, Option<usize>)>,
    text: Option<TextItem>,
    /// A text that something else came between. It begins again behind that.
    cut: Option<String>,
    /// The newest event that has a place.
    last: RunPlace,
    status: ResponseStatus,
    /// The second of its newest event.
    newest: Option<u64>,
    usage: Option<Value>,
    /// The newest number.
    number: Option<u64>,
    /// How many texts began behind the newest event.
    begun_texts: u32,
    ready: Vec<Value>,
}

impl ResponseWriter {
    /// A response of which the client has the events up to a number.
    pub(super) fn new(organism: Arc<Composition>, head: ResponseHead, has: Option<u64>) -> ResponseWriter {
        let shows = organism.doors.openai.as_ref().map(|openai| openai.shows).unwrap_or_default();
        let has = has.map(|number| EventNumber::read(number, head.begun));
        let last = (head.begun.max(head.from), 0);
        let mut writer = ResponseWriter {
            organism,
            shows,
            head,
            has,
            items: Vec::new(),
            calls: BTreeMap::new(),
            text: None,
            cut: None,
            last,
            status: ResponseStatus::Running,
            newest: None,
            usage: None,
            number: None,
            begun_texts: 0,
            ready: Vec::new(),
        };
        for (part, kind) in (0..).zip(["response.created", "response.in_progress"]) {
            writer.add(last, part, json!({"type": kind, "response": writer.write_response()}));
        }
        writer
    }

    /// The events that are ready for the client.
    pub(super) fn take_ready(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.ready)
    }

    /// Whether nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.status, ResponseStatus::Running)
    }

    /// The response as it is now.
    pub(super) fn write_response(&self) -> Value {
        let is_partial = matches!(self.status, ResponseStatus::Partial);
        let error = match &self.status {
            ResponseStatus::Failed(fault) => fault.as_response_error(),
            _ => Value::Null,
        };
        // What was taken back is no part of it.
        let output: Vec<&Value> = self.items.iter().flatten().collect();
        json!({
            "id": self.head.id,
            "object": "response",
            "created_at": self.head.created,
            "completed_at": self.newest.filter(|_| matches!(self.status, ResponseStatus::Completed)),
            "status": self.status.as_str(),
            "background": self.head.background,
            "error": error,
            "incomplete_details": is_partial.then(|| json!({"reason": "max_output_tokens"})),
            "instructions": null,
            "max_output_tokens": null,
            "max_tool_calls": null,
            "model": self.head.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": self.head.previous,
            "conversation": self.head.conversation.as_ref().map(|id| json!({"id": id})),
            "reasoning": {"effort": null, "summary": null},
            "store": true,
            // What a client asks of a model changes nothing here, so these are the defaults of the protocol.
            "temperature": 1.0,
            "top_p": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "top_logprobs": 0,
            "service_tier": "default",
            "safety_identifier": null,
            "prompt_cache_key": null,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "truncation": "disabled",
            "usage": self.usage,
            "user": null,
            "metadata": {},
        })
    }

    /// Adds an event, unless the client has it.
    fn add(&mut self, place: RunPlace, part: u64, mut event: Value) {
        let number = EventNumber::new(place, part);
        if self.has.is_none_or(|has| has < number) {
            // A program may say otherwise what it has said, without a record between: numbers rise all the same.
            let number = number.write(self.head.begun).max(self.next_number());
            self.number = Some(number);
            if let Some(fields) = event.as_object_mut() {
                fields.insert("sequence_number".to_owned(), number.into());
            }
            self.ready.push(event);
        }
    }

    fn next_number(&self) -> u64 {
        self.number.map_or(0, |number| number + 1)
    }

    /// The last event of a stream that breaks off. The stream goes on behind the number before it.
    pub(super) fn write_fault(&self, fault: &OpenaiFault) -> Value {
        let has = self.has.map(|has| has.write(self.head.begun));
        fault.as_response_event(self.number.or(has).unwrap_or_default())
    }

    /// Takes the next event of the run.
    pub(super) fn take_event(&mut self, placed: PlacedEvent, used: &CostRow) {
        let PlacedEvent { cursor, event, time, .. } = placed;
        self.newest = time.map(count_seconds).or(self.newest);
        let place = cursor.map(|cursor| (cursor.position(), cursor.step()));
        match (event, place) {
            (RunEvent::Text(words), Some(place)) => self.take_text(&words, place),
            (RunEvent::Retract, _) => {
                self.cut = None;
                self.take_text_back();
            }
            (event, Some(place)) => {
                if self.has.is_some_and(|has| has.place < place) {
                    self.close_lost_text();
                }
                let is_new = place.0 > self.head.from;
                if !matches!(event, RunEvent::Ended { .. }) {
                    // A number says how many bytes came behind one event, so nothing comes between them.
                    self.cut = self.take_text_back().or(self.cut.take());
                }
                if is_new {
                    (self.last, self.begun_texts) = (place, 0);
                }
                match event {
                    RunEvent::Thought { words, .. } if is_new => self.add_thought(&words, place),
                    RunEvent::Called { at, to, record } => self.add_call(at, &to, &record, (place, is_new)),
                    RunEvent::Returned { at, judgement, record } => {
                        self.end_call(&at, judgement, &record.1, (place, is_new));
                    }
                    RunEvent::Ended { .. } if !is_new => self.status = ResponseStatus::Completed,
                    RunEvent::Ended { judgement, record } => {
                        self.usage = write_usage(used);
                        self.end_run(judgement, &record.1, place);
                    }
                    _ => {}
                }
            }
            // What is live is not sent: all that is sent has a number.
            (_, None) => {}
        }
    }

    fn take_text(&mut self, words: &str, place: RunPlace) {
        let base = self.last;
        let whole = self.cut.take().map(|cut| cut + words);
        let words = whole.as_deref().unwrap_or(words);
        if self.text.is_none() {
            let more = if self.begun_texts > 0 { format!(".{}", self.begun_texts) } else { String::new() };
            let id = format!("msg_{}.{}{more}", base.0.0, base.1);
            self.begun_texts += 1;
            let index = self.open_text_item(TextKind::Message, &id, (base, PlacePart::Opens.first()));
            self.text = Some(TextItem { index, id, text: String::new(), base });
        }
        let Some(text) = &mut self.text else { return };
        let before = text.text.len();
        text.text.push_str(words);
        let (index, id, bytes) = (text.index, text.id.clone(), text.text.len());
        // What the client has of it is not sent again.
        let known =
            self.has.filter(|has| has.place.0 == base.0).map(|has| has.place.1.saturating_sub(base.1));
        let known = usize::try_from(known.unwrap_or_default()).unwrap_or(usize::MAX);
        let delta = words.get(known.saturating_sub(before).min(words.len())..).unwrap_or(words).to_owned();
        let is_on_record = place.0 > base.0;
        let place = if is_on_record { place } else { (base.0, base.1.saturating_add(bytes as u64)) };
        if is_on_record {
            self.last = place;
        }
        if !delta.is_empty() {
            self.add(place, 0, write_delta(TextKind::Message, index, &id, &delta));
        }
    }

    /// What was sent of a text does not count. Returns it.
    fn take_text_back(&mut self) -> Option<String> {
        let TextItem { index, id, text, base } = self.text.take()?;
        let place = (base.0, base.1.saturating_add(text.len() as u64));
        let place = (place, PlacePart::Closes.first());
        self.close_text_item(TextKind::Message, (index, &id, "incomplete"), &text, place);
        self.leave_out(index);
        Some(text)
    }

    /// A text that the client has begun to get, and that was taken back since, ends for it too.
    fn close_lost_text(&mut self) {
        let last = self.last;
        let is_open = |has: &EventNumber| {
            let is_text = has.part == 0
                || (PlacePart::Closes.first()..PlacePart::Closes.first() + 2).contains(&has.part);
            has.place.0 == last.0
                && ((has.place.1 > last.1 && is_text) || has.part >= PlacePart::Opens.first())
        };
        if let Some(has) = self.has.filter(|has| self.text.is_none() && is_open(has)) {
            let id = format!("msg_{}.{}", last.0.0, last.1);
            // What had only begun is closed behind it.
            let begun = u64::from(has.part >= PlacePart::Opens.first());
            let (place, part) = ((has.place.0, has.place.1 + begun), PlacePart::Closes.first());
            let index = self.add_item(Value::Null);
            self.close_text_item(TextKind::Message, (index, &id, "incomplete"), "", (place, part));
            self.leave_out(index);
            // It is closed, whatever comes now.
            self.has = Some(EventNumber::new(place, part + 2));
        }
    }

    fn add_item(&mut self, item: Value) -> usize {
        self.items.push(Some(item));
        self.items.len() - 1
    }

    fn set_item(&mut self, index: usize, item: Value) {
        if let Some(known) = self.items.get_mut(index) {
            *known = Some(item);
        }
    }

    /// What was taken back is no part of the response.
    fn leave_out(&mut self, index: usize) {
        if let Some(known) = self.items.get_mut(index) {
            *known = None;
        }
    }

    /// The two events that begin an item with a text.
    fn open_text_item(&mut self, kind: TextKind, id: &str, (place, first): (RunPlace, u64)) -> usize {
        let item = kind.write_item(id, "in_progress", None);
        let index = self.add_item(item.clone());
        self.add(place, first, write_item_event("added", index, &item));
        self.add(place, first + 1, write_part_event("added", index, id, &kind.write_part("")));
        index
    }

    /// The three events that close it.
    fn close_text_item(
        &mut self,
        kind: TextKind,
        (index, id, status): (usize, &str, &str),
        text: &str,
        (place, first): (RunPlace, u64),
    ) {
        let item = kind.write_item(id, status, Some(text));
        let done = json!({
            "type": format!("response.{}.done", kind.as_str()),
            "item_id": id,
            "output_index": index,
            "content_index": 0,
            "text": text,
            "logprobs": [],
        });
        self.add(place, first, done);
        self.add(place, first + 1, write_part_event("done", index, id, &kind.write_part(text)));
        self.add(place, first + 2, write_item_event("done", index, &item));
        self.set_item(index, item);
    }

    /// A whole item with a text.
    fn add_text_item(&mut self, kind: TextKind, id: &str, text: &str, (place, first): (RunPlace, u64)) {
        let index = self.open_text_item(kind, id, (place, first));
        self.add(place, first + 2, write_delta(kind, index, id, text));
        self.close_text_item(kind, (index, id, "completed"), text, (place, first + 3));
    }

    fn add_thought(&mut self, words: &str, place: RunPlace) {
        if self.shows >= ShownSteps::Steps {
            let id = format!("rs_{}.{}", place.0.0, place.1);
            self.add_text_item(TextKind::Thought, &id, words, (place, 0));
        }
    }

    fn add_call(&mut self, at: CallPlace, to: &Name, record: &RunRecord, (place, is_new): (RunPlace, bool)) {
        if self.shows < ShownSteps::Steps {
            return;
        }
        let arguments = match self.shows {
            ShownSteps::All => write_called(&self.organism, to, &record.1.body),
            ShownSteps::Answer | ShownSteps::Steps => "{}".to_owned(),
        };
        let call = CallItem {
            id: format!("mcp_{}.{}", place.0.0, place.1),
            listener: to.to_string(),
            element: read_element(&record.1.body),
            arguments,
        };
        let index = is_new.then(|| {
            let item = call.write_item("in_progress", None, None);
            let index = self.add_item(item.clone());
            self.add(place, 0, write_item_event("added", index, &item));
            self.add(place, 1, write_call_event("mcp_call.in_progress", index, &call.id));
            let mut whole = write_call_event("mcp_call_arguments.done", index, &call.id);
            if let Some(fields) = whole.as_object_mut() {
                fields.insert("arguments".to_owned(), call.arguments.clone().into());
            }
            self.add(place, 2, whole);
            index
        });
        self.calls.insert(at, (call, index));
    }

    fn end_call(
        &mut self,
        at: &CallPlace,
        judgement: CallJudgement,
        record: &Record,
        (place, is_new): (RunPlace, bool),
    ) {
        let Some((call, index)) = self.calls.remove(at).filter(|_| is_new) else { return };
        let is_answer = matches!(judgement, CallJudgement::Answered | CallJudgement::Partial);
        let shown = || match self.shows {
            ShownSteps::All => write_answer(&self.organism, judgement, record).unwrap_or_default(),
            ShownSteps::Answer | ShownSteps::Steps => read_element(&record.body),
        };
        let output = is_answer.then(shown);
        let is_failed = judgement.is_failure() || judgement == CallJudgement::Cancelled;
        let error = is_failed.then(|| {
            let content = json!([{"type": "text", "text": describe_failure(record).words}]);
            json!({"type": "mcp_tool_execution_error", "content": content})
        });
        let (status, kind) =
            if is_failed { ("failed", "mcp_call.failed") } else { ("completed", "mcp_call.completed") };
        let item = call.write_item(status, output.as_deref(), error.as_ref());
        let index = match index {
            Some(index) => index,
            // It was called in an earlier response.
            None => {
                let index = self.add_item(item.clone());
                self.add(place, 0, write_item_event("added", index, &item));
                index
            }
        };
        self.add(place, 1, write_call_event(kind, index, &call.id));
        self.add(place, 2, write_item_event("done", index, &item));
        self.set_item(index, item);
    }

    fn end_run(&mut self, judgement: CallJudgement, record: &Record, place: RunPlace) {
        let answer = write_answer(&self.organism, judgement, record);
        if answer.is_some() && self.cut.is_some() {
            self.take_text("", (place.0, place.1.saturating_sub(1)));
        }
        match (answer, self.text.take()) {
            (Some(_), Some(TextItem { index, id, text, .. })) => {
                self.close_text_item(TextKind::Message, (index, &id, "completed"), &text, (place, 0));
            }
            (Some(text), None) if !text.is_empty() => {
                let id = format!("msg_{}.{}", place.0.0, place.1);
                self.add_text_item(TextKind::Message, &id, &text, (place, 0));
            }
            _ => {}
        }
        self.status = match judgement {
            CallJudgement::Answered | CallJudgement::Handled => ResponseStatus::Completed,
            CallJudgement::Partial => ResponseStatus::Partial,
            CallJudgement::Cancelled => ResponseStatus::Cancelled,
            CallJudgement::Reported | CallJudgement::Failed => {
                ResponseStatus::Failed(describe_failure(record).into())
            }
        };
        self.add_end(place);
    }

    /// All that is open waits for the client: what it may decide ends the response.
    pub(super) fn end_with_requests(&mut self, waiting: &[WaitingRequest]) {
        self.close_lost_text();
        let (position, step) = self.last;
        let mut end = (position, step.saturating_add(1 + limits::SHOWN_REQUESTS as u64));
        for (at, one) in (1..).zip(waiting.iter().take(limits::SHOWN_REQUESTS)) {
            let place = (position, step.saturating_add(at));
            let shown = (place, PlacePart::Asks.first());
            let id = format!("msg_{}", name_request(one));
            self.add_text_item(TextKind::Message, &id, &write_request(one), shown);
            match &one.about {
                RequestSubject::Approval { element, payload, .. } => {
                    let part = PlacePart::Decides.first();
                    let item = json!({
                        "id": name_request(one),
                        "type": "mcp_approval_request",
                        "server_label": one.listener.as_str(),
                        "name": element,
                        "arguments": write_called(&self.organism, &one.listener, payload.as_bytes()),
                    });
                    let index = self.add_item(item.clone());
                    self.add(place, part, write_item_event("added", index, &item));
                    self.add(place, part + 1, write_item_event("done", index, &item));
                }
                RequestSubject::Question { .. } => {}
            }
        }
        // The next response has what becomes of the calls that are open.
        for (call, index) in std::mem::take(&mut self.calls).into_values() {
            let Some(index) = index else { continue };
            let item = call.write_item("incomplete", None, None);
            self.add(end, 0, write_item_event("done", index, &item));
            self.set_item(index, item);
            end.1 = end.1.saturating_add(1);
        }
        self.status = ResponseStatus::Completed;
        self.add_end(end);
    }

    fn add_end(&mut self, place: RunPlace) {
        let kind = match &self.status {
            ResponseStatus::Completed | ResponseStatus::Running => "response.completed",
            // The API has no event of its own for what was stopped.
            ResponseStatus::Partial | ResponseStatus::Cancelled => "response.incomplete",
            ResponseStatus::Failed(_) => "response.failed",
        };
        self.add(place, PlacePart::Ends.first(), json!({"type": kind, "response": self.write_response()}));
    }
}

fn write_item_event(kind: &str, index: usize, item: &Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

fn write_call_event(kind: &str, index: usize, id: &str) -> Value {
    json!({"type": format!("response.{kind}"), "output_index": index, "item_id": id})
}

fn write_part_event(kind: &str, index: usize, id: &str, part: &Value) -> Value {
    json!({
        "type": format!("response.content_part.{kind}"),
        "item_id": id,
        "output_index": index,
        "content_index": 0,
        "part": part,
    })
}

fn write_delta(kind: TextKind, index: usize, id: &str, delta: &str) -> Value {
    let kind = format!("response.{}.delta", kind.as_str());
    json!({
        "type": kind,
        "item_id": id,
        "output_index": index,
        "content_index": 0,
        "delta": delta,
        "logprobs": [],
    })
}

/// The name of a payload's element.
fn read_element(body: &[u8]) -> String {
    let payload = Payload::parse(body, &DocumentLimits::FROM_PUMP).ok();
    payload.map(|payload| payload.name().local.to_string()).unwrap_or_default()
}

/// What the models of a run used. `None` if some of it is unknown.
fn write_usage(used: &CostRow) -> Option<Value> {
    let (read, written) = count_tokens(used)?;
    // The details are not counted here, and clients want numbers.
    Some(json!({
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read.saturating_add(written),
    }))
}
