//! A declared listener, agent or workflow: its values, its defaults, and how deliveries to it run.
//!
//! Input: the keys of a section. Output: the values of a party. No names are looked up here.

use std::collections::BTreeMap;

use super::agent_keys::AgentConfig;
use super::delivery::DeliveryKeys;
use super::diagnostics::Diagnostics;
use super::kinds::{BuiltInListener, KindDefaults};
use super::sandboxes::SandboxDeclaration;
use super::tree::Span;
use super::value::{self, At, SetKeys};
use super::workflows::WorkflowDeclaration;
use systole_core::types::composition::OnUnknown;
use systole_core::types::ids::Name;

/// One declared listener or agent.
pub(super) struct Party {
    /// Its key, even if that is not a valid name.
    pub(super) key: At<String>,
    pub(super) name: Option<Name>,
    pub(super) run: Vec<String>,
    pub(super) schema: Option<At<String>>,
    pub(super) accepts: Vec<At<String>>,
    pub(super) returns: Vec<At<String>>,
    pub(super) peers: Vec<At<String>>,
    /// Agents that accept tasks of goals. For an agent: those to which it gives tasks. For a workflow: those that its
    /// goals name.
    pub(super) task_takers: Vec<At<String>>,
    pub(super) turns: u32,
    /// The share, if the file sets it.
    pub(super) share_percent: Option<u32>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) pass: Vec<String>,
    pub(super) stays: bool,
    pub(super) by_length: bool,
    pub(super) timeout_ms: u64,
    pub(super) in_flight: usize,
    /// What happens to an attempt whose outcome is unknown, if the file or the kind of listener says it.
    pub(super) on_unknown: Option<OnUnknown>,
    /// How deliveries to it run and are retried, apart from what its kind sets: the fields above and `entry`.
    pub(super) delivery: DeliveryKeys,
    pub(super) entry: bool,
    /// The agent's part. `None` for a listener.
    pub(super) agent_config: Option<AgentConfig>,
    /// The workflow's part. `None` for a listener.
    pub(super) workflow: Option<WorkflowDeclaration>,
    /// The part of its kind, if it is a built-in listener.
    pub(super) built_in: Option<BuiltInListener>,
    /// Where the file says that it is reached over NATS.
    pub(super) nats: Option<Span>,
    /// The sandbox of its program. `None` if it runs without one.
    pub(super) sandbox: Option<SandboxDeclaration>,
}

impl Party {
    /// The path of its section for people: `listeners.search`.
    pub(super) fn path(&self) -> String {
        let section = match (&self.agent_config, &self.workflow) {
            (Some(_), _) => "agents",
            (None, Some(_)) => "workflows",
            (None, None) => "listeners",
        };
        value::join_path(section, &self.key.value)
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
            turns: KindDefaults::OF_PROGRAM.turns,
            share_percent: None,
            env: BTreeMap::new(),
            pass: Vec::new(),
            stays: true,
            by_length: false,
            timeout_ms: KindDefaults::OF_PROGRAM.timeout_ms,
            in_flight: KindDefaults::OF_PROGRAM.in_flight,
            on_unknown: None,
            delivery: DeliveryKeys::default(),
            entry: false,
            agent_config: None,
            workflow: None,
            built_in: None,
            nats: None,
            sandbox: None,
        }
    }
}

impl Party {
    /// Sets how deliveries to it run and are retried. What the file leaves out stays as the kind of party has it.
    pub(super) fn deliver(&mut self, diagnostics: &mut Diagnostics, keys: DeliveryKeys) {
        self.timeout_ms = keys.timeout.as_ref().map_or(self.timeout_ms, |limit| limit.value);
        if let Some(idle) = keys.idle.as_ref().filter(|idle| idle.value > self.timeout_ms) {
            let message = format!("{}.idle: longer than the timeout, so it would never apply", keys.own.path);
            let timeout = keys.own.value_place("timeout").map(|at| (at, "the timeout"));
            diagnostics.report_value_beside(idle.at, &message, "a shorter idle or a longer timeout", timeout);
        }
        self.in_flight = keys.in_flight.as_ref().map_or(self.in_flight, |most| most.value as usize);
        self.on_unknown = keys.on_unknown.as_ref().map(|outcome| outcome.value).or(self.on_unknown);
        let by_default = self.entry && !keys.own.has("entry");
        self.entry = keys.entry.as_ref().map_or(by_default, |entry| entry.value);
        self.delivery = keys;
    }
}

/// The elements of a key, or the one of talk if the file does not have the key.
pub(super) fn or_talk(
    given: Option<At<Vec<At<String>>>>,
    own: &SetKeys,
    key: &str,
    of_talk: At<&str>,
) -> Vec<At<String>> {
    match given {
        Some(given) => given.value,
        None if own.has(key) => Vec::new(),
        None => vec![At { at: of_talk.at, value: of_talk.value.to_owned() }],
    }
}
