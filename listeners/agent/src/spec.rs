//! What an agent is and which models there are, as plain data: the organism's file is read into it, and an agent is
//! made from it. Nothing here checks, opens or starts anything.

use std::path::PathBuf;
use std::sync::Arc;

use systole_kit::QName;
use systole_kit::money::Money;

pub use crate::schemas::{Schema, Schemas};

/// An agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name, which is that of its listener.
    pub name: String,
    /// The model that it speaks to, by the name it has in the file.
    pub model: String,
    /// How it writes what it does.
    pub dialect: Dialect,
    /// Whether it must reason in `<thinking>` before every action (`xml`).
    pub thinking: Thinking,
    /// How many actions a turn may hold (`xml`; with native calls there may always be several).
    pub actions: Actions,
    /// Whether its answer is cut behind its first action (`xml`, with one action a turn).
    pub stop_early: bool,
    /// Whether its view shows what others said to one another in the thread.
    pub sees_thread: bool,
    /// Unusable outputs in a row after which it ends with a report.
    pub attempts: u32,
    /// Turns that a call to it may take, as its listener has them.
    pub turns: u32,
    /// Bytes of an answer that the model is shown; more lies in the log and can be read in parts.
    pub tool_output_max: usize,
    /// What a request with native tools says of their choice; none: nothing.
    pub tool_choice: Option<ToolChoice>,
    /// The format of its final, and the JSON Schema that a final in JSON must follow.
    pub output: Output,
    /// Words before its prompt that all agents of the organism share.
    pub preamble: Option<String>,
    /// The sections of its prompt in order of the file: the name of the key and its text, a list as its lines.
    pub prompt: Vec<Section>,
    /// What it takes as requests.
    pub accepts: Vec<Contract>,
    /// What answers a call to it.
    pub returns: Vec<Contract>,
    /// What answers only goals of workflows, beside what it returns.
    pub gives: Vec<Contract>,
    /// Whom it may address, with what each takes and gives.
    pub peers: Vec<Peer>,
    /// Agents that take tasks of goals from it. Goals say which of them; no other message may go to them.
    pub task_takers: Vec<String>,
    /// The schemas that the contracts stand in; imports are resolved among them.
    pub schemas: Schemas,
}

/// A section of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
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
    pub accepts: Vec<Contract>,
    /// What it gives.
    pub returns: Vec<Contract>,
    /// Whether a person must approve every message to it.
    pub needs_approval: bool,
}

/// An element and the schema that declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The element.
    pub element: QName,
    /// The place of its schema among the agent's.
    pub schema: usize,
}

/// How an agent writes what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Actions are elements in its text.
    Xml,
    /// Actions are native calls of the model; text without a call is the final.
    Native,
    /// Actions are native calls; the final stands in a slot of its own in the text.
    XmlFinal,
    /// The whole answer is the result.
    Plain,
}

/// Whether reasoning stands before every action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It must; where it is missing the agent is told once, and the action still runs.
    Required,
    /// As the model likes.
    Free,
}

/// How many actions a turn may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actions {
    /// One; a second one is refused with feedback.
    One,
    /// Several, which run at once.
    Many,
}

/// What is said of the choice among native tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model's.
    Auto,
    /// One of them must be called.
    Required,
    /// None may be called.
    None,
    /// That one must be called.
    Tool(String),
}

/// What a final is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// The JSON Schema that a final in JSON must follow.
    pub schema: Option<Arc<serde_json::Value>>,
}

/// The format of a final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name in the file.
    pub name: String,
    /// Who is asked.
    pub provider: Provider,
    /// Its name at the provider; none for a script.
    pub model: String,
    /// The address, where it is not the provider's own.
    pub url: Option<String>,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// Further headers of each request: the name, and the variable that holds the value.
    pub headers_env: Vec<(String, String)>,
    /// The script, an absolute path.
    pub file: Option<PathBuf>,
    /// Tokens that a request with its answer may have.
    pub window: u64,
    /// Tokens that an answer may have.
    pub max_output: u64,
    /// Whether its answers are streamed.
    pub stream: bool,
    /// How long it is waited for.
    pub timeout: Timeout,
    /// Further parameters, sent as they stand.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// What tokens cost.
    pub price: Option<Price>,
    /// Requests that may be out at once.
    pub at_once: usize,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// Models that are asked where this one cannot, by name and in order.
    pub fallback: Vec<String>,
}

/// How long a model is waited for, where the file says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timeout {
    /// From the request to the first piece of content.
    pub first_ms: Option<u64>,
    /// Between two pieces of content.
    pub between_ms: Option<u64>,
}

/// Who answers for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or whoever speaks its chat completions.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama.
    Ollama,
    /// Gemini.
    Gemini,
    /// A file of answers.
    Script,
}

/// What tokens cost: each for so many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Tokens that are read.
    pub tokens_in: Money,
    /// Tokens that are written.
    pub tokens_out: Money,
    /// Tokens that are read from the provider's cache; none: as those that are read.
    pub cached: Option<Money>,
    /// For how many tokens.
    pub per: u64,
}

/// How failed requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Requests for one answer, the first included.
    pub attempts: u32,
    /// The pause before the second; doubles with each further one.
    pub first_ms: u64,
    /// The longest pause.
    pub longest_ms: u64,
}
