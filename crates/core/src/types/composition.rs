//! The composition: an organism as its file describes it, checked and resolved. Pure data, the same
//! for the running pump and for somebody who reads an old log with the configuration of its time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_wire::QName;

use super::budget::{Budgets, Loops};
use super::client::Client;
use super::ids::{Digest, Name};

/// A checked organism. Everything a decision may depend on is in here, and its hash names it.
#[derive(Clone, Debug)]
pub struct Composition {
    /// The organism's name.
    pub organism: Name,
    /// SHA-256 of `source`.
    pub hash: Digest,
    /// The self-contained text from which the same composition can be read again: the file with what
    /// was set on the command line, and every schema it names.
    pub source: Arc<[u8]>,
    /// What a message from outside without an addressee goes to.
    pub entry: Option<Name>,
    /// The listeners by name.
    pub listeners: BTreeMap<Name, Listener>,
    /// Every schema, in the order in which the judge compiles them; `SchemaId` counts here.
    pub schemas: Vec<Schema>,
    /// Largest message taken from anybody, in bytes.
    pub message_bytes: usize,
    /// What one message from outside may use; none in configurations from before there were budgets.
    pub budgets: Option<Budgets>,
    /// When calls that repeat themselves are told and refused; none in configurations from before that.
    pub loops: Option<Loops>,
    /// Elements that go to every peer of the sender that takes them.
    pub broadcasts: Vec<Broadcast>,
    /// Who may come in from outside beside the operator, by name.
    pub clients: BTreeMap<Name, Client>,
    /// What the file says of each listener, by the listener's name.
    pub sections: BTreeMap<Name, Section>,
}

/// The section of the organism's file that describes one listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Where it is in the file: `listeners.NAME`, `agents.NAME` or `workflows.NAME`.
    pub path: String,
    /// What it says, with what was set on the command line: as YAML, or a workflow in the form that its listener reads.
    pub text: String,
}

/// Which schema of a composition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SchemaId(pub usize);

impl SchemaId {
    /// The schema of core payloads, the first of every composition.
    pub const CORE: SchemaId = SchemaId(0);
    /// The schema of the envelope, the second of every composition.
    pub const ENVELOPE: SchemaId = SchemaId(1);
    /// The schema of introspection. It is part of no composition: what may be asked is the same in all.
    pub const META: SchemaId = SchemaId(usize::MAX);
}

/// A schema text and where it came from.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The file's name as the organism's file gives it, for people.
    pub name: String,
    /// The XSD.
    pub text: Arc<[u8]>,
}

/// An element that goes to every peer of the sender that takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// The root element.
    pub element: QName,
    /// Which answers its sender waits for.
    pub gather: Gather,
    /// Who takes it, in order of the file.
    pub takers: Vec<Name>,
}

/// Which of the answers of several takers answer the item that went to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gather {
    /// All of them, failures too.
    All,
    /// The first that is no failure; where all are, all of them.
    First,
}

/// What happens to an attempt whose outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnUnknown {
    /// Try again.
    Retry,
    /// Close the call as failed.
    Fail,
    /// Ask a person.
    Ask,
}

/// Whose payloads are described to a listener that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Describe {
    /// Nobody's.
    None,
    /// Those of its peers.
    Peers,
    /// Everybody's.
    All,
}

/// How often and how fast a failed delivery is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Attempts at one turn, the first included.
    pub attempts: u32,
    /// Pause before the second attempt; doubles with each further one.
    pub first_ms: u64,
    /// Longest pause.
    pub longest_ms: u64,
}

impl Retry {
    /// The pause before attempt `attempt`.
    pub fn pause_ms(&self, attempt: u32) -> u64 {
        let doublings = attempt.saturating_sub(2).min(32);
        self.first_ms.saturating_mul(1u64 << doublings).min(self.longest_ms)
    }
}

/// When a person must approve what goes to a listener, how long that is waited for, and who is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovalRule {
    /// Whether everything waits for a person, not only what is dangerous.
    pub always: bool,
    /// How long a payload waits before it expires.
    pub expires_ms: u64,
    /// Listeners that are told of every request for approval.
    pub tell: Vec<Name>,
}

impl Default for ApprovalRule {
    /// What holds where the file says nothing: what is dangerous waits, for an hour.
    fn default() -> ApprovalRule {
        ApprovalRule { always: false, expires_ms: 3_600_000, tell: Vec::new() }
    }
}

/// How a listener is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A Rust value in this process, given by the program that runs the organism.
    Inline,
    /// A program spoken to over stdin and stdout.
    Process(Program),
    /// Whoever takes its work from the broker.
    Nats,
    /// What the file says, in another process that takes its work from the broker: a host of listeners.
    Hosted,
}

impl Reach {
    /// Whether the way there leads over the broker.
    pub fn is_over_broker(&self) -> bool {
        matches!(self, Reach::Nats | Reach::Hosted)
    }
}

/// A program that is a listener.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// Its working directory: that of the organism's file.
    pub directory: PathBuf,
    /// Variables set for it.
    pub env: BTreeMap<String, String>,
    /// Variables passed on to it from our environment.
    pub pass: Vec<String>,
    /// Whether it stays and takes many messages, or is started once for each.
    pub stays: bool,
    /// Whether documents are framed by lines or by their length.
    pub by_length: bool,
}

/// A root element, and the schema that judges payloads of this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    /// Its name.
    pub name: QName,
    /// The schema that declares it.
    pub schema: SchemaId,
}

/// What the view of a call shows its listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sees {
    /// The call, and earlier ones of the same listener in the thread.
    #[default]
    Call,
    /// Beside that whatever was said between others in the thread, as far as it was over for whoever asked.
    Thread,
}

/// A party that takes payloads.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Its name.
    pub name: Name,
    /// How it is reached.
    pub reach: Reach,
    /// Root elements it takes as requests.
    pub accepts: Vec<Element>,
    /// Root elements that answer a call to it.
    pub returns: Vec<Element>,
    /// The schema that declares the root tag of its own notes, if one does.
    pub note: Option<SchemaId>,
    /// Whom it may address.
    pub peers: Vec<Name>,
    /// Turns a call to it may take.
    pub turns: u32,
    /// How much a child that it begins may use of the messages that are left, of a hundred.
    pub share_percent: u32,
    /// Deliveries that may be out to it at once.
    pub in_flight: usize,
    /// The hard end of an attempt.
    pub timeout_ms: u64,
    /// The longest silence within an attempt; progress renews it.
    pub idle_ms: Option<u64>,
    /// How failed deliveries are repeated.
    pub retry: Retry,
    /// What happens to an attempt whose outcome is unknown.
    pub on_unknown: OnUnknown,
    /// When a person must approve what goes to it.
    pub approval: ApprovalRule,
    /// Listeners that get the outcome of each call that one of its timers opens.
    pub timer_tell: Vec<Name>,
    /// Whether messages from outside may go to it.
    pub entry: bool,
    /// Whose payloads are described to it.
    pub describe: Describe,
    /// What its view shows.
    pub sees: Sees,
}

impl Listener {
    /// The schema that judges a request of this name to it, if it takes any.
    pub fn accepted(&self, name: &QName) -> Option<SchemaId> {
        self.accepts.iter().find(|element| element.name == *name).map(|element| element.schema)
    }

    /// The schema that judges an answer of this name by it, if it gives any.
    pub fn returned(&self, name: &QName) -> Option<SchemaId> {
        self.returns.iter().find(|element| element.name == *name).map(|element| element.schema)
    }

    /// The root tag of its own notes: its name in its own namespace.
    pub fn own_namespace(&self) -> String {
        Listener::namespace_of(&self.name)
    }

    /// The namespace that a listener of this name has for its own notes.
    pub fn namespace_of(name: &Name) -> String {
        format!("https://xml-pipeline.org/ns/{}/v1", name.as_str())
    }
}

impl Composition {
    /// Whether the time that a message from outside may take is limited.
    pub fn limits_time(&self) -> bool {
        self.budgets.is_some_and(|budgets| budgets.wall_ms.is_some())
    }

    /// The same where every listener runs in a process that is none of the pump's. What judges payloads, and the hash,
    /// stay as they are: how a listener is reached is no part of what a decision depends on.
    #[must_use]
    pub fn hosted(mut self) -> Composition {
        for listener in self.listeners.values_mut().filter(|one| !one.reach.is_over_broker()) {
            listener.reach = Reach::Hosted;
        }
        self
    }

    /// A listener by name.
    pub fn listener(&self, name: &Name) -> Option<&Listener> {
        self.listeners.get(name)
    }
}
