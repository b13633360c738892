//! Requests that wait for a person, read from a log without running it: payloads that need approval, and questions.
//!
//! A reader comes in. Every unanswered request goes out, oldest first, with everything that a person must see, in
//! full: the payload, or the question with its messages, and the message from outside that led to it. It decides
//! nothing: the pump knows what may still be decided, and by whom.

mod listed_request;
mod step_changes;

use serde_json::{Value, json};

pub use step_changes::StepChange;

use super::change_payload;
use super::full::{self, ShownPayload};
use super::glance::glance;
use super::log_state::LogState;
use super::runs::WorkflowRuns;
use systole_core::pump::state::{Call, PersonRequest, Thread};
use systole_core::pump::wake;
use systole_core::rules::{approval_payload, question};
use systole_core::types::fast_maps::FastMap;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;
use systole_show::clocks;
use systole_show::columns::{self, plain, wrapped};
use systole_show::layout;

/// The form in which an MCP server asks a person, which is answered by its fields.
const FORM: &str = "input-form";

/// A request that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingRequest {
    /// The request.
    pub id: PersonRequestId,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call whose payload waits, or the item of the question.
    pub call: CallPath,
    /// Who wants the payload approved, or who called the asking listener.
    pub caller: Name,
    /// The receiver of the payload, or the asking listener.
    pub listener: Name,
    /// The configuration of the call.
    pub config: Digest,
    /// The hash of the payload, or of the question with everything that it shows.
    pub hash: Digest,
    /// When a person was asked.
    pub asked: Millis,
    /// When the request expires.
    pub expires: Millis,
    /// The subject.
    pub about: RequestSubject,
    /// The message from outside that led to it, if the log has it.
    pub request: Option<OutsideMessage>,
    /// What follows without an answer, if a workflow asks.
    pub unanswered: Option<String>,
}

/// The subject of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestSubject {
    /// Whether a payload may be delivered.
    Approval {
        /// The payload's root element.
        element: String,
        /// The stored payload.
        payload: String,
        /// Its record in the thread of the call.
        record: u64,
        /// What is unknown about the previous attempt, if another attempt waits.
        unknown: Option<String>,
    },
    /// A question.
    Question {
        /// The text of the question.
        words: String,
        /// The messages shown with it.
        shows: Vec<QuestionMessage>,
        /// The possible answers. If there are none, the note is the answer.
        choices: Vec<String>,
    },
}

/// A message shown with a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionMessage {
    /// Its number in the view of the asking call.
    pub number: u64,
    /// Its label.
    pub label: String,
    /// Who said it.
    pub from: Name,
    /// The hash of its bytes.
    pub hash: Digest,
    /// Its stored bytes.
    pub payload: String,
    /// What the step changed whose output it is; filled in by `add_changes`.
    pub changes: Vec<StepChange>,
    /// Its record in the thread of the question.
    pub record: u64,
}

/// A message from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutsideMessage {
    /// Who sent it.
    pub by: Name,
    /// Its thread.
    pub thread: ThreadId,
    /// Its record there.
    pub seq: u64,
    /// When it came.
    pub at: Millis,
    /// The stored payload.
    pub payload: String,
}

/// Adds to each question what follows without an answer, as far as its workflow says it.
pub fn name_outcomes(waiting: &mut [WaitingRequest], runs: &WorkflowRuns<'_>) -> Result<(), LogFault> {
    for one in waiting.iter_mut().filter(|one| one.payload().is_none()) {
        one.unanswered = runs.of_item(&one.thread, &one.call)?.and_then(|step| step.unanswered);
    }
    Ok(())
}

/// Adds to each output that a question shows what its step changed. It reads the threads of these steps.
pub fn add_changes(waiting: &mut [WaitingRequest], reader: &dyn LogReader) -> Result<(), LogFault> {
    for one in waiting {
        let RequestSubject::Question { shows, .. } = &mut one.about else { continue };
        for shown in shows {
            let told = record_of(reader, &one.thread, shown.record)?;
            shown.changes = match told {
                Some(told) => step_changes::read_step_changes(reader, &told)?,
                None => Vec::new(),
            };
        }
    }
    Ok(())
}

/// All waiting requests.
pub fn waiting(reader: &dyn LogReader) -> Result<Vec<WaitingRequest>, LogFault> {
    among(reader, &wake::threads_at_work(reader)?)
}

/// The same from a state that was read before.
pub fn waiting_in(reader: &dyn LogReader, whole: &LogState) -> Result<Vec<WaitingRequest>, LogFault> {
    among(reader, whole.threads())
}

fn among(
    reader: &dyn LogReader,
    threads: &FastMap<ThreadId, Thread>,
) -> Result<Vec<WaitingRequest>, LogFault> {
    let mut found = Vec::new();
    for thread in threads.values() {
        for (place, request) in thread.person_requests() {
            let (path, about) = match request {
                PersonRequest::Approval(_) => (place.clone(), None),
                PersonRequest::Question(one) => match place.caller() {
                    Some((caller, ..)) => (caller, question_of(reader, &thread.id, one.seq)?),
                    None => continue,
                },
            };
            let Some(call) = thread.calls.get(&path) else { continue };
            let (hash, asked, about) = match (request, about) {
                (PersonRequest::Approval(approval), _) => {
                    (approval.hash, approval.asked, approval_of(reader, &thread.id, call)?)
                }
                (PersonRequest::Question(one), Some(about)) => (one.hash, one.asked, about),
                (PersonRequest::Question(_), None) => continue,
            };
            found.push(WaitingRequest {
                id: request.id(),
                thread: thread.id.clone(),
                call: place,
                caller: call.caller.clone(),
                listener: call.listener.clone(),
                config: call.config,
                hash,
                asked,
                expires: request.expires(),
                about,
                request: asked_outside(reader, threads, &thread.id, &path)?,
                unanswered: None,
            });
        }
    }
    found.sort_by_key(|waiting| waiting.id);
    Ok(found)
}

/// The record of a thread with that number.
fn record_of(reader: &dyn LogReader, thread: &ThreadId, seq: u64) -> Result<Option<Record>, LogFault> {
    Ok(reader.of_thread(thread, seq, 1)?.pop().map(|(_, record)| record).filter(|r| r.header.seq == seq))
}

fn approval_of(reader: &dyn LogReader, thread: &ThreadId, call: &Call) -> Result<RequestSubject, LogFault> {
    let body = record_of(reader, thread, call.request)?.map(|record| record.body).unwrap_or_default();
    let unknown = match &call.approval {
        Some(approval) if approval.of_attempt => record_of(reader, thread, approval.seq)?,
        _ => None,
    };
    let unknown = unknown.and_then(|record| approval_payload::read_unknown(&record.body));
    Ok(RequestSubject::Approval {
        unknown: unknown.map(|words| plain(&words)),
        element: glance(&body).element,
        payload: String::from_utf8_lossy(&body).into_owned(),
        record: call.request,
    })
}

/// The question of a record. Every message that it shows is checked against its hash.
fn question_of(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<RequestSubject>, LogFault> {
    let asked = record_of(reader, thread, seq)?;
    let Some(asked) = asked.and_then(|record| question::read_asked(&record.body)) else { return Ok(None) };
    let mut shows = Vec::with_capacity(asked.shows.len());
    for show in asked.shows {
        let shown = record_of(reader, thread, show.record)?;
        let Some(shown) = shown.filter(|record| Digest::hash_bytes(&record.body) == show.hash) else {
            let why = format!("record {} of {thread} is not the one that the question shows", show.record);
            return Err(LogFault::Damaged { path: "the log".into(), position: Position::default(), why });
        };
        shows.push(QuestionMessage {
            number: show.number,
            label: show.label,
            from: shown.header.from,
            hash: show.hash,
            payload: String::from_utf8_lossy(&shown.body).into_owned(),
            changes: Vec::new(),
            record: show.record,
        });
    }
    Ok(Some(RequestSubject::Question { words: asked.words, shows, choices: asked.choices }))
}

/// The message from outside that a call belongs to: the one whose budget it uses, in its root.
fn asked_outside(
    reader: &dyn LogReader,
    threads: &FastMap<ThreadId, Thread>,
    thread: &ThreadId,
    path: &CallPath,
) -> Result<Option<OutsideMessage>, LogFault> {
    let (mut thread, mut path) = (thread.clone(), path.clone());
    while let Some(parent) = thread.parent() {
        let calls = threads.get(&parent).map(|above| &above.calls);
        let spawned =
            calls.into_iter().flatten().find(|(_, call)| call.children.iter().any(|c| c.id == thread));
        let Some((above, _)) = spawned else { return Ok(None) };
        (thread, path) = (parent, above.clone());
    }
    let Some(root) = threads.get(&thread) else { return Ok(None) };
    let Some(first) = root.calls.get(&path).map(|call| CallPath::new_top(call.budget_use)) else {
        return Ok(None);
    };
    // If one of its timers opened another call, the call that the message opened is over.
    let from = root.calls.get(&first).map_or(1, |call| call.request);
    let request = (RecordKind::Message, Some(RecordCode::Role(MessageRole::Request)));
    for placed in reader.records_of(&thread, from) {
        let (_, record) = placed?;
        let h = &record.header;
        if h.call.as_ref() == Some(&first) && (h.kind, h.code) == request {
            return Ok(Some(OutsideMessage {
                by: h.from.clone(),
                seq: h.seq,
                at: h.time,
                payload: String::from_utf8_lossy(&record.body).into_owned(),
                thread,
            }));
        }
    }
    Ok(None)
}

impl WaitingRequest {
    /// Which of the two kinds it is.
    pub fn kind(&self) -> RequestKind {
        match self.about {
            RequestSubject::Approval { .. } => RequestKind::Approval,
            RequestSubject::Question { .. } => RequestKind::Question,
        }
    }

    /// Its thread, and that of the message from outside.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadId> {
        std::iter::once(&self.thread).chain(self.request.as_ref().map(|outside| &outside.thread))
    }

    /// The element and the bytes of the waiting payload, if it is an approval.
    pub fn payload(&self) -> Option<(&str, &str)> {
        match &self.about {
            RequestSubject::Approval { element, payload, .. } => Some((element, payload)),
            RequestSubject::Question { .. } => None,
        }
    }

    /// When it expires, in words.
    pub fn show_rest(&self, now: Millis) -> String {
        match self.expires.count_since(now) {
            0 => "expires now".to_owned(),
            _ => format!("expires in {}", clocks::spell_until(self.expires, now)),
        }
    }

    /// The request in lines: what is decided, in full; the commands that answer it, in a list of requests; who asks and
    /// why; what follows without an answer; at the end what only matters to a machine. `tool` is what the server of a
    /// called MCP tool says of it.
    pub fn lines(&self, now: Millis, tool: Option<&str>, is_listed: bool) -> Vec<String> {
        let WaitingRequest { listener, caller, .. } = self;
        let head = match &self.about {
            RequestSubject::Approval { element, .. } => format!("  <{element}> to {listener}, from {caller}"),
            RequestSubject::Question { .. } => format!("  {listener} asks"),
        };
        let mut lines = wrapped(&self.id.to_string(), 4, &head);
        match &self.about {
            RequestSubject::Approval { payload, unknown, .. } => {
                let order = change_payload::order_lines(payload.as_bytes(), 4);
                lines.extend(order.unwrap_or_else(|| full::lines(payload.as_bytes(), 4)));
                if let Some(unknown) = unknown {
                    lines.extend(columns::at_most(4, wrapped("    unknown:", 4, unknown)));
                }
            }
            RequestSubject::Question { words: question, shows, choices } => {
                lines.extend(full::text_lines(question, 4));
                shows.iter().for_each(|show| lines.extend(show.lines()));
                match choices.is_empty() {
                    true => lines.push("    choices: none; the note is the answer".to_owned()),
                    false if is_listed => {}
                    false => lines.extend(wrapped("    choices:", 6, &format!(" {}", choices.join(", ")))),
                }
            }
        }
        let commands = if is_listed { self.commands() } else { Vec::new() };
        for (number, command) in commands.into_iter().enumerate() {
            let lead = if number == 0 { "    answer:" } else { "           " };
            lines.extend(wrapped(lead, 12, &format!(" {command}")));
        }
        lines.extend(self.origin(now, tool));
        let without = format!("    {}; then {}", self.show_rest(now), self.without_answer());
        lines.extend(wrapped("", 6, &without));
        let bytes = self.payload().map(|(_, payload)| format!("{} bytes, ", payload.len()));
        lines.push(format!("    {}hash {}", bytes.unwrap_or_default(), self.hash));
        lines
    }

    /// Who asks and why: the tool, the message from outside and the thread.
    fn origin(&self, now: Millis, tool: Option<&str>) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(words) = tool {
            lines.extend(wrapped("    the tool, in its server's words:", 6, &format!(" {words}")));
        }
        let thread = &self.thread;
        let text = match &self.request {
            Some(asked) if self.is_from_outside(asked) => {
                format!("    sent by {} at {} in {thread}", asked.by, layout::moment(asked.at, now))
            }
            Some(asked) => {
                let seen = glance(asked.payload.as_bytes());
                let (at, words) = (layout::moment(asked.at, now), seen.line(crate::limits::REQUEST_COLUMNS));
                format!("    in {thread}, asked by {} at {at}: <{}> {words}", asked.by, seen.element)
            }
            None => format!("    in {thread}; the message from outside is not in the log"),
        };
        lines.extend(wrapped("", 6, &text));
        lines
    }

    /// What follows if no one answers in time.
    pub fn without_answer(&self) -> String {
        match (&self.about, &self.unanswered) {
            (RequestSubject::Approval { .. }, _) => format!("{} gets approval.expired", self.caller),
            (RequestSubject::Question { .. }, Some(then)) => then.clone(),
            (RequestSubject::Question { .. }, None) => {
                format!("{} learns that no one answered, and goes on", self.listener)
            }
        }
    }

    /// What a person decides about, in full: the question, what a change set will do, or the payload as it is.
    pub fn show_payload(&self) -> ShownPayload {
        match &self.about {
            RequestSubject::Question { words, .. } => full::shown_text(words),
            RequestSubject::Approval { payload, .. } => {
                match change_payload::order_lines(payload.as_bytes(), 0) {
                    Some(lines) => ShownPayload { text: lines.join("\n"), notes: Vec::new() },
                    None => full::show_payload(payload.as_bytes()),
                }
            }
        }
    }

    /// The commands to type, one per line.
    pub fn commands(&self) -> Vec<String> {
        let id = self.id;
        let (approve, reject) = (format!("systole approve {id}"), format!("systole reject {id} --note WHY"));
        match &self.about {
            RequestSubject::Approval { unknown: Some(_), .. } => vec![approve, reject],
            RequestSubject::Approval { element, .. } => {
                let how = if element == FORM { "FIELD=VALUE …" } else { "--file FILE" };
                vec![approve, reject, format!("systole amend {id} {how}")]
            }
            RequestSubject::Question { choices, .. } => vec![question::spell_commands(id, choices)],
        }
    }

    /// Whether it is the message from outside itself.
    fn is_from_outside(&self, asked: &OutsideMessage) -> bool {
        let RequestSubject::Approval { payload, .. } = &self.about else { return false };
        self.call.caller().is_none() && self.thread == asked.thread && *payload == asked.payload
    }

    /// The request for programs.
    pub fn as_json(&self) -> Value {
        let request = self.request.as_ref().map(|asked| {
            json!({
                "by": asked.by.as_str(),
                "thread": asked.thread.as_str(),
                "seq": asked.seq,
                "at": asked.at.to_string(),
                "payload": asked.payload,
            })
        });
        let mut value = json!({
            "id": self.id.to_string(),
            "kind": self.kind().as_str(),
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "caller": self.caller.as_str(),
            "listener": self.listener.as_str(),
            "config": self.config.to_string(),
            "hash": self.hash.to_string(),
            "asked": self.asked.to_string(),
            "expires": self.expires.to_string(),
            "request": request,
            "unanswered": self.unanswered,
        });
        let own = match &self.about {
            RequestSubject::Approval { element, payload, unknown, .. } => {
                json!({"element": element, "payload": payload, "unknown": unknown})
            }
            RequestSubject::Question { words, shows, choices } => {
                let shows: Vec<Value> = shows.iter().map(QuestionMessage::as_json).collect();
                json!({"question": words, "shows": shows, "choices": choices})
            }
        };
        if let (Some(value), Value::Object(own)) = (value.as_object_mut(), own) {
            value.extend(own);
        }
        value
    }
}

impl QuestionMessage {
    /// The message in full, under its label, and where it is from.
    fn lines(&self) -> Vec<String> {
        let (payload, wrapper) = full::shown_inside(self.payload.as_bytes());
        let mut lines = vec!["    shown with it:".to_owned()];
        lines.extend(full::text_lines(&self.label, 4));
        lines.push("    which reads:".to_owned());
        lines.extend(full::with_notes(&payload, 4));
        let (number, from, bytes) = (self.number, &self.from, self.payload.len());
        let inside = wrapper.map(|tag| format!(", inside {tag}")).unwrap_or_default();
        let text = format!("    it is message {number} from {from}, {bytes} bytes{inside}");
        lines.extend(wrapped("", 6, &text));
        self.changes.iter().for_each(|change| lines.extend(change.lines(4)));
        lines
    }

    fn as_json(&self) -> Value {
        json!({
            "seq": self.number,
            "label": self.label,
            "from": self.from.as_str(),
            "hash": self.hash.to_string(),
            "payload": self.payload,
            "changes": self.changes.iter().map(StepChange::as_json).collect::<Vec<_>>(),
        })
    }
}
