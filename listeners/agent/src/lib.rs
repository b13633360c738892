//! An agent: a listener that thinks. It stands on the kit alone and knows neither the pump nor the log; what it
//! remembers is its view of its own call.
//!
//! One delivery after the other: the conversation so far becomes a prompt, the prompt goes to a model, what the model
//! said is taken apart, and what it does goes out as items. Whatever is unusable is told to the model in its next turn.

pub mod model;
pub mod spec;
