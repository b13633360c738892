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
mod step_keys;
mod step_order;
mod step_values;
mod steps;
mod supervising;
mod works;

use super::agents::{ANSWER, ASK};
use super::delivery::AcceptedSet;
use super::diagnostics::Diagnostics;
use super::forms::{AnyText, NameSet, NamedSection, PartyMap, PartyName, YesNo};
use super::party::{Party, or_talk};
use super::section::{Form, form, section};
use super::tree::{Node, Value};
use super::value::At;
use step_keys::{StepBudget, StepList, TaskKeys};
use systole_core::types::codes::Code;

pub(super) use declaration::WorkflowDeclaration;
pub(super) use joining::{Links, adapt, is_own, link};
pub use limits::bounds;
pub(super) use limits::{allow, check, no_circle};
pub(super) use resolve::resolve;

pub(crate) use steps::taken_ids;

/// The name of the workflow vocabulary among the built-in schemas.
pub(super) const VOCABULARY: &str = "workflow/";

section! {
    WorkflowKeys "one workflow" with own {
        accepts: optional("[ask] of talk") <AcceptedSet> "payloads that it takes as requests, by local name";
        returns: optional("[answer] of talk") <NameSet> "the one payload that its last step gives";
        by: optional("none") <PartyName> "the agent of goals that name none";
        supervise: optional("none") <PartyName> "the agent that supervises its goals, or `person`";
        tasks: optional("none") <TaskKeys> "lets the agent of a goal give tasks, which run in child threads";
        budget: optional("none") <StepBudget> "what each child of its steps may use, unless the step says otherwise";
        entry: default(true) <YesNo> "whether it takes messages from outside";
        description: optional("none") <AnyText> "its purpose, in words for people";
        goals: required("goals: [{answer: What is to be done.}]") <StepList> "its steps, in the order in which they are done";
    }
}

form! {
    /// The workflows by name.
    pub(super) WorkflowMap -> Vec<Party> { <PartyMap<WorkflowKeys>>::FORM, read_workflows, below <PartyMap<WorkflowKeys>>::BELOW }
}

fn read_workflows(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Party>> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let fix = "a name, and its keys below it";
        diagnostics.report(Code::ConfigMissing, node.span, "workflows has no workflow", fix);
    }
    let workflows = PartyMap::<WorkflowKeys>::read(diagnostics, node, path)?;
    Some(workflows.into_iter().map(|one| declare_workflow(diagnostics, one)).collect())
}

fn declare_workflow(diagnostics: &mut Diagnostics, one: NamedSection<WorkflowKeys>) -> Party {
    let at = one.key.at;
    let mut party = Party {
        turns: u32::MAX,
        share_percent: Some(100),
        timeout_ms: crate::limits::WORKFLOW_TIMEOUT_MS,
        in_flight: crate::limits::IN_FLIGHT,
        entry: true,
        ..Party::bare(one.key, one.name)
    };
    let mut declared = WorkflowDeclaration::default();
    if let Some(keys) = one.keys {
        check_final(diagnostics, &keys);
        let own = &keys.own;
        (declared.takes_talk, declared.gives_talk) = (!own.has("accepts"), !own.has("returns"));
        party.accepts = or_talk(keys.accepts, own, "accepts", At { at, value: ASK });
        party.returns = or_talk(keys.returns, own, "returns", At { at, value: ANSWER });
        party.entry = keys.entry.value;
        if let Some(goals) = keys.goals {
            let budget = keys.budget.map(|budget| budget.value.budget());
            let path = (own.path.as_str(), format!("{}.goals", own.path));
            declared.steps = steps::list(diagnostics, &goals.value, path.0, &path.1, budget.as_ref());
            steps::no_id_twice(diagnostics, &declared.steps, path.0);
        }
        declared.description = keys.description.map(|description| description.value);
        declared.tasks = keys.tasks.and_then(|tasks| tasks.value.declare());
        (declared.by, declared.supervise) = (keys.by, keys.supervise);
    }
    party.workflow = Some(declared);
    party
}

/// A workflow ends with one payload, so it returns one element.
fn check_final(diagnostics: &mut Diagnostics, keys: &WorkflowKeys) {
    let Some(At { at, value: returns }) = &keys.returns else { return };
    let path = &keys.own.path;
    if returns.is_empty() {
        let message =
            format!("{path}.returns: a workflow returns what its last step gives, and nothing is listed");
        diagnostics.report_value(*at, &message, "[answer], or leave the key out");
    } else if let Some(second) = returns.get(1) {
        let message =
            format!("{path}.returns: a workflow returns one element, and `{}` is a second one", second.value);
        diagnostics.report_value(second.at, &message, "the element that the last step gives");
    }
}
