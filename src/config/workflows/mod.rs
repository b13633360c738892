//! The section `workflows`: listeners whose behaviour is a list of goals in the file.
//!
//! The files of this folder follow a workflow's way through the loader. `steps`, `works` and `conditions` read the
//! written values, each on its own. `joining` turns a workflow into a party, and adds what its agents accept and
//! return. `resolve` checks names, paths and types against the composition. It uses `scope` for what a step can see,
//! `paths` for paths into a payload, `judging` for values, `filling` for the payloads of calls, `supervising` for the
//! supervisors of goals, and `finals` for the last step. `limits` compares the bound with the budgets.
//!
//! This module runs no workflow. Output: `systole_workflow::spec::Workflow`, plain data.

mod conditions;
mod filling;
mod finals;
mod joining;
mod judging;
mod limits;

mod paths;
mod resolve;
mod scope;
mod steps;
mod supervising;
mod works;

use systole_workflow::spec::Budget;

use super::agents::{ANSWER, ASK};
use super::declared::{IN_FLIGHT_INLINE, Party, accepted, names};
use super::diagnostics::Diagnostics;
use super::value::{self, At, fields, joined};
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::OnUnknown;

pub(super) use joining::{Links, adapt, is_own, link};
pub use limits::bounds;
pub(super) use limits::{allow, check, no_circle};
pub(super) use resolve::resolve;
pub(super) use steps::TABLE as STEP_TABLE;
pub(crate) use steps::taken_ids;

/// The name of the workflow vocabulary among the built-in schemas.
pub(super) const VOCABULARY: &str = "workflow/";

/// A turn of a workflow only reads its input and decides the next step.
const TIMEOUT_MS: u64 = 600_000;

/// A declared workflow, without the parts that every listener has.
pub(super) struct Declaration {
    pub(super) description: Option<String>,
    /// The agent for goals that name none.
    pub(super) by: Option<At<String>>,
    /// Who takes tasks, for goals that do not say it.
    pub(super) tasks: Option<Tasks>,
    /// Who supervises goals: an agent, or a person.
    pub(super) supervise: Option<At<String>>,
    pub(super) steps: Vec<Step>,
    /// Whether it accepts talk's `ask`, because the file names nothing else.
    pub(super) takes_talk: bool,
    /// Whether it returns talk's `answer`, because the file names nothing else.
    pub(super) gives_talk: bool,
}

/// A declared step.
pub(super) struct Step {
    pub(super) id: At<String>,
    pub(super) work: Work,
    pub(super) each: Option<At<String>>,
    pub(super) at_once: u32,
    pub(super) when: Vec<Condition>,
    /// The place of `when`.
    pub(super) when_at: Span,
    pub(super) keeps_failure: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) tries: u32,
    pub(super) pause_ms: (u64, u64),
    /// `None` if the file sets none.
    pub(super) budget: Option<Budget>,
    /// Who supervises its goal, and the goals inside it.
    pub(super) supervise: Option<At<String>>,
}

/// The declared work of a step.
pub(super) enum Work {
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

pub(super) struct Goal {
    pub(super) words: String,
    pub(super) by: Vec<At<String>>,
    pub(super) gives: Option<At<String>>,
    pub(super) sees: Option<Vec<At<String>>>,
    pub(super) tasks: Option<Tasks>,
}

/// Who takes tasks of a goal's agent.
pub(super) struct Tasks {
    pub(super) by: At<String>,
    pub(super) at_most: u32,
}

pub(super) struct Question {
    pub(super) words: String,
    pub(super) choices: Vec<At<String>>,
    pub(super) shows: Vec<At<String>>,
    pub(super) expires_ms: u64,
    pub(super) otherwise: Option<At<String>>,
}

/// The sources of a call's fields.
pub(super) enum With {
    /// The fields of this goal's output with the same names.
    Goal(At<String>),
    /// One field, with the path of its value.
    Path { field: At<String>, path: At<String> },
    /// One field, with a text from the file.
    Text { field: At<String>, text: At<String> },
    /// An unreadable one, which was already reported.
    Unread,
}

pub(super) enum Until {
    /// With its place.
    Converged(Span),
    Holds(Vec<Condition>),
}

/// A declared condition.
pub(super) struct Condition {
    pub(super) path: At<String>,
    /// The accepted values.
    pub(super) wanted: Vec<Wanted>,
    /// The place of the value.
    pub(super) at: Span,
}

/// A written value or range.
pub(super) struct Wanted {
    pub(super) at: Span,
    pub(super) text: String,
    /// Whether it has no quotes.
    pub(super) is_plain: bool,
}

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
        on_unknown: OnUnknown::Retry,
        entry: true,
        ..Party::bare(key, name)
    };
    let mut declared = Declaration {
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

impl Declaration {
    /// All steps, each before the steps inside it.
    pub(super) fn every_step(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found
    }

    /// The agents of a goal.
    pub(super) fn agents_of<'d>(&'d self, goal: &'d Goal) -> &'d [At<String>] {
        match goal.by.as_slice() {
            [] => self.by.as_slice(),
            named => named,
        }
    }

    /// Who takes tasks of the agents of a goal.
    pub(super) fn tasks_of<'d>(&'d self, goal: &'d Goal) -> Option<&'d Tasks> {
        goal.tasks.as_ref().or(self.tasks.as_ref())
    }
}

fn collect<'d>(steps: &'d [Step], found: &mut Vec<&'d Step>) {
    for step in steps {
        found.push(step);
        collect(step.work.inside(), found);
    }
}

impl Work {
    /// The steps inside it.
    pub(super) fn inside(&self) -> &[Step] {
        match self {
            Work::Group(steps) | Work::Parallel(steps) | Work::Repeat { steps, .. } => steps,
            Work::Do(_) | Work::Call { .. } | Work::Ask(_) | Work::Wait(_) | Work::Unread => &[],
        }
    }
}
