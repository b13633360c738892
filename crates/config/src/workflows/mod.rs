//! The section `workflows`: listeners whose behaviour is a list of goals in the file.
//!
//! The files of this folder follow a workflow's way through the loader. `declaration` is what is read. `steps`, `works` and `conditions` read the
//! written values, each on its own. `joining` turns a workflow into a party, and adds what its agents accept and
//! return. `resolve` checks names, paths and types against the composition. It uses `scope` for what a step can see,
//! `paths` for paths into a payload, `judging` for values, `filling` for the payloads of calls, `supervising` for the
//! supervisors of goals, and `finals` for the last step. `limits` compares the bound with the budgets.
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
mod step_order;
mod steps;
mod supervising;
mod works;

use super::agents::{ANSWER, ASK};
use super::diagnostics::Diagnostics;
use super::names::{accepted, names};
use super::party::{IN_FLIGHT_INLINE, Party};
use super::tree::{Entry, Node, Value};
use super::value::{self, At, fields, joined};
use systole_core::types::codes::Code;

pub(super) use declaration::WorkflowDeclaration;
pub(super) use joining::{Links, adapt, is_own, link};
pub use limits::bounds;
pub(super) use limits::{allow, check, no_circle};
pub(super) use resolve::resolve;

pub(crate) use steps::taken_ids;

/// The name of the workflow vocabulary among the built-in schemas.
pub(super) const VOCABULARY: &str = "workflow/";

/// A turn of a workflow only reads its input and decides the next step.
const TIMEOUT_MS: u64 = 600_000;

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<Party> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let fix = "a name, and its keys below it";
        diagnostics.report(Code::ConfigMissing, node.span, "workflows has no workflow", Some(fix));
    }
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| workflow(diagnostics, entry)).collect()
}

fn workflow(diagnostics: &mut Diagnostics, entry: &Entry) -> Party {
    let path = joined("workflows", &entry.key);
    let name = value::name(diagnostics, &entry.key, entry.at, "workflows");
    let key = At { at: entry.at, value: entry.key.clone() };
    let mut party = Party {
        turns: u32::MAX,
        share_percent: Some(100),
        timeout_ms: TIMEOUT_MS,
        in_flight: IN_FLIGHT_INLINE,
        entry: true,
        ..Party::bare(key, name)
    };
    let mut declared = WorkflowDeclaration {
        description: None,
        by: None,
        tasks: None,
        supervise: None,
        steps: Vec::new(),
        takes_talk: false,
        gives_talk: false,
    };
    let Some(own) = fields(diagnostics, &entry.value, entry.at, "workflows.NAME", &path) else {
        party.workflow = Some(declared);
        return party;
    };
    let of_talk = |element: &str| vec![At { at: entry.at, value: element.to_owned() }];
    declared.takes_talk = own.get("accepts").is_none();
    party.accepts =
        own.get("accepts").map_or_else(|| of_talk(ASK), |(node, path)| accepted(diagnostics, node, &path));
    declared.gives_talk = own.get("returns").is_none();
    party.returns =
        own.get("returns").map_or_else(|| of_talk(ANSWER), |(node, path)| names(diagnostics, node, &path));
    one_final(diagnostics, &party.returns, own.get("returns"));
    declared.by = own.get("by").and_then(|(node, path)| value::text(diagnostics, node, &path));
    declared.tasks = own
        .get("tasks")
        .and_then(|(node, path)| works::tasks(diagnostics, node, "workflows.NAME.tasks", &path));
    declared.supervise = own.get("supervise").and_then(|(node, path)| value::text(diagnostics, node, &path));
    if let Some((node, path)) = own.get("entry") {
        party.entry = value::flag(diagnostics, node, &path).unwrap_or(true);
    }
    let description = own.get("description").and_then(|(node, path)| value::text(diagnostics, node, &path));
    declared.description = description.map(|description| description.value);
    let budget = own
        .get("budget")
        .and_then(|(node, path)| steps::budget(diagnostics, node, "workflows.NAME.budget", &path));
    if let Some((node, _)) = own.need(diagnostics, "goals", "goals: [{answer: What is to be done.}]") {
        declared.steps = steps::list(diagnostics, node, &path, &format!("{path}.goals"), budget.as_ref());
        steps::no_id_twice(diagnostics, &declared.steps, &path);
    }
    party.workflow = Some(declared);
    party
}

/// A workflow ends with one payload, so it returns one element.
fn one_final(diagnostics: &mut Diagnostics, returns: &[At<String>], written: Option<(&Node, String)>) {
    let Some((node, path)) = written else { return };
    match returns {
        [] if matches!(&node.value, Value::List(items) if items.is_empty()) => {
            let message =
                format!("{path}: a workflow returns what its last step gives, and nothing is listed");
            diagnostics.report(
                Code::ConfigValue,
                node.span,
                &message,
                Some("[answer], or leave the key out"),
            );
        }
        [_, second, ..] => {
            let message =
                format!("{path}: a workflow returns one element, and `{}` is a second one", second.value);
            diagnostics.report(
                Code::ConfigValue,
                second.at,
                &message,
                Some("the element that the last step gives"),
            );
        }
        _ => {}
    }
}
