//! A model as an agent sees it: messages and tools go in; an answer with a stop reason comes out, or a fault that
//! says whether anything may be charged. It knows no payload and no thread.
//!
//! `providers` has a folder and a row for each provider: the organism file, the adapter and `systole init` read the
//! rows.
//!
//! An answer must end with an explicit stop reason of the provider, or with our own cut because enough was read. A
//! stream that stops without a reason is a fault.

pub mod script;

mod access;
mod adapter;
mod answer;
mod answer_schema;
mod asked_provider;
mod complaint;
mod enough;
mod file_bounds;
mod files;
mod form;
mod halves;
mod held;
mod held_answer;
mod ids;
mod key;
mod ledger;
mod lenient;
mod limits;
mod models;
mod params;
mod partial_answer;
mod pauses;
mod price;
mod providers;
mod rates;
mod reasoning;
mod request;
mod thinking;
mod unfit;

pub use access::{AdapterFault, ModelAccess};
pub use adapter::ModelAdapter;
pub use answer::{
    AnswerFuture, AnswerPiece, AnswerWatcher, Model, ModelAnswer, ModelFault, ModelFaultKind, ServedBy,
    StopReason, TokenUsage,
};
pub use enough::{AnswerReader, EnoughCheck};
pub use files::{FileKind, MessageFile};
pub use held_answer::{HeldAnswer, ModelServer, RefusedField};
pub use key::{KeyFault, ModelKey};
pub use ledger::{OutgoingRequest, RequestLedger, RequestOutcome};
pub use limits::HttpLimits;
pub use models::{EstimatedRequest, Models, NoAnswer};
pub use pauses::{RandomSource, RealTime, Sleeper, SystemRandom};
pub use price::{RequestReserve, compute_cost, reserve_cost};
pub use providers::{Provider, ProviderRow};
pub use rates::ModelRateGate;
pub use request::{
    AnswerGrammar, CallHistory, MessageAuthor, MessagePart, ModelRequest, NativeCall, PromptMessage,
    RequestToolChoice, Tool,
};
/// The certificates that TLS trusts, for callers that need others than the web's.
pub use rustls::RootCertStore;
pub use thinking::ModelThinking;
