//! A run in the events of AG-UI. A client that knows a part of it gets the rest; what it knows still says which calls and
//! subagents are open.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::door_settings::ShownSteps;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::primitive::TodoList;
use systole_core::types::record::{MessageRole, Record, RecordCode};
use systole_kit::{DocumentLimits, Payload};
use systole_queries::costs::CostRow;
use systole_queries::run_events::{CallPlace, PlacedEvent, RunCursor, RunEvent, RunRecord, read_words};

use super::input::STATE_KEYS;
use super::kept_messages::KeptMessages;
use super::wire::{write_all_messages, write_error};
use systole_following::run_ids::{name_call, name_run};
use systole_following::said_thought::SaidThought;
use systole_following::wire_events::{ClientPlace, EventText, WireEvent};
use systole_payloads::answers::{describe_failure, write_answer, write_called, write_sent};

/// The version of the protocol.
pub(super) const PROTOCOL: &str = "1.0";
/// What waits for others, as an activity.
const WAITS: &str = "systole.waits";

/// What a client says of its run.
pub(super) struct RunHead {
    /// The client's names of the thread and the run.
    pub(super) thread: String,
    pub(super) run: String,
    /// The call.
    pub(super) place: CallPlace,
    /// The messages that the client has.
    pub(super) messages: KeptMessages,
    /// The fields of its request that change nothing.
    pub(super) ignored: Vec<&'static str>,
    /// Whether the client may have begun it before, so that its messages may have a part of it.
    pub(super) is_again: bool,
}

/// One run, as far as its events were taken.
pub(super) struct RunWriter {
    organism: Arc<Composition>,
    shows: ShownSteps,
    head: RunHead,
    /// The messages that it made, but for its answer.
    made: Vec<Value>,
    /// The todo lists of its listener.
    todo: Vec<Value>,
    /// Who works for it.
    subagents: BTreeMap<CallPlace, Name>,
    /// The id behind which the client goes on.
    last: String,
    has_begun: bool,
    thought: SaidThought,
    /// Whether the client is shown that something waits for others.
    shows_wait: bool,
    has_ended: bool,
    ready: Vec<WireEvent>,
}

impl RunWriter {
    /// A run of which the client has what is up to that place, if it is in the middle of its stream.
    pub(super) fn new(organism: Arc<Composition>, head: RunHead, known: Option<ClientPlace>) -> RunWriter {
        let shows = organism.doors.ag_ui.as_ref().map(|ag_ui| ag_ui.shows).unwrap_or_default();
        let has_begun = known.is_some();
        let thought = known.as_ref().map(ClientPlace::read_thought).unwrap_or_default();
        let last = known.map(|known| known.cursor.to_string()).unwrap_or_default();
        RunWriter {
            organism,
            shows,
            head,
            made: Vec::new(),
            todo: Vec::new(),
            subagents: BTreeMap::new(),
            last,
            has_begun,
            thought,
            shows_wait: false,
            has_ended: false,
            ready: Vec::new(),
        }
    }

    /// The events that are ready for the client.
    pub(super) fn take_ready(&mut self) -> Vec<WireEvent> {
        std::mem::take(&mut self.ready)
    }

    /// The call of the run.
    pub(super) fn place(&self) -> &CallPlace {
        &self.head.place
    }

    /// Whether nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Begins in the middle of a run, behind a decision: what the client knows of it was taken.
    pub(super) fn begin_behind(&mut self, told: Position) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let mut events = self.write_begin();
            // What the client has of the run may be less, or more, than what it knows of it here.
            events.push(self.write_messages());
            events.extend(self.subagents.iter().map(|(at, name)| self.write_subagent(at, name).into()));
            self.last = RunCursor::behind(told).to_string();
            self.send(events);
        }
    }

    /// Sends events that count together, behind the newest id.
    fn send(&mut self, events: Vec<EventText>) {
        let said = self.thought.describe();
        self.ready.extend(WireEvent::write_group(&format!("{}{said}", self.last), events));
    }

    /// Sends what is not part of the run: the client comes again.
    pub(super) fn break_off(&mut self, code: &str, words: &str) {
        self.ready.push(WireEvent { id: None, data: Some(write_error(code, words).into()) });
    }

    /// Takes the next event of the run.
    pub(super) fn take_event(&mut self, placed: PlacedEvent, used: &CostRow) {
        let PlacedEvent { cursor, event, is_known, .. } = placed;
        // An end is none if the run was tried again.
        match &event {
            RunEvent::Ended { .. } if is_known => {
                self.has_ended = true;
                return self.subagents.clear();
            }
            RunEvent::Started => self.has_ended = false,
            _ => {}
        }
        // Who comes again may be shown that something waits.
        self.shows_wait |= is_known && self.has_begun && matches!(&event, RunEvent::Asked { .. });
        let goes_on = cursor.is_some()
            && !matches!(&event, RunEvent::Away(_) | RunEvent::Asked { .. } | RunEvent::Again);
        let is_over = goes_on && std::mem::take(&mut self.shows_wait);
        let over = is_over.then(|| self.write_waits(&json!({"requests": []})).into());
        let is_thought = matches!(&event, RunEvent::Thought { .. });
        let is_text = matches!(&event, RunEvent::Text(_));
        let events: Vec<EventText> =
            over.into_iter().chain(self.write_event(event, used, is_known)).collect();
        if let Some(cursor) = cursor {
            self.last = cursor.to_string();
            if !is_known && !is_text {
                self.thought = SaidThought::default();
            }
        }
        // The record of a thought that was said says where the client is.
        if !is_known && (!events.is_empty() || (is_thought && cursor.is_some())) {
            self.send(events);
        }
    }

    fn write_event(&mut self, event: RunEvent, used: &CostRow, is_known: bool) -> Vec<EventText> {
        match event {
            RunEvent::Started if is_known || std::mem::replace(&mut self.has_begun, true) => Vec::new(),
            RunEvent::Started => self.write_begin(),
            RunEvent::Text(words) => vec![self.write_text(&words).into()],
            RunEvent::Retract => vec![self.write_messages()],
            RunEvent::Thought { .. } if is_known => Vec::new(),
            RunEvent::Thought { words, is_live } => self.write_thought(&words, is_live),
            RunEvent::Todo(lists) => {
                self.todo = lists.iter().map(write_todo).collect();
                // What was used by then is not told: records after it may be read already.
                let [own_todo, own_waits, _] = STATE_KEYS;
                vec![write_snapshot(&json!({own_todo: self.todo, own_waits: []})).into()]
            }
            RunEvent::Called { at, to, record } => self.write_call(&at, to, &record),
            RunEvent::Returned { at, judgement, record } => self.write_return(&at, judgement, &record),
            RunEvent::Away(outage) => {
                self.shows_wait = true;
                vec![self.write_waits(&json!({"requests": [], "away": outage})).into()]
            }
            RunEvent::Ended { judgement, record } => self.write_end(judgement, &record.1, used),
            RunEvent::Again
            | RunEvent::Asked { .. }
            | RunEvent::Decided { .. }
            | RunEvent::Words(_)
            | RunEvent::Quiet => Vec::new(),
        }
    }

    /// The state at a pause or at the end: the todo lists, what waits for the client, and what the run used.
    fn write_state(&self, used: &CostRow, waits: &[&Value]) -> Value {
        let usage = json!({
            "requests": used.requests,
            "inputTokens": used.tokens_in,
            "outputTokens": used.tokens_out,
        });
        let [own_todo, own_waits, own_usage] = STATE_KEYS;
        write_snapshot(&json!({own_todo: self.todo, own_waits: waits, own_usage: usage}))
    }

    fn name_call(&self, at: &CallPlace) -> String {
        name_call(&self.head.place, at)
    }

    fn write_begin(&self) -> Vec<EventText> {
        let RunHead { thread, run, ignored, is_again, .. } = &self.head;
        let begin = json!({
            "type": "RUN_STARTED",
            "threadId": thread,
            "runId": run,
            "protocolVersion": PROTOCOL,
        });
        let mut events = vec![begin.into()];
        if !ignored.is_empty() {
            events.push(json!({"type": "CUSTOM", "name": "systole.ignored", "value": ignored}).into());
        }
        if *is_again {
            events.push(self.write_messages());
        }
        events
    }

    fn write_text(&self, words: &str) -> Value {
        json!({
            "type": "TEXT_MESSAGE_CHUNK",
            "messageId": name_run(&self.head.place),
            "role": "assistant",
            "delta": words,
        })
    }

    /// All messages but the answer: those of the client, and those that the run made.
    fn write_messages(&self) -> EventText {
        let own = name_run(&self.head.place);
        let is_own =
            |id: &str| id.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // What the client has of this run is sent again.
        let kept = self.head.messages.list_without(is_own);
        write_all_messages(kept, &self.made)
    }

    fn write_thought(&mut self, words: &str, is_live: bool) -> Vec<EventText> {
        let words = self.thought.take(words, is_live);
        if words.is_empty() || self.shows < ShownSteps::Steps {
            return Vec::new();
        }
        let id = format!("{}~{}", name_run(&self.head.place), self.last);
        vec![json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": id, "delta": words}).into()]
    }

    /// The nearest subagent above a call.
    fn find_subagent(&self, at: &CallPlace) -> Option<String> {
        let above = at.call.caller().map(|(call, ..)| call);
        let is_above = |one: &&CallPlace| match &above {
            Some(call) => one.thread == at.thread && call.is_within(&one.call),
            None => Some(&one.thread) == at.thread.parent().as_ref() && one.call.caller().is_none(),
        };
        self.subagents.keys().rev().find(is_above).map(|at| self.name_call(at))
    }

    fn write_call(&mut self, at: &CallPlace, to: Name, record: &RunRecord) -> Vec<EventText> {
        if self.shows < ShownSteps::Steps {
            return Vec::new();
        }
        let (id, above) = (self.name_call(at), self.find_subagent(at));
        let name = format!("{to}.{}", read_element(&record.1));
        let arguments = match self.shows {
            ShownSteps::All => write_called(&self.organism, &to, &record.1.body),
            ShownSteps::Answer | ShownSteps::Steps => "{}".to_owned(),
        };
        let call = json!({
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        });
        let made = json!({"id": id, "role": "assistant", "toolCalls": [call]});
        self.made.push(attribute(made, above.as_deref()));
        let events = [
            json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments}),
            json!({"type": "TOOL_CALL_END", "toolCallId": id}),
        ];
        let mut events: Vec<EventText> =
            events.into_iter().map(|event| attribute(event, above.as_deref()).into()).collect();
        let section = self.organism.sections.get(&to);
        let is_subagent = section.is_some_and(|one| one.is_workflow() || one.path.starts_with("agents."));
        if is_subagent || record.1.header.code == Some(RecordCode::Role(MessageRole::Begin)) {
            events.push(self.write_subagent(at, &to).into());
            self.subagents.insert(at.clone(), to);
        }
        events
    }

    fn write_subagent(&self, at: &CallPlace, name: &Name) -> Value {
        let id = self.name_call(at);
        let mut event = json!({
            "type": "SUBAGENT_STARTED",
            "subagentRunId": id,
            "name": name.as_str(),
            "parentToolCallId": id,
        });
        if let Some((fields, above)) = event.as_object_mut().zip(self.find_subagent(at)) {
            fields.insert("parentSubagentRunId".to_owned(), above.into());
        }
        event
    }

    fn write_return(
        &mut self,
        at: &CallPlace,
        judgement: CallJudgement,
        record: &RunRecord,
    ) -> Vec<EventText> {
        if self.shows < ShownSteps::Steps {
            return Vec::new();
        }
        let (id, subagent) = (self.name_call(at), self.subagents.remove(at));
        let above = self.find_subagent(at);
        let shows_all = self.shows == ShownSteps::All;
        let answer = write_answer(&self.organism, judgement, &record.1);
        let mut failure = answer.is_none().then(|| describe_failure(&record.1));
        if let Some(failure) = &mut failure {
            match judgement {
                // What a listener says of its failure is a payload.
                CallJudgement::Reported if shows_all => {
                    failure.words = write_sent(&self.organism, &record.1.header.from, &record.1.body);
                }
                CallJudgement::Reported => failure.words = format!("<{}>", read_element(&record.1)),
                _ => {}
            }
        }
        let content = match (answer, &failure) {
            (_, Some(failure)) => format!("{}: {}", failure.code, failure.words),
            (Some(answer), None) if shows_all => answer,
            _ => read_element(&record.1),
        };
        let result = format!("{id}.result");
        let made = json!({"id": result, "role": "tool", "toolCallId": id, "content": content});
        let made = attribute(made, above.as_deref());
        let after = self.made.iter().position(|one| one["id"] == id);
        self.made.insert(after.map_or(self.made.len(), |at| at + 1), made);
        let event = json!({
            "type": "TOOL_CALL_RESULT",
            "messageId": result,
            "toolCallId": id,
            "content": content,
            "role": "tool",
        });
        let mut events: Vec<EventText> = vec![attribute(event, above.as_deref()).into()];
        if subagent.is_some() {
            let end = match failure {
                Some(failure) => json!({
                    "type": "SUBAGENT_ERROR",
                    "subagentRunId": id,
                    "code": failure.code,
                    "message": failure.words,
                }),
                None => write_subagent_end(&id, &json!({"type": "success"})),
            };
            events.push(end.into());
        }
        events
    }

    fn write_waits(&self, content: &Value) -> Value {
        json!({
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": format!("{}.waits", name_run(&self.head.place)),
            "activityType": WAITS,
            "content": content,
        })
    }

    /// Shows what waits for others. The run goes on once they have decided.
    pub(super) fn show_waits(&mut self, requests: &[String], at: &str) {
        self.shows_wait = true;
        let event = self.write_waits(&json!({"requests": requests, "at": at}));
        self.send(vec![event.into()]);
    }

    /// Ends the run with what the client may decide.
    pub(super) fn end_with_interrupts(&mut self, interrupts: &[Value], used: &CostRow) {
        let ids: Vec<&Value> = interrupts.iter().filter_map(|one| one.get("id")).collect();
        let outcome = json!({"type": "suspended", "interruptIds": ids});
        let mut events = self.end_subagents(&outcome);
        events.push(self.write_state(used, &ids).into());
        events.push(self.write_messages());
        let outcome = json!({"type": "interrupt", "interrupts": interrupts});
        events.push(self.write_finish(json!({"outcome": outcome})).into());
        self.has_ended = true;
        self.send(events);
    }

    fn end_subagents(&mut self, outcome: &Value) -> Vec<EventText> {
        // Those below first.
        let open = std::mem::take(&mut self.subagents).into_keys().rev();
        open.map(|at| write_subagent_end(&self.name_call(&at), outcome).into()).collect()
    }

    fn write_finish(&self, more: Value) -> Value {
        let mut event = json!({
            "type": "RUN_FINISHED",
            "threadId": self.head.thread,
            "runId": self.head.run,
        });
        if let (Some(fields), Value::Object(more)) = (event.as_object_mut(), more) {
            fields.extend(more);
        }
        event
    }

    fn write_end(&mut self, judgement: CallJudgement, record: &Record, used: &CostRow) -> Vec<EventText> {
        self.has_ended = true;
        let mut events = self.end_subagents(&json!({"type": "success"}));
        if judgement == CallJudgement::Cancelled {
            events.push(self.write_state(used, &[]).into());
            events.push(self.write_finish(json!({"outcome": {"type": "cancelled"}})).into());
            return events;
        }
        let Some(answer) = write_answer(&self.organism, judgement, record) else {
            let failure = describe_failure(record);
            let mut error = write_error(&failure.code, &failure.words);
            if let Some((fields, usage)) = error.as_object_mut().zip(write_usage(used)) {
                fields.insert("usage".to_owned(), usage);
            }
            return vec![error.into()];
        };
        // Words were sent before the end.
        if judgement == CallJudgement::Handled || read_words(record).is_none() {
            events.push(self.write_text(&answer).into());
        }
        events.push(self.write_state(used, &[]).into());
        let mut finish = json!({
            // No call waits for the client.
            "outcome": {"type": "success", "pendingToolCallIds": []},
            "result": answer,
        });
        if let Some(fields) = finish.as_object_mut() {
            fields.extend(write_usage(used).map(|usage| ("usage".to_owned(), usage)));
            let is_partial = judgement == CallJudgement::Partial;
            let partial = is_partial.then(|| ("metadata".to_owned(), json!({"systole.partial": true})));
            fields.extend(partial);
        }
        events.push(self.write_finish(finish).into());
        events
    }
}

/// An event or a message with the subagent that it is of.
fn attribute(mut event: Value, subagent: Option<&str>) -> Value {
    if let Some((fields, subagent)) = event.as_object_mut().zip(subagent) {
        fields.insert("subagentRunId".to_owned(), subagent.into());
    }
    event
}

fn write_subagent_end(id: &str, outcome: &Value) -> Value {
    json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id, "outcome": outcome})
}

fn write_snapshot(state: &Value) -> Value {
    json!({"type": "STATE_SNAPSHOT", "snapshot": state})
}

fn write_todo(list: &TodoList) -> Value {
    let steps = list.steps.iter().map(|step| json!({"done": step.is_done, "text": step.text}));
    json!({"condition": list.condition, "steps": steps.collect::<Vec<_>>()})
}

/// The tokens that its models used, if they are known.
fn write_usage(used: &CostRow) -> Option<Value> {
    let is_known = used.requests > 0 && used.unknown == 0 && used.uncounted == 0;
    let total = used.tokens_in.saturating_add(used.tokens_out);
    is_known.then(
        || json!([{"inputTokens": used.tokens_in, "outputTokens": used.tokens_out, "totalTokens": total}]),
    )
}

fn read_element(record: &Record) -> String {
    let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok();
    payload.map(|payload| payload.name().local.to_string()).unwrap_or_default()
}
