//! The keys of an agent, and what is known of it from them.

use systole_agent::spec::{ActionLimit, CoreToolGroup, Dialect, OutputFormat, ThinkingRule, WhenFull};

use super::delivery::{AcceptedSet, DeliveryKeys, SharePercent};
use super::diagnostics::Diagnostics;
use super::forms::{AnyText, CountWithin, NameSet, PartyName, SizeWithin, WordOf, YesNo, word_choice};
use super::key::KeyForm;
use super::models::ModelDeclaration;
use super::names::find_word;
use super::prompt::PromptSections;
use super::section::{Form, form, section};
use super::tree::{Node, Value};
use super::value;
use crate::limits;
use systole_core::types::composition::ViewScope;

/// The part of an agent that other listeners do not have.
pub(super) struct AgentConfig {
    /// The keys of the file, without those of every listener.
    pub(super) keys: AgentKeys,
    /// Whether it accepts talk's `ask`, because the file names nothing else.
    pub(super) takes_talk: bool,
    /// Whether it returns talk's `answer`, because the file names nothing else.
    pub(super) gives_talk: bool,
    /// Whether a workflow gives it goals.
    pub(super) serves_goals: bool,
}

impl AgentConfig {
    /// Whether its actions are native tool calls of the model.
    pub(super) fn is_native(&self) -> bool {
        is_native(self.keys.dialect.value)
    }

    /// Whether the file sets nothing that depends on its dialect.
    pub(super) fn has_free_dialect(&self) -> bool {
        let of_dialect = ["dialect", "thinking", "actions", "stop_early", "tool_choice", "output"];
        of_dialect.iter().all(|key| !self.keys.own.has(key))
    }

    /// Whether its model takes files.
    pub(super) fn sees_files(&self, models: &[ModelDeclaration]) -> bool {
        let named = self.keys.model.as_ref().map(|model| model.value.as_str());
        models.iter().any(|one| Some(one.key.value.as_str()) == named && !one.model.files.is_empty())
    }

    /// How many actions a turn may hold.
    pub(super) fn actions(&self) -> ActionLimit {
        let by_dialect = if self.is_native() { ActionLimit::Many } else { ActionLimit::One };
        self.keys.actions.as_ref().map_or(by_dialect, |actions| actions.value)
    }
}

/// Whether actions are native tool calls of the model.
pub(super) fn is_native(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Native | Dialect::XmlFinal)
}

section! {
    /// An agent.
    pub(super) AgentKeys "one agent" with own never [
        "run": PROGRAM, NO_PROGRAM; "env": PROGRAM, NO_PROGRAM; "pass": PROGRAM, NO_PROGRAM;
        "mode": PROGRAM, NO_PROGRAM; "framing": PROGRAM, NO_PROGRAM;
        "nats": "an agent has no program of its own", "leave it out; systole run --role pump reaches every agent over NATS";
    ] {
        model: required("model: NAME, a model under `models`") <PartyName> "its model, by the name under `models`";
        dialect: default(Dialect::Xml) <WordOf<DialectWord>> "how it acts: `xml`: in its text; `native`: by the provider's tool calls; `xml-final`: by tool calls, with the final in its text; `plain`: its whole answer is the result";
        thinking: optional("`required`") <WordOf<ThinkingWord>> "whether it writes `<thinking>` before every action: `required` or `free`; how much its model reasons is `models.NAME.thinking`";
        actions: optional("one; many with native calls") <WordOf<ActionWord>> "how many actions a turn may hold: `one` or `many`; with native calls `many`";
        stop_early: default(false) <YesNo> "whether to cut its answer after the first action instead of reading it to the end; with `xml` and one action a turn";
        attempts: default(3) <CountWithin<1, 100>> "it ends after this many unusable answers in a row, {bounds}";
        turns: default(10) <CountWithin<1, { limits::AGENT_TURNS }>> "turns that a call to it may take, {bounds}; with 1 it makes no calls";
        sees: default(ViewScope::Call) <WordOf<ViewWord>> "what it sees: `call`: its own call; `thread`: also the messages of others in the thread";
        tool_choice: optional("none") <AnyText> "the tool choice in a request with native calls: `auto`, `required`, `none`, or the name of a tool";
        tool_output_max: default(4096) <SizeWithin<256, { 1 << 20 }>> "how much of an answer it sees, {bounds}; the log keeps all of it";
        core_tools: optional("all") <CoreToolSet> "which of the core's own tools its model sees: `all`, or a list of `threads`, `timers`, `person`, `view`, `plan` and `describe`, also an empty one";
        when_full: default(WhenFull::Final) <WordOf<WhenFullWord>> "what it does if its model's window fills up: `final`: it is asked for its final when nothing more fits; `clear`: at 80 % it clears its view except for the request and the last messages";
        output: below <OutputKeys> "the form of its final; with `native` and `xml-final`";
        prompt: default(Vec::new()) <PromptSections> "the sections of its prompt by name, in this order: `identity`, `capabilities`, `rules`, or any other";
        schema: optional("none") <AnyText> "an XSD that declares its payloads, as for a listener";
        accepts: optional("[ask] of talk") <AcceptedSet> "payloads that it takes as requests, by local name";
        returns: optional("[answer] of talk") <NameSet> "payloads that answer a call to it, by local name";
        peers: default(Vec::new()) <NameSet> "listeners and agents it may address";
        share: optional("50%") <SharePercent> "largest share of the remaining message budget that a child thread that begins with it may use, 1% to 100%";
        delivery: same(&[("timeout", "10m"), ("in_flight", "16"), ("on_unknown", "retry"), ("entry", "true")]) <DeliveryKeys> "";
    }
}

/// The word for all groups of the core's tools.
const ALL: &str = "all";

form! {
    /// `all`, or the groups of the core's tools.
    pub(super) CoreToolSet -> Vec<CoreToolGroup> {
        KeyForm::WordOrSetOf(ALL, &["threads", "timers", "person", "view", "plan", "describe"]), read_core_tools
    }
}

fn read_core_tools(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<CoreToolGroup>> {
    match &node.value {
        Value::List(_) => {
            let named = NameSet::read(diagnostics, node, path)?;
            let (what, known) = ((path, "group of the core's tools"), || CoreToolGroup::ALL.into_iter());
            Some(named.iter().filter_map(|one| find_word(diagnostics, one, what, known)).collect())
        }
        _ => {
            let found = value::text(diagnostics, node, path)?;
            if found.value == ALL {
                return Some(CoreToolGroup::list_all());
            }
            let message = format!("{path}: `{}` is neither `all` nor a list", found.value);
            diagnostics.report_value(found.at, &message, "all, or a list as [view, plan], or [] for none");
            None
        }
    }
}

section! { pub(super) OutputKeys with own {
    format: optional("text") <WordOf<FormatWord>> "`json`, `markdown` or `text`";
    schema: optional("none") <AnyText> "a JSON Schema that a final in `json` must follow, a path from this file's folder";
} }

const PROGRAM: &str = "an agent is not a program";
const NO_PROGRAM: &str = "leave it out; a program belongs under `listeners`";

word_choice! { DialectWord: Dialect { "xml" = Dialect::Xml, "native" = Dialect::Native, "xml-final" = Dialect::XmlFinal, "plain" = Dialect::Plain } }
word_choice! { ThinkingWord: ThinkingRule { "required" = ThinkingRule::Required, "free" = ThinkingRule::Free } }
word_choice! { ActionWord: ActionLimit { "one" = ActionLimit::One, "many" = ActionLimit::Many } }
word_choice! { WhenFullWord: WhenFull { "final" = WhenFull::Final, "clear" = WhenFull::Clear } }
word_choice! { ViewWord: ViewScope { "call" = ViewScope::Call, "thread" = ViewScope::Thread } }
word_choice! { FormatWord: OutputFormat { "json" = OutputFormat::Json, "markdown" = OutputFormat::Markdown, "text" = OutputFormat::Text } }

impl OutputKeys {
    pub(super) fn format(&self) -> OutputFormat {
        match &self.format {
            Some(format) => format.value,
            None if self.own.has("format") => OutputFormat::Json,
            None => OutputFormat::Text,
        }
    }
}
