//! Replays a thread: the pump, the agents and the workflows run again, the journal answers in place of models, and the
//! recorded replies of all other listeners are repeated. No model is called and no listener is started.
//!
//! A log and configurations come in; the records of the replay go out, and how they compare with the recorded ones.
//! Nothing is written.

pub mod comparison;
mod cues;
mod driver;
pub mod equality;
mod history;
mod journal_model;
mod matching;
mod performers;
mod ports;
mod prompts;
mod recorded_answers;
mod refused_again;
mod replay;
mod replies;
mod shelf;
mod tree_records;

pub use driver::UnansweredDelivery;
pub use prompts::{PromptFindings, RecordedPrompt, check_prompts};
pub use replay::{ReplayedTree, replay};
pub use shelf::{CannotReplay, ReplayShelf};
pub use tree_records::{RecordedTree, SystemEvent, SystemEvents};
