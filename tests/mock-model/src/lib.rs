//! A model provider for tests and for people without a key. It speaks five wire formats of four providers,
//! answers from a script, refuses what they would refuse, and fails in every way that they fail.
//!
//! It knows nothing of Systole: no XML, no kit, and no code of the client side. Clients are tested against it,
//! so it must not share their mistakes.
//!
//! In: requests in the two forms of `OpenAI`, and those of Anthropic, Ollama and Gemini. Out: their answers, byte for byte from
//! the same script, and a list of the requests.

mod anthropic;
mod asked;
mod form;
mod gemini;
mod instance;
mod json;
mod ledger;
mod ollama;
mod openai;
mod pace;
mod refusal;
mod reply;
mod responses;
mod schema;
mod script;
mod server;
mod speech;
mod turn;
mod wire;

pub use ledger::{AnswerEnd, RequestCounts, SeenRequest};
pub use script::{KEYS, MockScript, MockScriptError};
pub use server::{MockModel, MockOptions, MockStartFault};
