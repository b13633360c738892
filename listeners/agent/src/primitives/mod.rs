//! The core's own primitives for agents: threads, timers, the view, plans. One table is the source of prompts, names
//! in a model's text and native tools.
//!
//! Contracts come in, because an element of a peer or a final takes precedence over a primitive with its name; rows
//! go out. It neither executes nor judges: a payload made here passes the pump's checks like every other.

mod tools;

pub(crate) use tools::{build_payload, build_tool, read_arguments_schema};

use systole_kit::schema::TextElements;
use systole_kit::writer::XmlWriter;
use systole_kit::{Payload, namespaces};

use crate::contracts::{AgentContracts, PeerAction};
use crate::spec::{AgentSpec, CoreToolGroup};

/// One primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PromptPrimitive {
    /// The local name of its element.
    pub(crate) local: &'static str,
    pub(crate) namespace: &'static str,
    /// Its name as a native tool. `None` if the tools already cover it.
    pub(crate) tool: Option<&'static str>,
    /// The arguments of that tool that are attributes of the element, in the order in which they are written.
    pub(crate) attributes: &'static [&'static str],
    /// Whether it is useful to an agent without peers.
    pub(crate) alone: bool,
    /// Its group. `None` if it is told whenever a call has it.
    pub(crate) group: Option<CoreToolGroup>,
    /// Its description.
    pub(crate) about: &'static str,
    /// A valid example. `{}` is replaced by a payload of a peer.
    pub(crate) example: &'static str,
}

const fn build_row(
    group: CoreToolGroup,
    local: &'static str,
    tool: &'static str,
    attributes: &'static [&'static str],
    about: &'static str,
    example: &'static str,
) -> PromptPrimitive {
    let (namespace, tool, group) = (namespaces::CORE, Some(tool), Some(group));
    PromptPrimitive { local, namespace, tool, attributes, alone: false, group, about, example }
}

const fn with_alone(primitive: PromptPrimitive) -> PromptPrimitive {
    PromptPrimitive { alone: true, ..primitive }
}

const fn build_question(local: &'static str, about: &'static str, example: &'static str) -> PromptPrimitive {
    PromptPrimitive {
        local,
        namespace: namespaces::META,
        tool: None,
        attributes: &[],
        alone: false,
        group: Some(CoreToolGroup::Describe),
        about,
        example,
    }
}

impl PromptPrimitive {
    /// Which of its elements hold only text.
    pub(crate) fn text_elements(&self) -> Option<TextElements> {
        match self.local {
            SPAWN => Some(TextElements::with_child("initial-payload", TextElements::new_payload())),
            TIMER => Some(TextElements::new_text()),
            TASK => Some(TextElements::new_text()),
            ASK => Some(TextElements::of_children(&["question", "show", "choice"])),
            _ => None,
        }
    }
}

/// The element that sets a timer. Its content is a text.
const TIMER: &str = "set-timer";

/// The element that asks a person. Its children hold text.
const ASK: &str = "ask-person";

/// The element that opens a thread. It holds another payload.
pub(crate) const SPAWN: &str = "spawn-thread";

/// The element of a plan. In text, a plan is not an action.
pub(crate) const PLAN: &str = "todo-until";

/// The element of a task. Only a goal that allows tasks has it.
pub(crate) const TASK: &str = "task";

/// The element that clears the view.
const CLEAR: &str = "clear-context";

/// The element that waits for threads.
const AWAIT: &str = "await-threads";

/// The element that shows messages again.
pub(crate) const RECALL: &str = "recall";

/// Every primitive, in the order of the prompt.
const ALL: [PromptPrimitive; 12] = [
    PromptPrimitive {
        namespace: namespaces::WORKFLOW,
        group: None,
        ..build_row(
            CoreToolGroup::Threads,
            TASK,
            TASK,
            &[],
            "Gives a task to another agent, which works on it alone and sees nothing but your words. The result is its answer. Tasks in one answer of yours run at once.",
            "<task role=\"historian\">Find out when it was built.</task>",
        )
    },
    build_row(
        CoreToolGroup::Threads,
        SPAWN,
        "spawn_thread",
        &[],
        "Has a tool work in a child thread while you go on. Its end reaches you as <thread-finished>.",
        "<spawn-thread suggested_sub_id=\"first\"><initial-payload>{}</initial-payload></spawn-thread>",
    ),
    build_row(
        CoreToolGroup::Threads,
        AWAIT,
        "await_threads",
        &["mode"],
        "Waits for child threads: mode is all, any, or how many. Without a <thread id=\"…\"/> in it, all that are open are meant.",
        "<await-threads mode=\"all\"/>",
    ),
    build_row(
        CoreToolGroup::Threads,
        "cancel-thread",
        "cancel_thread",
        &["id"],
        "Ends a child thread, by the id that <thread-spawned> says.",
        "<cancel-thread id=\"sess-0123456789ab.first\"/>",
    ),
    build_row(
        CoreToolGroup::Timers,
        TIMER,
        "set_timer",
        &["id", "after", "every"],
        "Tells you its text after a time, or every so often (every for after): 1s or longer, in s, m, h or d.",
        "<set-timer id=\"look\" after=\"10m\">Look again.</set-timer>",
    ),
    build_row(
        CoreToolGroup::Timers,
        "cancel-timer",
        "cancel_timer",
        &["id"],
        "Cancels a timer of yours.",
        "<cancel-timer id=\"look\"/>",
    ),
    with_alone(build_row(
        CoreToolGroup::Person,
        ASK,
        "ask_person",
        &["expires"],
        "Asks a person and waits: the answer is one of the choices, or the person's own words if there are none. A <show/> shows the person a message of this conversation by its number. expires is 1s to 365d.",
        "<ask-person expires=\"1d\"><question>Shall it go out?</question><show seq=\"1\">the request</show><choice>yes</choice><choice>no</choice></ask-person>",
    )),
    build_row(
        CoreToolGroup::View,
        CLEAR,
        "clear_context",
        &["keep"],
        "Shows you this conversation no more but for its request and so many of its last messages.",
        "<clear-context keep=\"10\"/>",
    ),
    with_alone(build_row(
        CoreToolGroup::View,
        RECALL,
        "recall",
        &["from_seq", "to_seq", "offset", "length"],
        "Shows you messages of this conversation again by their numbers, cleared or not; offset and length count characters.",
        "<recall from_seq=\"1\" to_seq=\"1\"/>",
    )),
    with_alone(build_row(
        CoreToolGroup::Plan,
        PLAN,
        "todo_until",
        &["condition"],
        "Notes a plan, beside an action or alone. Write it again with the same condition when a step is done.",
        "<todo-until condition=\"the question is answered\"><step done=\"true\">search</step><step done=\"false\">answer</step></todo-until>",
    )),
    build_question("describe", "Says what a tool is made of.", "<describe element=\"{}\"/>"),
    build_question(
        "list-capabilities",
        "Lists the tools that there are, and whose they are.",
        "<list-capabilities/>",
    ),
];

/// The primitives whose elements are known in the text of an agent. A peer's element, a final and the agent's own tag
/// take precedence over a primitive with the same name.
pub(crate) fn list_known(
    agent: &AgentSpec,
    contracts: &AgentContracts,
) -> impl Iterator<Item = &'static PromptPrimitive> {
    let is_free = |primitive: &&PromptPrimitive| {
        primitive.local != agent.name && !contracts.has_element(primitive.local)
    };
    ALL.iter().filter(is_free).filter(|primitive| is_of_call(primitive, contracts))
}

/// Whether a call has that primitive. Cleared messages are no longer counted, so a goal with tasks keeps its context.
fn is_of_call(primitive: &PromptPrimitive, contracts: &AgentContracts) -> bool {
    match primitive.local {
        TASK => contracts.tasks().is_some(),
        CLEAR => contracts.tasks().is_none(),
        _ => true,
    }
}

/// Whether the model is told of the primitive's group.
fn is_of_group(primitive: &PromptPrimitive, contracts: &AgentContracts) -> bool {
    primitive.group.is_none_or(|group| contracts.core_tools.contains(&group))
}

/// The primitives that the agent's prompt lists.
pub(crate) fn list_prompted(
    agent: &AgentSpec,
    contracts: &AgentContracts,
) -> impl Iterator<Item = &'static PromptPrimitive> {
    let acts = !contracts.actions.is_empty();
    let spawns = list_spawnable(contracts).next().is_some();
    let threads = move |primitive: &PromptPrimitive| spawns || primitive.local != SPAWN;
    let is_told = move |primitive: &PromptPrimitive| acts || primitive.alone || primitive.local == TASK;
    let told = list_known(agent, contracts).filter(|primitive| is_of_group(primitive, contracts));
    told.filter(move |primitive| is_told(primitive) && threads(primitive))
}

/// The primitives that are native tools, each with its name. An agent without peers has none, so that its requests
/// have no tools at all.
pub(crate) fn list_native(
    contracts: &AgentContracts,
) -> impl Iterator<Item = (&'static PromptPrimitive, &'static str)> {
    let acts = !contracts.actions.is_empty();
    let spawns = list_spawnable(contracts).next().is_some();
    let tools = ALL.iter().filter_map(|primitive| Some((primitive, primitive.tool?)));
    let tools =
        tools.filter(|(primitive, _)| is_of_call(primitive, contracts) && is_of_group(primitive, contracts));
    tools.filter(move |(primitive, _)| match primitive.local {
        TASK => true,
        SPAWN => acts && spawns,
        _ => acts,
    })
}

/// A wait for all open threads.
pub(crate) fn await_all() -> Option<Payload> {
    let mut writer = XmlWriter::new();
    writer.open(AWAIT).xmlns(namespaces::CORE).attr("mode", "all").empty();
    Payload::from_trusted(writer.finish().into()).ok()
}

/// Clears the view except for its last messages.
pub(crate) fn build_clear(keep: u64) -> Option<Payload> {
    let mut writer = XmlWriter::new();
    writer.open(CLEAR).xmlns(namespaces::CORE).number("keep", keep).empty();
    Payload::from_trusted(writer.finish().into()).ok()
}

/// The actions that a thread may begin with, without a recipient.
pub(crate) fn list_spawnable(contracts: &AgentContracts) -> impl Iterator<Item = &PeerAction> {
    contracts.actions.iter().filter(|action| action.takers.len() == 1)
}
