//! A listener that follows goals. It stands on the kit alone and knows neither the pump nor the log.
//!
//! A workflow comes in as plain data ([`spec`]), deliveries come in one by one, and replies go out: children that pursue
//! goals, timers, questions to people, and the final. What a run did is in its thread, and nowhere else.

pub mod bound;
mod condition;
pub mod explain;
mod facts;
pub mod goal_request;
mod items;
mod known;
mod listener;
mod note;
mod shown;
pub mod spec;
mod supervision;
mod tree;
mod walk;

pub use listener::Listener;

/// The vocabulary of workflows: what a goal is asked with, and how it is answered.
pub const WORKFLOW_XSD: &[u8] = include_bytes!("../../../schemas/workflow.xsd");
