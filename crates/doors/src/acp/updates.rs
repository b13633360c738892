//! A run in the updates of a session. What an editor knows of it is read too, and not sent again.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::primitive::TodoList;
use systole_core::types::record::Record;
use systole_queries::run_events::{CallPlace, PlacedEvent, RunEvent, SpokenWords, read_words};

use super::editor::AcpEditor;
use super::places::{SaidAnswers, write_place};
use super::tool_calls::ToolCalls;
use systole_following::run_ids::name_run;
use systole_following::said_thought::SaidThought;
use systole_following::wire_events::{ClientPlace, WireEvent};
use systole_payloads::answers::{RunFailure, describe_failure, write_answer, write_sent};

/// What comes between a text that does not count and the one that does: editors cannot take back what they show.
const ANEW: &str = "Another answer:\n\n";

/// An update of a session.
pub(super) fn write_update(session: &str, update: &Value) -> Value {
    let params = json!({"sessionId": session, "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

/// A message that is not sent again.
pub(super) fn send_alone(message: Value) -> WireEvent {
    WireEvent { id: None, data: Some(message.into()) }
}

/// A piece of a text.
pub(super) fn write_chunk(kind: &str, words: &str, message: Option<&str>) -> Value {
    let mut update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": words}});
    if let Some((fields, message)) = update.as_object_mut().zip(message) {
        fields.insert("messageId".to_owned(), message.into());
    }
    update
}

/// The todo lists as a plan. With several, each step says which list it is of.
fn write_plan(lists: &[TodoList]) -> Value {
    let name = |list: &TodoList, step: &str| match lists {
        [_] => step.to_owned(),
        _ => format!("{}: {step}", list.condition),
    };
    let entries = lists.iter().flat_map(|list| {
        list.steps.iter().map(move |step| {
            let status = if step.is_done { "completed" } else { "pending" };
            json!({"content": name(list, &step.text), "priority": "medium", "status": status})
        })
    });
    json!({"sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>()})
}

/// How a run has ended.
pub(super) enum RunEnd {
    /// For this reason, as the protocol names it.
    Stopped(&'static str),
    /// Without an answer.
    Failed(RunFailure),
}

/// One run, as far as its events were taken.
pub(super) struct UpdateWriter {
    organism: Arc<Composition>,
    session: String,
    /// What stands before the ids of its events.
    seq: u64,
    /// The id behind which the editor goes on.
    last: String,
    pub(super) calls: ToolCalls,
    place: CallPlace,
    said: SaidAnswers,
    has_said: bool,
    thought: SaidThought,
    /// The open calls that show what they change.
    shown: BTreeSet<CallPlace>,
    /// Its end, if it is over.
    pub(super) end: Option<RunEnd>,
    ready: Vec<WireEvent>,
}

impl UpdateWriter {
    /// A run of which the editor has what is up to that place.
    pub(super) fn new(
        organism: Arc<Composition>,
        (session, seq): (&str, u64),
        run: CallPlace,
        known: Option<(ClientPlace, SaidAnswers)>,
    ) -> UpdateWriter {
        let (known, said) = known.unzip();
        UpdateWriter {
            session: session.to_owned(),
            seq,
            last: known.map(|known| known.cursor.to_string()).unwrap_or_default(),
            calls: ToolCalls::new(organism.clone(), run.clone()),
            place: run,
            organism,
            said: said.unwrap_or_default(),
            has_said: known.is_some_and(|known| known.cursor.has_open_text()),
            thought: known.as_ref().map(ClientPlace::read_thought).unwrap_or_default(),
            shown: BTreeSet::new(),
            end: None,
            ready: Vec::new(),
        }
    }

    /// The events that are ready for the editor.
    pub(super) fn take_ready(&mut self) -> Vec<WireEvent> {
        std::mem::take(&mut self.ready)
    }

    /// Takes the next event of the run.
    pub(super) fn take_event(&mut self, editor: &AcpEditor, placed: PlacedEvent) {
        let PlacedEvent { cursor, event, is_known, .. } = placed;
        let is_text = matches!(&event, RunEvent::Text(_));
        let is_thought = matches!(&event, RunEvent::Thought { .. });
        let before = self.said;
        let updates = self.write_event(editor, event, is_known);
        if is_known {
            // The place of the editor says already what it has.
            self.said = before;
        }
        if let Some(cursor) = cursor {
            self.last = cursor.to_string();
            if !is_known && !is_text {
                self.thought = SaidThought::default();
            }
        }
        // The record of a thought that was said says where the editor is.
        if !is_known && (!updates.is_empty() || (is_thought && cursor.is_some())) {
            let texts = updates.iter().map(|update| write_update(&self.session, update).into()).collect();
            let id = write_place(self.seq, self.said, &format!("{}{}", self.last, self.thought.describe()));
            self.ready.extend(WireEvent::write_group(&id, texts));
        }
    }

    fn write_event(&mut self, editor: &AcpEditor, event: RunEvent, is_known: bool) -> Vec<Value> {
        match event {
            RunEvent::Started => self.end = None,
            RunEvent::Text(words) => return vec![self.write_text(&words)],
            RunEvent::Retract if self.has_said => {
                self.said.retracted += 1;
                (self.has_said, self.said.is_anew) = (false, true);
            }
            RunEvent::Thought { words, is_live } if !is_known => {
                let words = self.thought.take(&words, is_live);
                if !words.is_empty() {
                    return vec![write_chunk("agent_thought_chunk", words, None)];
                }
            }
            RunEvent::Todo(lists) => return vec![write_plan(&lists)],
            RunEvent::Called { at, to, record } => {
                // What was said before a call is no other answer.
                self.said.is_anew = false;
                let call = self.calls.describe(&at, &to, &record.1.body);
                if call.has_content() {
                    self.shown.insert(at);
                }
                let mut update = call.into_json("pending");
                if let Some(fields) = update.as_object_mut() {
                    fields.insert("sessionUpdate".to_owned(), "tool_call".into());
                }
                return vec![update];
            }
            RunEvent::Words(SpokenWords { at, words, is_whole: true, .. }) if at == self.place => {
                return vec![write_chunk("agent_thought_chunk", &format!("{words}\n"), None)];
            }
            RunEvent::Words(SpokenWords { at, words, is_whole: true, .. }) => {
                return vec![self.write_progress(&at, "in_progress", Some(&words))];
            }
            RunEvent::Returned { at, judgement, record } => {
                return vec![self.write_return(&at, judgement, &record.1)];
            }
            RunEvent::Away(outage) => return vec![editor.write_notice(&format!("it waits: {outage}"))],
            RunEvent::Ended { judgement, record } => {
                return self.write_end(judgement, &record.1).into_iter().collect();
            }
            _ => {}
        }
        Vec::new()
    }

    fn write_text(&mut self, words: &str) -> Value {
        let words =
            if std::mem::take(&mut self.said.is_anew) { format!("{ANEW}{words}") } else { words.to_owned() };
        self.has_said = true;
        let answer = name_run(&self.place);
        let message = match self.said.retracted {
            0 => answer,
            times => format!("{answer}~{times}"),
        };
        write_chunk("agent_message_chunk", &words, Some(&message))
    }

    fn write_progress(&self, at: &CallPlace, status: &str, words: Option<&str>) -> Value {
        let mut update = json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": self.calls.name(at),
            "status": status,
        });
        // What is sent replaces what is shown, and a change stays in sight.
        let words = words.filter(|words| !words.is_empty() && !self.shown.contains(at));
        if let Some((fields, words)) = update.as_object_mut().zip(words) {
            let text = json!({"type": "text", "text": words});
            fields.insert("content".to_owned(), json!([{"type": "content", "content": text}]));
        }
        update
    }

    fn write_return(&mut self, at: &CallPlace, judgement: CallJudgement, record: &Record) -> Value {
        let answer = write_answer(&self.organism, judgement, record);
        let words = match (&answer, judgement) {
            (Some(answer), _) => answer.clone(),
            // What a listener says of its failure is a payload.
            (None, CallJudgement::Reported) => write_sent(&self.organism, &record.header.from, &record.body),
            (None, _) => {
                let RunFailure { code, words } = describe_failure(record);
                format!("{code}: {words}")
            }
        };
        let status = if answer.is_some() { "completed" } else { "failed" };
        let mut update = self.write_progress(at, status, Some(&words));
        let output = serde_json::from_str(&words).unwrap_or_else(|_| Value::from(words));
        if let Some(fields) = update.as_object_mut() {
            fields.insert("rawOutput".to_owned(), output);
        }
        self.shown.remove(at);
        update
    }

    fn write_end(&mut self, judgement: CallJudgement, record: &Record) -> Option<Value> {
        if judgement == CallJudgement::Cancelled {
            self.end = Some(RunEnd::Stopped("cancelled"));
            return None;
        }
        let Some(answer) = write_answer(&self.organism, judgement, record) else {
            self.end = Some(RunEnd::Failed(describe_failure(record)));
            return None;
        };
        let is_partial = judgement == CallJudgement::Partial;
        self.end = Some(RunEnd::Stopped(if is_partial { "max_turn_requests" } else { "end_turn" }));
        // Words were sent before the end.
        let has_words = judgement != CallJudgement::Handled && read_words(record).is_some();
        (!has_words).then(|| self.write_text(&answer))
    }
}
