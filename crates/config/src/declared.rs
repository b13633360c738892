//! Reads the declarations of the file, key by key. Each value is read on its own and not yet compared with others.
//!
//! Input: the tree. Output: a declaration in which every unreadable value has its default, so that the checks between
//! values can still run. This module opens no schemas and searches for no programs.

use std::net::SocketAddr;

use systole_kit::money::Currency;

use super::agents;
use super::broadcast;
use super::budgets;
use super::bus;
use super::clients;
use super::diagnostics::Diagnostics;
use super::hands;
use super::log_kept;
use super::mcp;
use super::models;
use super::names::{accepted, names, single, variable};
use super::party::{IN_FLIGHT_INLINE, Party, delivery};
use super::payloads;
use super::proof;
use super::sandboxes::{self, SandboxDeclaration};
use super::tree::{Entry, Node, Span, Value};
use super::value::{self, At, Fields, fields};
use super::workflows;
use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::limits;

const SMALLEST: &str = "organism: {name: hello} and a listener below `listeners:`";
/// The default address of the HTTP door, if no other process listens there.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7474);

/// The whole file.
pub(super) struct Declared {
    pub(super) name: Option<Name>,
    pub(super) entry: Option<At<String>>,
    pub(super) description: Option<String>,
    pub(super) preamble: Option<At<String>>,
    /// Listeners and agents, in the order of the two sections in the file, then workflows.
    pub(super) parties: Vec<Party>,
    pub(super) models: Vec<models::ModelDeclaration>,
    pub(super) message_bytes: usize,
    /// How long a call waits for someone who is away, if the file says so.
    pub(super) outage_ms: Option<u64>,
    pub(super) budgets: Budgets,
    /// The currency of the money budget.
    pub(super) currency: Option<At<Currency>>,
    pub(super) loops: LoopLimits,
    /// Where the file sets budgets.
    pub(super) written: budgets::Written,
    /// Whether the file has any budgets.
    pub(super) has_budgets: bool,
    pub(super) log: String,
    /// Where the file sets it. `None` if it does not.
    pub(super) log_at: Option<Span>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) broadcasts: Vec<broadcast::BroadcastDeclaration>,
    pub(super) clients: Vec<clients::ClientDeclaration>,
    pub(super) payloads: Option<payloads::Section>,
    pub(super) schemas: Vec<At<String>>,
    /// Where the file names a broker.
    pub(super) bus: Option<bus::BusDeclaration>,
    pub(super) bus_at: Option<Span>,
    pub(super) log_kept: Option<log_kept::Kept>,
    /// The section `proof`.
    pub(super) proof: Option<proof::ProofDeclaration>,
}

/// The path of the log, unless the file names one.
const DEFAULT_LOG: &str = "./organism.db";

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
    let top = fields(diagnostics, root, top_of_file, "", "")?;
    let mut declared = Declared {
        name: None,
        entry: None,
        description: None,
        preamble: None,
        parties: Vec::new(),
        models: Vec::new(),
        message_bytes: limits::MESSAGE_BYTES,
        outage_ms: None,
        budgets: Budgets::default(),
        currency: None,
        loops: LoopLimits::default(),
        written: budgets::Written::default(),
        has_budgets: false,
        log: DEFAULT_LOG.to_owned(),
        log_at: None,
        listen: None,
        broadcasts: Vec::new(),
        clients: Vec::new(),
        payloads: None,
        schemas: Vec::new(),
        bus: None,
        bus_at: None,
        log_kept: None,
        proof: None,
    };
    if let Some((node, path)) = top.need(diagnostics, "organism", SMALLEST)
        && let Some(section) = fields(diagnostics, node, node.span, "organism", &path)
    {
        organism(diagnostics, &section, &mut declared);
    }
    declared.parties = parties(diagnostics, &top);
    house(diagnostics, &top, &mut declared);
    Some(declared)
}

/// All parties that accept messages. Listeners and agents share one namespace.
fn parties(diagnostics: &mut Diagnostics, top: &Fields<'_>) -> Vec<Party> {
    let (listeners, agents) = (top.get("listeners"), top.get("agents"));
    if listeners.is_none() && agents.is_none() {
        let message = "the file has neither `listeners` nor `agents`";
        diagnostics.report(Code::ConfigMissing, top.at, message, Some(SMALLEST));
    }
    let agents_first = matches!((&listeners, &agents), (Some((listeners, _)), Some((agents, _)))
        if agents.span.start < listeners.span.start);
    let mut found = Vec::new();
    if let Some((node, path)) = listeners {
        if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
            let fix = match diagnostics.is_set(node.span) {
                true => "listeners={NAME: {run: [PROGRAM], accepts: [ELEMENT]}}, or leave it out",
                false => "a name, and its keys below it",
            };
            diagnostics.report(Code::ConfigMissing, node.span, "listeners has no listener", Some(fix));
        }
        for entry in value::map(diagnostics, node, node.span, &path).unwrap_or_default() {
            found.extend(party(diagnostics, entry));
        }
    }
    let mut thinking = agents.map(|(node, path)| agents::read(diagnostics, node, &path)).unwrap_or_default();
    for agent in &thinking {
        if let Some(listener) = found.iter().find(|party: &&Party| party.key.value == agent.key.value) {
            let message = format!("agents: `{}` is the name of a listener as well", agent.key.value);
            let (fix, second) = (Some("another name for one of the two"), (listener.key.at, "the listener"));
            diagnostics.report_beside(Code::ConfigDuplicate, agent.key.at, &message, fix, second);
        }
    }
    if agents_first {
        std::mem::swap(&mut found, &mut thinking);
    }
    found.extend(thinking);
    if let Some((node, path)) = top.get("workflows") {
        for workflow in workflows::read(diagnostics, node, &path) {
            if let Some(other) = found.iter().find(|party| party.key.value == workflow.key.value) {
                let message = format!("workflows: `{}` is another party's name as well", workflow.key.value);
                let (fix, second) =
                    (Some("another name for one of the two"), (other.key.at, "the other one"));
                diagnostics.report_beside(Code::ConfigDuplicate, workflow.key.at, &message, fix, second);
            }
            found.push(workflow);
        }
    }
    found
}

fn organism(diagnostics: &mut Diagnostics, section: &Fields<'_>, declared: &mut Declared) {
    if let Some((node, path)) = section.need(diagnostics, "name", "name: hello")
        && let Some(found) = value::text(diagnostics, node, &path)
    {
        declared.name = value::name(diagnostics, &found.value, found.at, &path);
        if found.value.contains('.') && declared.name.is_some() {
            let message = format!("{path}: `{}` has a dot; an organism's name has none", found.value);
            diagnostics.report(Code::ConfigValue, found.at, &message, Some(&found.value.replace('.', "-")));
        }
    }
    declared.entry = section.get("entry").and_then(|(node, path)| value::text(diagnostics, node, &path));
    let description =
        section.get("description").and_then(|(node, path)| value::text(diagnostics, node, &path));
    declared.description = description.map(|d| d.value);
    declared.preamble =
        section.get("preamble").and_then(|(node, path)| value::text(diagnostics, node, &path));
}

/// The sections that are not about listeners.
fn house(diagnostics: &mut Diagnostics, top: &Fields<'_>, declared: &mut Declared) {
    if let Some((node, _)) = top.get("payloads") {
        declared.payloads = payloads::read(diagnostics, node);
    }
    if let Some((node, path)) = top.get("schemas") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        declared.schemas = single(diagnostics, found, &path);
    }
    if let Some((node, path)) = top.get("models") {
        declared.models = models::read(diagnostics, node, &path);
    }
    if let Some((node, path)) = top.get("bus") {
        (declared.bus, declared.bus_at) = (bus::read(diagnostics, node, &path), Some(node.span));
    }
    if let Some((node, path)) = top.get("clients") {
        declared.clients = clients::read(diagnostics, node, &path);
    }
    if let Some((node, path)) = top.get("broadcast") {
        declared.broadcasts = broadcast::read(diagnostics, node, &path);
    }
    if let Some((node, path)) = top.get("limits")
        && let Some(section) = fields(diagnostics, node, node.span, "limits", &path)
    {
        if let Some(bytes) = section.measure(diagnostics, "message") {
            declared.message_bytes = usize::try_from(bytes.value).unwrap_or(limits::MESSAGE_BYTES);
        }
        declared.outage_ms = section.measure(diagnostics, "outage").map(|found| found.value);
    }
    if let Some((node, path)) = top.get("budgets") {
        (declared.budgets, declared.currency, declared.written) = budgets::read(diagnostics, node, &path);
        declared.has_budgets = true;
    }
    if let Some((node, path)) = top.get("loops") {
        declared.loops = budgets::loops(diagnostics, node, &path);
    }
    if let Some((node, path)) = top.get("log")
        && let Some(section) = fields(diagnostics, node, node.span, "log", &path)
    {
        declared.log_kept = log_kept::read(diagnostics, &section);
        if let Some((node, path)) = section.get("path")
            && let Some(found) = value::text(diagnostics, node, &path)
        {
            (declared.log, declared.log_at) = (found.value, Some(found.at));
        }
    }
    if let Some((node, path)) = top.get("proof") {
        declared.proof = proof::read(diagnostics, node, &path);
    }
    if let Some((node, path)) = top.get("console")
        && let Some(section) = fields(diagnostics, node, node.span, "console", &path)
        && let Some((node, path)) = section.get("listen")
        && let Some(found) = value::text(diagnostics, node, &path)
    {
        match found.value.parse() {
            Ok(address) => declared.listen = Some(address),
            Err(_) => {
                let message = format!("{path}: `{}` is not an IP address with a port", found.value);
                diagnostics.report(Code::ConfigValue, found.at, &message, Some(&DEFAULT_LISTEN.to_string()));
            }
        }
    }
}

fn party(diagnostics: &mut Diagnostics, entry: &Entry) -> Option<Party> {
    let path = value::joined("listeners", &entry.key);
    let name = value::name(diagnostics, &entry.key, entry.at, "listeners");
    let own = fields(diagnostics, &entry.value, entry.at, "listeners.NAME", &path);
    let key = At { at: entry.at, value: entry.key.clone() };
    let Some(own) = own else {
        // Peers may still name it: its mistake was already reported.
        return Some(Party::bare(key, None));
    };
    let mut party = Party::bare(key, name);
    if !mcp::read(diagnostics, &own, &mut party) {
        reached(diagnostics, &own, &mut party);
    }
    if party.hands.is_none() {
        let peers = own.get("peers").map(|(node, path)| names(diagnostics, node, &path));
        party.peers = peers.unwrap_or_default();
    }
    surroundings(diagnostics, &own, &mut party);
    // What someone else wrote runs in a sandbox unless the file says otherwise.
    let is_sandboxed = party.mcp.as_ref().is_some_and(|mcp| !mcp.is_at_address) || party.hands.is_some();
    party.sandbox = match sandboxes::read(diagnostics, &own) {
        None if is_sandboxed && own.get("sandbox").is_none() => Some(SandboxDeclaration::strictest()),
        declared => declared,
    };
    delivery(diagnostics, &own, &mut party);
    Some(party)
}

/// How the listener is reached, and its payloads.
fn reached(diagnostics: &mut Diagnostics, own: &Fields<'_>, party: &mut Party) {
    party.nats = bus::reached(diagnostics, own);
    if hands::read(diagnostics, own, party) {
        return;
    }
    let is_program = party.nats.is_none();
    party.run = if is_program { program(diagnostics, own, &party.key.value) } else { Vec::new() };
    if party.run.is_empty() {
        party.in_flight = IN_FLIGHT_INLINE;
    }
    if let Some((node, path)) = own.get("schema") {
        party.schema = value::text(diagnostics, node, &path);
    }
    contract(diagnostics, own, party);
}

/// What a listener takes and returns.
fn contract(diagnostics: &mut Diagnostics, own: &Fields<'_>, party: &mut Party) {
    let accepts =
        own.need(diagnostics, "accepts", "accepts: [ELEMENT], a payload of the file or of a schema");
    party.accepts = accepts.map(|(node, path)| accepted(diagnostics, node, &path)).unwrap_or_default();
    party.returns =
        own.get("returns").map(|(node, path)| names(diagnostics, node, &path)).unwrap_or_default();
}

/// The program and its arguments. Empty for a listener that is a Rust value.
fn program(diagnostics: &mut Diagnostics, own: &Fields<'_>, listener: &str) -> Vec<String> {
    if diagnostics.is_given(listener) && own.get("run").is_none() {
        return Vec::new();
    }
    let Some((node, path)) = own.need(diagnostics, "run", "run: [PROGRAM, ARGUMENT]") else {
        return Vec::new();
    };
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        diagnostics.report(
            Code::ConfigValue,
            node.span,
            &format!("{path}: no program is named"),
            Some("[PROGRAM, ARGUMENT]"),
        );
    }
    let words = value::texts(diagnostics, node, &path).unwrap_or_default();
    words.into_iter().map(|w| w.value).collect()
}

/// The environment of the listener's program.
fn surroundings(diagnostics: &mut Diagnostics, own: &Fields<'_>, party: &mut Party) {
    if let Some((node, path)) = own.get("env") {
        let entries = if matches!(node.value, Value::Nothing) {
            None
        } else {
            value::map(diagnostics, node, node.span, &path)
        };
        for entry in entries.unwrap_or_default() {
            variable(diagnostics, &entry.key, entry.at, &path);
            let empty = matches!(&entry.value.value, Value::Text { text, .. } if text.is_empty());
            let set = if empty {
                Some(String::new())
            } else {
                value::text(diagnostics, &entry.value, &value::joined(&path, &entry.key)).map(|t| t.value)
            };
            party.env.extend(set.map(|set| (entry.key.clone(), set)));
        }
    }
    if let Some((node, path)) = own.get("pass") {
        let names = value::texts(diagnostics, node, &path).unwrap_or_default();
        for found in single(diagnostics, names, &path) {
            variable(diagnostics, &found.value, found.at, &path);
            let set = own.get("env").and_then(|(node, _)| match &node.value {
                Value::Map(entries) => entries.iter().find(|entry| entry.key == found.value),
                _ => None,
            });
            if let Some(set) = set {
                let message = format!("{path}: `{}` is set under env as well", found.value);
                let second = (set.at, "set here");
                diagnostics.report_beside(
                    Code::ConfigDuplicate,
                    found.at,
                    &message,
                    Some("one of the two"),
                    second,
                );
            }
            party.pass.push(found.value);
        }
    }
    if let Some((node, path)) = own.get("mode") {
        party.stays =
            value::word(diagnostics, node, &path, &[("stay", true), ("once", false)]).unwrap_or(true);
    }
    if let Some((node, path)) = own.get("framing") {
        party.by_length =
            value::word(diagnostics, node, &path, &[("lines", false), ("length", true)]).unwrap_or(false);
    }
}
