//! Finds the supervisor of each goal. `supervise` at a workflow or a step applies to every `do` inside it, and the
//! innermost one wins.
//!
//! Input: declared workflows. Output: their supervised goals, and mistakes in `supervise`. Nothing is resolved
//! against schemas here.

use systole_kit::schema::find_nearest;
use systole_workflow::spec::Supervisor;

use super::super::diagnostics::Diagnostics;
use super::super::file_sections::Declared;
use super::super::names::one_of;
use super::super::party::Party;
use super::super::value::At;
use super::declaration::{Goal, Step, Work, WorkflowDeclaration};
use systole_core::types::codes::Code;

/// The supervisor that is not an agent.
const PERSON: &str = "person";

/// The elements that agents return for a supervised goal, and the element of its supervisor.
pub(super) const OF_AGENT: [&str; 2] = ["commit", "assessment"];
pub(super) const OF_SUPERVISOR: &str = "verdict";

/// A supervised goal.
pub(super) struct Supervised<'d> {
    step: &'d Step,
    pub(super) goal: &'d Goal,
    by: &'d At<String>,
}

impl<'d> Supervised<'d> {
    /// The agent that supervises it. `None` if a person does.
    pub(super) fn agent(&self) -> Option<&'d At<String>> {
        (self.by.value != PERSON).then_some(self.by)
    }
}

/// The supervised goals of a workflow.
pub(super) fn goals(workflow: &WorkflowDeclaration) -> Vec<Supervised<'_>> {
    let mut found = Vec::new();
    collect(&workflow.steps, workflow.supervise.as_ref(), &mut found);
    found
}

fn collect<'d>(steps: &'d [Step], around: Option<&'d At<String>>, found: &mut Vec<Supervised<'d>>) {
    for step in steps {
        let by = step.keys.supervise.as_ref().or(around);
        if let (Work::Do(goal), Some(by)) = (&step.work, by) {
            found.push(Supervised { step, goal, by });
        }
        collect(step.work.inside(), by, found);
    }
}

/// The supervisor of the goal in this step, if it is one.
pub(super) fn of_step(workflow: &WorkflowDeclaration, id: &str) -> Option<Supervisor> {
    let found = goals(workflow).into_iter().find(|one| one.step.id.value == id)?;
    Some(name_supervisor(found.by))
}

/// The supervisor of that name.
pub(super) fn name_supervisor(by: &At<String>) -> Supervisor {
    if by.value == PERSON { Supervisor::Person } else { Supervisor::Agent(by.value.clone()) }
}

/// The supervisors of the tasks of a workflow's goals, each once, with the agent that takes the tasks and the path of
/// the rule.
pub(super) fn list_of_tasks<'d>(
    party: &Party,
    workflow: &'d WorkflowDeclaration,
) -> Vec<(String, &'d At<String>, &'d At<String>)> {
    let mut found: Vec<(String, &At<String>, &At<String>)> = Vec::new();
    for step in workflow.every_step() {
        let Work::Do(goal) = &step.work else { continue };
        let Some(tasks) = workflow.tasks_of(goal) else { continue };
        let Some(by) = &tasks.supervise else { continue };
        let path =
            if goal.tasks.is_some() { format!("{}.{}", party.path(), step.id.value) } else { party.path() };
        if !found.iter().any(|(_, known, _)| known.at == by.at) {
            found.push((format!("{path}.tasks.supervise"), by, &tasks.by));
        }
    }
    found
}

/// The agents that supervise tasks. Reports mistakes in their names.
pub(super) fn check_tasks<'d>(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    party: &Party,
    workflow: &'d WorkflowDeclaration,
) -> Vec<&'d At<String>> {
    let mut agents = Vec::new();
    for (path, by, taker) in list_of_tasks(party, workflow) {
        if by.value == PERSON || !is_agent(diagnostics, declared, by, &path) {
            continue;
        }
        if by.value == taker.value {
            let message = format!("{path}: `{}` would supervise itself", by.value);
            let fix = "another agent, or person";
            diagnostics.report_value_beside(by.at, &message, fix, (taker.at, "who takes the tasks"));
        }
        agents.push(by);
    }
    agents
}

/// Reports mistakes in every `supervise` of a workflow, and returns the supervising agents.
pub(super) fn check<'d>(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    party: &Party,
    workflow: &'d WorkflowDeclaration,
) -> Vec<&'d At<String>> {
    let goals = goals(workflow);
    let mut agents = Vec::new();
    for (path, by) in list_written(party, workflow) {
        let path = format!("{path}.supervise");
        let own: Vec<&Supervised<'_>> = goals.iter().filter(|one| std::ptr::eq(one.by, by)).collect();
        if own.is_empty() && !workflow.every_step().iter().any(|step| matches!(step.work, Work::Unread)) {
            let message = format!("{path}: no goal here is supervised by it");
            let fix = "leave it out; it holds for the steps with `do` inside that have none of their own";
            diagnostics.report_value(by.at, &message, fix);
        }
        if by.value != PERSON && is_agent(diagnostics, declared, by, &path) {
            no_agent_judges_itself(diagnostics, workflow, by, &own, &path);
            agents.push(by);
        }
    }
    agents
}

/// Every `supervise` in a valid position, with the path of its workflow or step. Other positions were reported when
/// the step was read.
fn list_written<'d>(party: &Party, workflow: &'d WorkflowDeclaration) -> Vec<(String, &'d At<String>)> {
    let own = workflow.supervise.iter().map(|by| (party.path(), by));
    let has_goals = |step: &&Step| matches!(step.work, Work::Do(_)) || !step.work.inside().is_empty();
    let steps = workflow.every_step().into_iter().filter(has_goals).filter_map(|step| {
        let path = format!("{}.{}", party.path(), step.id.value);
        Some((path, step.keys.supervise.as_ref()?))
    });
    own.chain(steps).collect()
}

fn is_agent(diagnostics: &mut Diagnostics, declared: &Declared, by: &At<String>, path: &str) -> bool {
    let agents = || declared.parties.iter().filter(|party| party.agent_config.is_some());
    let known = || agents().map(|party| &*party.key.value).chain([PERSON]);
    if known().any(|known| known == by.value) {
        return true;
    }
    let message = match declared.parties.iter().find(|party| party.key.value == by.value) {
        Some(other) => {
            let what = if other.workflow.is_some() { "a workflow" } else { "a listener" };
            format!("{path}: `{}` is {what}, and an agent or a person supervises goals", by.value)
        }
        None => format!("{path}: no agent is called `{}`", by.value),
    };
    let fix = find_nearest(&by.value, known()).map_or_else(|| one_of(known()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, by.at, &message, &fix);
    false
}

fn no_agent_judges_itself(
    diagnostics: &mut Diagnostics,
    workflow: &WorkflowDeclaration,
    by: &At<String>,
    own: &[&Supervised<'_>],
    path: &str,
) {
    let pursues =
        |one: &&&Supervised<'_>| workflow.agents_of(one.goal).iter().any(|agent| agent.value == by.value);
    let mut itself = own.iter().filter(pursues);
    let Some(first) = itself.next() else { return };
    let more = match itself.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("{path}: `{}` would supervise itself at `{}`{more}", by.value, first.step.id.value);
    let fix = "another agent, or person; a step may have a `supervise` of its own";
    diagnostics.report_value_beside(by.at, &message, fix, (first.step.id.at, "the goal"));
}
