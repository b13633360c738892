//! A workflow as the file declares it: its steps and their work, each value on its own.

use systole_workflow::spec::Budget;

use super::super::tree::Span;
use super::super::value::At;

/// A declared workflow, without the parts that every listener has.
pub(in crate::config) struct WorkflowDeclaration {
    pub(in crate::config) description: Option<String>,
    /// The agent for goals that name none.
    pub(in crate::config) by: Option<At<String>>,
    /// Who takes tasks, for goals that do not say it.
    pub(in crate::config) tasks: Option<Tasks>,
    /// Who supervises goals: an agent, or a person.
    pub(in crate::config) supervise: Option<At<String>>,
    pub(in crate::config) steps: Vec<Step>,
    /// Whether it accepts talk's `ask`, because the file names nothing else.
    pub(in crate::config) takes_talk: bool,
    /// Whether it returns talk's `answer`, because the file names nothing else.
    pub(in crate::config) gives_talk: bool,
}

/// A declared step.
pub(in crate::config) struct Step {
    pub(in crate::config) id: At<String>,
    pub(in crate::config) work: Work,
    pub(in crate::config) each: Option<At<String>>,
    pub(in crate::config) at_once: u32,
    pub(in crate::config) when: Vec<Condition>,
    /// The place of `when`.
    pub(in crate::config) when_at: Span,
    pub(in crate::config) keeps_failure: bool,
    pub(in crate::config) timeout_ms: Option<u64>,
    pub(in crate::config) tries: u32,
    pub(in crate::config) pause_ms: (u64, u64),
    /// `None` if the file sets none.
    pub(in crate::config) budget: Option<Budget>,
    /// Who supervises its goal, and the goals inside it.
    pub(in crate::config) supervise: Option<At<String>>,
}

/// The declared work of a step.
pub(in crate::config) enum Work {
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

pub(in crate::config) struct Goal {
    pub(in crate::config) words: String,
    pub(in crate::config) by: Vec<At<String>>,
    pub(in crate::config) gives: Option<At<String>>,
    pub(in crate::config) sees: Option<Vec<At<String>>>,
    pub(in crate::config) tasks: Option<Tasks>,
}

/// Who takes tasks of a goal's agent.
pub(in crate::config) struct Tasks {
    pub(in crate::config) by: At<String>,
    pub(in crate::config) at_most: u32,
}

pub(in crate::config) struct Question {
    pub(in crate::config) words: String,
    pub(in crate::config) choices: Vec<At<String>>,
    pub(in crate::config) shows: Vec<At<String>>,
    pub(in crate::config) expires_ms: u64,
    pub(in crate::config) otherwise: Option<At<String>>,
}

/// The sources of a call's fields.
pub(in crate::config) enum With {
    /// The fields of this goal's output with the same names.
    Goal(At<String>),
    /// One field, with the path of its value.
    Path { field: At<String>, path: At<String> },
    /// One field, with a text from the file.
    Text { field: At<String>, text: At<String> },
    /// An unreadable one, which was already reported.
    Unread,
}

pub(in crate::config) enum Until {
    /// With its place.
    Converged(Span),
    Holds(Vec<Condition>),
}

/// A declared condition.
pub(in crate::config) struct Condition {
    pub(in crate::config) path: At<String>,
    /// The accepted values.
    pub(in crate::config) wanted: Vec<Wanted>,
    /// The place of the value.
    pub(in crate::config) at: Span,
}

/// A written value or range.
pub(in crate::config) struct Wanted {
    pub(in crate::config) at: Span,
    pub(in crate::config) text: String,
    /// Whether it has no quotes.
    pub(in crate::config) is_plain: bool,
}

impl WorkflowDeclaration {
    /// All steps, each before the steps inside it.
    pub(in crate::config) fn every_step(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found
    }

    /// The agents of a goal.
    pub(in crate::config) fn agents_of<'d>(&'d self, goal: &'d Goal) -> &'d [At<String>] {
        match goal.by.as_slice() {
            [] => self.by.as_slice(),
            named => named,
        }
    }

    /// Who takes tasks of the agents of a goal.
    pub(in crate::config) fn tasks_of<'d>(&'d self, goal: &'d Goal) -> Option<&'d Tasks> {
        goal.tasks.as_ref().or(self.tasks.as_ref())
    }
}

pub(in crate::config) fn collect<'d>(steps: &'d [Step], found: &mut Vec<&'d Step>) {
    for step in steps {
        found.push(step);
        collect(step.work.inside(), found);
    }
}

impl Work {
    /// The steps inside it.
    pub(in crate::config) fn inside(&self) -> &[Step] {
        match self {
            Work::Group(steps) | Work::Parallel(steps) | Work::Repeat { steps, .. } => steps,
            Work::Do(_) | Work::Call { .. } | Work::Ask(_) | Work::Wait(_) | Work::Unread => &[],
        }
    }
}
