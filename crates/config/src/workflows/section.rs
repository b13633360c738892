//! The keys of a workflow, and what is read of them.
//!
//! Input: the section. Output: parties.

use super::super::agents::{ANSWER, ASK};
use super::super::delivery::AcceptedSet;
use super::super::diagnostics::Diagnostics;
use super::super::forms::{AnyText, NameSet, NamedSection, PartyMap, PartyName, WordOf, YesNo};
use super::super::party::{Party, or_talk};
use super::super::section::{Form, form, section};
use super::super::tree::{Node, Value};
use super::super::value::At;
use super::declaration::WorkflowDeclaration;
use super::step_keys::{RequestWord, StepBudget, StepList, TaskKeys};
use super::steps;
use systole_core::types::codes::Code;

section! {
    WorkflowKeys "one workflow" with own {
        accepts: optional("[ask] of talk") <AcceptedSet> "payloads that it takes as requests, by local name";
        returns: optional("[answer] of talk") <NameSet> "the one payload that its last step gives";
        by: optional("none") <PartyName> "the agent of goals that name none";
        supervise: optional("none") <PartyName> "the agent that supervises its goals, or `person`";
        request: default(false) <WordOf<RequestWord>> "whether its goals see the request: `shown` or `hidden`";
        tasks: optional("none") <TaskKeys> "lets the agent of a goal give tasks, which run in child threads";
        budget: optional("none") <StepBudget> "what each child of its steps may use, unless the step says otherwise";
        entry: default(true) <YesNo> "whether it takes messages from outside";
        description: optional("none") <AnyText> "its purpose, in words for people";
        goals: required("goals: [{answer: What is to be done.}]") <StepList> "its steps, in the order in which they are done";
    }
}

form! {
    /// The workflows by name.
    pub(crate) WorkflowMap -> Vec<Party> { <PartyMap<WorkflowKeys>>::FORM, read_workflows, below <PartyMap<WorkflowKeys>>::BELOW }
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
        declared.hides_request = keys.request.value;
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
