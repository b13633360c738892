//! A workflow as the file declares it: its steps and their work, each value on its own.

use systole_workflow::spec::Budget;

use super::super::tree::Span;
use super::super::value::At;

/// A declared workflow, without the parts that every listener has.
pub(crate) struct WorkflowDeclaration {
    pub(crate) description: Option<String>,
    /// The agent for goals that name none.
    pub(crate) by: Option<At<String>>,
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
    pub(crate) each: Option<At<String>>,
    pub(crate) at_once: u32,
    pub(crate) when: Vec<Condition>,
    /// The place of `when`.
    pub(crate) when_at: Span,
    pub(crate) keeps_failure: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) tries: u32,
    pub(crate) pause_ms: (u64, u64),
    /// `None` if the file sets none.
    pub(crate) budget: Option<Budget>,
    /// Who supervises its goal, and the goals inside it.
    pub(crate) supervise: Option<At<String>>,
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
    pub(crate) words: String,
    pub(crate) by: Vec<At<String>>,
    pub(crate) gives: Option<At<String>>,
    pub(crate) sees: Option<Vec<At<String>>>,
    pub(crate) tasks: Option<Tasks>,
}

/// Who takes tasks of a goal's agent.
pub(crate) struct Tasks {
    pub(crate) by: At<String>,
    pub(crate) at_most: u32,
}

pub(crate) struct Question {
    pub(crate) words: String,
    pub(crate) choices: Vec<At<String>>,
    pub(crate) shows: Vec<At<String>>,
    pub(crate) expires_ms: u64,
    pub(crate) otherwise: Option<At<String>>,
}

/// The sources of a call's fields.
pub(crate) enum With {
    /// The fields of this goal's output with the same names.
    Goal(At<String>),
    /// One field, with the path of its value.
    Path { field: At<String>, path: At<String> },
    /// One field, with a text from the file.
    Text { field: At<String>, text: At<String> },
    /// An unreadable one, which was already reported.
    Unread,
}

pub(crate) enum Until {
    /// With its place.
    Converged(Span),
    Holds(Vec<Condition>),
}

/// A declared condition.
pub(crate) struct Condition {
    pub(crate) path: At<String>,
    /// The accepted values.
    pub(crate) wanted: Vec<Wanted>,
    /// The place of the value.
    pub(crate) at: Span,
}

/// A written value or range.
pub(crate) struct Wanted {
    pub(crate) at: Span,
    pub(crate) text: String,
    /// Whether it has no quotes.
    pub(crate) is_plain: bool,
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
