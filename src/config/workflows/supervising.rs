//! Who supervises which goals: `supervise` at a workflow or a step holds for every `do` inside, and the innermost counts.
//!
//! In come declared workflows; out come their supervised goals and what is wrong with a `supervise`. Nothing is resolved
//! against schemas here.

use systole_kit::schema::nearest;
use systole_workflow::spec::Supervisor;

use super::super::compose::one_of;
use super::super::declared::{Declared, Party};
use super::super::desk::Desk;
use super::super::value::At;
use super::{Declaration, Goal, Step, Work};
use systole_core::types::codes::Code;

/// The supervisor that is no agent.
const PERSON: &str = "person";

/// What agents give of a goal that is supervised, and what its supervisor gives.
pub(super) const OF_AGENT: [&str; 2] = ["commit", "assessment"];
pub(super) const OF_SUPERVISOR: &str = "verdict";

/// A goal that is supervised.
pub(super) struct Supervised<'d> {
    step: &'d Step,
    pub(super) goal: &'d Goal,
    by: &'d At<String>,
}

impl<'d> Supervised<'d> {
    /// The agent that supervises it; none: a person does.
    pub(super) fn agent(&self) -> Option<&'d At<String>> {
        (self.by.value != PERSON).then_some(self.by)
    }
}

/// The supervised goals of a workflow.
pub(super) fn goals(workflow: &Declaration) -> Vec<Supervised<'_>> {
    let mut found = Vec::new();
    collect(&workflow.steps, workflow.supervise.as_ref(), &mut found);
    found
}

fn collect<'d>(steps: &'d [Step], around: Option<&'d At<String>>, found: &mut Vec<Supervised<'d>>) {
    for step in steps {
        let by = step.supervise.as_ref().or(around);
        if let (Work::Do(goal), Some(by)) = (&step.work, by) {
            found.push(Supervised { step, goal, by });
        }
        collect(step.work.inside(), by, found);
    }
}

/// Who supervises the goal of that step, if it is one.
pub(super) fn of_step(workflow: &Declaration, id: &str) -> Option<Supervisor> {
    let found = goals(workflow).into_iter().find(|one| one.step.id.value == id)?;
    Some(match found.agent() {
        Some(agent) => Supervisor::Agent(agent.value.clone()),
        None => Supervisor::Person,
    })
}

/// Reports what is wrong with every `supervise` of a workflow; out come the agents that supervise.
pub(super) fn check<'d>(
    desk: &mut Desk,
    declared: &Declared,
    party: &Party,
    workflow: &'d Declaration,
) -> Vec<&'d At<String>> {
    let goals = goals(workflow);
    let mut agents = Vec::new();
    for (path, by) in written(party, workflow) {
        let path = format!("{path}.supervise");
        let own: Vec<&Supervised<'_>> = goals.iter().filter(|one| std::ptr::eq(one.by, by)).collect();
        if own.is_empty() && !workflow.every_step().iter().any(|step| matches!(step.work, Work::Unread)) {
            let told = format!("{path}: no goal here is supervised by it");
            let mend = "leave it out; it holds for the steps with `do` inside that have none of their own";
            desk.tell(Code::ConfigValue, by.at, &told, Some(mend));
        }
        if by.value != PERSON && is_agent(desk, declared, by, &path) {
            no_agent_judges_itself(desk, workflow, by, &own, &path);
            agents.push(by);
        }
    }
    ended_by_no_timeout(desk, &workflow.steps, (workflow.supervise.as_ref(), None), &party.path());
    agents
}

/// Every `supervise` where it can mean something, with the path of what it belongs to. Beside anything else it was
/// reported when the step was read.
fn written<'d>(party: &Party, workflow: &'d Declaration) -> Vec<(String, &'d At<String>)> {
    let own = workflow.supervise.iter().map(|by| (party.path(), by));
    let has_goals = |step: &&Step| matches!(step.work, Work::Do(_)) || !step.work.inside().is_empty();
    let steps = workflow.every_step().into_iter().filter(has_goals).filter_map(|step| {
        let path = format!("{}.{}", party.path(), step.id.value);
        Some((path, step.supervise.as_ref()?))
    });
    own.chain(steps).collect()
}

fn is_agent(desk: &mut Desk, declared: &Declared, by: &At<String>, path: &str) -> bool {
    let agents = || declared.parties.iter().filter(|party| party.mind.is_some());
    let known = || agents().map(|party| &*party.key.value).chain([PERSON]);
    if known().any(|known| known == by.value) {
        return true;
    }
    let told = match declared.parties.iter().find(|party| party.key.value == by.value) {
        Some(other) => {
            let what = if other.workflow.is_some() { "a workflow" } else { "a listener" };
            format!("{path}: `{}` is {what}, and an agent or a person supervises goals", by.value)
        }
        None => format!("{path}: no agent is called `{}`", by.value),
    };
    let mend = nearest(&by.value, known()).map_or_else(|| one_of(known()), str::to_owned);
    desk.tell(Code::ConfigUnknownName, by.at, &told, Some(&mend));
    false
}

fn no_agent_judges_itself(
    desk: &mut Desk,
    workflow: &Declaration,
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
    let told = format!("{path}: `{}` would supervise itself at `{}`{more}", by.value, first.step.id.value);
    let mend = "another agent, or person; a step may have a `supervise` of its own";
    desk.tell_seeing(Code::ConfigValue, by.at, &told, Some(mend), (first.step.id.at, "the goal"));
}

/// Reports a time around a goal that a person supervises: the question to the person does not end with it.
fn ended_by_no_timeout(
    desk: &mut Desk,
    steps: &[Step],
    (by, timed): (Option<&At<String>>, Option<&Step>),
    path: &str,
) {
    for step in steps {
        let by = step.supervise.as_ref().or(by);
        let timed = match (&step.each, step.timeout_ms) {
            // Each item has a thread of its own, which is ended from outside.
            (Some(_), _) => None,
            (None, Some(_)) => Some(step),
            (None, None) => timed,
        };
        if let (Work::Do(_), Some(by), Some(timed)) = (&step.work, by.filter(|by| by.value == PERSON), timed)
        {
            let told = format!(
                "{path}.{}: `timeout` does not end the question to the person who supervises `{}`",
                timed.id.value, step.id.value
            );
            let mend = "no `timeout` here, or an agent under `supervise`";
            desk.tell_seeing(Code::ConfigValue, timed.id.at, &told, Some(mend), (by.at, "the supervisor"));
        }
        // A branch has a thread of its own as well.
        let timed = timed.filter(|_| !matches!(step.work, Work::Parallel(_)));
        ended_by_no_timeout(desk, step.work.inside(), (by, timed), path);
    }
}
