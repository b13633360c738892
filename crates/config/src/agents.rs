//! The section `agents`: listeners that use a model. It reads each value on its own. The keys that an agent shares
//! with every listener are read where listeners are read; the rest becomes its `AgentConfig`.
//!
//! Input: the node. Output: parties. This module opens no files and looks up no names: models, tools and schemas are
//! looked up later, when all of them are known.

use std::mem;

use systole_agent::spec::{ActionLimit, Dialect, OutputFormat};

use super::agent_keys::{AgentConfig, AgentKeys, is_native};
use super::diagnostics::Diagnostics;
use super::forms::{NamedSection, PartyMap};
use super::party::{Party, or_talk};
use super::section::{Form, form};
use super::tree::{Node, Span, Value};
use super::value::At;
use crate::limits;
use systole_core::types::codes::Code;

/// What an agent accepts and returns by default.
pub(super) const ASK: &str = "ask";
pub(super) const ANSWER: &str = "answer";

form! {
    /// The agents by name.
    pub(super) AgentMap -> Vec<Party> { <PartyMap<AgentKeys>>::FORM, read_agents, below <PartyMap<AgentKeys>>::BELOW }
}

fn read_agents(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Party>> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let fix = "a name, and its keys below it";
        diagnostics.report(Code::ConfigMissing, node.span, "agents has no agent", fix);
    }
    let agents = PartyMap::<AgentKeys>::read(diagnostics, node, path)?;
    Some(agents.into_iter().map(|one| declare_agent(diagnostics, one)).collect())
}

fn declare_agent(diagnostics: &mut Diagnostics, one: NamedSection<AgentKeys>) -> Party {
    let at = one.key.at;
    let is_read = one.keys.is_some();
    let mut keys = one.keys.unwrap_or_default();
    check_dialect(diagnostics, &keys);
    let mut party = Party {
        turns: keys.turns.value,
        share_percent: keys.share.as_ref().map(|share| share.value),
        timeout_ms: limits::AGENT_TIMEOUT_MS,
        in_flight: limits::IN_FLIGHT,
        entry: true,
        schema: keys.schema.take(),
        peers: mem::take(&mut keys.peers.value),
        ..Party::bare(one.key, one.name)
    };
    let own = &keys.own;
    let (takes_talk, gives_talk) = (is_read && !own.has("accepts"), is_read && !own.has("returns"));
    if is_read {
        party.accepts = or_talk(keys.accepts.take(), own, "accepts", At { at, value: ASK });
        party.returns = or_talk(keys.returns.take(), own, "returns", At { at, value: ANSWER });
    }
    party.deliver(diagnostics, mem::take(&mut keys.delivery));
    party.agent_config = Some(AgentConfig { keys, takes_talk, gives_talk, serves_goals: false });
    party
}

/// Reports what does not fit the dialect, and shows the dialect too.
fn check_dialect(diagnostics: &mut Diagnostics, keys: &AgentKeys) {
    let (dialect, own) = (keys.dialect.value, &keys.own);
    let second = own.value_place("dialect").map(|at| (at, "the dialect"));
    let mut report = |key: &str, at: Span, what: &str, fix: &str| {
        diagnostics.report_value_beside(at, &format!("{}.{key}: {what}", own.path), fix, second);
    };
    let actions = keys.actions.as_ref().map(|actions| (actions.value, actions.at));
    match actions {
        Some((ActionLimit::One, at)) if is_native(dialect) => {
            let what = "with native calls a model may make several at once";
            report("actions", at, what, "actions: many, or dialect: xml");
        }
        Some((ActionLimit::Many, at)) if dialect == Dialect::Plain => {
            let what = "with `dialect: plain` an agent only answers";
            report("actions", at, what, "leave it out, or dialect: xml");
        }
        _ => {}
    }
    if let Some(choice) = keys.tool_choice.as_ref().filter(|_| !is_native(dialect)) {
        let what = "only native calls have such a choice";
        report("tool_choice", choice.at, what, "leave it out, or dialect: native");
    }
    if let Some(at) = own.value_place("output").filter(|_| !is_native(dialect)) {
        let what = "in `xml` and `plain` the element decides the form of the final";
        report("output", at, what, "leave it out, or dialect: native or xml-final");
    }
    let early = keys.stop_early.at.filter(|_| keys.stop_early.value);
    // An answer is cut where its only action ends, and only `xml` shows where that is.
    if let Some(at) = early.filter(|_| dialect != Dialect::Xml) {
        let why = if is_native(dialect) {
            "a native call ends by itself"
        } else {
            "the whole answer is the result"
        };
        let what = format!("only in `xml` an action ends before the answer does; here {why}");
        report("stop_early", at, &what, "leave it out, or dialect: xml");
    } else if let (Some(at), Some((ActionLimit::Many, actions))) = (early, actions) {
        let message =
            format!("{}.stop_early: with several actions a turn, it is unclear which is the last", own.path);
        let second = Some((actions, "the actions"));
        diagnostics.report_value_beside(at, &message, "leave it out, or actions: one", second);
    }
    if let Some(peer) = keys.peers.value.first().filter(|_| dialect == Dialect::Plain) {
        let message = format!("{}.peers: with `dialect: plain` an agent makes no calls", own.path);
        diagnostics.report_value(peer.at, &message, "dialect: xml, or no peers");
    }
    if let Some(schema) = keys.output.schema.as_ref().filter(|_| keys.output.format() != OutputFormat::Json) {
        let message = format!("{}.output.schema: only a final in `json` follows a JSON Schema", own.path);
        diagnostics.report_value(schema.at, &message, "format: json beside it, or leave it out");
    }
}
