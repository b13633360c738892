//! The section `agents`: listeners that think, key by key, each value read alone. What an agent has as every
//! listener has it is read where that of listeners is; what makes it an agent is its `Mind`.
//!
//! In comes the node, out come parties. It opens no file and looks up no name: which model, which tool and which
//! schema are meant is said where all of them are known.

use systole_agent::spec::{Actions, Dialect, Format, Thinking};

use super::declared::{IN_FLIGHT_INLINE, Party, accepted, delivery, names};
use super::desk::Desk;
use super::measure::{Bounds, size_bytes};
use super::prompt;
use super::value::{self, At, Fields, fields, joined};
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::{OnUnknown, Sees};

/// What makes a listener an agent, as it is declared.
#[derive(Clone)]
pub(super) struct Mind {
    pub(super) model: Option<At<String>>,
    pub(super) dialect: Dialect,
    pub(super) thinking: Thinking,
    pub(super) actions: Actions,
    pub(super) stop_early: bool,
    pub(super) sees: Sees,
    pub(super) attempts: u32,
    pub(super) tool_output_max: usize,
    pub(super) tool_choice: Option<At<String>>,
    pub(super) format: Format,
    /// The JSON Schema of its final, by the name of its file.
    pub(super) schema: Option<At<String>>,
    pub(super) prompt: Vec<prompt::Section>,
    /// Whether it takes talk's `ask`, as nothing else is said.
    pub(super) takes_talk: bool,
    /// Whether it gives talk's `answer`, as nothing else is said.
    pub(super) gives_talk: bool,
    /// Whether a workflow has goals for it.
    pub(super) serves_goals: bool,
    /// Whether the file says nothing that hangs on its dialect.
    pub(super) has_free_dialect: bool,
    /// Where the file says whether it is open.
    pub(super) entry_at: Option<Span>,
}

/// What an agent takes and gives where the file says nothing.
pub(super) const ASK: &str = "ask";
pub(super) const ANSWER: &str = "answer";

const TURNS: u32 = 10;
/// A model may need minutes for one answer, and be asked several times for it.
const TIMEOUT_MS: u64 = 600_000;
const SHOWN: Bounds = Bounds { least: ("256B", 256), most: ("1MiB", 1 << 20) };

impl Mind {
    /// One with every default.
    fn bare() -> Mind {
        Mind {
            model: None,
            dialect: Dialect::Xml,
            thinking: Thinking::Required,
            actions: Actions::One,
            stop_early: false,
            sees: Sees::Call,
            attempts: 3,
            tool_output_max: 4096,
            tool_choice: None,
            format: Format::Text,
            schema: None,
            prompt: Vec::new(),
            takes_talk: false,
            gives_talk: false,
            serves_goals: false,
            has_free_dialect: true,
            entry_at: None,
        }
    }

    /// Whether what it does are native calls of the model.
    pub(super) fn is_native(&self) -> bool {
        matches!(self.dialect, Dialect::Native | Dialect::XmlFinal)
    }
}

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Party> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let mend = "a name, and its keys below it";
        desk.tell(Code::ConfigMissing, node.span, "agents has no agent", Some(mend));
    }
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| agent(desk, entry)).collect()
}

fn agent(desk: &mut Desk, entry: &Entry) -> Party {
    let path = joined("agents", &entry.key);
    let name = value::name(desk, &entry.key, entry.at, "agents");
    let key = At { at: entry.at, value: entry.key.clone() };
    let mut party = Party {
        turns: TURNS,
        timeout_ms: TIMEOUT_MS,
        in_flight: IN_FLIGHT_INLINE,
        on_unknown: OnUnknown::Ask,
        entry: true,
        mind: Some(Mind::bare()),
        ..Party::bare(key, name)
    };
    let Some(own) = fields(desk, &entry.value, entry.at, "agents.NAME", &path) else { return party };
    let mut mind = thinks(desk, &own);
    if let Some((node, path)) = own.get("schema") {
        party.schema = value::text(desk, node, &path);
    }
    let of_talk = |element: &str| vec![At { at: entry.at, value: element.to_owned() }];
    mind.takes_talk = own.get("accepts").is_none();
    party.accepts =
        own.get("accepts").map_or_else(|| of_talk(ASK), |(node, path)| accepted(desk, node, &path));
    mind.gives_talk = own.get("returns").is_none();
    party.returns =
        own.get("returns").map_or_else(|| of_talk(ANSWER), |(node, path)| names(desk, node, &path));
    party.peers = own.get("peers").map(|(node, path)| names(desk, node, &path)).unwrap_or_default();
    if let (Dialect::Plain, Some(first)) = (mind.dialect, party.peers.first()) {
        let told = format!("{path}.peers: with `dialect: plain` an agent makes no calls");
        desk.tell(Code::ConfigValue, first.at, &told, Some("dialect: xml, or no peers"));
    }
    mind.entry_at = own.place_of("entry");
    let of_dialect = ["dialect", "thinking", "actions", "stop_early", "tool_choice", "output"];
    mind.has_free_dialect = of_dialect.iter().all(|key| own.get(key).is_none());
    party.mind = Some(mind);
    delivery(desk, &own, &mut party);
    party
}

/// What makes it an agent.
fn thinks(desk: &mut Desk, own: &Fields<'_>) -> Mind {
    let mut mind = Mind::bare();
    if let Some((node, path)) = own.need(desk, "model", "model: NAME, a model under `models`") {
        mind.model = value::text(desk, node, &path);
    }
    if let Some((node, path)) = own.get("dialect") {
        let choices = [
            ("xml", Dialect::Xml),
            ("native", Dialect::Native),
            ("xml-final", Dialect::XmlFinal),
            ("plain", Dialect::Plain),
        ];
        mind.dialect = value::word(desk, node, &path, &choices).unwrap_or(mind.dialect);
    }
    if let Some((node, path)) = own.get("thinking") {
        let choices = [("required", Thinking::Required), ("free", Thinking::Free)];
        mind.thinking = value::word(desk, node, &path, &choices).unwrap_or(mind.thinking);
    }
    actions(desk, own, &mut mind);
    if let Some((node, path)) = own.get("attempts") {
        mind.attempts = value::count(desk, node, &path, 1, 100).unwrap_or(mind.attempts);
    }
    if let Some((node, path)) = own.get("tool_output_max")
        && let Some(bytes) = size_bytes(desk, node, &path, &SHOWN)
    {
        mind.tool_output_max = usize::try_from(bytes).unwrap_or(mind.tool_output_max);
    }
    if let Some((node, path)) = own.get("sees") {
        let choices = [("call", Sees::Call), ("thread", Sees::Thread)];
        mind.sees = value::word(desk, node, &path, &choices).unwrap_or(mind.sees);
    }
    if let Some((node, path)) = own.get("output") {
        output(desk, node, &path, &mut mind);
        if !mind.is_native() {
            let told = format!("{path}: in `xml` and `plain` a final is what its element takes");
            tell_by_dialect(desk, own, node.span, &told, "leave it out, or dialect: native or xml-final");
        }
    }
    if let Some((node, path)) = own.get("prompt") {
        mind.prompt = prompt::read(desk, node, &path);
    }
    mind
}

/// How many actions a turn has, and what is said of their choice: both hang on the dialect.
fn actions(desk: &mut Desk, own: &Fields<'_>, mind: &mut Mind) {
    mind.actions = if mind.is_native() { Actions::Many } else { Actions::One };
    if let Some((node, path)) = own.get("actions")
        && let Some(wanted) =
            value::word(desk, node, &path, &[("one", Actions::One), ("many", Actions::Many)])
    {
        if mind.is_native() && wanted == Actions::One {
            let told = format!("{path}: with native calls a model may make several at once");
            tell_by_dialect(desk, own, node.span, &told, "actions: many, or dialect: xml");
        } else if mind.dialect == Dialect::Plain && wanted == Actions::Many {
            let told = format!("{path}: with `dialect: plain` an agent does nothing but answer");
            tell_by_dialect(desk, own, node.span, &told, "leave it out, or dialect: xml");
        }
        mind.actions = wanted;
    }
    if let Some((node, path)) = own.get("stop_early") {
        mind.stop_early = value::flag(desk, node, &path) == Some(true);
        if mind.stop_early {
            ends_early(desk, own, node.span, &path, mind);
        }
    }
    if let Some((node, path)) = own.get("tool_choice") {
        mind.tool_choice = value::text(desk, node, &path);
        if mind.tool_choice.is_some() && !mind.is_native() {
            let told = format!("{path}: only native calls have such a choice");
            tell_by_dialect(desk, own, node.span, &told, "leave it out, or dialect: native");
        }
    }
}

/// Whether an answer can be cut behind its first action: it must be seen where that ends, and there must be one alone.
fn ends_early(desk: &mut Desk, own: &Fields<'_>, at: Span, path: &str, mind: &Mind) {
    if mind.dialect != Dialect::Xml {
        let why =
            if mind.is_native() { "a native call ends by itself" } else { "the whole answer is the result" };
        let told = format!("{path}: only in `xml` an action ends before the answer does; here {why}");
        tell_by_dialect(desk, own, at, &told, "leave it out, or dialect: xml");
    } else if let (Actions::Many, Some((actions, _))) = (mind.actions, own.get("actions")) {
        let told = format!("{path}: with several actions a turn nobody knows which is the last");
        let second = (actions.span, "the actions");
        desk.tell_seeing(Code::ConfigValue, at, &told, Some("leave it out, or actions: one"), second);
    }
}

/// Tells of a value that the dialect does not go with, with the dialect in view.
fn tell_by_dialect(desk: &mut Desk, own: &Fields<'_>, at: Span, told: &str, mend: &str) {
    match own.get("dialect") {
        Some((dialect, _)) => {
            let second = (dialect.span, "the dialect");
            desk.tell_seeing(Code::ConfigValue, at, told, Some(mend), second);
        }
        None => desk.tell(Code::ConfigValue, at, told, Some(mend)),
    }
}

fn output(desk: &mut Desk, node: &Node, path: &str, mind: &mut Mind) {
    let Some(section) = fields(desk, node, node.span, "agents.NAME.output", path) else { return };
    if let Some((node, path)) = section.get("format") {
        let choices = [("json", Format::Json), ("markdown", Format::Markdown), ("text", Format::Text)];
        mind.format = value::word(desk, node, &path, &choices).unwrap_or(Format::Json);
    }
    if let Some((node, path)) = section.get("schema") {
        mind.schema = value::text(desk, node, &path);
        if mind.schema.is_some() && mind.format != Format::Json {
            let told = format!("{path}: only a final in `json` follows a JSON Schema");
            desk.tell(Code::ConfigValue, node.span, &told, Some("format: json beside it, or leave it out"));
        }
    }
}
