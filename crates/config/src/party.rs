//! A declared listener, agent or workflow: its values, its defaults, and how deliveries to it run.
//!
//! Input: the keys of a section. Output: the values of a party. No names are looked up here.

use std::collections::BTreeMap;

use systole_agent::spec::{ActionLimit, Dialect, OutputFormat, ThinkingRule};

use super::approval::{self, Approval};
use super::diagnostics::Diagnostics;
use super::hands_kind::HandsDeclaration;
use super::installed::install_folder;
use super::mcp_tools::McpDeclaration;
use super::measure::durations_ms;
use super::names::single;
use super::sandboxes::SandboxDeclaration;
use super::tree::{Node, Span};
use super::value::{self, At, Fields, fields};
use super::workflows::WorkflowDeclaration;
use super::{budgets, prompt};
use systole_core::types::codes::Code;
use systole_core::types::composition::{DeliveryRetry, DescribeScope, OnUnknown, ViewScope};
use systole_core::types::ids::Name;

/// One declared listener or agent.
pub(super) struct Party {
    /// Its key, even if that is not a valid name.
    pub(super) key: At<String>,
    pub(super) name: Option<Name>,
    pub(super) run: Vec<String>,
    /// The part of this program that stands in front of `run`.
    pub(super) adapter: Vec<String>,
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
    pub(super) idle_ms: Option<u64>,
    pub(super) in_flight: usize,
    pub(super) retry: DeliveryRetry,
    /// What happens to an attempt whose outcome is unknown, if the file or the kind of listener says it.
    pub(super) on_unknown: Option<OnUnknown>,
    pub(super) approval: Approval,
    pub(super) timer_tell: Vec<At<String>>,
    pub(super) entry: bool,
    pub(super) describe: DescribeScope,
    /// The agent's part. `None` for a listener.
    pub(super) agent_config: Option<AgentConfig>,
    /// The workflow's part. `None` for a listener.
    pub(super) workflow: Option<WorkflowDeclaration>,
    /// The folder that it works on, if it is such a built-in listener.
    pub(super) hands: Option<HandsDeclaration>,
    /// Where the file says that it is reached over NATS.
    pub(super) nats: Option<Span>,
    /// The tools of the MCP server that it stands in front of.
    pub(super) mcp: Option<McpDeclaration>,
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
        value::joined(section, &self.key.value)
    }

    /// The folder in which its server is installed, from the organism's folder.
    pub(super) fn install_folder(&self) -> Option<String> {
        let is_installed = self.mcp.as_ref().is_some_and(|mcp| mcp.installs.is_some());
        is_installed.then(|| install_folder(&self.key.value))
    }

    /// The path of its section in the table of keys.
    fn table(&self) -> &'static str {
        if self.agent_config.is_some() { "agents.NAME" } else { "listeners.NAME" }
    }

    /// A listener with every default.
    pub(super) fn bare(key: At<String>, name: Option<Name>) -> Party {
        Party {
            key,
            name,
            run: Vec::new(),
            adapter: Vec::new(),
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
            retry: DeliveryRetry { attempts: 3, first_ms: 1000, longest_ms: 30_000 },
            on_unknown: None,
            approval: Approval::default(),
            timer_tell: Vec::new(),
            entry: false,
            describe: DescribeScope::Peers,
            agent_config: None,
            workflow: None,
            hands: None,
            nats: None,
            mcp: None,
            sandbox: None,
        }
    }
}

/// Most deliveries at the same time for a listener that is not a program.
pub(super) const IN_FLIGHT_INLINE: usize = 16;

/// How deliveries to the listener run and are retried.
pub(super) fn delivery(diagnostics: &mut Diagnostics, own: &Fields<'_>, party: &mut Party) {
    party.turns = own.count(diagnostics, "turns").unwrap_or(party.turns);
    if let Some((node, path)) = own.get("share") {
        party.share_percent = budgets::share(diagnostics, node, &path);
    }
    if own.get("in_flight").is_some() {
        let most = own.count(diagnostics, "in_flight").unwrap_or(1);
        party.in_flight = usize::try_from(most).unwrap_or(1);
    }
    party.timeout_ms = own.measure(diagnostics, "timeout").map_or(party.timeout_ms, |limit| limit.value);
    if let Some(idle) = own.measure(diagnostics, "idle") {
        let path = format!("{}.idle", own.path);
        if idle.value > party.timeout_ms {
            let message = format!("{path}: longer than the timeout, so it would never apply");
            let fix = Some("a shorter idle or a longer timeout");
            match own.get("timeout") {
                Some((timeout, _)) => {
                    let second = (timeout.span, "the timeout");
                    diagnostics.report_beside(Code::ConfigValue, idle.at, &message, fix, second);
                }
                None => diagnostics.report(Code::ConfigValue, idle.at, &message, fix),
            }
        }
        party.idle_ms = Some(idle.value);
    }
    if let Some((node, path)) = own.get("retry")
        && let Some(retry) = fields(diagnostics, node, node.span, &format!("{}.retry", party.table()), &path)
    {
        party.retry.attempts = retry.count(diagnostics, "attempts").unwrap_or(party.retry.attempts);
        if let Some((node, path)) = retry.get("backoff")
            && let Some((first_ms, longest_ms)) = durations_ms(diagnostics, node, &path)
        {
            party.retry = DeliveryRetry { first_ms, longest_ms, ..party.retry };
        }
    }
    if let Some((node, path)) = own.get("on_unknown") {
        party.on_unknown = Some(on_unknown(diagnostics, node, &path));
    }
    if let Some((node, path)) = own.get("approval") {
        party.approval = approval::read(diagnostics, node, &format!("{}.approval", party.table()), &path);
    }
    if let Some((node, path)) = own.get("timers")
        && let Some(section) =
            fields(diagnostics, node, node.span, &format!("{}.timers", party.table()), &path)
        && let Some((node, path)) = section.get("tell")
    {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        party.timer_tell = single(diagnostics, found, &path);
    }
    if let Some((node, path)) = own.get("entry") {
        party.entry = value::flag(diagnostics, node, &path).unwrap_or(false);
    }
    if let Some((node, path)) = own.get("describe") {
        let choices =
            [("none", DescribeScope::None), ("peers", DescribeScope::Peers), ("all", DescribeScope::All)];
        party.describe = value::word(diagnostics, node, &path, &choices).unwrap_or(DescribeScope::None);
    }
}

fn on_unknown(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> OnUnknown {
    let choices = [("retry", OnUnknown::Retry), ("fail", OnUnknown::Fail), ("ask", OnUnknown::Ask)];
    value::word(diagnostics, node, path, &choices).unwrap_or(OnUnknown::Fail)
}

/// The part of an agent that other listeners do not have, as declared.
#[derive(Clone)]
pub(super) struct AgentConfig {
    pub(super) model: Option<At<String>>,
    pub(super) dialect: Dialect,
    pub(super) thinking: ThinkingRule,
    pub(super) actions: ActionLimit,
    pub(super) stop_early: bool,
    pub(super) sees: ViewScope,
    pub(super) attempts: u32,
    pub(super) tool_output_max: usize,
    pub(super) tool_choice: Option<At<String>>,
    pub(super) format: OutputFormat,
    /// The JSON Schema of its final, by file name.
    pub(super) schema: Option<At<String>>,
    pub(super) prompt: Vec<prompt::Section>,
    /// Whether it accepts talk's `ask`, because the file names nothing else.
    pub(super) takes_talk: bool,
    /// Whether it returns talk's `answer`, because the file names nothing else.
    pub(super) gives_talk: bool,
    /// Whether a workflow gives it goals.
    pub(super) serves_goals: bool,
    /// Whether the file sets nothing that depends on its dialect.
    pub(super) has_free_dialect: bool,
    /// Where the file says whether it is open to the outside.
    pub(super) entry_at: Option<Span>,
}
