//! Agents and models as plain data: the organism file is read into it, and an agent is built from it. Nothing here
//! checks, opens or starts anything.

use std::path::PathBuf;
use std::sync::Arc;

use systole_kit::QName;
use systole_kit::money::Money;

pub use crate::model::{FileKind, ModelServer, ModelThinking, Provider};
pub use crate::schemas::{NamedSchema, NamedSchemas};

/// An agent.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// Its name, the same as its listener's.
    pub name: String,
    /// Its model, by the name in the file.
    pub model: String,
    /// How it writes its actions.
    pub dialect: Dialect,
    /// Whether a script answers in place of its model. A script may have elements in every dialect.
    pub is_rehearsed: bool,
    /// Whether it must reason in `<thinking>` before every action (`xml`).
    pub thinking: ThinkingRule,
    /// Whether its answers are taken as by the versions before finals were refused for their tags. Only stored
    /// configurations of these versions have it, so that their turns can be replayed.
    pub reads_as_before: bool,
    /// How many actions a turn may hold (`xml`; native calls may always be several).
    pub actions: ActionLimit,
    /// Whether its answer is cut after its first action (`xml`, with one action a turn).
    pub stop_early: bool,
    /// Whether its view shows messages between others in the thread.
    pub sees_thread: bool,
    /// The number of unusable outputs in a row after which it ends with a report.
    pub attempts: u32,
    /// The most turns of a call to it, from its listener.
    pub turns: u32,
    /// The most bytes of an answer that the model sees. The log has the rest, and the agent can read it in parts.
    pub tool_output_max: usize,
    /// What its model takes besides text.
    pub files: Vec<FileKind>,
    /// What it does if most of its window is used.
    pub when_full: WhenFull,
    /// The tool choice in a request with native tools. `None` sends nothing.
    pub tool_choice: Option<ToolChoice>,
    /// The groups of the core's tools that its model sees. In text it may use the others too.
    pub core_tools: Vec<CoreToolGroup>,
    /// The format of its final, and the JSON Schema that a final in JSON must follow.
    pub output: Output,
    /// Text before its prompt that all agents of the organism share.
    pub preamble: Option<String>,
    /// The sections of its prompt in order of the file: the name of the key and its text, a list as its lines.
    pub prompt: Vec<PromptSection>,
    /// The folders of its workspaces, as the file names them. The prompt shows them.
    pub folders: Vec<String>,
    /// The requests that it takes.
    pub accepts: Vec<ElementContract>,
    /// The answers to a call.
    pub returns: Vec<ElementContract>,
    /// Answers that only goals of workflows get, in addition to `returns`.
    pub gives: Vec<ElementContract>,
    /// The listeners that it may address, with what each takes and returns.
    pub peers: Vec<Peer>,
    /// Elements that go to several of its peers if they name none.
    pub broadcasts: Vec<PeerBroadcast>,
    /// Agents that take tasks of goals from it. Goals choose among them; no other message may go to them.
    pub task_takers: Vec<String>,
    /// The schemas of the contracts. Imports are resolved among them.
    pub schemas: NamedSchemas,
}

/// A section of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSection {
    /// The key: `identity`, `capabilities`, `rules`, or any other.
    pub name: String,
    /// One text, or the entries of a list.
    pub lines: Vec<String>,
    /// Whether it is a list.
    pub is_list: bool,
}

/// Another listener that an agent may address.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub accepts: Vec<ElementContract>,
    /// What it returns.
    pub returns: Vec<ElementContract>,
    /// Whether a person must approve every message to it.
    pub needs_approval: bool,
}

/// An element that goes to several peers at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerBroadcast {
    /// The element.
    pub element: QName,
    /// The peers, in the order of their answers.
    pub takers: Vec<String>,
}

/// An element and the schema that declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementContract {
    /// The element.
    pub element: QName,
    /// The index of its schema among the agent's.
    pub schema: usize,
}

/// How an agent writes its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Actions are elements in its text.
    Xml,
    /// Actions are native calls of the model; text without a call is the final.
    Native,
    /// Actions are native calls; the final is in a slot in the text.
    XmlFinal,
    /// The whole answer is the result.
    Plain,
}

/// Whether reasoning must come before every action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingRule {
    /// It must. If it is missing, the model is reminded once, and the action still runs.
    Required,
    /// As the model likes.
    Free,
}

/// What an agent does if its window fills up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It goes on, and is asked for its final when nothing more fits.
    Final,
    /// It clears its view except for the request and the last messages.
    Clear,
}

/// How many actions a turn may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionLimit {
    /// One. A second one is refused with feedback.
    One,
    /// Several, which run at once.
    Many,
}

/// A group of the core's own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreToolGroup {
    /// Child threads.
    Threads,
    /// Timers.
    Timers,
    /// Questions to a person.
    Person,
    /// What the agent sees of its conversation.
    View,
    /// Plans.
    Plan,
    /// What there is, and what it is made of.
    Describe,
}

impl CoreToolGroup {
    /// All groups, each with its word in the file.
    pub const ALL: [(&'static str, Self); 6] = [
        ("threads", Self::Threads),
        ("timers", Self::Timers),
        ("person", Self::Person),
        ("view", Self::View),
        ("plan", Self::Plan),
        ("describe", Self::Describe),
    ];

    /// Every group.
    #[must_use]
    pub fn list_all() -> Vec<Self> {
        Self::ALL.into_iter().map(|(_, group)| group).collect()
    }
}

/// The rule for choosing among native tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must call one of them.
    Required,
    /// The model may call none.
    None,
    /// The model must call that one.
    Tool(String),
}

/// The required form of a final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format.
    pub format: OutputFormat,
    /// The JSON Schema that a final in JSON must follow.
    pub schema: Option<Arc<serde_json::Value>>,
}

/// The format of a final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
}

/// A model.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// Its name in the file.
    pub name: String,
    /// The provider.
    pub provider: Provider,
    /// Its name at the provider. Empty for a script.
    pub model: String,
    /// The address, if it is not the provider's default.
    pub url: Option<String>,
    /// The program at that address, if the file says it.
    pub server: Option<ModelServer>,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// More headers of each request: the name, and the variable that holds the value.
    pub headers_env: Vec<(String, String)>,
    /// The script, an absolute path.
    pub file: Option<PathBuf>,
    /// The most tokens of a request with its answer.
    pub window: u64,
    /// The most tokens of an answer.
    pub max_output: u64,
    /// How much it reasons before it answers. `None` leaves that to the provider.
    pub thinking: Option<ModelThinking>,
    /// Whether the provider is told what to keep in its cache, if that has to be told.
    pub is_cached: bool,
    /// What it takes besides text.
    pub files: Vec<FileKind>,
    /// Whether its answers are streamed.
    pub stream: bool,
    /// Its timeouts.
    pub timeout: ModelTimeouts,
    /// More parameters, sent as they are.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// What tokens cost.
    pub price: Option<Price>,
    /// The most requests that may run at once.
    pub at_once: usize,
    /// How many requests and tokens it takes in a time.
    pub rate: ModelRates,
    /// How failed requests are retried.
    pub retry: RequestRetry,
    /// Models that are asked if this one cannot answer, by name and in order.
    pub fallback: Vec<String>,
}

/// The timeouts of a model, if the file sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ModelTimeouts {
    /// From the request to the first piece of content.
    pub first_ms: Option<u64>,
    /// Between two pieces of content.
    pub between_ms: Option<u64>,
}

/// How many requests and tokens a model takes in a time, for all agents of a process together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ModelRates {
    /// Requests.
    pub requests: Option<AmountRate>,
    /// Tokens, read and written.
    pub tokens: Option<AmountRate>,
}

/// An amount in a time: `60/m`, `100k/m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmountRate {
    /// The amount.
    pub amount: u64,
    /// The time.
    pub period_ms: u64,
}

/// The prices of tokens, each for `per` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Tokens read.
    pub tokens_in: Money,
    /// Tokens written.
    pub tokens_out: Money,
    /// Tokens read from the provider's cache. `None`: the same as `tokens_in`.
    pub cached: Option<Money>,
    /// Tokens written to the provider's cache. `None`: the same as `tokens_in`.
    pub cache_write: Option<Money>,
    /// The number of tokens that the amounts are for.
    pub per: u64,
}

/// How failed requests are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRetry {
    /// Requests for one answer, including the first.
    pub attempts: u32,
    /// The pause before the second request. It doubles with each further one.
    pub first_ms: u64,
    /// The longest pause.
    pub longest_ms: u64,
}
