//! The steps of the workflow: goals in the order of RUN and LOOP, with loops, views of several agents, and what each
//! goal sees and gives.
//!
//! Input: an Agentfile with its names looked up. Output: steps and payloads, with notes about everything that they
//! cannot express.

use std::collections::{BTreeMap, BTreeSet};

use super::ConversionNote;
use super::declarations::{Declared, note};
use super::labels::Labels;
use super::statements::{Keyword, Statement, Supervision, Within};
use super::variables::{Known, Worded, find_words};
use crate::limits::{self, PASSES};
use crate::taken_ids;

/// Names that no listener can have.
pub(super) const TAKEN: [&str; 6] = ["core", "sys", "cli", "console", "person", "operator"];

/// A step.
pub(super) enum Step {
    Goal(Goal),
    Parallel { id: String, comments: Vec<String>, goals: Vec<Goal> },
    Repeat { id: String, at_most: u32, steps: Vec<Step>, comments: Vec<String> },
}

/// A goal.
pub(super) struct Goal {
    pub(super) id: String,
    pub(super) comments: Vec<String>,
    pub(super) words: String,
    /// Agents by their names in the Agentfile. Empty means the agent of the workflow.
    pub(super) by: Vec<String>,
    /// The index of the payload that it gives.
    pub(super) gives: Option<usize>,
    /// The steps that it sees. Empty means all steps before it.
    pub(super) sees: Vec<String>,
    pub(super) supervision: Option<Supervision>,
}

/// A payload.
pub(super) struct Payload {
    pub(super) name: String,
    pub(super) fields: Vec<String>,
    /// Whether it has the field that says that nothing is left to change.
    pub(super) converges: bool,
}

/// A workflow.
pub(super) struct Planned {
    pub(super) workflow: String,
    /// The payload that it accepts. `None` means a plain question.
    pub(super) request: Option<String>,
    pub(super) payloads: Vec<Payload>,
    pub(super) steps: Vec<Step>,
    /// Inputs that became numbers in the file and are not part of the request.
    pub(super) limits: BTreeSet<String>,
    /// Each agent's prompt, by the agent's name in the Agentfile.
    pub(super) prompts: BTreeMap<String, String>,
}

/// Built-in payloads that a workflow's own names must not hide.
const HOUSE: [&str; 2] = ["goal-request", "goal-output"];

/// Plans the steps.
pub(super) fn plan(declared: &Declared, notes: &mut Vec<ConversionNote>) -> Planned {
    let workflow = Labels::new(limits::LABEL_BYTES, TAKEN).pick(&declared.name);
    // The root tag of a workflow's notes is its name, in the organism's namespace.
    let mut names = Labels::new(limits::PAYLOAD_LABEL_BYTES, HOUSE.into_iter().chain([workflow.as_str()]));
    let request = (!declared.inputs.is_empty()).then(|| names.pick(&format!("{workflow}-request")));
    let mut planning = Planning {
        known: Known { declared, fields: BTreeMap::new() },
        notes,
        ids: Labels::new(limits::STEP_ID_BYTES, taken_ids()),
        names,
        first_ids: BTreeMap::new(),
        payloads: Vec::new(),
        given: BTreeMap::new(),
        within: BTreeSet::new(),
        message: BTreeSet::new(),
    };
    for goal in &declared.goals {
        let id = planning.ids.pick(&goal.name);
        planning.first_ids.insert(goal.name.clone(), id);
    }
    let steps = planning.orders();
    planning.report_unused();
    let prompts = planning.prompts();
    let limits = planning.limits_only();
    let request = request.filter(|_| declared.inputs.iter().any(|input| !limits.contains(&input.name)));
    Planned { workflow, request, payloads: planning.payloads, steps, limits, prompts }
}

struct Planning<'d, 'n> {
    known: Known<'d>,
    notes: &'n mut Vec<ConversionNote>,
    ids: Labels,
    names: Labels,
    /// The id of each goal's first step. It is removed when the step is made.
    first_ids: BTreeMap<String, String>,
    payloads: Vec<Payload>,
    /// The payload of each goal and agent that gives fields.
    given: BTreeMap<String, usize>,
    /// Inputs named by WITHIN.
    within: BTreeSet<String>,
    /// Lines whose variables were reported.
    message: BTreeSet<usize>,
}

/// The loop that a goal is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// In a loop. `is_end`: at its end, where it says whether anything is left to change.
    Inside {
        is_end: bool,
    },
}

impl<'d> Planning<'d, '_> {
    fn orders(&mut self) -> Vec<Step> {
        let declared = self.known.declared;
        if declared.orders.is_empty() {
            // Without RUN, all goals run in file order.
            return declared.goals.iter().flat_map(|goal| self.goal(goal, None, Place::Outside)).collect();
        }
        let is_one = declared.orders.len() == 1;
        let mut steps = Vec::new();
        for order in &declared.orders {
            let goals: Vec<&'d Statement> =
                order.using.iter().filter_map(|name| declared.goal(name)).collect();
            if order.keyword == Keyword::Loop {
                steps.push(self.repeat(order, &goals));
                continue;
            }
            let before = steps.len();
            steps.extend(
                goals.into_iter().flat_map(|goal| self.goal(goal, order.supervision, Place::Outside)),
            );
            if let Some(first) = steps.get_mut(before) {
                let mut above = order.comments.clone();
                above.extend((!is_one).then(|| format!("RUN {}", order.name)));
                comment(first, above);
            }
        }
        steps
    }

    fn repeat(&mut self, order: &Statement, goals: &[&'d Statement]) -> Step {
        let id = self.ids.pick(&order.name);
        let at_most = self.passes(order);
        // In a loop, a goal may see what a later goal gave in the previous pass.
        for goal in goals {
            let id = self.first_ids.get(&goal.name).cloned();
            for field in &goal.gives {
                if let (false, Some(id)) = (self.known.fields.contains_key(field), &id) {
                    self.known.fields.insert(field.clone(), id.clone());
                }
            }
        }
        let mut steps = Vec::new();
        for (nth, goal) in goals.iter().enumerate() {
            let is_end = nth + 1 == goals.len();
            steps.extend(self.goal(goal, order.supervision, Place::Inside { is_end }));
        }
        if !matches!(steps.last(), Some(Step::Goal(_))) {
            let id = self.ids.pick(&format!("{id}-check"));
            let words = "Say whether anything is left to change in this loop.".to_owned();
            steps.push(Step::Goal(Goal::new(id, words)));
        }
        Step::Repeat { id, at_most, steps, comments: order.comments.clone() }
    }

    /// The steps of a goal.
    fn goal(&mut self, goal: &'d Statement, around: Option<Supervision>, place: Place) -> Vec<Step> {
        let id = self.first_ids.remove(&goal.name).unwrap_or_else(|| self.ids.pick(&goal.name));
        let supervision = goal.supervision.or(around);
        if goal.keyword == Keyword::Goal {
            return self.plan_goal(goal, &id, supervision, place);
        }
        let at_most = self.passes(goal);
        let loop_id = self.ids.pick(&format!("{id}-loop"));
        let mut steps = self.plan_goal(goal, &id, supervision, Place::Inside { is_end: true });
        let comments = steps.first_mut().map(|first| std::mem::take(first.comments())).unwrap_or_default();
        vec![Step::Repeat { id: loop_id, at_most, steps, comments }]
    }

    /// One run of a goal: by its agent, or by several agents whose views are then merged into one answer.
    fn plan_goal(
        &mut self,
        goal: &'d Statement,
        id: &str,
        supervision: Option<Supervision>,
        place: Place,
    ) -> Vec<Step> {
        let words = self.words(goal);
        let agents: Vec<&'d Statement> =
            goal.using.iter().filter_map(|name| self.known.declared.agent(name)).collect();
        let own = match (agents.as_slice(), goal.gives.is_empty()) {
            ([only], true) => self.payload(only, place),
            _ => self.payload(goal, place),
        };
        let mut last = Goal {
            comments: goal.comments.clone(),
            gives: own,
            ..Goal::new(id.to_owned(), words.text.clone())
        };
        last.sees = words.sees;
        let mut steps = Vec::new();
        match agents.as_slice() {
            [] => last.supervision = supervision,
            [only] => {
                last.by = vec![only.name.clone()];
                last.supervision = supervision.or(only.supervision);
            }
            several => {
                let (views, ids) = self.views(several, &last);
                last.comments.clear();
                last.supervision = supervision.or_else(|| several.iter().find_map(|agent| agent.supervision));
                last.words =
                    format!("Bring these views together into one answer. The goal was: {}", words.text);
                let more = std::mem::replace(&mut last.sees, ids);
                last.sees.extend(more);
                steps.push(views);
            }
        }
        // In a loop, a goal continues from its own last pass.
        if place != Place::Outside && !last.sees.is_empty() && !last.sees.iter().any(|one| one == id) {
            last.sees.push(id.to_owned());
        }
        for field in self.fields(own) {
            self.known.fields.insert(field, id.to_owned());
        }
        steps.push(Step::Goal(last));
        steps
    }

    /// The views of several agents on one goal, and the ids under which later steps see them.
    fn views(&mut self, agents: &[&'d Statement], goal: &Goal) -> (Step, Vec<String>) {
        let id = self.ids.pick(&format!("{}-views", goal.id));
        let view = |id: &str, agents: &[&Statement]| Goal {
            comments: Vec::new(),
            by: agents.iter().map(|agent| agent.name.clone()).collect(),
            sees: goal.sees.clone(),
            ..Goal::new(id.to_owned(), goal.words.clone())
        };
        if agents.iter().all(|agent| agent.gives.is_empty()) {
            let views = Goal { comments: goal.comments.clone(), ..view(&id, agents) };
            return (Step::Goal(views), vec![id]);
        }
        let mut goals = Vec::new();
        for agent in agents {
            let own = self.ids.pick(&format!("{}-{}", goal.id, agent.name));
            let gives = self.payload(agent, Place::Outside);
            for field in self.fields(gives) {
                self.known.fields.insert(field, own.clone());
            }
            goals.push(Goal { gives, ..view(&own, &[agent]) });
        }
        let ids = goals.iter().map(|goal| goal.id.clone()).collect();
        (Step::Parallel { id, comments: goal.comments.clone(), goals }, ids)
    }

    /// The text of a goal and its agents, with the steps that it needs to see.
    fn words(&mut self, goal: &Statement) -> Worded {
        let text = goal.text.clone().unwrap_or_else(|| format!("{}.", goal.name));
        let made = find_words(&text, &self.known);
        if !made.unknown.is_empty() && self.message.insert(goal.line) {
            note(self.notes, goal, list_unknown(&made.unknown));
        }
        made
    }

    /// The prompts of agents. Their variables are resolved with the fields that are known after the last step.
    fn prompts(&mut self) -> BTreeMap<String, String> {
        let mut prompts = BTreeMap::new();
        for agent in &self.known.declared.agents {
            let Some(text) = &agent.text else { continue };
            let made = find_words(text, &self.known);
            if !made.unknown.is_empty() {
                note(self.notes, agent, list_unknown(&made.unknown));
            }
            prompts.insert(agent.name.clone(), made.text);
        }
        prompts
    }

    /// The payload that a goal or an agent gives.
    fn payload(&mut self, giver: &Statement, place: Place) -> Option<usize> {
        if giver.gives.is_empty() {
            return None;
        }
        let key = format!("{:?} {}", giver.keyword, giver.name);
        let at = match self.given.get(&key) {
            Some(at) => *at,
            None => {
                let name = self.names.pick(&format!("{}-output", giver.name));
                let at = self.payloads.len();
                self.payloads.push(Payload { name, fields: giver.gives.clone(), converges: false });
                self.given.insert(key, at);
                at
            }
        };
        if let Some(payload) = self.payloads.get_mut(at) {
            payload.converges |= place == (Place::Inside { is_end: true });
        }
        Some(at)
    }

    fn fields(&self, payload: Option<usize>) -> Vec<String> {
        payload.and_then(|at| self.payloads.get(at)).map(|one| one.fields.clone()).unwrap_or_default()
    }

    /// The greatest number of passes of a loop: a number in the file.
    fn passes(&mut self, statement: &Statement) -> u32 {
        let (text, variable) = match &statement.within {
            Some(Within::Passes(number)) => (Some(number.clone()), None),
            Some(Within::Variable(name)) => {
                self.within.insert(name.clone());
                let input = self.known.declared.input(name);
                (input.and_then(|input| input.default.clone()), Some(name))
            }
            None => (None, None),
        };
        let number = text.as_deref().and_then(|text| text.trim().parse::<u32>().ok());
        let passes = number.unwrap_or(limits::PASSES_BY_DEFAULT).clamp(1, PASSES);
        let why = match (variable, number) {
            (Some(name), Some(_)) => {
                format!(
                    "the passes of a loop are part of the file: {passes}, the default of {name}; a request cannot set them"
                )
            }
            (Some(name), None) => {
                format!(
                    "the passes of a loop are part of the file, and {name} has no number as its default; {passes} is used"
                )
            }
            (None, Some(number)) if number == passes => return passes,
            _ => format!("a loop has 1 to {PASSES} passes; {passes} is used"),
        };
        note(self.notes, statement, why);
        passes
    }

    /// Inputs that are only used as the number of passes of a loop.
    fn limits_only(&self) -> BTreeSet<String> {
        let declared = self.known.declared;
        let is_named = |name: &str| {
            let all = declared.goals.iter().chain(&declared.agents);
            let mut texts = all.filter_map(|one| one.text.as_deref());
            texts.any(|text| text.contains(&format!("${name}")) || text.contains(&format!("{{{name}}}")))
        };
        self.within.iter().filter(|name| !is_named(name)).cloned().collect()
    }

    /// Notes about unused goals and agents.
    fn report_unused(&mut self) {
        let declared = self.known.declared;
        for goal in declared.goals.iter().filter(|goal| self.first_ids.contains_key(&goal.name)) {
            note(self.notes, goal, "no RUN and no LOOP names it, so it is left out".to_owned());
        }
        for agent in &declared.agents {
            let mut used = declared.goals.iter().filter(|goal| !self.first_ids.contains_key(&goal.name));
            if !used.any(|goal| goal.using.contains(&agent.name)) {
                note(self.notes, agent, "no goal that is pursued uses it, so it is left out".to_owned());
            }
        }
    }
}

/// Why variables were left unchanged.
fn list_unknown(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("${}", super::short(name, 32))).collect();
    format!("{}: no INPUT and no earlier goal gives it, so it stays as it is", names.join(", "))
}

fn comment(step: &mut Step, above: Vec<String>) {
    step.comments().splice(0..0, above);
}

impl Goal {
    fn new(id: String, words: String) -> Goal {
        Goal {
            id,
            comments: Vec::new(),
            words,
            by: Vec::new(),
            gives: None,
            sees: Vec::new(),
            supervision: None,
        }
    }
}

impl Step {
    fn comments(&mut self) -> &mut Vec<String> {
        match self {
            Step::Goal(goal) => &mut goal.comments,
            Step::Repeat { comments, .. } | Step::Parallel { comments, .. } => comments,
        }
    }
}
