//! An agent: a listener that thinks. It depends only on the kit and the workflow types, and knows neither the pump
//! nor the log. Its memory is its view of its own call.
//!
//! It handles one delivery after another. The conversation so far becomes a prompt, the prompt goes to a model, the
//! answer is taken apart, and the actions go out as items. The model sees the faults of its output in its next turn.

mod agent;
pub mod answer_replay;
pub mod chain;
mod contracts;
mod dialect;
pub mod failures;
mod files;
mod goal;
mod guard;
mod limits;
mod live;
mod memory;
pub mod model;
mod model_answer;
mod narrowing;
mod primitives;
mod prompt;
mod schemas;
mod show;
pub mod spec;
mod terms;
mod tokens;
mod tools;
mod turn;
mod viewing;

pub use agent::Agent;
pub use contracts::SchemaFault;
pub use guard::{PromptSize, measure_agent};
pub use prompt::sections;
