//! The section `agents`: listeners that use a model. It reads each value on its own. The keys that an agent shares
//! with every listener are read where listeners are read; the rest becomes its `AgentConfig`.
//!
//! Input: the node. Output: parties. This module opens no files and looks up no names: models, tools and schemas are
//! looked up later, when all of them are known.

use systole_agent::spec::{ActionLimit, Dialect, OutputFormat, ThinkingRule};

use super::diagnostics::Diagnostics;
use super::names::{accepted, names};
use super::party::{AgentConfig, IN_FLIGHT_INLINE, Party, delivery};
use super::prompt;
use super::tree::{Entry, Node, Span, Value};
use super::value::{self, At, Fields, fields, joined};
use systole_core::types::codes::Code;
use systole_core::types::composition::ViewScope;

/// What an agent accepts and returns by default.
pub(super) const ASK: &str = "ask";
pub(super) const ANSWER: &str = "answer";

const TURNS: u32 = 10;
/// A model may need minutes for one answer, and an attempt may call it several times.
const TIMEOUT_MS: u64 = 600_000;

impl AgentConfig {
    /// An agent with all defaults.
    fn bare() -> AgentConfig {
        AgentConfig {
            model: None,
            dialect: Dialect::Xml,
            thinking: ThinkingRule::Required,
            actions: ActionLimit::One,
            stop_early: false,
            sees: ViewScope::Call,
            attempts: 3,
            tool_output_max: 4096,
            tool_choice: None,
            format: OutputFormat::Text,
            schema: None,
            prompt: Vec::new(),
            takes_talk: false,
            gives_talk: false,
            serves_goals: false,
            has_free_dialect: true,
            entry_at: None,
        }
    }

    /// Whether its actions are native tool calls of the model.
    pub(super) fn is_native(&self) -> bool {
        matches!(self.dialect, Dialect::Native | Dialect::XmlFinal)
    }
}

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<Party> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let fix = "a name, and its keys below it";
        diagnostics.report(Code::ConfigMissing, node.span, "agents has no agent", Some(fix));
    }
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| agent(diagnostics, entry)).collect()
}

fn agent(diagnostics: &mut Diagnostics, entry: &Entry) -> Party {
    let path = joined("agents", &entry.key);
    let name = value::name(diagnostics, &entry.key, entry.at, "agents");
    let key = At { at: entry.at, value: entry.key.clone() };
    let mut party = Party {
        turns: TURNS,
        timeout_ms: TIMEOUT_MS,
        in_flight: IN_FLIGHT_INLINE,
        entry: true,
        agent_config: Some(AgentConfig::bare()),
        ..Party::bare(key, name)
    };
    let Some(own) = fields(diagnostics, &entry.value, entry.at, "agents.NAME", &path) else { return party };
    let mut agent_config = thinks(diagnostics, &own);
    if let Some((node, path)) = own.get("schema") {
        party.schema = value::text(diagnostics, node, &path);
    }
    let of_talk = |element: &str| vec![At { at: entry.at, value: element.to_owned() }];
    agent_config.takes_talk = own.get("accepts").is_none();
    party.accepts =
        own.get("accepts").map_or_else(|| of_talk(ASK), |(node, path)| accepted(diagnostics, node, &path));
    agent_config.gives_talk = own.get("returns").is_none();
    party.returns =
        own.get("returns").map_or_else(|| of_talk(ANSWER), |(node, path)| names(diagnostics, node, &path));
    party.peers = own.get("peers").map(|(node, path)| names(diagnostics, node, &path)).unwrap_or_default();
    if let (Dialect::Plain, Some(first)) = (agent_config.dialect, party.peers.first()) {
        let message = format!("{path}.peers: with `dialect: plain` an agent makes no calls");
        diagnostics.report(Code::ConfigValue, first.at, &message, Some("dialect: xml, or no peers"));
    }
    agent_config.entry_at = own.place_of("entry");
    let of_dialect = ["dialect", "thinking", "actions", "stop_early", "tool_choice", "output"];
    agent_config.has_free_dialect = of_dialect.iter().all(|key| own.get(key).is_none());
    party.agent_config = Some(agent_config);
    delivery(diagnostics, &own, &mut party);
    party
}

/// Reads the agent's own part.
fn thinks(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> AgentConfig {
    let mut agent_config = AgentConfig::bare();
    if let Some((node, path)) = own.need(diagnostics, "model", "model: NAME, a model under `models`") {
        agent_config.model = value::text(diagnostics, node, &path);
    }
    if let Some((node, path)) = own.get("dialect") {
        let choices = [
            ("xml", Dialect::Xml),
            ("native", Dialect::Native),
            ("xml-final", Dialect::XmlFinal),
            ("plain", Dialect::Plain),
        ];
        agent_config.dialect =
            value::word(diagnostics, node, &path, &choices).unwrap_or(agent_config.dialect);
    }
    if let Some((node, path)) = own.get("thinking") {
        let choices = [("required", ThinkingRule::Required), ("free", ThinkingRule::Free)];
        agent_config.thinking =
            value::word(diagnostics, node, &path, &choices).unwrap_or(agent_config.thinking);
    }
    actions(diagnostics, own, &mut agent_config);
    agent_config.attempts = own.count(diagnostics, "attempts").unwrap_or(agent_config.attempts);
    if let Some(bytes) = own.measure(diagnostics, "tool_output_max") {
        agent_config.tool_output_max = usize::try_from(bytes.value).unwrap_or(agent_config.tool_output_max);
    }
    if let Some((node, path)) = own.get("sees") {
        let choices = [("call", ViewScope::Call), ("thread", ViewScope::Thread)];
        agent_config.sees = value::word(diagnostics, node, &path, &choices).unwrap_or(agent_config.sees);
    }
    if let Some((node, path)) = own.get("output") {
        output(diagnostics, node, &path, &mut agent_config);
        if !agent_config.is_native() {
            let message = format!("{path}: in `xml` and `plain` the element decides the form of the final");
            tell_by_dialect(
                diagnostics,
                own,
                node.span,
                &message,
                "leave it out, or dialect: native or xml-final",
            );
        }
    }
    if let Some((node, path)) = own.get("prompt") {
        agent_config.prompt = prompt::read(diagnostics, node, &path);
    }
    agent_config
}

/// Reads how many actions a turn may have, and the tool choice. Both depend on the dialect.
fn actions(diagnostics: &mut Diagnostics, own: &Fields<'_>, agent_config: &mut AgentConfig) {
    agent_config.actions = if agent_config.is_native() { ActionLimit::Many } else { ActionLimit::One };
    if let Some((node, path)) = own.get("actions")
        && let Some(wanted) =
            value::word(diagnostics, node, &path, &[("one", ActionLimit::One), ("many", ActionLimit::Many)])
    {
        if agent_config.is_native() && wanted == ActionLimit::One {
            let message = format!("{path}: with native calls a model may make several at once");
            tell_by_dialect(diagnostics, own, node.span, &message, "actions: many, or dialect: xml");
        } else if agent_config.dialect == Dialect::Plain && wanted == ActionLimit::Many {
            let message = format!("{path}: with `dialect: plain` an agent only answers");
            tell_by_dialect(diagnostics, own, node.span, &message, "leave it out, or dialect: xml");
        }
        agent_config.actions = wanted;
    }
    if let Some((node, path)) = own.get("stop_early") {
        agent_config.stop_early = value::flag(diagnostics, node, &path) == Some(true);
        if agent_config.stop_early {
            ends_early(diagnostics, own, node.span, &path, agent_config);
        }
    }
    if let Some((node, path)) = own.get("tool_choice") {
        agent_config.tool_choice = value::text(diagnostics, node, &path);
        if agent_config.tool_choice.is_some() && !agent_config.is_native() {
            let message = format!("{path}: only native calls have such a choice");
            tell_by_dialect(diagnostics, own, node.span, &message, "leave it out, or dialect: native");
        }
    }
}

/// Whether an answer may be cut after its first action. This needs a dialect that shows where the action ends, and
/// only one action per turn.
fn ends_early(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
    at: Span,
    path: &str,
    agent_config: &AgentConfig,
) {
    if agent_config.dialect != Dialect::Xml {
        let why = if agent_config.is_native() {
            "a native call ends by itself"
        } else {
            "the whole answer is the result"
        };
        let message = format!("{path}: only in `xml` an action ends before the answer does; here {why}");
        tell_by_dialect(diagnostics, own, at, &message, "leave it out, or dialect: xml");
    } else if let (ActionLimit::Many, Some((actions, _))) = (agent_config.actions, own.get("actions")) {
        let message = format!("{path}: with several actions a turn, it is unclear which is the last");
        let second = (actions.span, "the actions");
        diagnostics.report_beside(
            Code::ConfigValue,
            at,
            &message,
            Some("leave it out, or actions: one"),
            second,
        );
    }
}

/// Reports a value that does not fit the dialect, and shows the dialect too.
fn tell_by_dialect(diagnostics: &mut Diagnostics, own: &Fields<'_>, at: Span, message: &str, fix: &str) {
    match own.get("dialect") {
        Some((dialect, _)) => {
            let second = (dialect.span, "the dialect");
            diagnostics.report_beside(Code::ConfigValue, at, message, Some(fix), second);
        }
        None => diagnostics.report(Code::ConfigValue, at, message, Some(fix)),
    }
}

fn output(diagnostics: &mut Diagnostics, node: &Node, path: &str, agent_config: &mut AgentConfig) {
    let Some(section) = fields(diagnostics, node, node.span, "agents.NAME.output", path) else { return };
    if let Some((node, path)) = section.get("format") {
        let choices = [
            ("json", OutputFormat::Json),
            ("markdown", OutputFormat::Markdown),
            ("text", OutputFormat::Text),
        ];
        agent_config.format = value::word(diagnostics, node, &path, &choices).unwrap_or(OutputFormat::Json);
    }
    if let Some((node, path)) = section.get("schema") {
        agent_config.schema = value::text(diagnostics, node, &path);
        if agent_config.schema.is_some() && agent_config.format != OutputFormat::Json {
            let message = format!("{path}: only a final in `json` follows a JSON Schema");
            diagnostics.report(
                Code::ConfigValue,
                node.span,
                &message,
                Some("format: json beside it, or leave it out"),
            );
        }
    }
}
