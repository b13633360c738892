//! The composition: an organism as its file describes it, checked and resolved. Pure data, the same for the running
//! pump and for a reader of an old log with its old configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_wire::{QName, namespaces};

use super::budget::{Budgets, LoopLimits};
use super::client::{self, Client};
use super::door_settings::DoorSettings;
use super::ids::{Digest, Name};
use super::limits;
use super::rate::Rate;

/// A checked organism. It holds everything that a decision may depend on, and its hash identifies it.
#[derive(Clone, Debug)]
pub struct Composition {
    /// The organism's name.
    pub organism: Name,
    /// SHA-256 of `source`.
    pub hash: Digest,
    /// The self-contained text from which the same composition can be read again: the file, the settings from the
    /// command line, and every schema it names.
    pub source: Arc<[u8]>,
    /// The listener that gets a message from outside without an addressee.
    pub entry: Option<Name>,
    /// The listeners by name.
    pub listeners: BTreeMap<Name, Listener>,
    /// All schemas, in the order in which the judge compiles them. `SchemaId` is an index into it.
    pub schemas: Vec<Schema>,
    /// Largest accepted message, in bytes.
    pub message_bytes: usize,
    /// How long a call waits for someone who is away, in ms; 0 means that it fails at once.
    pub outage_ms: u64,
    /// How long something may wait, for other than a person or a timer, before the log says so, in ms.
    pub stuck_ms: u64,
    /// Calls of one client that may wait for one listener before its messages for it are refused.
    pub queue_calls: u32,
    /// The budgets of one message from outside. `None` for configurations older than budgets.
    pub budgets: Option<Budgets>,
    /// When repeated calls get a warning or are refused. `None` for configurations older than loop detection.
    pub loops: Option<LoopLimits>,
    /// Elements that go to every peer of the sender that accepts them.
    pub broadcasts: Vec<Broadcast>,
    /// The clients by name, without the operator.
    pub clients: BTreeMap<Name, Client>,
    /// The doors that the file opens.
    pub doors: DoorSettings,
    /// The section of the file for each listener, by the listener's name.
    pub sections: BTreeMap<Name, ListenerSection>,
}

/// The section of the organism's file that describes one listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerSection {
    /// Where it is in the file: `listeners.NAME`, `agents.NAME` or `workflows.NAME`.
    pub path: String,
    /// The section with the settings from the command line: YAML, or for a workflow the form that its listener reads.
    pub text: String,
}

impl ListenerSection {
    /// Whether it is the section of a workflow. Its text is then the form that its listener reads.
    pub fn is_workflow(&self) -> bool {
        self.path.starts_with("workflows.")
    }

    /// The steps of a workflow: its text without the form in which its requests are written, which is the last word in it.
    /// Another version of the program writes the same steps in another form.
    pub fn steps(&self) -> &str {
        self.text.rsplit_once(",\"form\":").map_or(&self.text, |(steps, _)| steps)
    }

    /// Whether it has this key at its top. Each key of the text stands on a line of its own.
    pub fn has_key(&self, key: &str) -> bool {
        self.text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    }
}

/// Index of a schema in a composition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SchemaId(pub usize);

impl SchemaId {
    /// The schema of core payloads, the first of every composition.
    pub const CORE: SchemaId = SchemaId(0);
    /// The schema of the envelope, the second of every composition.
    pub const ENVELOPE: SchemaId = SchemaId(1);
    /// The schema of introspection. It belongs to no composition: the possible questions are the same in all.
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

/// An element that goes to every peer of the sender that accepts it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// The root element.
    pub element: QName,
    /// Which answers the sender waits for.
    pub gather: GatherRule,
    /// The listeners that accept it, in file order.
    pub takers: Vec<Name>,
}

/// Which answers complete an item that went to several listeners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatherRule {
    /// All of them, failures too.
    All,
    /// The first that is not a failure. If all are failures, all of them.
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

/// Which payloads a listener can have described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescribeScope {
    /// No payloads.
    None,
    /// The payloads of its peers.
    Peers,
    /// The payloads of all listeners.
    All,
}

/// How often and how fast a failed delivery is retried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeliveryRetry {
    /// Attempts at one turn, including the first.
    pub attempts: u32,
    /// Pause before the second attempt. It doubles before each further attempt.
    pub first_ms: u64,
    /// Longest pause.
    pub longest_ms: u64,
}

impl DeliveryRetry {
    /// The pause before attempt `attempt`.
    pub fn pause_ms(&self, attempt: u32) -> u64 {
        let doublings = attempt.saturating_sub(2).min(32);
        self.first_ms.saturating_mul(1u64 << doublings).min(self.longest_ms)
    }
}

/// When a person must approve payloads for a listener, how long they wait, and which listeners are notified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovalRule {
    /// Whether every payload waits for a person, not only dangerous ones.
    pub always: bool,
    /// How long a payload waits before it expires.
    pub expires_ms: u64,
    /// Listeners that are notified of every request for approval.
    pub tell: Vec<Name>,
}

impl Default for ApprovalRule {
    /// The default: dangerous payloads wait, for a week.
    fn default() -> ApprovalRule {
        ApprovalRule { always: false, expires_ms: limits::APPROVAL_MS, tell: Vec::new() }
    }
}

/// How a listener is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A Rust value in this process, supplied by the program that runs the organism.
    Inline,
    /// A program that talks over stdin and stdout.
    Process(ListenerProgram),
    /// A program that takes its work from the broker.
    Nats,
    /// A listener of the file that runs in another process, a host, and takes its work from the broker.
    Hosted,
}

/// What a way to reach a listener means for all parts except its carrier.
#[derive(Clone, Copy, Debug)]
pub struct ReachTraits<'r> {
    /// Whether deliveries go over the broker. If not, a host can run the listener.
    pub is_over_broker: bool,
    /// The program that this process starts, which can be checked before a start.
    pub program: Option<&'r ListenerProgram>,
    /// Whether the listener can be tried alone, without other listeners and without a broker.
    pub can_be_tried: bool,
    /// Whether each text about its progress is complete. If not, texts may be pieces of what a model says.
    pub sends_whole: bool,
    /// Why a test of an organism cannot start the listener. `None` if it can.
    pub not_in_tests: Option<&'static str>,
    /// What a summary of the organism says about it.
    pub remark: Option<&'static str>,
}

impl Reach {
    /// What this way means. Each variant has its own row and no row has a default, so that the compiler rejects
    /// a new variant until it answers everything.
    pub fn traits(&self) -> ReachTraits<'_> {
        match self {
            Reach::Inline => ReachTraits {
                is_over_broker: false,
                program: None,
                can_be_tried: false,
                // An agent streams its model's text in pieces.
                sends_whole: false,
                not_in_tests: None,
                remark: None,
            },
            Reach::Process(program) => ReachTraits {
                is_over_broker: false,
                program: Some(program),
                can_be_tried: true,
                sends_whole: true,
                not_in_tests: None,
                remark: None,
            },
            Reach::Nats => ReachTraits {
                is_over_broker: true,
                program: None,
                can_be_tried: false,
                sends_whole: true,
                not_in_tests: Some("a test has no broker"),
                remark: Some("reached over NATS"),
            },
            Reach::Hosted => ReachTraits {
                is_over_broker: true,
                program: None,
                can_be_tried: false,
                // It may be an agent.
                sends_whole: false,
                not_in_tests: Some("a test has no broker"),
                // The file does not say who hosts it.
                remark: None,
            },
        }
    }

    /// Whether it is reached over the broker.
    pub fn is_over_broker(&self) -> bool {
        self.traits().is_over_broker
    }
}

/// A program that is a listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerProgram {
    /// The program and its arguments. Empty if the adapter alone is the listener.
    pub run: Vec<String>,
    /// The arguments with which this program itself is started as the listener, in front of `run`, such as
    /// `code --root /srv/src`. Empty if `run` speaks the listener protocol itself.
    pub adapter: Vec<String>,
    /// Its working directory: the folder of the organism's file.
    pub directory: PathBuf,
    /// Variables set for it.
    pub env: BTreeMap<String, String>,
    /// Variables passed to it from this process's environment.
    pub pass: Vec<String>,
    /// Whether it keeps running for many messages. If not, it is started once per message.
    pub stays: bool,
    /// Whether documents are framed by lines or by their length.
    pub by_length: bool,
    /// The sandbox that it runs in, or in which it runs others. `None` if there is none.
    pub sandbox: Option<Box<ProgramSandbox>>,
}

/// What a program in a sandbox may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramSandbox {
    /// Files and folders that it may read, in addition to the system's and its own program.
    pub read: Vec<PathBuf>,
    /// Folders in which it may also write.
    pub write: Vec<PathBuf>,
    /// A folder that stays closed, also if a folder in `read` contains it.
    pub hidden: Option<PathBuf>,
    /// Files that no folder above may contain.
    pub keep_out: Vec<PathBuf>,
    /// Files that no folder in `write` may contain.
    pub protect: Vec<PathBuf>,
    /// Addresses of the network that it may reach, as `host:port`.
    pub net: Vec<String>,
    /// Most processes at the same time.
    pub processes: u32,
    /// Most memory of the program and all that it starts, in bytes.
    pub memory_bytes: u64,
    /// Size of the largest file that it may write, in bytes.
    pub output_bytes: u64,
    /// Whether the program may open paths below a folder with `openat2`, as listeners of ours do.
    pub opens_below: bool,
    /// Whether it is the sandbox of the commands that the program starts, and not of the program itself.
    pub is_for_commands: bool,
}

impl Default for ProgramSandbox {
    /// No folders, 64 processes, 4 GiB of memory and files of at most 1 GiB.
    fn default() -> ProgramSandbox {
        ProgramSandbox {
            read: Vec::new(),
            write: Vec::new(),
            hidden: None,
            keep_out: Vec::new(),
            protect: Vec::new(),
            net: Vec::new(),
            processes: 64,
            memory_bytes: 4 << 30,
            output_bytes: 1 << 30,
            opens_below: false,
            is_for_commands: false,
        }
    }
}

impl ListenerProgram {
    /// The command as a person reads it.
    #[must_use]
    pub fn command(&self) -> String {
        match self.adapter.as_slice() {
            // A server at an address has no program here.
            [_, _, _, word, address, ..] if self.run.is_empty() && word == "--at" => address.clone(),
            [kind, root, ..] if self.run.is_empty() => format!("{kind} {root}"),
            _ => self.run.join(" "),
        }
    }
}

/// A root element, and the schema that judges payloads with this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementSchema {
    /// Its name.
    pub name: QName,
    /// The schema that declares it.
    pub schema: SchemaId,
}

impl ElementSchema {
    /// Whether only its own listener sends it, or sees its answer: an order of a workspace, the form of an MCP server, or
    /// the branch of a workflow.
    pub fn is_for_itself(&self) -> bool {
        self.name.is_named(namespaces::WORKSPACE, "apply")
            || self.name.is_named(namespaces::MCP, "input-form")
            || ["branch", "branch-output"].iter().any(|own| self.name.is_named(namespaces::WORKFLOW, own))
    }

    /// Whether its payloads refer to files, which only clients of the HTTP door bring.
    pub fn brings_files(&self) -> bool {
        self.name.is_named(namespaces::TALK, "ask-with")
    }
}

/// What the view of a call shows its listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViewScope {
    /// The call, and earlier ones of the same listener in the thread.
    #[default]
    Call,
    /// Also the messages between others in the thread that were complete for the caller by then.
    Thread,
}

/// A party that takes payloads.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Its name.
    pub name: Name,
    /// How it is reached.
    pub reach: Reach,
    /// Root elements that it accepts as requests.
    pub accepts: Vec<ElementSchema>,
    /// Root elements that answer a call to it.
    pub returns: Vec<ElementSchema>,
    /// The schema of the root tag of its own notes, if it has one.
    pub note: Option<SchemaId>,
    /// The listeners that it may address.
    pub peers: Vec<Name>,
    /// Turns a call to it may take.
    pub turns: u32,
    /// Largest share of the remaining message budget that a child thread may use, in percent.
    pub share_percent: u32,
    /// Most deliveries that it may have at the same time.
    pub in_flight: usize,
    /// How many deliveries may go to it in a time.
    pub rate: Option<Rate>,
    /// Timeout of an attempt.
    pub timeout_ms: u64,
    /// Longest silence within an attempt. Progress restarts it.
    pub idle_ms: Option<u64>,
    /// How failed deliveries are retried.
    pub retry: DeliveryRetry,
    /// What happens to an attempt whose outcome is unknown.
    pub on_unknown: OnUnknown,
    /// When a person must approve what goes to it.
    pub approval: ApprovalRule,
    /// Listeners that get the outcome of each call that one of its timers opens.
    pub timer_tell: Vec<Name>,
    /// Whether messages from outside may go to it.
    pub entry: bool,
    /// Which payloads are described to it.
    pub describe: DescribeScope,
    /// What its view shows.
    pub sees: ViewScope,
}

impl Listener {
    /// Whether an element of it is of interest to others. What a listener sends itself is not, and neither is what a
    /// workflow exchanges with its agents.
    pub fn shows_outside(&self, element: &ElementSchema) -> bool {
        let is_workflow = || self.accepts.iter().any(|one| one.name.is_named(namespaces::WORKFLOW, "branch"));
        !element.is_for_itself() && (*element.name.ns != *namespaces::WORKFLOW || !is_workflow())
    }

    /// The schema that judges a request with this name to it. `None` if it does not accept such requests.
    pub fn find_accepted(&self, name: &QName) -> Option<SchemaId> {
        self.accepts.iter().find(|element| element.name == *name).map(|element| element.schema)
    }

    /// The schema that judges an answer with this name from it. `None` if it gives no such answers.
    pub fn find_returned(&self, name: &QName) -> Option<SchemaId> {
        self.returns.iter().find(|element| element.name == *name).map(|element| element.schema)
    }

    /// The root tag of its own notes: its name in its own namespace.
    pub fn own_namespace(&self) -> String {
        Listener::namespace_of(&self.name)
    }

    /// The namespace for the notes of a listener with this name.
    pub fn namespace_of(name: &Name) -> String {
        format!("https://xml-pipeline.org/ns/{}/v1", name.as_str())
    }
}

/// Whether the pump that had this stored configuration knew file fields. To older ones they were data without a file.
pub fn has_file_fields(source: &[u8]) -> bool {
    let line = source.iter().position(|byte| *byte == b'\n').and_then(|end| source.get(..end));
    let field = line.and_then(|line| std::str::from_utf8(line).ok()).and_then(|line| line.split_once(':'));
    let Some((length, format)) = field else { return false };
    let version = format.strip_prefix("systole configuration v");
    let version = version.map(|version| version.strip_suffix(" with settings").unwrap_or(version));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = version.filter(|version| is_number(length) && is_number(version) && version.len() <= 4);
    version
        .and_then(|version| version.parse::<u32>().ok())
        .is_some_and(|version| version >= limits::FILE_FIELDS)
}

impl Composition {
    /// Whether the working time of a message from outside is limited.
    pub fn limits_time(&self) -> bool {
        self.budgets.is_some_and(|budgets| budgets.wall_ms.is_some())
    }

    /// The same composition with every listener in a process outside the pump. The hash and the judging of payloads
    /// stay the same, because decisions do not depend on how a listener is reached.
    #[must_use]
    pub fn into_hosted(mut self) -> Composition {
        for listener in self.listeners.values_mut().filter(|one| !one.reach.is_over_broker()) {
            listener.reach = Reach::Hosted;
        }
        self
    }

    /// A listener by name.
    pub fn find_listener(&self, name: &Name) -> Option<&Listener> {
        self.listeners.get(name)
    }

    /// Whether any listener or client is connected over a broker.
    pub fn uses_broker(&self) -> bool {
        self.listeners.values().any(|listener| listener.reach.is_over_broker())
            || self.clients.values().any(|client| client.over_nats)
    }

    /// Whether a client has a role. The operator can read the log's folder and therefore has all roles.
    pub fn has_role(&self, client: &Name, role: client::Role) -> bool {
        let own_roles: &[client::Role] = match self.clients.get(client) {
            Some(declared) => &declared.roles,
            None if self.has_guest(client) && *client == Name::new_acp() => &client::Role::OF_EDITORS,
            None => &[],
        };
        *client == Name::new_operator() || own_roles.contains(&role)
    }

    /// Whether a client that no file declares may be let in under that name: the file uses it for nothing.
    pub fn has_guest(&self, name: &Name) -> bool {
        !self.clients.contains_key(name) && !self.listeners.contains_key(name)
    }

    /// Whether the credential of a client counts at a door.
    pub fn may_enter(&self, client: &Name, door: client::ClientDoor) -> bool {
        let doors = self.clients.get(client).and_then(|client| client.doors.as_ref());
        doors.is_none_or(|doors| doors.contains(&door))
    }

    /// Whether a client may address a listener that is open to the outside. The operator may. So may a
    /// client that the embedding program supplies: no credential lets it in through a door.
    pub fn may_address(&self, client: &Name, listener: &Name) -> bool {
        let may = self.clients.get(client).and_then(|client| client.may.as_ref());
        may.is_none_or(|may| may.contains(listener))
    }
}
