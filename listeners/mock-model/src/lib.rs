//! A provider of models for tests and for people without a key: it speaks the wire of four providers, answers
//! from a script, refuses what they would refuse, and fails in every way that they fail.
//!
//! It knows nothing of Systole: no XML, no kit, and no code of the side that asks. Whoever asks is judged
//! against it, so it may not share that side's mistakes.
//!
//! In: requests as `OpenAI`, Anthropic, Ollama and Gemini take them. Out: their answers, byte for byte from the
//! same script, and a list of what was asked.

mod anthropic;
mod asked;
mod form;
mod gemini;
mod json;
mod ledger;
mod ollama;
mod openai;
mod pace;
mod refusal;
mod reply;
mod schema;
mod script;
mod server;
mod speech;
mod turn;
mod wire;

pub use ledger::{Count, End, Seen};
pub use script::{BadScript, KEYS, Script};
pub use server::{MockModel, Options, Unstarted};
