//! What the file declares, key by key: each value read alone, none compared with another yet.
//!
//! In comes the tree, out comes a declaration in which whatever could not be read stands at its
//! default, so that the checks between values can still run. It opens no schema and looks for no
//! program.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use systole_kit::money::Currency;

use super::agents::{self, Mind};
use super::approval::{self, Approval};
use super::broadcast;
use super::budgets;
use super::bus;
use super::clients;
use super::desk::Desk;
use super::log_kept;
use super::measure::{Bounds, duration_ms, durations_ms, size_bytes};
use super::models;
use super::payloads;
use super::value::{self, At, Fields, fields};
use super::workflows;
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::budget::{Budgets, Loops};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Describe, OnUnknown, Retry};
use systole_core::types::ids::Name;
use systole_core::types::limits;

const SMALLEST: &str = "organism: {name: hello} and a listener below `listeners:`";
const MESSAGE: Bounds = Bounds { least: ("1KiB", 1 << 10), most: ("1MiB", limits::MESSAGE_BYTES as u64) };
/// Where the HTTP door listens if the file does not say it and nothing else listens there.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7474);

/// The whole file.
pub(super) struct Declared {
    pub(super) name: Option<Name>,
    pub(super) entry: Option<At<String>>,
    pub(super) description: Option<String>,
    pub(super) preamble: Option<At<String>>,
    /// Listeners and agents, the section that stands first in the file before the other, then workflows.
    pub(super) parties: Vec<Party>,
    pub(super) models: Vec<models::Declaration>,
    pub(super) message_bytes: usize,
    pub(super) budgets: Budgets,
    /// The currency of the money that a message may use.
    pub(super) currency: Option<At<Currency>>,
    pub(super) loops: Loops,
    /// Which budgets the file says.
    pub(super) written: budgets::Written,
    /// Whether the file says anything of budgets.
    pub(super) has_budgets: bool,
    pub(super) log: String,
    /// Where the file says so; none where it leaves it out.
    pub(super) log_at: Option<Span>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) broadcasts: Vec<broadcast::Declaration>,
    pub(super) clients: Vec<clients::Declaration>,
    pub(super) payloads: Option<payloads::Section>,
    pub(super) schemas: Vec<At<String>>,
    /// Where the file names a broker.
    pub(super) bus: Option<bus::Declaration>,
    pub(super) bus_at: Option<Span>,
    pub(super) log_kept: Option<log_kept::Kept>,
}

/// One listener or agent as it is declared.
pub(super) struct Party {
    /// The key it stands under, also where that is no name.
    pub(super) key: At<String>,
    pub(super) name: Option<Name>,
    pub(super) run: Vec<String>,
    pub(super) schema: Option<At<String>>,
    pub(super) accepts: Vec<At<String>>,
    pub(super) returns: Vec<At<String>>,
    pub(super) peers: Vec<At<String>>,
    /// Agents that take tasks of goals: at an agent those to which it gives them, at a workflow those that its goals name.
    pub(super) task_takers: Vec<At<String>>,
    pub(super) turns: u32,
    /// Where the file says so.
    pub(super) share_percent: Option<u32>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) pass: Vec<String>,
    pub(super) stays: bool,
    pub(super) by_length: bool,
    pub(super) timeout_ms: u64,
    pub(super) idle_ms: Option<u64>,
    pub(super) in_flight: usize,
    pub(super) retry: Retry,
    pub(super) on_unknown: OnUnknown,
    pub(super) approval: Approval,
    pub(super) timer_tell: Vec<At<String>>,
    pub(super) entry: bool,
    pub(super) describe: Describe,
    /// What makes it an agent; none for a listener.
    pub(super) mind: Option<Mind>,
    /// What makes it a workflow; none for a listener.
    pub(super) workflow: Option<workflows::Declaration>,
    /// Where the file says that it is reached over NATS.
    pub(super) nats: Option<Span>,
}

/// Reads the declaration; none where the file is no map at all.
pub(super) fn read(desk: &mut Desk, root: &Node) -> Option<Declared> {
    let top_of_file = Span { start: root.span.start, end: root.span.start };
    let top = fields(desk, root, top_of_file, "", "")?;
    let mut declared = Declared {
        name: None,
        entry: None,
        description: None,
        preamble: None,
        parties: Vec::new(),
        models: Vec::new(),
        message_bytes: limits::MESSAGE_BYTES,
        budgets: Budgets::default(),
        currency: None,
        loops: Loops::default(),
        written: budgets::Written::default(),
        has_budgets: false,
        log: "./organism.db".to_owned(),
        log_at: None,
        listen: None,
        broadcasts: Vec::new(),
        clients: Vec::new(),
        payloads: None,
        schemas: Vec::new(),
        bus: None,
        bus_at: None,
        log_kept: None,
    };
    if let Some((node, path)) = top.need(desk, "organism", SMALLEST)
        && let Some(section) = fields(desk, node, node.span, "organism", &path)
    {
        organism(desk, &section, &mut declared);
    }
    declared.parties = parties(desk, &top);
    house(desk, &top, &mut declared);
    Some(declared)
}

/// Everybody who takes messages. Listeners and agents are one space of names.
fn parties(desk: &mut Desk, top: &Fields<'_>) -> Vec<Party> {
    let (listeners, agents) = (top.get("listeners"), top.get("agents"));
    if listeners.is_none() && agents.is_none() {
        let told = "the file has neither `listeners` nor `agents`";
        desk.tell(Code::ConfigMissing, top.at, told, Some(SMALLEST));
    }
    let agents_first = matches!((&listeners, &agents), (Some((listeners, _)), Some((agents, _)))
        if agents.span.start < listeners.span.start);
    let mut found = Vec::new();
    if let Some((node, path)) = listeners {
        if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
            let mend = match desk.is_set(node.span) {
                true => "listeners={NAME: {run: [PROGRAM], accepts: [ELEMENT]}}, or leave it out",
                false => "a name, and its keys below it",
            };
            desk.tell(Code::ConfigMissing, node.span, "listeners has no listener", Some(mend));
        }
        for entry in value::map(desk, node, node.span, &path).unwrap_or_default() {
            found.extend(party(desk, entry));
        }
    }
    let mut thinking = agents.map(|(node, path)| agents::read(desk, node, &path)).unwrap_or_default();
    for agent in &thinking {
        if let Some(listener) = found.iter().find(|party: &&Party| party.key.value == agent.key.value) {
            let told = format!("agents: `{}` is the name of a listener as well", agent.key.value);
            let (mend, second) = (Some("another name for one of the two"), (listener.key.at, "the listener"));
            desk.tell_seeing(Code::ConfigDuplicate, agent.key.at, &told, mend, second);
        }
    }
    if agents_first {
        std::mem::swap(&mut found, &mut thinking);
    }
    found.extend(thinking);
    if let Some((node, path)) = top.get("workflows") {
        for workflow in workflows::read(desk, node, &path) {
            if let Some(other) = found.iter().find(|party| party.key.value == workflow.key.value) {
                let told = format!("workflows: `{}` is another party's name as well", workflow.key.value);
                let (mend, second) =
                    (Some("another name for one of the two"), (other.key.at, "the other one"));
                desk.tell_seeing(Code::ConfigDuplicate, workflow.key.at, &told, mend, second);
            }
            found.push(workflow);
        }
    }
    found
}

fn organism(desk: &mut Desk, section: &Fields<'_>, declared: &mut Declared) {
    if let Some((node, path)) = section.need(desk, "name", "name: hello")
        && let Some(found) = value::text(desk, node, &path)
    {
        declared.name = value::name(desk, &found.value, found.at, &path);
        if found.value.contains('.') && declared.name.is_some() {
            let told = format!("{path}: `{}` has a dot; an organism's name has none", found.value);
            desk.tell(Code::ConfigValue, found.at, &told, Some(&found.value.replace('.', "-")));
        }
    }
    declared.entry = section.get("entry").and_then(|(node, path)| value::text(desk, node, &path));
    let description = section.get("description").and_then(|(node, path)| value::text(desk, node, &path));
    declared.description = description.map(|d| d.value);
    declared.preamble = section.get("preamble").and_then(|(node, path)| value::text(desk, node, &path));
}

/// The sections about the house around the listeners.
fn house(desk: &mut Desk, top: &Fields<'_>, declared: &mut Declared) {
    if let Some((node, _)) = top.get("payloads") {
        declared.payloads = payloads::read(desk, node);
    }
    if let Some((node, path)) = top.get("schemas") {
        let found = value::texts(desk, node, &path).unwrap_or_default();
        declared.schemas = single(desk, found, &path);
    }
    if let Some((node, path)) = top.get("models") {
        declared.models = models::read(desk, node, &path);
    }
    if let Some((node, path)) = top.get("bus") {
        (declared.bus, declared.bus_at) = (bus::read(desk, node, &path), Some(node.span));
    }
    if let Some((node, path)) = top.get("clients") {
        declared.clients = clients::read(desk, node, &path);
    }
    if let Some((node, path)) = top.get("broadcast") {
        declared.broadcasts = broadcast::read(desk, node, &path);
    }
    if let Some((node, path)) = top.get("limits")
        && let Some(section) = fields(desk, node, node.span, "limits", &path)
        && let Some((node, path)) = section.get("message")
        && let Some(bytes) = size_bytes(desk, node, &path, &MESSAGE)
    {
        declared.message_bytes = usize::try_from(bytes).unwrap_or(limits::MESSAGE_BYTES);
    }
    if let Some((node, path)) = top.get("budgets") {
        (declared.budgets, declared.currency, declared.written) = budgets::read(desk, node, &path);
        declared.has_budgets = true;
    }
    if let Some((node, path)) = top.get("loops") {
        declared.loops = budgets::loops(desk, node, &path);
    }
    if let Some((node, path)) = top.get("log")
        && let Some(section) = fields(desk, node, node.span, "log", &path)
    {
        declared.log_kept = log_kept::read(desk, &section);
        if let Some((node, path)) = section.get("path")
            && let Some(found) = value::text(desk, node, &path)
        {
            (declared.log, declared.log_at) = (found.value, Some(found.at));
        }
    }
    if let Some((node, path)) = top.get("console")
        && let Some(section) = fields(desk, node, node.span, "console", &path)
        && let Some((node, path)) = section.get("listen")
        && let Some(found) = value::text(desk, node, &path)
    {
        match found.value.parse() {
            Ok(address) => declared.listen = Some(address),
            Err(_) => {
                let told = format!("{path}: `{}` is no IP address with a port", found.value);
                desk.tell(Code::ConfigValue, found.at, &told, Some(&DEFAULT_LISTEN.to_string()));
            }
        }
    }
}

fn party(desk: &mut Desk, entry: &Entry) -> Option<Party> {
    let path = value::joined("listeners", &entry.key);
    let name = value::name(desk, &entry.key, entry.at, "listeners");
    let own = fields(desk, &entry.value, entry.at, "listeners.NAME", &path);
    let key = At { at: entry.at, value: entry.key.clone() };
    let Some(own) = own else {
        // Its peers may name it all the same: what is wrong with it has been told once.
        return Some(Party::bare(key, None));
    };
    let mut party = Party::bare(key, name);
    party.nats = bus::reached(desk, &own);
    party.run = if party.nats.is_some() { Vec::new() } else { program(desk, &own, &entry.key) };
    if party.run.is_empty() {
        party.in_flight = IN_FLIGHT_INLINE;
    }
    if let Some((node, path)) = own.get("schema") {
        party.schema = value::text(desk, node, &path);
    }
    let accepts = own.need(desk, "accepts", "accepts: [ELEMENT], a payload of the file or of a schema");
    party.accepts = accepts.map(|(node, path)| accepted(desk, node, &path)).unwrap_or_default();
    let mut list = |key: &str| own.get(key).map(|(node, path)| names(desk, node, &path)).unwrap_or_default();
    party.returns = list("returns");
    party.peers = list("peers");
    surroundings(desk, &own, &mut party);
    delivery(desk, &own, &mut party);
    Some(party)
}

/// A list of names, each once.
pub(super) fn names(desk: &mut Desk, node: &Node, path: &str) -> Vec<At<String>> {
    let found = value::texts(desk, node, path).unwrap_or_default();
    single(desk, found, path)
}

/// What a listener takes as requests: something.
pub(super) fn accepted(desk: &mut Desk, node: &Node, path: &str) -> Vec<At<String>> {
    let found = value::texts(desk, node, path);
    if found.as_ref().is_some_and(Vec::is_empty) {
        let told = format!("{path}: a listener that accepts nothing is never called");
        let mend = "[ELEMENT], a payload of the file or of a schema";
        desk.tell(Code::ConfigValue, node.span, &told, Some(mend));
    }
    single(desk, found.unwrap_or_default(), path)
}

impl Party {
    /// The place of its section in the file, for people: `listeners.search`.
    pub(super) fn path(&self) -> String {
        let section = match (&self.mind, &self.workflow) {
            (Some(_), _) => "agents",
            (None, Some(_)) => "workflows",
            (None, None) => "listeners",
        };
        value::joined(section, &self.key.value)
    }

    /// The place of its section in the table of keys.
    fn table(&self) -> &'static str {
        if self.mind.is_some() { "agents.NAME" } else { "listeners.NAME" }
    }

    /// A listener with every default.
    pub(super) fn bare(key: At<String>, name: Option<Name>) -> Party {
        Party {
            key,
            name,
            run: Vec::new(),
            schema: None,
            accepts: Vec::new(),
            returns: Vec::new(),
            peers: Vec::new(),
            task_takers: Vec::new(),
            turns: 1,
            share_percent: None,
            env: BTreeMap::new(),
            pass: Vec::new(),
            stays: true,
            by_length: false,
            timeout_ms: 30_000,
            idle_ms: None,
            in_flight: 1,
            retry: Retry { attempts: 3, first_ms: 1000, longest_ms: 30_000 },
            on_unknown: OnUnknown::Retry,
            approval: Approval::default(),
            timer_tell: Vec::new(),
            entry: false,
            describe: Describe::Peers,
            mind: None,
            workflow: None,
            nats: None,
        }
    }
}

/// Deliveries out at once to a listener that is no program.
pub(super) const IN_FLIGHT_INLINE: usize = 16;

/// The program and its arguments; none for a listener that is a Rust value.
fn program(desk: &mut Desk, own: &Fields<'_>, listener: &str) -> Vec<String> {
    if desk.is_given(listener) && own.get("run").is_none() {
        return Vec::new();
    }
    let Some((node, path)) = own.need(desk, "run", "run: [PROGRAM, ARGUMENT]") else { return Vec::new() };
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        desk.tell(
            Code::ConfigValue,
            node.span,
            &format!("{path}: no program is named"),
            Some("[PROGRAM, ARGUMENT]"),
        );
    }
    let words = value::texts(desk, node, &path).unwrap_or_default();
    words.into_iter().map(|w| w.value).collect()
}

/// What the listener's program finds around it.
fn surroundings(desk: &mut Desk, own: &Fields<'_>, party: &mut Party) {
    if let Some((node, path)) = own.get("env") {
        let entries = if matches!(node.value, Value::Nothing) {
            None
        } else {
            value::map(desk, node, node.span, &path)
        };
        for entry in entries.unwrap_or_default() {
            variable(desk, &entry.key, entry.at, &path);
            let empty = matches!(&entry.value.value, Value::Text { text, .. } if text.is_empty());
            let set = if empty {
                Some(String::new())
            } else {
                value::text(desk, &entry.value, &value::joined(&path, &entry.key)).map(|t| t.value)
            };
            party.env.extend(set.map(|set| (entry.key.clone(), set)));
        }
    }
    if let Some((node, path)) = own.get("pass") {
        let names = value::texts(desk, node, &path).unwrap_or_default();
        for found in single(desk, names, &path) {
            variable(desk, &found.value, found.at, &path);
            let set = own.get("env").and_then(|(node, _)| match &node.value {
                Value::Map(entries) => entries.iter().find(|entry| entry.key == found.value),
                _ => None,
            });
            if let Some(set) = set {
                let told = format!("{path}: `{}` is set under env as well", found.value);
                let second = (set.at, "set here");
                desk.tell_seeing(Code::ConfigDuplicate, found.at, &told, Some("one of the two"), second);
            }
            party.pass.push(found.value);
        }
    }
    if let Some((node, path)) = own.get("mode") {
        party.stays = value::word(desk, node, &path, &[("stay", true), ("once", false)]).unwrap_or(true);
    }
    if let Some((node, path)) = own.get("framing") {
        party.by_length =
            value::word(desk, node, &path, &[("lines", false), ("length", true)]).unwrap_or(false);
    }
}

/// Tells where a text is no name that an environment variable may have.
pub(super) fn variable(desk: &mut Desk, name: &str, at: Span, path: &str) {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let word = start && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !word {
        let told = format!("{path}: `{name}` is no name of an environment variable");
        desk.tell(Code::ConfigValue, at, &told, Some("letters, digits and _, a digit not first"));
    } else if name.starts_with("SYSTOLE_") {
        desk.tell(
            Code::ConfigValue,
            at,
            &format!("{path}: `{name}` is set by the house"),
            Some("another name"),
        );
    }
}

/// How deliveries to the listener go, and how they are repeated.
pub(super) fn delivery(desk: &mut Desk, own: &Fields<'_>, party: &mut Party) {
    if let Some((node, path)) = own.get("turns") {
        let most = if party.mind.is_some() { limits::AGENT_TURNS } else { limits::TURNS };
        party.turns = value::count(desk, node, &path, 1, most).unwrap_or(party.turns);
    }
    if let Some((node, path)) = own.get("share") {
        party.share_percent = budgets::share(desk, node, &path);
    }
    if let Some((node, path)) = own.get("in_flight") {
        let most = value::count(desk, node, &path, 1, 1024).unwrap_or(1);
        party.in_flight = usize::try_from(most).unwrap_or(1);
    }
    if let Some((node, path)) = own.get("timeout") {
        party.timeout_ms = duration_ms(desk, node, &path).map_or(party.timeout_ms, |d| d.value);
    }
    if let Some((node, path)) = own.get("idle")
        && let Some(idle) = duration_ms(desk, node, &path)
    {
        if idle.value > party.timeout_ms {
            let told = format!("{path}: longer than the timeout, so that it would never count");
            let mend = Some("a shorter idle or a longer timeout");
            match own.get("timeout") {
                Some((timeout, _)) => {
                    let second = (timeout.span, "the timeout");
                    desk.tell_seeing(Code::ConfigValue, idle.at, &told, mend, second);
                }
                None => desk.tell(Code::ConfigValue, idle.at, &told, mend),
            }
        }
        party.idle_ms = Some(idle.value);
    }
    if let Some((node, path)) = own.get("retry")
        && let Some(retry) = fields(desk, node, node.span, &format!("{}.retry", party.table()), &path)
    {
        if let Some((node, path)) = retry.get("attempts") {
            party.retry.attempts = value::count(desk, node, &path, 1, 100).unwrap_or(party.retry.attempts);
        }
        if let Some((node, path)) = retry.get("backoff")
            && let Some((first_ms, longest_ms)) = durations_ms(desk, node, &path)
        {
            party.retry = Retry { first_ms, longest_ms, ..party.retry };
        }
    }
    if let Some((node, path)) = own.get("on_unknown") {
        party.on_unknown = on_unknown(desk, node, &path);
    }
    if let Some((node, path)) = own.get("approval") {
        party.approval = approval::read(desk, node, &format!("{}.approval", party.table()), &path);
    }
    if let Some((node, path)) = own.get("timers")
        && let Some(section) = fields(desk, node, node.span, &format!("{}.timers", party.table()), &path)
        && let Some((node, path)) = section.get("tell")
    {
        let found = value::texts(desk, node, &path).unwrap_or_default();
        party.timer_tell = single(desk, found, &path);
    }
    if let Some((node, path)) = own.get("entry") {
        party.entry = value::flag(desk, node, &path).unwrap_or(false);
    }
    if let Some((node, path)) = own.get("describe") {
        let choices = [("none", Describe::None), ("peers", Describe::Peers), ("all", Describe::All)];
        party.describe = value::word(desk, node, &path, &choices).unwrap_or(Describe::None);
    }
}

fn on_unknown(desk: &mut Desk, node: &Node, path: &str) -> OnUnknown {
    let choices = [("retry", OnUnknown::Retry), ("fail", OnUnknown::Fail), ("ask", OnUnknown::Ask)];
    value::word(desk, node, path, &choices).unwrap_or(OnUnknown::Fail)
}

/// The entries of a list, each once; a second one is told.
pub(super) fn single(desk: &mut Desk, found: Vec<At<String>>, path: &str) -> Vec<At<String>> {
    let mut kept: Vec<At<String>> = Vec::with_capacity(found.len());
    for item in found {
        if let Some(first) = kept.iter().find(|k| k.value == item.value).map(|k| k.at) {
            let told = format!("{path}: `{}` stands here twice", item.value);
            let second = (first, "the first one");
            desk.tell_seeing(Code::ConfigDuplicate, item.at, &told, Some("leave one out"), second);
        } else {
            kept.push(item);
        }
    }
    kept
}
