//! A listener that follows goals. It stands on the kit alone and knows neither the pump nor the log.

pub mod bound;
pub mod explain;
pub mod spec;

/// The vocabulary of workflows: what a goal is asked with, and how it is answered.
pub const WORKFLOW_XSD: &[u8] = include_bytes!("../../../schemas/workflow.xsd");
