//! The door's JSON: receipts, refusals, records, status. Both ends use the same types, so that a field cannot be
//! written under one name and read under another.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use super::alarm_types::{ApiAlarm, ListedFollowers};
use systole_core::rules::core_payload;
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::person::{PersonDecision, PersonRequestId};
use systole_core::types::ports::Position;
use systole_core::types::refusal::{self, Refusal};
use systole_core::types::{flow, record};
use systole_organism::broker::{self, BrokerAddress};
use systole_organism::front::OrganismHandle;
use systole_organism::live_messages;
use systole_organism::sent_files::SentFile;
use systole_queries::orphans::Orphan;
use systole_queries::pauses::ThreadPause;

/// A message is on disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApiReceipt {
    /// The record's id.
    pub id: String,
    /// The thread that it opened or joined.
    pub thread: String,
    /// Its place in that thread.
    pub seq: u64,
    /// Its position in the log.
    pub position: u64,
    /// The call that it opened.
    pub call: String,
    /// The recorded sender.
    pub sender: String,
    /// The sender that the envelope claimed, if it was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    /// Its idempotency key.
    pub key: String,
    /// Whether the same key and bytes came before.
    pub repeated: bool,
}

impl ApiReceipt {
    /// The receipt of a message at that position under that key.
    pub fn from_receipt(receipt: &flow::Receipt, position: Position, key: &str) -> ApiReceipt {
        ApiReceipt {
            id: receipt.id.to_string(),
            thread: receipt.thread.to_string(),
            seq: receipt.seq,
            position: position.0,
            call: receipt.call.to_string(),
            sender: receipt.sender.to_string(),
            claimed: receipt.claimed.clone(),
            key: key.to_owned(),
            repeated: receipt.repeated,
        }
    }

    /// The thread and the top call that the message began or went on with.
    pub fn read_run(&self) -> Option<(ThreadId, u32)> {
        ThreadId::parse(&self.thread).ok().zip(CallPath::parse(&self.call).ok().map(|call| call.top_number()))
    }
}

/// The outcome of a message, for a waiting sender.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageOutcome {
    /// `answered`, `partial` (by a report that marks itself as partial), `reported` (by a report that marks itself as
    /// a failure), `handled`, `failed`, or `open`: not in the given time.
    pub outcome: String,
    /// The code of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The thread of the message.
    pub thread: String,
    /// The call that it opened.
    pub call: String,
    /// The position of the outcome in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The payload, as stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

impl MessageOutcome {
    /// For a call that is still open.
    pub fn open_call(receipt: &ApiReceipt) -> MessageOutcome {
        MessageOutcome {
            outcome: "open".to_owned(),
            code: None,
            thread: receipt.thread.clone(),
            call: receipt.call.clone(),
            position: None,
            payload: None,
        }
    }

    /// Whether the call goes on.
    pub fn is_open(&self) -> bool {
        self.outcome == "open"
    }
}

/// The receipt of a message whose sender waited, with the outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnsweredReceipt {
    /// The receipt.
    #[serde(flatten)]
    pub receipt: ApiReceipt,
    /// The outcome.
    pub result: MessageOutcome,
}

impl ApiRefusal {
    /// The kind of the last event of a stream that ends because the log cannot be read.
    pub const EVENT: &str = "fault";
}

/// A refused message or order. `message`, `expected` and the like are for people and models; `told` is the payload
/// that an agent would receive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ApiRefusal {
    /// The code.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The refused element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The path to the place inside the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What would have been accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The received value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
    /// The smallest part of the schema that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The fix.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Whether the same call may be sent again now, once fixed.
    pub retry_allowed: bool,
    /// The hash of the refused bytes, if the log keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// `<system-error>`, byte for byte.
    pub told: String,
}

impl From<&refusal::Refusal> for ApiRefusal {
    fn from(refusal: &refusal::Refusal) -> ApiRefusal {
        ApiRefusal {
            code: refusal.code.as_str().to_owned(),
            message: refusal.message.to_string(),
            element: refusal.element.clone(),
            path: refusal.path.clone(),
            line: refusal.at.map(|(line, _)| line),
            column: refusal.at.map(|(_, column)| column),
            expected: refusal.expected.clone(),
            received: refusal.received.clone(),
            schema: refusal.schema.as_deref().map(str::to_owned),
            fix: refusal.fix.clone(),
            retry_allowed: refusal.code.retry_allowed(),
            hash: refusal.hash.map(|hash| hash.to_string()),
            told: read_text(&core_payload::system_error(refusal)),
        }
    }
}

/// A record for display: its header and its body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApiRecord {
    /// Its position in the log.
    pub position: u64,
    /// The chain it belongs to.
    pub thread: String,
    /// Its place in that chain.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Who sent it.
    pub from: String,
    /// Whom it is for.
    pub to: Option<String>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// The turn of that call.
    pub turn: Option<u32>,
    /// The item's number in the turn's reply.
    pub ordinal: Option<u32>,
    /// The record that caused it.
    pub cause: Option<String>,
    /// The ingress record's key.
    pub key: Option<String>,
    /// In a child's first record, the leaf of the record that spawned it.
    pub origin: Option<String>,
    /// When it was written.
    pub time: String,
    /// The active configuration.
    pub config: String,
    /// Its meaning: a role, or a code.
    pub code: Option<String>,
    /// The head of the thread's chain after it.
    pub head: String,
    /// The payload. Payloads are UTF-8.
    pub body: String,
}

impl ApiRecord {
    /// A record of the log at its position.
    pub fn from_record(position: Position, record: &record::Record) -> ApiRecord {
        let header = &record.header;
        ApiRecord {
            position: position.0,
            thread: header.thread.to_string(),
            seq: header.seq,
            id: header.id.to_string(),
            kind: header.kind.as_str().to_owned(),
            from: header.from.to_string(),
            to: header.to.as_ref().map(ToString::to_string),
            call: header.call.as_ref().map(ToString::to_string),
            turn: header.turn,
            ordinal: header.ordinal,
            cause: header.cause.map(|cause| cause.to_string()),
            key: header.key.as_ref().map(ToString::to_string),
            origin: header.origin.map(|origin| origin.to_string()),
            time: header.time.to_string(),
            config: header.config.to_string(),
            code: header.code.map(|code| code.as_str().to_owned()),
            head: record.head.to_string(),
            body: read_text(&record.body),
        }
    }
}

/// A listener's progress report. It is not in the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgressReport {
    /// The listener.
    pub listener: String,
    /// The thread.
    pub thread: String,
    /// The call.
    pub call: String,
    /// The text.
    pub words: String,
    /// What it is of an answer on its way: `answer`, if the answer begins with it, `thinking` or `call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// How many bytes of the answer its attempt said before, if it is `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Whether the text is complete, as a program's is. A model's text continues its earlier text.
    #[serde(default)]
    pub whole: bool,
    /// The turn of the call.
    #[serde(default)]
    pub turn: u32,
    /// The attempt at that turn.
    #[serde(default)]
    pub attempt: u32,
}

impl From<live_messages::LiveMessage> for ProgressReport {
    fn from(said: live_messages::LiveMessage) -> ProgressReport {
        ProgressReport {
            listener: said.listener.to_string(),
            thread: said.id.thread.to_string(),
            call: said.id.call.to_string(),
            words: said.words,
            part: said.part.map(|part| part.as_str().to_owned()),
            at: said.before,
            whole: said.whole,
            turn: said.id.turn,
            attempt: said.id.attempt,
        }
    }
}

impl ProgressReport {
    /// The name of the event, which no kind of record has.
    pub const EVENT: &str = "spoken";
}

/// An event for a follower of the log that also wants progress reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FollowerEvent {
    /// A record of the log.
    Record(Box<ApiRecord>),
    /// A progress report.
    Spoken(ProgressReport),
}

/// The status of a running organism.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OrganismStatus {
    /// The organism's name.
    pub organism: String,
    /// Its process.
    pub pid: u32,
    /// The hash of its configuration.
    pub config: String,
    /// The position of the last record.
    pub position: u64,
    /// The version of the program.
    pub version: String,
    /// What keeps the log from being written as it should, or did since the start. Only clients with the role `read`
    /// see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<ApiAlarm>,
    /// The roles of the client that asks. An organism of an older version does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// The client that asks. An organism of an older version does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// The refusal of an answer about all threads to a client that may see only its own.
pub fn refuse_wide_reading(what: &str) -> Refusal {
    let words = format!("{what} for clients with the role `read`");
    Refusal::new(Code::IngressForbidden, words).fixed_by("the token of a client with `roles: [read]`")
}

impl OrganismStatus {
    /// The status of the organism in this process.
    pub fn read_status(front: &OrganismHandle) -> OrganismStatus {
        let composition = front.composition();
        OrganismStatus {
            organism: composition.organism.to_string(),
            pid: std::process::id(),
            config: composition.hash.to_string(),
            position: front.end().0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            alarms: ApiAlarm::list_all(front),
            roles: None,
            client: None,
        }
    }
}

/// The requests that wait for a person, each as `systole_queries` writes it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct ListedApprovals {
    /// The requests.
    pub approvals: Vec<serde_json::Value>,
}

/// The current workers over a broker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Workers {
    /// The number of NATS workers for each listener.
    pub workers: BTreeMap<String, usize>,
}

/// The output of a command that started an organism.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StartReport<'a> {
    /// The status.
    #[serde(flatten)]
    pub status: OrganismStatus,
    /// The address of its door.
    pub listen: String,
    /// Its log.
    pub log: &'a Path,
    /// The broker that was started with it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker: Option<OwnBroker<'a>>,
    /// Open calls that no listener serves any more, since the file was changed.
    #[serde(skip_serializing_if = "<[Orphan]>::is_empty")]
    pub orphans: &'a [Orphan],
}

/// A broker that an organism started, for those who want to connect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OwnBroker<'a> {
    /// Its address.
    pub address: &'a str,
    /// The listeners that may connect.
    pub listeners: Vec<ApiLogin<'a>>,
    /// The clients that may connect.
    pub clients: Vec<ApiLogin<'a>>,
}

/// The credentials of a listener or a client for a broker. The key itself is only in the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ApiLogin<'a> {
    /// The listener, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener: Option<&'a str>,
    /// The client, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<&'a str>,
    /// The file with its key.
    pub key: &'a Path,
    /// The prefix of its inboxes.
    pub inbox: &'a str,
}

impl<'a> OwnBroker<'a> {
    /// The broker of that organism, if it started one.
    pub fn from_address(reachable: Option<&'a BrokerAddress>) -> Option<OwnBroker<'a>> {
        let reachable = reachable?;
        let entrance = |one: &'a broker::BrokerLogin| ApiLogin {
            listener: (!one.is_client).then_some(one.who.as_str()),
            client: one.is_client.then_some(one.who.as_str()),
            key: &one.key,
            inbox: &one.inbox,
        };
        let all = reachable.entrances.iter().map(entrance);
        let (clients, listeners) = all.partition(|one| one.client.is_some());
        Some(OwnBroker { address: &reachable.address, listeners, clients })
    }
}

/// A root at rest was ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadEnded {
    /// Its id.
    pub ended: String,
}

/// A thread was ended with all that was open in it, or one of its top calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadCancelled {
    /// The id of the thread.
    pub cancelled: String,
    /// The number of the top call, if the thread goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
}

/// The calls that waited for a listener were ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitingCancelled {
    /// The listener.
    pub to: String,
    /// How many.
    pub cancelled: usize,
}

/// A person's decision on a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiRuling {
    /// The decision.
    pub outcome: DecisionOutcome,
    /// The reason. A rejection must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The hash of the payload that the person saw: the decision counts only for that payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The replacement payload, for an amendment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The choice that answers a question, if the question has choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

/// The possible outcomes of a person's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionOutcome {
    /// The payload may be delivered.
    Approved,
    /// The payload may not be delivered.
    Rejected,
    /// Another payload is delivered instead.
    Amended,
    /// A question is answered.
    Chosen,
}

impl DecisionOutcome {
    /// The outcome of that decision.
    pub fn from_decision<A>(says: &PersonDecision<A>) -> DecisionOutcome {
        match says {
            PersonDecision::Approve => DecisionOutcome::Approved,
            PersonDecision::Reject => DecisionOutcome::Rejected,
            PersonDecision::Amend(_) => DecisionOutcome::Amended,
            PersonDecision::Choose(_) => DecisionOutcome::Chosen,
        }
    }
}

/// A code with which a browser signs in to the console.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SignInCode {
    /// The code. It counts once, within a minute.
    pub code: String,
    /// The client that the browser acts for.
    pub client: String,
}

/// A file was taken, for a message that refers to it by its hash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileStored {
    /// The hash of its bytes.
    pub sha256: String,
    /// Its type, from its first bytes.
    #[serde(rename = "type")]
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: usize,
}

impl FileStored {
    /// The answer for that file.
    pub fn from_sent(sent: &SentFile) -> FileStored {
        let SentFile { hash, media_type, bytes } = sent;
        FileStored { sha256: hash.to_string(), media_type: (*media_type).to_owned(), bytes: *bytes }
    }
}

/// A person's decision was accepted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DecisionAccepted {
    /// The request.
    pub approval: String,
    /// The outcome.
    pub outcome: DecisionOutcome,
    /// The choice that answers a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

impl DecisionAccepted {
    /// The result for that decision on a request.
    pub fn from_decision<A>(request: PersonRequestId, says: &PersonDecision<A>) -> DecisionAccepted {
        let choice = match says {
            PersonDecision::Choose(choice) => choice.clone(),
            _ => None,
        };
        DecisionAccepted {
            approval: request.to_string(),
            outcome: DecisionOutcome::from_decision(says),
            choice,
        }
    }
}

/// A thread, or everything, was paused or resumed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PauseChanged {
    /// The thread; `None` for everything.
    pub thread: Option<String>,
    /// Whether it is now paused.
    pub paused: bool,
    /// The pause that still holds it after its own has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HoldingPause>,
}

/// A pause that holds a thread that is not itself paused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HoldingPause {
    /// The paused thread above it; `None` for everything.
    pub thread: Option<String>,
    /// Who paused it.
    pub by: String,
    /// Since when.
    pub since: String,
    /// The reason.
    pub note: Option<String>,
}

impl From<ThreadPause> for HoldingPause {
    fn from(pause: ThreadPause) -> HoldingPause {
        let ThreadPause { of, by, since, note } = pause;
        let thread = (!of.is_sys()).then(|| of.to_string());
        HoldingPause { thread, by, since: since.to_string(), note }
    }
}

fn read_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
