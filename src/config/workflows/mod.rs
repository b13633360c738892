//! The section `workflows`: listeners whose behaviour is a list of goals in the file.
//!
//! The files of this folder follow the way of a workflow. `steps`, `works` and `conditions` read what is written, each
//! value alone. `joining` makes a party of it, and adds what its agents take and give. `resolve` checks names, paths and
//! types against the composition, with `scope` for what a step can see, `paths` for the way into a payload, `judging`
//! for values, `filling` for payloads that are made, `supervising` for who supervises which goals, and `finals` for the last step. `limits` compares the bound with the budgets.
//!
//! Nothing here runs a workflow: out comes `systole_workflow::spec::Workflow`, plain data.

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
use super::desk::Desk;
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

/// The name of the vocabulary of workflows among the schemas that come with the program.
pub(super) const VOCABULARY: &str = "workflow/";

/// A turn of a workflow only reads what came and says what is next.
const TIMEOUT_MS: u64 = 600_000;

/// What makes a listener a workflow, as it is declared.
pub(super) struct Declaration {
    pub(super) description: Option<String>,
    /// The agent of goals that name none.
    pub(super) by: Option<At<String>>,
    /// Who takes tasks of goals that say nothing else.
    pub(super) tasks: Option<Tasks>,
    /// Who supervises goals: an agent, or a person.
    pub(super) supervise: Option<At<String>>,
    pub(super) steps: Vec<Step>,
    /// Whether it takes talk's `ask` because the file says nothing else.
    pub(super) takes_talk: bool,
    /// Whether it gives talk's `answer` because the file says nothing else.
    pub(super) gives_talk: bool,
}

/// A step as it is declared.
pub(super) struct Step {
    pub(super) id: At<String>,
    pub(super) work: Work,
    pub(super) each: Option<At<String>>,
    pub(super) at_once: u32,
    pub(super) when: Vec<Condition>,
    /// Where `when` is written.
    pub(super) when_at: Span,
    pub(super) keeps_failure: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) tries: u32,
    pub(super) pause_ms: (u64, u64),
    /// None where the file says nothing of it.
    pub(super) budget: Option<Budget>,
    /// Who supervises its goal, and the goals inside it.
    pub(super) supervise: Option<At<String>>,
}

/// What a step does, as it is declared.
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
    /// Something that could not be read, which has been reported.
    Unread,
}

pub(super) struct Goal {
    pub(super) words: String,
    pub(super) by: Vec<At<String>>,
    pub(super) gives: Option<At<String>>,
    pub(super) sees: Option<Vec<At<String>>>,
    pub(super) tasks: Option<Tasks>,
}

/// Who takes tasks of a goal's agent, as it is declared.
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

/// Where the fields of a call come from.
pub(super) enum With {
    /// Equally named fields of this goal.
    Goal(At<String>),
    /// One field, from this path.
    Path { field: At<String>, path: At<String> },
    /// One field, from the file.
    Text { field: At<String>, text: At<String> },
    /// One that could not be read, which has been reported.
    Unread,
}

pub(super) enum Until {
    /// With the place where it is written.
    Converged(Span),
    Holds(Vec<Condition>),
}

/// A condition as it is written.
pub(super) struct Condition {
    pub(super) path: At<String>,
    /// One of these.
    pub(super) wanted: Vec<Wanted>,
    /// Where the value is written.
    pub(super) at: Span,
}

/// A value or a range as it is written.
pub(super) struct Wanted {
    pub(super) at: Span,
    pub(super) text: String,
    /// Whether it is written without quotes.
    pub(super) is_plain: bool,
}

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Party> {
    if matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let mend = "a name, and its keys below it";
        desk.tell(Code::ConfigMissing, node.span, "workflows has no workflow", Some(mend));
    }
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| workflow(desk, entry)).collect()
}

fn workflow(desk: &mut Desk, entry: &Entry) -> Party {
    let path = joined("workflows", &entry.key);
    let name = value::name(desk, &entry.key, entry.at, "workflows");
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
    let Some(own) = fields(desk, &entry.value, entry.at, "workflows.NAME", &path) else {
        party.workflow = Some(declared);
        return party;
    };
    let of_talk = |element: &str| vec![At { at: entry.at, value: element.to_owned() }];
    declared.takes_talk = own.get("accepts").is_none();
    party.accepts =
        own.get("accepts").map_or_else(|| of_talk(ASK), |(node, path)| accepted(desk, node, &path));
    declared.gives_talk = own.get("returns").is_none();
    party.returns =
        own.get("returns").map_or_else(|| of_talk(ANSWER), |(node, path)| names(desk, node, &path));
    one_final(desk, &party.returns, own.get("returns"));
    declared.by = own.get("by").and_then(|(node, path)| value::text(desk, node, &path));
    declared.tasks =
        own.get("tasks").and_then(|(node, path)| works::tasks(desk, node, "workflows.NAME.tasks", &path));
    declared.supervise = own.get("supervise").and_then(|(node, path)| value::text(desk, node, &path));
    if let Some((node, path)) = own.get("entry") {
        party.entry = value::flag(desk, node, &path).unwrap_or(true);
    }
    let description = own.get("description").and_then(|(node, path)| value::text(desk, node, &path));
    declared.description = description.map(|description| description.value);
    let budget =
        own.get("budget").and_then(|(node, path)| steps::budget(desk, node, "workflows.NAME.budget", &path));
    if let Some((node, _)) = own.need(desk, "goals", "goals: [{answer: What is to be done.}]") {
        declared.steps = steps::list(desk, node, &path, &format!("{path}.goals"), budget.as_ref());
        steps::no_id_twice(desk, &declared.steps, &path);
    }
    party.workflow = Some(declared);
    party
}

/// A workflow ends with one payload, so it returns one element.
fn one_final(desk: &mut Desk, returns: &[At<String>], written: Option<(&Node, String)>) {
    let Some((node, path)) = written else { return };
    match returns {
        [] if matches!(&node.value, Value::List(items) if items.is_empty()) => {
            let told = format!("{path}: a workflow returns what its last step gives, and nothing is listed");
            desk.tell(Code::ConfigValue, node.span, &told, Some("[answer], or leave the key out"));
        }
        [_, second, ..] => {
            let told =
                format!("{path}: a workflow returns one element, and `{}` is a second one", second.value);
            desk.tell(Code::ConfigValue, second.at, &told, Some("the element that the last step gives"));
        }
        _ => {}
    }
}

impl Declaration {
    /// Every step, each before those inside it.
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
