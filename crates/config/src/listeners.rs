//! The section `listeners`: programs, listeners that a Rust program brings, and built-in listeners of each kind.
//!
//! Input: their keys. Output: parties.

use super::bus;
use super::diagnostics::Diagnostics;
use super::forms::{NamedSection, PartyMap, read_late};
use super::kinds::{BuiltInListener, KindDefaults, find_named, name_schema, read_kind};
use super::listener_keys::ListenerKeys;
use super::party::Party;
use super::sandboxes::SandboxDeclaration;
use super::section::{Form, form};
use super::tree::{Node, Value};
use super::value::At;
use crate::limits;
use systole_core::types::codes::Code;

form! {
    /// The listeners by name.
    pub(super) ListenerMap -> Vec<Party> { <PartyMap<ListenerKeys>>::FORM, read_listeners, below <PartyMap<ListenerKeys>>::BELOW }
}
fn read_listeners(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Party>> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let fix = match diagnostics.is_set(node.span) {
            true => "listeners={NAME: {run: [PROGRAM], accepts: [ELEMENT]}}, or leave it out",
            false => "a name, and its keys below it",
        };
        diagnostics.report(Code::ConfigMissing, node.span, "listeners has no listener", fix);
    }
    let listeners = PartyMap::<ListenerKeys>::read(diagnostics, node, path)?;
    Some(listeners.into_iter().map(|one| declare_listener(diagnostics, one)).collect())
}

fn declare_listener(diagnostics: &mut Diagnostics, one: NamedSection<ListenerKeys>) -> Party {
    let Some(keys) = one.keys else {
        // Peers may still name it: its mistake was already reported.
        return Party::bare(one.key, None);
    };
    let mut party = Party::bare(one.key, one.name);
    // At a kind on a folder, `nats` has both mistakes.
    if find_named(&keys.kinds).is_none_or(|(kind, _)| kind.folder.is_some()) {
        party.nats = bus::find_reach(diagnostics, &keys);
    }
    match read_kind(diagnostics, &keys.kinds, &party.key.value) {
        Some(one) => take_kind(one, &mut party),
        None => reach_listener(diagnostics, &keys, &mut party),
    }
    let is_unfit = |one: &BuiltInListener| one.kind.unfit.contains(&"peers");
    if !party.built_in.as_ref().is_some_and(is_unfit) {
        party.peers = read_late(diagnostics, &keys.peers).map(|peers| peers.value).unwrap_or_default();
    }
    read_surroundings(diagnostics, &keys, &mut party);
    // What someone else wrote runs in a sandbox unless the file says otherwise.
    let is_elsewhere =
        |one: &BuiltInListener| one.part.server.as_ref().is_some_and(|server| server.is_at_address);
    let is_sandboxed = party.built_in.as_ref().is_some_and(|one| !is_elsewhere(one));
    let strictest = is_sandboxed && !keys.own.has("sandbox");
    party.sandbox = read_late(diagnostics, &keys.sandbox).and_then(|sandbox| sandbox.value);
    party.sandbox = party.sandbox.or_else(|| strictest.then(SandboxDeclaration::strictest));
    party.turns = keys.turns.map_or(party.turns, |turns| turns.value);
    party.share_percent = keys.share.map(|share| share.value);
    party.deliver(diagnostics, keys.delivery);
    party
}

/// What the kind of a built-in listener says about it.
fn take_kind(one: BuiltInListener, party: &mut Party) {
    (party.run, party.pass) = (one.part.run.clone(), one.part.pass.clone());
    party.schema = one.kind.make_schema.map(|_| At { at: one.at, value: name_schema(&party.key.value) });
    let KindDefaults { turns, timeout_ms, in_flight, on_unknown } = one.kind.defaults;
    (party.turns, party.timeout_ms, party.in_flight) = (turns, timeout_ms, in_flight);
    party.on_unknown = Some(on_unknown);
    party.built_in = Some(one);
}

/// How the listener is reached, and its payloads.
fn reach_listener(diagnostics: &mut Diagnostics, keys: &ListenerKeys, party: &mut Party) {
    let is_program = party.nats.is_none();
    party.run = if is_program { read_program(diagnostics, keys, &party.key.value) } else { Vec::new() };
    if party.run.is_empty() {
        party.in_flight = limits::IN_FLIGHT;
    }
    party.schema = read_late(diagnostics, &keys.schema);
    let fix = "accepts: [ELEMENT], a payload of the file or of a schema";
    keys.own.report_missing(diagnostics, "accepts", fix);
    party.accepts = read_late(diagnostics, &keys.accepts).map(|accepts| accepts.value).unwrap_or_default();
    party.returns = read_late(diagnostics, &keys.returns).map(|returns| returns.value).unwrap_or_default();
}

/// The program and its arguments. Empty for a listener that is a Rust value.
fn read_program(diagnostics: &mut Diagnostics, keys: &ListenerKeys, listener: &str) -> Vec<String> {
    if !diagnostics.is_given(listener) {
        keys.own.report_missing(diagnostics, "run", "run: [PROGRAM, ARGUMENT]");
    }
    if let Some(run) = &keys.run
        && matches!(&run.value.node.value, Value::List(items) if items.is_empty())
    {
        let message = format!("{}.run: no program is named", keys.own.path);
        diagnostics.report_value(run.at, &message, "[PROGRAM, ARGUMENT]");
    }
    let words = read_late(diagnostics, &keys.run).map(|words| words.value).unwrap_or_default();
    words.into_iter().map(|word| word.value).collect()
}

/// The environment of the listener's program.
fn read_surroundings(diagnostics: &mut Diagnostics, keys: &ListenerKeys, party: &mut Party) {
    let env = read_late(diagnostics, &keys.env).map(|env| env.value).unwrap_or_default();
    let pass = read_late(diagnostics, &keys.pass).map(|pass| pass.value).unwrap_or_default();
    for found in pass {
        if let Some((set, _)) = env.iter().find(|(set, _)| set.value == found.value) {
            let message = format!("{}.pass: `{}` is set under env as well", keys.own.path, found.value);
            let (fix, second) = ("one of the two", (set.at, "set here"));
            diagnostics.report_beside(Code::ConfigDuplicate, found.at, &message, fix, second);
        }
        party.pass.push(found.value);
    }
    party.env.extend(env.into_iter().filter_map(|(name, value)| Some((name.value, value?))));
    party.stays = read_late(diagnostics, &keys.mode).is_none_or(|stays| stays.value);
    party.by_length = read_late(diagnostics, &keys.framing).is_some_and(|by_length| by_length.value);
}
