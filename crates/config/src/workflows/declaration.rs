//! A workflow as the file declares it: its steps and their work, each value on its own.

use systole_workflow::spec::Budget;

use super::super::tree::Span;
use super::super::value::At;
use super::step_keys::StepKeys;
use super::step_values::{Condition, Tasks, Until, With};

/// A declared workflow, without the parts that every listener has.
#[derive(Default)]
pub(crate) struct WorkflowDeclaration {
    pub(crate) description: Option<String>,
    /// The agent for goals that name none.
    pub(crate) by: Option<At<String>>,
    /// Whether goals that do not say it leave out the request.
    pub(crate) hides_request: bool,
    /// Who takes tasks, for goals that do not say it.
    pub(crate) tasks: Option<Tasks>,
    /// Who supervises goals: an agent, or a person.
    pub(crate) supervise: Option<At<String>>,
    pub(crate) steps: Vec<Step>,
    /// Whether it accepts talk's `ask`, because the file names nothing else.
    pub(crate) takes_talk: bool,
    /// Whether it returns talk's `answer`, because the file names nothing else.
    pub(crate) gives_talk: bool,
}

/// A declared step.
pub(crate) struct Step {
    pub(crate) id: At<String>,
    pub(crate) work: Work,
    pub(crate) at_once: u32,
    /// The budget of the step, or of what is around it.
    pub(crate) budget: Option<Budget>,
    /// The keys of the file. `work`, `at_once` and `budget` are made from some of them.
    pub(super) keys: Box<StepKeys>,
}

impl Step {
    /// The conditions, all of which must hold.
    pub(crate) fn when(&self) -> &[Condition] {
        self.keys.when.as_ref().map_or(&[], |when| &when.value)
    }
}

/// The declared work of a step.
pub(crate) enum Work {
    Do(Goal),
    Call {
        element: At<String>,
        to: Option<At<String>>,
        with: Vec<With>,
        with_at: Span,
    },
    Ask(Question),
    Wait(u64),
    Group(Vec<Step>),
    Parallel(Vec<Step>),
    Repeat {
        steps: Vec<Step>,
        until: Option<Until>,
        at_most: u32,
    },
    /// An unreadable work, which was already reported.
    Unread,
}

pub(crate) struct Goal {
    pub(crate) words: At<String>,
    pub(crate) by: Vec<At<String>>,
    pub(crate) gives: Option<At<String>>,
    pub(crate) sees: Option<Vec<At<String>>>,
    /// Whether it leaves out the request, if it says so itself.
    pub(crate) hides_request: Option<At<bool>>,
    pub(crate) tasks: Option<Tasks>,
}

pub(crate) struct Question {
    pub(crate) words: String,
    pub(crate) choices: Vec<At<String>>,
    pub(crate) shows: Vec<At<String>>,
    pub(crate) expires_ms: u64,
    pub(crate) otherwise: Option<At<String>>,
}

impl WorkflowDeclaration {
    /// All steps, each before the steps inside it.
    pub(crate) fn every_step(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found
    }

    /// The agents of a goal.
    pub(crate) fn agents_of<'d>(&'d self, goal: &'d Goal) -> &'d [At<String>] {
        match goal.by.as_slice() {
            [] => self.by.as_slice(),
            named => named,
        }
    }

    /// Who takes tasks of the agents of a goal.
    pub(crate) fn tasks_of<'d>(&'d self, goal: &'d Goal) -> Option<&'d Tasks> {
        goal.tasks.as_ref().or(self.tasks.as_ref())
    }
}

pub(crate) fn collect<'d>(steps: &'d [Step], found: &mut Vec<&'d Step>) {
    for step in steps {
        found.push(step);
        collect(step.work.inside(), found);
    }
}

impl Work {
    /// The steps inside it.
    pub(crate) fn inside(&self) -> &[Step] {
        match self {
            Work::Group(steps) | Work::Parallel(steps) | Work::Repeat { steps, .. } => steps,
            Work::Do(_) | Work::Call { .. } | Work::Ask(_) | Work::Wait(_) | Work::Unread => &[],
        }
    }
}
