//! A model as an agent sees it: messages and tools go in; an answer with a stop reason comes out, or a fault that
//! says whether anything may be charged. It knows no payload and no thread.
//!
//! `providers!` is the one table of providers: the organism file, the adapter and `systole init` read it.
//!
//! An answer must end with an explicit stop reason of the provider, or with our own cut because enough was read. A
//! stream that stops without a reason is a fault.

pub mod script;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use form::ProviderForm;

mod access;
mod adapter;
mod anthropic;
mod asked_provider;
mod complaint;
mod enough;
mod form;
mod gemini;
mod halves;
mod ids;
mod key;
mod ledger;
mod lenient;
mod limits;
mod models;
mod ollama;
mod openai;
mod params;
mod partial_answer;
mod pauses;
mod price;
mod reasoning;
mod structured;
mod unfit;

pub use access::{AdapterFault, ModelAccess};
pub use adapter::ModelAdapter;
pub use enough::{AnswerReader, EnoughCheck};
pub use key::{KeyFault, ModelKey};
pub use ledger::{OutgoingRequest, RequestLedger, RequestOutcome};
pub use limits::HttpLimits;
pub use models::{EstimatedRequest, Models, NoAnswer};
pub use pauses::{RandomSource, RealTime, Sleeper, SystemRandom};
pub use price::{RequestReserve, compute_cost, reserve_cost};
/// The certificates that TLS trusts, for callers that need others than the web's.
pub use rustls::RootCertStore;

/// What the table says about a provider that is asked over a network.
pub struct ProviderRow {
    /// The environment variables that may hold its key, the usual one first. Empty if it needs no key.
    pub key_variables: &'static [&'static str],
    /// One of its models that is fast and cheap.
    pub cheap_model: &'static str,
    /// Its position in the search for a key, and in the help of `systole init`. The lowest comes first.
    pub rank: u8,
    /// Its requests and answers.
    form: &'static dyn ProviderForm,
}

/// Makes `Provider` from the rows: for each the variant, the word of the organism file, and a `ProviderRow`. A script
/// is asked over no network, so it has no row.
macro_rules! providers {
    ($($(#[$doc:meta])+ $variant:ident $word:literal { $($field:ident: $value:expr,)+ })+) => {
        /// The provider of a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Provider {
            $($(#[$doc])+ $variant,)+
            /// A file of answers.
            Script,
        }

        impl Provider {
            /// All providers, in the order of the reference.
            pub const ALL: &'static [Provider] = &[$(Provider::$variant,)+ Provider::Script];
            /// Their words in the organism file, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+ "script"];
            /// The meaning of these words, for the reference and for editors.
            pub const MEANING: &'static str =
                concat!("the provider: ", $("`", $word, "`, ",)+ "or `script`, a file of answers");

            /// Its word in the organism file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Provider::$variant => $word,)+
                    Provider::Script => "script",
                }
            }

            /// Its row. A script has none.
            #[must_use]
            pub fn row(self) -> Option<&'static ProviderRow> {
                match self {
                    $(Provider::$variant => {
                        static ROW: ProviderRow = ProviderRow { $($field: $value,)+ };
                        Some(&ROW)
                    })+
                    Provider::Script => None,
                }
            }
        }
    };
}

providers! {
    /// OpenAI, or another server that speaks its chat completions.
    OpenAi "openai" {
        form: &openai::OpenAi,
        key_variables: &["OPENAI_API_KEY"],
        cheap_model: "gpt-5-mini",
        rank: 2,
    }
    /// Anthropic.
    Anthropic "anthropic" {
        form: &anthropic::AnthropicForm,
        key_variables: &["ANTHROPIC_API_KEY"],
        cheap_model: "claude-haiku-4-5",
        rank: 1,
    }
    /// Ollama.
    Ollama "ollama" {
        form: &ollama::OllamaForm,
        key_variables: &[],
        cheap_model: "llama3.2",
        rank: 4,
    }
    /// Gemini.
    Gemini "gemini" {
        form: &gemini::GeminiForm,
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        cheap_model: "gemini-flash-latest",
        rank: 3,
    }
}

impl Provider {
    /// The provider with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.word() == word)
    }
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The prompt.
    pub system: String,
    /// The conversation so far, the newest message last. Roles need not alternate: the code for a provider joins
    /// them.
    pub messages: Vec<PromptMessage>,
    /// The tools that the model may call. If empty, neither tools nor a choice are sent.
    pub tools: Vec<Tool>,
    /// The rule for choosing among them.
    pub choice: Option<RequestToolChoice>,
    /// The JSON Schema that the whole answer must follow, for the provider's own field.
    pub schema: Option<Arc<Value>>,
    /// The most tokens of the answer.
    pub max_output: u64,
    /// More parameters, sent as they are.
    pub params: Map<String, Value>,
    /// Where the answer is cut. `None`: it is read to its end.
    pub enough: Option<EnoughCheck>,
    /// The history of the call. It is not sent to a provider; scripts use it.
    pub course: CallHistory,
}

/// The history of a call, from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallHistory {
    /// The call: its thread and its path.
    pub call: String,
    /// The delivery for which the model is asked.
    pub delivery: String,
    /// How many turns of the call are over.
    pub turns: usize,
    /// The model's answers in those turns that the agent still sees. `None` if there was no answer.
    pub said: Vec<Option<Vec<MessagePart>>>,
    /// Failed requests in earlier attempts at this turn.
    pub failed: usize,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageAuthor {
    /// The model's counterpart.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    /// The author.
    pub role: MessageAuthor,
    /// The content.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// A native call that the model made.
    Call(NativeCall),
    /// The result of a call.
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
    /// Reasoning in the provider's own form, to be sent back unchanged in its place: an object with `provider` and
    /// `block`. Other providers omit it.
    Reasoning(Value),
}

/// A native call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCall {
    /// The provider's id for it, or a generated one.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: text, which may not be valid JSON.
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

/// The rule for choosing among tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestToolChoice {
    /// The model decides.
    Auto,
    /// The model must call a tool.
    Required,
    /// The model may call no tool.
    None,
    /// The model must call that tool.
    Tool(String),
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// The content, in order: text as received, calls, reasoning.
    pub parts: Vec<MessagePart>,
    /// The stop reason.
    pub stop: StopReason,
    /// The usage, as far as the provider reports it.
    pub usage: TokenUsage,
    /// The model that answered, by its name in the file.
    pub by: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    End,
    /// It reached its maximum of output tokens.
    Length,
    /// It calls tools.
    Tool,
    /// The provider withheld the rest.
    Filtered,
    /// It was cut here because enough was read.
    Cut,
}

/// Tokens used. Counts that a provider does not report are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Tokens read, including those from a cache.
    pub tokens_in: Option<u64>,
    /// Tokens written, including reasoning.
    pub tokens_out: Option<u64>,
    /// How many of the tokens read came from a cache.
    pub cached: Option<u64>,
}

/// A piece of an answer while it comes in, for observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPiece {
    /// Text of the answer.
    Text(String),
    /// Text of its reasoning, if the provider shows it.
    Reasoning(String),
    /// More arguments of a native call.
    Call {
        /// The number of the call in the answer.
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
pub struct ModelFault {
    /// The kind.
    pub kind: ModelFaultKind,
    /// The message, with the status; never a key.
    pub words: String,
    /// The status, if there was one.
    pub status: Option<u16>,
    /// How long the provider asks us to wait.
    pub retry_after_ms: Option<u64>,
    /// The part that came before the fault: kept, never executed.
    pub partial: String,
    /// Whether the provider may have done the work and charged for it.
    pub may_be_paid: bool,
}

/// Kinds of faults: each is a code of the table, after `model.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFaultKind {
    /// The stream ended without its end sign.
    Truncated,
    /// The answer is larger than the limit.
    TooLarge,
    /// Too many requests.
    RateLimited,
    /// The provider was not reached, or failed on its side.
    Unavailable,
    /// The provider refused to answer.
    Refused,
    /// The provider rejected the request as invalid.
    InvalidRequest,
}

impl ModelFaultKind {
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

/// Receives the pieces of an answer while it comes in.
pub type AnswerWatcher = Box<dyn FnMut(AnswerPiece) + Send>;

/// An answer on its way.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelFault>> + Send>>;

/// Answers for a model, once: it retries nothing by itself.
pub trait Model: Send + Sync {
    /// Asks. Dropping the result ends the request.
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture;
}
