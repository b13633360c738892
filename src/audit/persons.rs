//! Requests that wait for a person, read from a log without running it: payloads that need approval, and questions.
//!
//! A reader comes in. Every unanswered request goes out, oldest first, with everything that a person must see, in
//! full: the payload, or the question with its messages, and the message from outside that led to it. It decides
//! nothing: the pump knows what may still be decided, and by whom.

mod listed;

use serde_json::{Value, json};

use super::change_payload;
use super::columns::{self, plain, wrapped};
use super::full::{self, ShownPayload};
use super::glance::glance;
use super::layout;
use super::whole::LogState;
use systole_core::pump::state::{Call, PersonRequest, Thread};
use systole_core::pump::wake;
use systole_core::rules::{approval_payload, question};
use systole_core::types::fast_maps::FastMap;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::time::{Millis, spoken};

/// Records per read.
const PAGE: usize = 256;
/// The form in which an MCP server asks a person, which is answered by its fields.
const FORM: &str = "input-form";
/// Columns of the message from outside: some lines of a terminal.
const REQUEST: usize = 280;

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
    let unknown = unknown.and_then(|record| approval_payload::unknown(&record.body));
    Ok(RequestSubject::Approval {
        unknown: unknown.map(|words| plain(&words)),
        element: glance(&body).element,
        payload: String::from_utf8_lossy(&body).into_owned(),
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
        let Some(shown) = shown.filter(|record| Digest::of(&record.body) == show.hash) else {
            let why = format!("record {} of {thread} is not the one that the question shows", show.record);
            return Err(LogFault::Damaged { path: "the log".into(), position: Position::default(), why });
        };
        shows.push(QuestionMessage {
            number: show.number,
            label: show.label,
            from: shown.header.from,
            hash: show.hash,
            payload: String::from_utf8_lossy(&shown.body).into_owned(),
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
    let Some(first) = root.calls.get(&path).map(|call| CallPath::top(call.budget_use)) else {
        return Ok(None);
    };
    // If one of its timers opened another call, the call that the message opened is over.
    let mut from = root.calls.get(&first).map_or(1, |call| call.request);
    loop {
        let page = reader.of_thread(&thread, from, PAGE)?;
        let is_it = |record: &Record| {
            let h = &record.header;
            h.call.as_ref() == Some(&first)
                && (h.kind, h.code) == (RecordKind::Message, Some(RecordCode::Role(MessageRole::Request)))
        };
        if let Some((_, record)) = page.iter().find(|(_, record)| is_it(record)) {
            let h = &record.header;
            return Ok(Some(OutsideMessage {
                by: h.from.clone(),
                thread,
                seq: h.seq,
                at: h.time,
                payload: String::from_utf8_lossy(&record.body).into_owned(),
            }));
        }
        if page.len() < PAGE {
            return Ok(None);
        }
        from += PAGE as u64;
    }
}

impl WaitingRequest {
    /// Which of the two kinds it is.
    pub fn kind(&self) -> RequestKind {
        match self.about {
            RequestSubject::Approval { .. } => RequestKind::Approval,
            RequestSubject::Question { .. } => RequestKind::Question,
        }
    }

    /// The element and the bytes of the waiting payload, if it is an approval.
    pub fn payload(&self) -> Option<(&str, &str)> {
        match &self.about {
            RequestSubject::Approval { element, payload, .. } => Some((element, payload)),
            RequestSubject::Question { .. } => None,
        }
    }

    /// When it expires, in words.
    pub fn left(&self, now: Millis) -> String {
        match self.expires.since(now) {
            0 => "expires now".to_owned(),
            left => format!("expires in {}", spoken(left)),
        }
    }

    /// The request in lines: who wants what, until when, the message from outside, everything that a person must see,
    /// in full, and its hash. `tool` is what the server of a called MCP tool says of it.
    pub fn lines(&self, now: Millis, tool: Option<&str>) -> Vec<String> {
        let left = self.left(now);
        let WaitingRequest { listener, caller, thread, .. } = self;
        let head = match &self.about {
            RequestSubject::Approval { element, .. } => format!("({element}, {listener}) from {caller}"),
            RequestSubject::Question { .. } => format!("(question) from {listener}"),
        };
        let head = format!("  {head} in {thread}, {left}");
        let mut lines = wrapped(&self.id.to_string(), 4, &head);
        if let RequestSubject::Approval { unknown: Some(unknown), .. } = &self.about {
            lines.extend(columns::at_most(4, wrapped("    unknown:", 4, unknown)));
        }
        match &self.request {
            Some(asked) if self.is_from_outside(asked) => {
                let at = layout::moment(asked.at, now);
                lines.extend(wrapped("", 6, &format!("    sent by {} at {at}", asked.by)));
            }
            Some(asked) => {
                let seen = glance(asked.payload.as_bytes());
                let at = layout::moment(asked.at, now);
                let words = seen.line(REQUEST);
                let text = format!("    asked by {} at {at}: <{}> {words}", asked.by, seen.element);
                lines.extend(wrapped("", 6, &text));
            }
            None => lines.push("    the message from outside is not in the log".to_owned()),
        }
        if let Some(words) = tool {
            lines.extend(wrapped("    the tool, in its server's words:", 6, &format!(" {words}")));
        }
        match &self.about {
            RequestSubject::Approval { payload, .. } => {
                lines.push(format!("    payload, {} bytes:", payload.len()));
                let order = change_payload::order_lines(payload.as_bytes(), 4);
                lines.extend(order.unwrap_or_else(|| full::lines(payload.as_bytes(), 4)));
            }
            RequestSubject::Question { words, shows, choices } => {
                lines.push("    question:".to_owned());
                lines.extend(full::text_lines(words, 4));
                for show in shows {
                    let (number, from, bytes) = (show.number, &show.from, show.payload.len());
                    lines.push(format!("    with message {number} from {from}, {bytes} bytes, called:"));
                    lines.extend(full::text_lines(&show.label, 4));
                    lines.push("    which reads:".to_owned());
                    lines.extend(full::lines(show.payload.as_bytes(), 4));
                }
                let choices = if choices.is_empty() {
                    "none; the note is the answer".to_owned()
                } else {
                    choices.join(", ")
                };
                lines.extend(wrapped("    choices:", 6, &format!(" {choices}")));
            }
        }
        lines.push(format!("    hash {}", self.hash));
        lines
    }

    /// What a person decides about, in full: the question, what a change set will do, or the payload as it is.
    pub fn shown(&self) -> ShownPayload {
        match &self.about {
            RequestSubject::Question { words, .. } => full::shown_text(words),
            RequestSubject::Approval { payload, .. } => {
                match change_payload::order_lines(payload.as_bytes(), 0) {
                    Some(lines) => ShownPayload { text: lines.join("\n"), notes: Vec::new() },
                    None => full::shown(payload.as_bytes()),
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
            RequestSubject::Question { choices, .. } => vec![question::commands(id, choices)],
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
        });
        let own = match &self.about {
            RequestSubject::Approval { element, payload, unknown } => {
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
    fn as_json(&self) -> Value {
        json!({
            "seq": self.number,
            "label": self.label,
            "from": self.from.as_str(),
            "hash": self.hash.to_string(),
            "payload": self.payload,
        })
    }
}
