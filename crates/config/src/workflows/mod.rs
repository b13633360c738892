//! The section `workflows`: listeners whose behaviour is a list of goals in the file.
//!
//! The files of this folder follow a workflow's way through the loader. `section` reads the keys of a workflow into a
//! `declaration`. `steps`, `works` and `conditions` read the written values, each on its own. `joining` turns a
//! workflow into a party, and adds what its agents accept and return. `resolve` checks names, paths and types against
//! the composition. It uses `scope` for what a step can see, `paths` for paths into a payload, `judging` for values,
//! `filling` for the payloads of calls, `words` for the fields in the words of goals, `supervising` for the supervisors of goals, and `finals` for the last step.
//! `limits` compares the bound with the budgets.
//!
//! This module runs no workflow. Output: `systole_workflow::spec::Workflow`, plain data.

mod conditions;
mod declaration;
mod filling;
mod finals;
mod joining;
mod judging;
mod limits;
mod paths;
mod resolve;
mod scope;
mod section;
mod step_keys;
mod step_order;
mod step_values;
mod steps;
mod supervising;
#[cfg(test)]
mod tests;
mod words;
mod works;

pub(super) use declaration::WorkflowDeclaration;
pub(super) use joining::{Links, adapt, is_own, link};
pub use limits::bounds;
pub(super) use limits::{allow, check, check_circles};
pub(super) use resolve::resolve;
pub(super) use section::WorkflowMap;

pub(crate) use steps::taken_ids;

/// The name of the workflow vocabulary among the built-in schemas.
pub(super) const VOCABULARY: &str = "workflow/";
