//! Replays a thread: the pump, the agents and the workflows run again, the journal answers in place of models, and the
//! recorded replies of all other listeners are repeated. No model is called, and no listener is started but those that
//! the user names.
//!
//! A log and configurations come in; the records of the replay go out, and how they compare with the recorded ones.
//! Nothing is written.

pub mod comparison;
mod configurations;
mod driver;
pub mod equality;
mod exported_starts;
mod history;
mod inputs;
mod journal_model;
mod live_agent;
mod matching;
mod performers;
mod ports;
mod prompts;
mod ready;
mod real_parts;
mod recorded_answers;
mod refused_again;
mod replay;
mod replies;
mod stand_in;
mod tree_records;
mod unanswered_delivery;

pub use configurations::{CannotReplay, LiveFault, LiveFaultKind, ReplayConfigurations};
pub use live_agent::{AgentModels, LiveAgent, LiveUse};
pub use prompts::{PromptFindings, RecordedPrompt, check_prompts};
pub use real_parts::RealParts;
pub use replay::{ReplayedTree, replay_tree};
pub use stand_in::StandInProgram;
pub use tree_records::{RecordedTree, SystemEvent, SystemEvents};
pub use unanswered_delivery::UnansweredDelivery;
