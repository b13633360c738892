//! A listener that follows goals. It depends on the kit alone and knows neither the pump nor the log.
//!
//! A workflow comes in as plain data ([`spec`]), deliveries come in one by one, and replies go out: children that
//! work on goals, timers, questions to people, and the final. The only record of a run is its thread.

mod ask_person;
pub mod bound;
mod condition;
mod converged;
pub mod explain;
mod facts;
mod field_words;
pub mod goal_request;
mod items;
mod known;
mod limits;
mod listener;
mod note;
pub mod spec;
mod supervision;
mod tree;
mod visible_outputs;
mod walk;

pub use converged::{CONVERGED, is_converged_word};
pub use field_words::{WordPart, escape_fields, split_words};
pub use items::call_payload;
pub use listener::WorkflowListener;

/// The vocabulary of workflows: the requests for goals, and their answers.
pub const WORKFLOW_XSD: &[u8] = include_bytes!("../../../schemas/workflow.xsd");
