//! The top of the file, and its sections that are not about listeners. Each value is read on its own and not yet
//! compared with others.
//!
//! Input: the tree. Output: a declaration in which every unreadable value has its default, so that the checks between
//! values can still run. This module opens no schemas and searches for no programs.

use std::mem;
use std::net::SocketAddr;

use super::agents::AgentMap;
use super::broadcast::BroadcastMap;
use super::budgets::{BudgetKeys, LoopKeys};
use super::bus::{BusBroker, BusDeclaration};
use super::clients::ClientMap;
use super::diagnostics::Diagnostics;
use super::doors::DoorKeys;
use super::followers::FollowerMap;
use super::forms::{
    AnyText, CountWithin, NameSet, PartyName, SizeWithin, TimeWithin, WordOf, read_parsed, word_choice,
};
use super::key::KeyForm;
use super::listeners::ListenerMap;
use super::log_kept::{self, DEFAULT_LOG, LogKeys};
use super::models::ModelMap;
use super::party::Party;
use super::payloads::{self, PayloadMap};
use super::proof::BoundedProof;
use super::schedules::ScheduleMap;
use super::section::{SectionKeys, form, section};
use super::tree::{Node, Span, Value};
use super::value::{self};
use super::workflows::WorkflowMap;
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::public_origin::PublicOrigin;

const SMALLEST: &str = "organism: {name: hello} and a listener below `listeners:`";
/// The default address of the HTTP door, if no other process listens there.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7474);

section! {
    /// The top of the file.
    pub(super) FileKeys with own {
        organism: required(SMALLEST) <OrganismKeys> "the organism itself";
        listeners: default(Vec::new()) <ListenerMap> "the listeners by name; a file has one here, or an agent under `agents`";
        limits: below <LimitKeys> "limits of the whole organism";
        log: below <LogKeys> "where the log is kept";
        proof: optional("none") <BoundedProof> "signs checkpoints of the log while the organism runs, and sends them to witnesses";
        follow: default(Vec::new()) <FollowerMap> "receivers outside that get the events or the traces of the log while the organism runs, by name";
        schedules: default(Vec::new()) <ScheduleMap> "messages that are sent at certain times while the organism runs, by name";
        console: below <ConsoleKeys> "the HTTP door";
        doors: below <DoorKeys> "doors for programs that speak the protocol of others; the routes, the pages and the MCP server need no key";
        clients: default(Vec::new()) <ClientMap> "clients that may connect from outside, in addition to the operator, by name";
        payloads: optional("none") <PayloadMap> "payloads in the compact form, by name";
        schemas: default(Vec::new()) <NameSet> "XSDs whose elements every listener may name, paths from this file's folder";
        models: default(Vec::new()) <ModelMap> "models by name";
        agents: default(Vec::new()) <AgentMap> "the agents by name: listeners that think";
        workflows: default(Vec::new()) <WorkflowMap> "the workflows by name: listeners that follow goals; docs/reference/workflows.md describes them";
        budgets: below <BudgetKeys> "what one message from outside may use, with everything it causes";
        loops: below <LoopKeys> "when a repeated call gets a warning, and when it is refused";
        broadcast: default(Vec::new()) <BroadcastMap> "elements that go to every peer of the sender that takes them, by name";
        bus: optional("none") <BusBroker> "the broker for listeners with `nats: true`";
    }
}

section! { pub(super) OrganismKeys {
    name: required("name: hello") <OrganismName> "its name, without dots";
    entry: optional("the only open workflow, else the only open agent, or none") <PartyName> "the agent, workflow or listener that gets messages without an addressee, and the questions of `ask`";
    description: optional("none") <AnyText> "its purpose, in words for people";
    preamble: optional("none") <AnyText> "text before every agent's prompt";
} }

section! { pub(super) LimitKeys {
    message: default(limits::MESSAGE_BYTES as u64) <SizeWithin<{ 1 << 10 }, { limits::MESSAGE_BYTES as u64 }>> "the largest message from any sender, {bounds}";
    outage: optional("3d") <TimeWithin<0, { limits::WAIT_MOST_MS }>> "how long a call waits for a broker, worker, program or model that is away, {bounds}; with 0s it fails at once, or over NATS at its `timeout`";
    stuck: default(limits::STUCK_MS) <TimeWithin<1_000, { limits::WAIT_MOST_MS }>> "how long work waits, for other than a person or a timer, before `<stuck>` is on record and followers are told, {bounds}";
    queue: default(limits::QUEUE_CALLS) <CountWithin<1, { limits::QUEUE_CALLS_MOST }>> "how many calls of one client may wait for one listener before its messages for it get 429, {bounds}";
} }

section! { pub(super) ConsoleKeys {
    listen: optional("127.0.0.1:7474, or a free port if that is in use") <ListenAddress> "the address and port it listens on; if another program uses it, `run` fails";
    public: optional("none") <PublicAddress> "the address of the pages behind a TLS proxy, `https://HOST` or `https://HOST:PORT`; there a session's cookie makes changes";
    metrics: optional("for clients with the role `read`") <WordOf<MetricsWord>> "`open`: everyone who reaches the door may read `/metrics`";
} }

word_choice! { MetricsWord: () { "open" = () } }

form! {
    /// The name of an organism.
    pub(super) OrganismName -> Option<Name> { KeyForm::Name("^[a-z][a-z0-9-]{0,62}$"), read_name }
}
form! {
    /// The address of the pages behind a proxy.
    pub(super) PublicAddress -> PublicOrigin { KeyForm::Pattern(r"^https://[A-Za-z0-9.:\[\]-]+$"), read_public }
}
form! {
    /// The address of the HTTP door.
    pub(super) ListenAddress -> SocketAddr { KeyForm::Pattern(r"^(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]+$"), read_address }
}

fn read_name(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Option<Name>> {
    let found = value::text(diagnostics, node, path)?;
    let name = value::name(diagnostics, &found.value, found.at, path);
    if found.value.contains('.') && name.is_some() {
        let message = format!("{path}: `{}` has a dot; an organism's name has none", found.value);
        diagnostics.report_value(found.at, &message, &found.value.replace('.', "-"));
    }
    Some(name)
}

fn read_address(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<SocketAddr> {
    read_parsed(diagnostics, node, path, |text| {
        let wrong = |_| (format!("`{text}` is not an IP address with a port"), DEFAULT_LISTEN.to_string());
        text.parse().map_err(wrong)
    })
}

fn read_public(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<PublicOrigin> {
    let found = value::text(diagnostics, node, path)?;
    if let Some((user, _)) = found.value.rsplit_once('@') {
        // It may have a password.
        diagnostics.hide(found.at, user);
    }
    read_parsed(diagnostics, node, path, PublicOrigin::parse)
}

/// The whole file.
pub(super) struct Declared {
    pub(super) organism: OrganismKeys,
    /// Listeners and agents, in the order of the two sections in the file, then workflows.
    pub(super) parties: Vec<Party>,
    /// How a broker keeps the log, if one does.
    pub(super) log_kept: Option<log_kept::Kept>,
    /// The keys of the file, without those above.
    pub(super) keys: FileKeys,
}

impl Declared {
    pub(super) fn name(&self) -> Option<&Name> {
        self.organism.name.as_ref().and_then(|name| name.value.as_ref())
    }

    /// The path of the log.
    pub(super) fn log(&self) -> &str {
        &self.keys.log.path.value
    }

    /// The section `payloads`.
    pub(super) fn payloads(&self) -> Option<&payloads::Section> {
        self.keys.payloads.as_ref().map(|payloads| &payloads.value)
    }

    /// The broker of the section `bus`, if it names one.
    pub(super) fn bus(&self) -> Option<&BusDeclaration> {
        self.keys.bus.as_ref().and_then(|bus| bus.value.as_ref())
    }
}

/// The path of the log, for a file of which nothing else is read.
pub(super) fn log_path(root: &Node) -> Option<&str> {
    match root.child("log").and_then(|log| log.child("path")) {
        None => Some(DEFAULT_LOG),
        Some(Node { value: Value::Text { text, .. }, .. }) => Some(text),
        Some(_) => None,
    }
}

/// Reads the declaration. `None` if the file is not a map.
pub(super) fn read(diagnostics: &mut Diagnostics, root: &Node) -> Option<Declared> {
    let top_of_file = Span { start: root.span.start, end: root.span.start };
    let mut keys = FileKeys::read_at(diagnostics, root, top_of_file, "")?;
    if !keys.own.has("listeners") && !keys.own.has("agents") {
        let message = "the file has neither `listeners` nor `agents`";
        diagnostics.report(Code::ConfigMissing, keys.own.at, message, SMALLEST);
    }
    Some(Declared {
        organism: keys.organism.take().map(|organism| organism.value).unwrap_or_default(),
        parties: collect_parties(diagnostics, &mut keys),
        log_kept: log_kept::declare_kept(diagnostics, &mut keys.log),
        keys,
    })
}

/// All parties that accept messages, with one namespace for their names.
fn collect_parties(diagnostics: &mut Diagnostics, keys: &mut FileKeys) -> Vec<Party> {
    let [listeners, agents, workflows] =
        [&mut keys.listeners, &mut keys.agents, &mut keys.workflows].map(|part| mem::take(&mut part.value));
    for agent in &agents {
        if let Some(listener) = listeners.iter().find(|party| party.key.value == agent.key.value) {
            let message = format!("agents: `{}` is the name of a listener as well", agent.key.value);
            let (fix, second) = ("another name for one of the two", (listener.key.at, "the listener"));
            diagnostics.report_beside(Code::ConfigDuplicate, agent.key.at, &message, fix, second);
        }
    }
    let starts = (keys.listeners.at, keys.agents.at);
    let is_agents_first = matches!(starts, (Some(listeners), Some(agents)) if agents.start < listeners.start);
    let (mut found, then) = if is_agents_first { (agents, listeners) } else { (listeners, agents) };
    found.extend(then);
    for workflow in workflows {
        if let Some(other) = found.iter().find(|party| party.key.value == workflow.key.value) {
            let message = format!("workflows: `{}` is another party's name as well", workflow.key.value);
            let (fix, second) = ("another name for one of the two", (other.key.at, "the other one"));
            diagnostics.report_beside(Code::ConfigDuplicate, workflow.key.at, &message, fix, second);
        }
        found.push(workflow);
    }
    found
}
