//! A run as an A2A task. Its events are taken in order; the task as it is now, or the updates of a stream, come out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::rules::outcome::CallJudgement;
use systole_core::rules::question::{read_asked as read_question, read_said};
use systole_core::types::composition::Composition;
use systole_core::types::door_settings::ShownSteps;
use systole_core::types::record::{Record, RecordCode};
use systole_core::types::time::Millis;
use systole_kit::{DocumentLimits, Payload};
use systole_payloads::answered_files::AnsweredFile;
use systole_payloads::answers::{RunFailure, describe_failure, write_answer, write_called};
use systole_payloads::said_files::read_asked;
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::{PlacedEvent, RunEvent, RunRecord, SpokenWords, read_words};

use super::messages::read_message_id;
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::ids::Digest;
use systole_core::types::person::PersonRequestId;
use systole_hall::runs::forms::{write_answer_form, write_approval_form};
use systole_hall::runs::requests::{describe_request, name_request};

/// The id of the artifact of a task: its answer.
const ANSWER: &str = "answer";

/// Who a message is of.
const USER: &str = "ROLE_USER";
const AGENT: &str = "ROLE_AGENT";

/// The states of a task.
pub(super) const SUBMITTED: &str = "TASK_STATE_SUBMITTED";
const WORKING: &str = "TASK_STATE_WORKING";
const COMPLETED: &str = "TASK_STATE_COMPLETED";
const FAILED: &str = "TASK_STATE_FAILED";
const CANCELED: &str = "TASK_STATE_CANCELED";
const REJECTED: &str = "TASK_STATE_REJECTED";
const INPUT: &str = "TASK_STATE_INPUT_REQUIRED";
const AUTH: &str = "TASK_STATE_AUTH_REQUIRED";
/// All of them.
pub(super) const STATES: [&str; 8] = [SUBMITTED, WORKING, COMPLETED, FAILED, CANCELED, REJECTED, INPUT, AUTH];

/// What waits for persons, and who decides it.
pub(super) struct TaskWaits<'w> {
    /// What the client may decide.
    pub(super) own: &'w [WaitingRequest],
    /// All that waits.
    pub(super) ids: &'w [String],
    /// Where it is decided.
    pub(super) page: &'w str,
}

/// A task, as far as the events of its run were taken.
pub(super) struct TaskWriter {
    organism: Arc<Composition>,
    shows: ShownSteps,
    pub(super) id: String,
    pub(super) context: String,
    asked: Arc<Record>,
    state: &'static str,
    /// When it came to this state.
    pub(super) since: Millis,
    /// When the newest record of its run was made that has an event.
    now: Millis,
    /// Whether it waits for what the client may decide.
    pub(super) waits_for_client: bool,
    /// The parts of what is said of its state.
    said: Vec<Value>,
    /// The answer, as far as it is there.
    text: Option<String>,
    /// The answer is on record.
    answer: Option<Vec<Value>>,
    /// The files of the answer.
    files: Vec<Value>,
    /// The questions that wait.
    questions: BTreeMap<PersonRequestId, String>,
    /// The questions that the client has answered, and the answers.
    answered: Vec<(PersonRequestId, String, String)>,
    /// What was decided last.
    pub(super) decided: Option<PersonRequestId>,
    /// Whether something came of the run.
    pub(super) has_begun: bool,
    ready: Vec<Value>,
}

impl TaskWriter {
    /// The task of a message, before anything came of it.
    pub(super) fn new(
        organism: Arc<Composition>,
        (id, context): (String, String),
        asked: Arc<Record>,
    ) -> TaskWriter {
        TaskWriter {
            shows: organism.doors.a2a.as_ref().map(|a2a| a2a.shows).unwrap_or_default(),
            organism,
            id,
            context,
            since: asked.header.time,
            now: asked.header.time,
            waits_for_client: false,
            asked,
            state: WORKING,
            said: Vec::new(),
            text: None,
            answer: None,
            files: Vec::new(),
            questions: BTreeMap::new(),
            answered: Vec::new(),
            decided: None,
            has_begun: false,
            ready: Vec::new(),
        }
    }

    /// The updates that are ready for the client.
    pub(super) fn take_ready(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.ready)
    }

    /// Its state.
    pub(super) fn state(&self) -> &'static str {
        self.state
    }

    /// Whether it is over.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, COMPLETED | FAILED | CANCELED | REJECTED)
    }

    /// Whether it waits for persons.
    pub(super) fn waits(&self) -> bool {
        matches!(self.state, INPUT | AUTH)
    }

    /// Whether another message of its thread is worked on first.
    pub(super) fn is_queued(&self) -> bool {
        self.state == SUBMITTED
    }

    /// Another message of its thread is worked on first.
    pub(super) fn set_queued(&mut self) {
        self.state = SUBMITTED;
    }

    /// Gives it the files of the answer that comes next.
    pub(super) fn set_files(&mut self, files: &[AnsweredFile]) {
        self.files = files.iter().map(write_file).collect();
    }

    /// Keeps a question with its answer, if the client has answered it.
    fn take_answer(&mut self, id: PersonRequestId, said: &[u8]) {
        let question = self.questions.remove(&id);
        let said = read_said(said).filter(|said| said.by.as_deref() == Some(self.asked.header.from.as_str()));
        if let Some((question, said)) = question.zip(said) {
            self.answered.push((id, question, said.choice.unwrap_or(said.note)));
        }
    }

    /// Takes the next event of the run.
    pub(super) fn take_event(&mut self, PlacedEvent { event, time, .. }: PlacedEvent) {
        self.now = time.unwrap_or(self.now);
        // A person may decide about a message before it has its turn.
        self.has_begun |= !matches!(
            event,
            RunEvent::Started | RunEvent::Quiet | RunEvent::Asked { .. } | RunEvent::Decided { .. }
        );
        let shows_steps = self.shows > ShownSteps::Answer;
        match event {
            RunEvent::Started if self.has_ended() => self.set_state(WORKING, Vec::new()),
            RunEvent::Text(words) => {
                self.leave_queue();
                let is_first = self.text.is_none();
                self.text.get_or_insert_default().push_str(&words);
                self.send_artifact(vec![json!({"text": words})], (!is_first, false));
            }
            RunEvent::Retract if self.text.is_some() => {
                self.text = Some(String::new());
                self.send_artifact(vec![json!({"text": ""})], (false, false));
            }
            RunEvent::Called { to, record, .. } if shows_steps => {
                let body = &record.1.body;
                let mut said = vec![json!({"text": format!("{to} is asked")})];
                if self.shows == ShownSteps::All {
                    said.push(write_part(write_called(&self.organism, &to, body)));
                }
                self.set_state(WORKING, said);
            }
            RunEvent::Words(SpokenWords { from, words, is_whole: true, .. }) if shows_steps => {
                let said = vec![json!({"text": format!("{from}: {words}")})];
                self.set_state(WORKING, said);
            }
            RunEvent::Away(outage) => {
                let said = vec![json!({"text": format!("it waits: {outage}")})];
                self.set_state(WORKING, said);
            }
            RunEvent::Asked { id, record } => {
                let question = read_question(&record.1.body).map(|question| question.words);
                self.questions.extend(question.map(|words| (id, words)));
            }
            RunEvent::Decided { id, record } => {
                self.decided = Some(id);
                self.take_answer(id, &record.1.body);
                if self.waits() {
                    self.set_state(WORKING, Vec::new());
                }
            }
            RunEvent::Ended { judgement, record } => self.end(judgement, &record),
            _ => {}
        }
    }

    fn leave_queue(&mut self) {
        if self.is_queued() {
            self.set_state(WORKING, Vec::new());
        }
    }

    /// It waits for persons: what, who may decide it, and where.
    pub(super) fn set_waits(&mut self, waits: &TaskWaits<'_>) {
        let mut said = Vec::new();
        for waiting in waits.own {
            said.push(json!({"text": describe_request(waiting, waiting.asked)}));
            said.push(json!({"data": write_request(waiting)}));
        }
        let others = waits.ids.iter().filter(|id| !waits.own.iter().any(|own| own.id.to_string() == **id));
        let others: Vec<&str> = others.map(String::as_str).collect();
        if !others.is_empty() {
            let words = format!("waits for {}: a person decides, at {}", others.join(", "), waits.page);
            said.push(json!({"text": words}));
        }
        let has_approval = waits.own.iter().any(|one| matches!(one.about, RequestSubject::Approval { .. }));
        let state = if has_approval || waits.own.is_empty() { AUTH } else { INPUT };
        self.waits_for_client = !waits.own.is_empty();
        self.set_state(state, said);
    }

    fn end(&mut self, judgement: CallJudgement, record: &RunRecord) {
        let record = &record.1;
        if judgement == CallJudgement::Cancelled {
            return self.set_state(CANCELED, Vec::new());
        }
        let Some(answer) = write_answer(&self.organism, judgement, record) else {
            let RunFailure { code, words } = describe_failure(record);
            let is_rejected = record.header.code == Some(RecordCode::Code(Code::RejectedApproval));
            let state = if is_rejected { REJECTED } else { FAILED };
            return self.set_state(state, vec![json!({"text": format!("{code}: {words}")})]);
        };
        // Words were sent before the end, and this says that there are no more.
        let is_text = judgement == CallJudgement::Handled || read_words(record).is_some();
        let part = if is_text { json!({"text": answer}) } else { write_part(answer) };
        let has_sent = self.text.is_some() && is_text;
        let last = if has_sent { json!({"text": ""}) } else { part.clone() };
        let files = std::mem::take(&mut self.files);
        let with_files = |part: Value| [part].into_iter().chain(files.iter().cloned()).collect::<Vec<_>>();
        self.answer = Some(with_files(part));
        self.send_artifact(with_files(last), (has_sent, true));
        let said = match judgement {
            CallJudgement::Partial => {
                vec![json!({"text": "the answer is a part: the run had to end before it was whole"})]
            }
            _ => Vec::new(),
        };
        self.set_state(COMPLETED, said);
    }

    fn set_state(&mut self, state: &'static str, said: Vec<Value>) {
        if (state, self.now, &said) == (self.state, self.since, &self.said) {
            return;
        }
        if state == WORKING {
            self.answer = None;
        }
        (self.state, self.since, self.said) = (state, self.now, said);
        let update = json!({
            "taskId": self.id,
            "contextId": self.context,
            "status": self.write_status(),
        });
        self.ready.push(json!({"statusUpdate": update}));
    }

    fn write_status(&self) -> Value {
        let mut status = json!({"state": self.state, "timestamp": self.since.to_string()});
        if let Some(fields) = status.as_object_mut().filter(|_| !self.said.is_empty()) {
            // The same words have the same id each time.
            let hash = Digest::hash_bytes(json!([self.state, self.said]).to_string().as_bytes()).to_string();
            let id: String = hash.chars().take(limits::SHOWN_HASH).collect();
            fields.insert("message".to_owned(), self.write_message(&id, AGENT, &json!(self.said)));
        }
        status
    }

    fn send_artifact(&mut self, parts: Vec<Value>, (append, is_last): (bool, bool)) {
        let update = json!({
            "taskId": self.id,
            "contextId": self.context,
            "artifact": {"artifactId": ANSWER, "name": ANSWER, "parts": parts},
            "append": append,
            "lastChunk": is_last,
        });
        self.ready.push(json!({"artifactUpdate": update}));
    }

    /// The task as it is now. What is still to be sent is in it.
    pub(super) fn write_task(&mut self, history: usize, has_artifacts: bool) -> Value {
        self.ready.clear();
        let mut task = json!({"id": self.id, "contextId": self.context, "status": self.write_status()});
        let text = self.text.as_ref().filter(|text| !text.is_empty()).map(|text| vec![json!({"text": text})]);
        let answer = self.answer.clone().or(text).filter(|_| has_artifacts);
        let Some(fields) = task.as_object_mut() else { return task };
        if let Some(parts) = answer {
            let artifact = json!({"artifactId": ANSWER, "name": ANSWER, "parts": parts});
            fields.insert("artifacts".to_owned(), json!([artifact]));
        }
        if history > 0 {
            let messages = self.list_messages();
            let newest = messages.len().saturating_sub(history);
            fields.insert("history".to_owned(), messages.into_iter().skip(newest).collect());
        }
        task
    }

    /// The message of the task, and the questions that the client has answered, each with its answer.
    fn list_messages(&self) -> Vec<Value> {
        let id = self.asked.header.key.as_ref().map(read_message_id).unwrap_or_default();
        let asked = write_asked(&self.organism, &self.asked);
        let first = self.write_message(id, USER, &json!([asked]));
        let answers = self.answered.iter().flat_map(|(request, question, answer)| {
            [
                self.write_message(&format!("{request}.asked"), AGENT, &json!([{"text": question}])),
                self.write_message(&format!("{request}.said"), USER, &json!([{"text": answer}])),
            ]
        });
        [first].into_iter().chain(answers).collect()
    }

    fn write_message(&self, id: &str, role: &str, parts: &Value) -> Value {
        json!({
            "messageId": id,
            "contextId": self.context,
            "taskId": self.id,
            "role": role,
            "parts": parts,
        })
    }
}

/// What was asked, as it was sent: a text, or an element.
fn write_asked(organism: &Composition, asked: &Record) -> Value {
    if let Some(text) = read_asked(asked).or_else(|| read_words(asked)) {
        return json!({"text": text});
    }
    let element = Payload::parse(&asked.body, &DocumentLimits::FROM_PUMP);
    let element = element.map(|payload| payload.name().local.to_string()).unwrap_or_default();
    let to = asked.header.to.as_ref();
    let written = to.map(|to| write_called(organism, to, &asked.body)).unwrap_or_default();
    match serde_json::from_str::<Value>(&written) {
        Ok(data) => json!({"data": {element: data}}),
        Err(_) => json!({"text": written}),
    }
}

/// JSON as a part.
fn write_part(json: String) -> Value {
    match serde_json::from_str::<Value>(&json) {
        Ok(data) => json!({"data": data}),
        Err(_) => json!({"text": json}),
    }
}

/// A file as a part, with the hash by which the answer refers to it.
fn write_file(file: &AnsweredFile) -> Value {
    let mut part = json!({
        "raw": file.write_base64(),
        "mediaType": file.media_type,
        "metadata": {"sha256": file.hash},
    });
    if let Some((name, fields)) = file.name.as_ref().zip(part.as_object_mut()) {
        fields.insert("filename".to_owned(), json!(name));
    }
    part
}

/// What the client may decide, with the form of its answer.
fn write_request(waiting: &WaitingRequest) -> Value {
    let (kind, form) = match &waiting.about {
        RequestSubject::Approval { .. } => ("approval", write_approval_form(None)),
        RequestSubject::Question { choices, .. } => ("question", write_answer_form(choices)),
    };
    json!({
        "request": name_request(waiting),
        "kind": kind,
        "expiresAt": waiting.expires.to_string(),
        "answerSchema": form,
    })
}
