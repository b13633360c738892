//! A model as an agent sees it: messages and tools go in, an answer with a reason why it ended comes out, or a fault
//! that says whether anything was bought. Knows no payload and no thread.
//!
//! An answer is only what the provider ended in so many words, or what was cut here because it was enough: a stream that
//! stops without a reason is a fault.

pub mod script;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

mod access;
mod adapter;
mod anthropic;
mod complaint;
mod draft;
mod enough;
mod form;
mod gemini;
mod halves;
mod http;
mod ids;
mod key;
mod ledger;
mod lenient;
mod limits;
mod models;
mod ollama;
mod openai;
mod params;
mod pauses;
mod price;
mod reasoning;
mod structured;
mod unfit;

pub use access::Access;
pub use adapter::{Adapter, Unusable};
pub use enough::{Enough, Listening};
pub use key::{Key, KeyFault};
pub use ledger::{Came, Going, Ledger};
pub use limits::Limits;
pub use models::{Ask, Models, NoAnswer};
pub use pauses::{Chance, Dice, RealTime, Sleeper};
pub use price::{Reserve, cost, reserve};
/// The certificates that TLS trusts, for whoever has others than those of the web.
pub use rustls::RootCertStore;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The prompt.
    pub system: String,
    /// What was said so far, the newest last. Roles need not alternate: whoever speaks to a provider joins them.
    pub messages: Vec<Message>,
    /// What the model may call; where it is empty neither tools nor a choice are sent.
    pub tools: Vec<Tool>,
    /// What is said of the choice among them.
    pub choice: Option<Choice>,
    /// The JSON Schema that the whole answer is to follow, for the provider's own field.
    pub schema: Option<Arc<Value>>,
    /// Tokens that the answer may have.
    pub max_output: u64,
    /// Further parameters, sent as they stand.
    pub params: Map<String, Value>,
    /// Where the answer is cut; none: it is read to its end.
    pub enough: Option<Enough>,
    /// How the call went so far. A provider is not sent it: a script goes by it.
    pub course: Course,
}

/// How a call went so far, as its journal shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The call: its thread and its path.
    pub call: String,
    /// The delivery for which the model is asked.
    pub delivery: String,
    /// How many turns of the call are over.
    pub turns: usize,
    /// What the model said in those that the agent still sees; none where there was no answer.
    pub said: Vec<Option<Vec<Part>>>,
    /// Requests of earlier attempts at this turn that failed.
    pub failed: usize,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever the model answers.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A native call that the model made.
    Call(Call),
    /// The answer to one of them.
    Result {
        /// The call that it answers.
        id: String,
        /// The tool.
        name: String,
        /// The answer.
        text: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// Reasoning in the provider's own form, to be sent back as it came and in its place: an object with `provider` and
    /// `block`. Another provider leaves it out.
    Reasoning(Value),
}

/// A native call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The provider's name for it; drawn by us where it has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: text, which may be no JSON at all.
    pub arguments: String,
}

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its parameters as JSON Schema, an object.
    pub parameters: Value,
}

/// What is said of the choice among tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The model's.
    Auto,
    /// Some tool must be called.
    Required,
    /// None may be called.
    None,
    /// That tool must be called.
    Tool(String),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What was said, in its order: text as received, calls, reasoning.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub stop: Stop,
    /// What it used, as far as the provider says.
    pub usage: Usage,
    /// The model that answered, by its name in the file.
    pub by: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model had said everything.
    End,
    /// It reached the most tokens that it may write.
    Length,
    /// It calls tools.
    Tool,
    /// The provider would not let it say that.
    Filtered,
    /// It was cut here, as what was wanted of it had come.
    Cut,
}

/// Tokens that were used. What a provider does not say is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read, those from a cache included.
    pub tokens_in: Option<u64>,
    /// Written, reasoning included.
    pub tokens_out: Option<u64>,
    /// Of those that were read, how many came from a cache.
    pub cached: Option<u64>,
}

/// A piece of an answer while it comes in, for whoever watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Words of the answer.
    Text(String),
    /// Words of its reasoning, where the provider shows them.
    Reasoning(String),
    /// Further arguments of a native call.
    Call {
        /// Which call of the answer.
        number: usize,
        /// The tool.
        name: String,
        /// A part of the arguments, which are JSON.
        arguments: String,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What happened, with the status; never a key.
    pub words: String,
    /// The status, where there was one.
    pub status: Option<u16>,
    /// How long the provider asks us to wait.
    pub retry_after_ms: Option<u64>,
    /// What came before it broke off: kept, never executed.
    pub partial: String,
    /// Whether the provider may have done, and charged for, the work.
    pub may_be_paid: bool,
}

/// Kinds of faults: each is a code of the table, behind `model.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The stream ended without its end.
    Truncated,
    /// The answer passed the most that is taken.
    TooLarge,
    /// Too many requests.
    RateLimited,
    /// Not reached, or it failed on its side.
    Unavailable,
    /// It would not answer.
    Refused,
    /// It found the request wrong.
    InvalidRequest,
}

impl FaultKind {
    /// The code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Truncated => "model.truncated",
            Self::TooLarge => "model.too-large",
            Self::RateLimited => "model.rate-limited",
            Self::Unavailable => "model.unavailable",
            Self::Refused => "model.refused",
            Self::InvalidRequest => "model.invalid-request",
        }
    }
}

/// Where the pieces of an answer go while it comes in.
pub type Watcher = Box<dyn FnMut(Piece) + Send>;

/// An answer on its way.
pub type Answering = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send>>;

/// Whoever answers for a model, once: it repeats nothing by itself.
pub trait Model: Send + Sync {
    /// Asks. Dropping what comes back ends the request.
    fn ask(&self, request: Request, watcher: Watcher) -> Answering;
}
