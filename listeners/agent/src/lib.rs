//! An agent: a listener that thinks. It stands on the kit alone and knows neither the pump nor the log; what it
//! remembers is its view of its own call.
//!
//! One delivery after the other: the conversation so far becomes a prompt, the prompt goes to a model, what the model
//! said is taken apart, and what it does goes out as items. Whatever is unusable is told to the model in its next turn.

mod agent;
pub mod chain;
mod contracts;
mod dialect;
pub mod failures;
mod goal;
mod guard;
mod heard;
mod live;
mod memory;
pub mod model;
mod primitives;
mod prompt;
mod schemas;
mod show;
pub mod spec;
mod terms;
mod tokens;
mod turn;
mod viewing;

pub use agent::Agent;
pub use contracts::Unreadable;
pub use guard::{Measured, measure};
pub use prompt::sections;
