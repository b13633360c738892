//! What the door says, as JSON: receipts, refusals, records, status. The same values on both ends of
//! the wire, so that a field cannot be written under one name and read under another.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::audit::pauses::Pause;
use crate::runtime::broker::{self, Reachable};
use crate::runtime::front::Front;
use crate::runtime::spoken;
use systole_core::rules::core_payload;
use systole_core::types::flow;
use systole_core::types::person::{PersonRequestId, Says};
use systole_core::types::ports::Position;
use systole_core::types::record;
use systole_core::types::refusal;

/// A message is on disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// The record's id.
    pub id: String,
    /// The thread it opened or joined.
    pub thread: String,
    /// Its place in that thread.
    pub seq: u64,
    /// Its place in the log.
    pub position: u64,
    /// The call it opened.
    pub call: String,
    /// The name that stands as its sender.
    pub sender: String,
    /// What the envelope claimed as sender, where that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    /// Its idempotency key.
    pub key: String,
    /// Whether the same key and bytes had come before.
    pub repeated: bool,
}

impl Receipt {
    /// The receipt of a message that is at that position under that key.
    pub fn of(receipt: &flow::Receipt, position: Position, key: &str, claimed: Option<String>) -> Receipt {
        Receipt {
            id: receipt.id.to_string(),
            thread: receipt.thread.to_string(),
            seq: receipt.seq,
            position: position.0,
            call: receipt.call.to_string(),
            sender: receipt.sender.to_string(),
            claimed,
            key: key.to_owned(),
            repeated: receipt.repeated,
        }
    }
}

/// What came of a message, for whoever waited.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CameOf {
    /// `answered`, `partial` (by a report that says of itself that it is only a part), `reported` (by a report that says of itself that it is a failure), `handled`, `failed`, or `open`: not
    /// in the time that was given.
    pub outcome: String,
    /// With what code it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The thread of the message.
    pub thread: String,
    /// The call that it opened.
    pub call: String,
    /// The place in the log of what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The payload, as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

impl Refusal {
    /// The kind of the last event of a stream that ends because the log cannot be read.
    pub const EVENT: &str = "fault";
}

/// A message or an order was refused. `message`, `expected` and the like are for people and models;
/// `told` is the same as the payload that an agent would be shown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refusal {
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
    /// What would have been taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
    /// The smallest piece of the schema that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The mend.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// Whether the same call, mended, may be sent now.
    pub retry_allowed: bool,
    /// The hash of the refused bytes, as far as the log keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// `<system-error>`, byte for byte.
    pub told: String,
}

impl From<&refusal::Refusal> for Refusal {
    fn from(refusal: &refusal::Refusal) -> Refusal {
        Refusal {
            code: refusal.code.as_str().to_owned(),
            message: refusal.message.to_string(),
            element: refusal.element.clone(),
            path: refusal.path.clone(),
            line: refusal.at.map(|(line, _)| line),
            column: refusal.at.map(|(_, column)| column),
            expected: refusal.expected.clone(),
            received: refusal.received.clone(),
            schema: refusal.schema.clone(),
            mend: refusal.fix.clone(),
            retry_allowed: refusal.code.retry_allowed(),
            hash: refusal.hash.map(|hash| hash.to_string()),
            told: text(&core_payload::system_error(refusal)),
        }
    }
}

/// A record, as it is shown: its header and its body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the log.
    pub position: u64,
    /// The chain it belongs to.
    pub thread: String,
    /// Its place in that chain.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// What sort of line it is.
    pub kind: String,
    /// Who sent it.
    pub from: String,
    /// Whom it is for.
    pub to: Option<String>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// The turn of that call.
    pub turn: Option<u32>,
    /// Which item of the turn's reply it is.
    pub ordinal: Option<u32>,
    /// The record that caused it.
    pub cause: Option<String>,
    /// The ingress record's key.
    pub key: Option<String>,
    /// In a child's first record, the leaf of the record that spawned it.
    pub origin: Option<String>,
    /// When it was made.
    pub time: String,
    /// The configuration in force.
    pub config: String,
    /// What it means: a role, or a code.
    pub code: Option<String>,
    /// The head of the thread's chain after it.
    pub head: String,
    /// The payload. Payloads are UTF-8.
    pub body: String,
}

impl Record {
    /// A record of the log at its position.
    pub fn of(position: Position, record: &record::Record) -> Record {
        let header = &record.header;
        Record {
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
            body: text(&record.body),
        }
    }
}

/// What a listener says of its work while it goes on. It stands nowhere in the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spoken {
    /// By whom.
    pub listener: String,
    /// In which thread.
    pub thread: String,
    /// In which call.
    pub call: String,
    /// The words.
    pub words: String,
    /// Whether they stand for themselves, as a program's do. Those of a model go on with what it said before.
    #[serde(default)]
    pub whole: bool,
    /// In which turn of the call.
    #[serde(default)]
    pub turn: u32,
    /// In which attempt at that turn.
    #[serde(default)]
    pub attempt: u32,
}

impl From<spoken::Spoken> for Spoken {
    fn from(said: spoken::Spoken) -> Spoken {
        Spoken {
            listener: said.listener.to_string(),
            thread: said.thread.to_string(),
            call: said.call.to_string(),
            words: said.words,
            whole: said.whole,
            turn: said.turn,
            attempt: said.attempt,
        }
    }
}

impl Spoken {
    /// The name of the event, which no kind of record has.
    pub const EVENT: &str = "spoken";
}

/// What comes to somebody who follows the log and hears what is said on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// A record of the log.
    Record(Box<Record>),
    /// Words.
    Spoken(Spoken),
}

/// What runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The organism's name.
    pub organism: String,
    /// Its process.
    pub pid: u32,
    /// The hash of its configuration.
    pub config: String,
    /// How far the log goes.
    pub position: u64,
    /// The version of the program.
    pub version: String,
}

impl Status {
    /// The status of what runs in this process.
    pub fn of(front: &Front) -> Status {
        let composition = front.composition();
        Status {
            organism: composition.organism.to_string(),
            pid: std::process::id(),
            config: composition.hash.to_string(),
            position: front.tail().borrow().0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Who works over a broker at this moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Workers {
    /// How many answer to the name of each listener over NATS.
    pub workers: BTreeMap<String, usize>,
}

/// What a command says when an organism has started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Started<'a> {
    /// What runs.
    #[serde(flatten)]
    pub status: Status,
    /// Where its door listens.
    pub listen: String,
    /// Its log.
    pub log: &'a Path,
    /// The broker that was started with it, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker: Option<OwnBroker<'a>>,
    /// Open calls that nobody serves any more, since the file was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<serde_json::Value>,
}

/// A broker that an organism has started, for whoever wants to reach it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OwnBroker<'a> {
    /// Where it listens.
    pub address: &'a str,
    /// The listeners that may come.
    pub listeners: Vec<Entrance<'a>>,
    /// The clients that may come.
    pub clients: Vec<Entrance<'a>>,
}

/// What a listener or a client shows at a broker. The key itself stands in the file alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entrance<'a> {
    /// The listener, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener: Option<&'a str>,
    /// The client, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<&'a str>,
    /// The file of its key.
    pub key: &'a Path,
    /// What its inboxes begin with.
    pub inbox: &'a str,
}

impl<'a> OwnBroker<'a> {
    /// The broker of that organism, if it has started one.
    pub fn of(reachable: Option<&'a Reachable>) -> Option<OwnBroker<'a>> {
        let reachable = reachable?;
        let entrance = |one: &'a broker::Entrance| Entrance {
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
pub struct Ended {
    /// Which.
    pub ended: String,
}

/// A thread was ended with all that was open in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cancelled {
    /// Which.
    pub cancelled: String,
}

/// A person's word on what waits, as it is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    /// How it is to end.
    pub outcome: Outcome,
    /// What for. A rejection has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The hash of the payload that was looked at: for any other the word does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What goes in its place, where it is amended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The choice that answers a question, if the question has choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

/// The outcomes that a person can bring about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It may go.
    Approved,
    /// It may not.
    Rejected,
    /// Another payload goes in its place.
    Amended,
    /// A question is answered.
    Chosen,
}

impl Outcome {
    /// What a person brings about by saying that.
    pub fn of<A>(says: &Says<A>) -> Outcome {
        match says {
            Says::Approve => Outcome::Approved,
            Says::Reject => Outcome::Rejected,
            Says::Amend(_) => Outcome::Amended,
            Says::Choose(_) => Outcome::Chosen,
        }
    }
}

/// A person's word was taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ruled {
    /// About which request.
    pub approval: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The choice that answers a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

impl Ruled {
    /// That somebody said that about a request.
    pub fn of<A>(request: PersonRequestId, says: &Says<A>) -> Ruled {
        let choice = match says {
            Says::Choose(choice) => choice.clone(),
            _ => None,
        };
        Ruled { approval: request.to_string(), outcome: Outcome::of(says), choice }
    }
}

/// A thread, or everything, was halted, or goes on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Steered {
    /// Which; none: everything.
    pub thread: Option<String>,
    /// Whether it is halted.
    pub paused: bool,
    /// The pause that holds it all the same, after its own has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// A pause that holds a thread which is not paused by itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The thread above it that is paused; none: everything.
    pub thread: Option<String>,
    /// Who paused that.
    pub by: String,
    /// Since when.
    pub since: String,
    /// What for.
    pub note: Option<String>,
}

impl From<Pause> for Held {
    fn from(pause: Pause) -> Held {
        let Pause { of, by, since, note } = pause;
        let thread = (!of.is_sys()).then(|| of.to_string());
        Held { thread, by, since: since.to_string(), note }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
