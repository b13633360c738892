//! The most that one run of a workflow can use, from its description alone: goals, child threads, messages, requests to
//! models, and how deep its threads nest.
//!
//! In come a workflow and those that it may call, out come counts. It knows no budget and refuses nothing.

use std::collections::BTreeMap;

use crate::limits;
use crate::spec::{Step, StepAction, Supervisor, TaskRule, Workflow};

/// A number of things, some of which may depend on how long lists are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundCount {
    /// As many at least count.
    pub fixed: u64,
    /// So many more for each item of each of these lists, which no schema bounds.
    pub per_item: Vec<(u64, String)>,
}

impl BoundCount {
    /// So many, whatever lists hold.
    #[must_use]
    pub fn from_fixed(fixed: u64) -> Self {
        Self { fixed, per_item: Vec::new() }
    }

    /// This and that.
    #[must_use]
    pub fn add_count(mut self, other: &Self) -> Self {
        self.fixed = self.fixed.saturating_add(other.fixed);
        for (more, list) in &other.per_item {
            match self.per_item.iter_mut().find(|(_, known)| known == list) {
                Some((count, _)) => *count = count.saturating_add(*more),
                None => self.per_item.push((*more, list.clone())),
            }
        }
        self
    }

    /// So many times this.
    #[must_use]
    pub fn repeat_times(mut self, factor: u64) -> Self {
        self.fixed = self.fixed.saturating_mul(factor);
        for (count, _) in &mut self.per_item {
            *count = count.saturating_mul(factor);
        }
        self
    }

    /// This for each item of a list that no schema bounds.
    fn for_each(self, list: &str) -> Self {
        let inner = self
            .per_item
            .into_iter()
            .map(|(count, inner)| (count, format!("{inner} of each item of {list}")));
        let mut per_item: Vec<(u64, String)> = inner.collect();
        if self.fixed > 0 {
            per_item.insert(0, (self.fixed, list.to_owned()));
        }
        Self { fixed: 0, per_item }
    }
}

/// The most that one run can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunBound {
    /// Goals that agents pursue. One that several agents pursue counts for each.
    pub goals: BoundCount,
    /// How often each agent is asked: once for a goal, and up to five times if the goal is supervised.
    pub asked_of: BTreeMap<String, BoundCount>,
    /// How often each agent is asked whatever happens.
    pub certain_of: BTreeMap<String, u64>,
    /// Child threads.
    pub children: BoundCount,
    /// Calls and spawns by the workflow itself and by those that it calls.
    pub messages: BoundCount,
    /// How deep threads nest, the workflow's own counted.
    pub depth: u32,
    /// What makes it so deep, from outside inwards.
    pub nesting: Vec<String>,
    /// The summands of `goals`, a step each: `1`, `200`, `5 x 2`.
    pub terms: Vec<String>,
}

impl RunBound {
    fn add_bound(mut self, other: &Self) -> Self {
        self.goals = self.goals.add_count(&other.goals);
        self.children = self.children.add_count(&other.children);
        self.messages = self.messages.add_count(&other.messages);
        for (agent, count) in &other.asked_of {
            let known = self.asked_of.remove(agent).unwrap_or_default();
            self.asked_of.insert(agent.clone(), known.add_count(count));
        }
        for (agent, count) in &other.certain_of {
            let known = self.certain_of.entry(agent.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        if other.depth > self.depth {
            (self.depth, self.nesting) = (other.depth, other.nesting.clone());
        }
        self
    }

    fn map_counts(mut self, change: impl Fn(BoundCount) -> BoundCount) -> Self {
        self.goals = change(self.goals);
        self.children = change(self.children);
        self.messages = change(self.messages);
        self.asked_of = self.asked_of.into_iter().map(|(agent, count)| (agent, change(count))).collect();
        self
    }

    /// This in a child thread of its own.
    fn add_child(mut self, name: &str) -> Self {
        self.children = self.children.add_count(&BoundCount::from_fixed(1));
        self.messages = self.messages.add_count(&BoundCount::from_fixed(1));
        self.depth = self.depth.saturating_add(1);
        self.nesting.insert(0, name.to_owned());
        self
    }

    fn repeat_certain(mut self, factor: u64) -> Self {
        for count in self.certain_of.values_mut() {
            *count = count.saturating_mul(factor);
        }
        self
    }
}

/// The bound of a workflow; `find` gives those that it may call, which call no one in a circle.
#[must_use]
pub fn find_bound<'w>(workflow: &'w Workflow, find: &impl Fn(&str) -> Option<&'w Workflow>) -> RunBound {
    bound_workflow(workflow, find, limits::CALL_DEPTH)
}

fn bound_workflow<'w>(
    workflow: &'w Workflow,
    find: &impl Fn(&str) -> Option<&'w Workflow>,
    left: u32,
) -> RunBound {
    let mut all = RunBound::default();
    let mut terms = Vec::new();
    for step in &workflow.steps {
        let one = bound_step(step, find, left, false);
        if one.goals.fixed > 0 {
            terms.push(describe_factors(step, &one, find, left));
        }
        all = all.add_bound(&one);
    }
    all.terms = terms;
    all.depth = all.depth.saturating_add(1);
    all.nesting.insert(0, workflow.name.clone());
    all
}

/// The factors of a step's goals, those that are 1 left out.
fn describe_factors<'w>(
    step: &Step,
    whole: &RunBound,
    find: &impl Fn(&str) -> Option<&'w Workflow>,
    left: u32,
) -> String {
    let items = step.each.as_ref().and_then(|each| each.most).map_or(1, u64::from);
    let passes = match &step.work {
        StepAction::Repeat { at_most, .. } => u64::from(*at_most),
        _ => 1,
    };
    let tries = u64::from(step.tries);
    let once = bound_pass(step, find, left).goals.fixed;
    let factors: Vec<String> = [items, tries, passes, once]
        .into_iter()
        .filter(|factor| *factor != 1)
        .map(|factor| factor.to_string())
        .collect();
    if factors.is_empty() { whole.goals.fixed.to_string() } else { factors.join(" x ") }
}

fn bound_step<'w>(
    step: &Step,
    find: &impl Fn(&str) -> Option<&'w Workflow>,
    left: u32,
    is_beside: bool,
) -> RunBound {
    let mut all = bound_pass(step, find, left);
    if let StepAction::Repeat { at_most, .. } = &step.work {
        let passes = u64::from(*at_most);
        all = all.map_counts(|count| count.repeat_times(passes));
    }
    let tries = |all: RunBound| all.map_counts(|count| count.repeat_times(u64::from(step.tries)));
    if step.is_tried_inside() {
        all = tries(all);
    }
    let is_leaf = step.is_tried_inside() && step.supervise.is_none();
    let branch = format!("a branch of {}", step.id);
    if step.has_own_thread() || step.each.is_some() && !is_leaf {
        all = all.add_child(&branch);
    }
    if !step.is_tried_inside() {
        all = tries(all);
    }
    if let Some(each) = &step.each {
        all = match each.most {
            Some(most) => all.map_counts(|count| count.repeat_times(u64::from(most))),
            None => {
                let list = each.list.text();
                all.map_counts(|count| count.for_each(&list))
            }
        };
        all = all.repeat_certain(u64::from(each.least));
    }
    if is_beside && !(is_leaf && step.each.is_none() && step.timeout_ms.is_none()) {
        all = all.add_child(&branch);
    }
    if !step.when.is_empty() {
        all.certain_of.clear();
    }
    all
}

/// One pass of a step, for one item.
fn bound_pass<'w>(step: &Step, find: &impl Fn(&str) -> Option<&'w Workflow>, left: u32) -> RunBound {
    let together = |steps: &[Step], is_beside: bool| {
        steps
            .iter()
            .map(|step| bound_step(step, find, left, is_beside))
            .fold(RunBound::default(), |all, one| all.add_bound(&one))
    };
    match &step.work {
        StepAction::Do(goal) => {
            let pursued = |agent: &String| {
                let (own, rounds) = match &step.supervise {
                    None => (bound_agent(agent, 1, 1), 1),
                    Some(supervisor) => (bound_supervised(agent, supervisor), 2),
                };
                let tasks = goal.tasks.as_ref().map(|tasks| bound_tasks(agent, tasks, rounds));
                RunBound { goals: BoundCount::from_fixed(1), ..own }.add_bound(&tasks.unwrap_or_default())
            };
            goal.by.iter().map(pursued).fold(RunBound::default(), |all, one| all.add_bound(&one))
        }
        StepAction::Call(call) => match find(&call.to).filter(|_| left > 0) {
            Some(other) => {
                // The child's own depth counts the call that opens it.
                let inner = bound_workflow(other, find, left.saturating_sub(1));
                let (depth, nesting) = (inner.depth, inner.nesting.clone());
                RunBound { depth, nesting, ..inner.add_child(&call.to) }
            }
            None => RunBound::default().add_child(&call.to),
        },
        StepAction::Ask(_) | StepAction::Wait { .. } => RunBound::default(),
        StepAction::Group { steps } | StepAction::Repeat { steps, .. } => together(steps, false),
        StepAction::Parallel { steps, .. } => together(steps, true),
    }
}

/// A goal under supervision: a commitment, and twice an output with its assessment and a verdict.
fn bound_supervised(agent: &str, supervisor: &Supervisor) -> RunBound {
    match supervisor {
        Supervisor::Agent(other) => bound_agent(agent, 5, 3).add_bound(&bound_agent(other, 2, 0)),
        Supervisor::Person => bound_agent(agent, 5, 3),
    }
}

/// The tasks that an agent gives in so many pursuits of a goal. Each is a child of its thread.
fn bound_tasks(agent: &str, tasks: &TaskRule, pursuits: u64) -> RunBound {
    let own = match &tasks.supervise {
        None => bound_agent(&tasks.by, 1, 0),
        // The workflow runs it in a thread of its own.
        Some(supervisor) => bound_supervised(&tasks.by, supervisor).add_child("a supervised task"),
    };
    let task = RunBound { goals: BoundCount::from_fixed(1), certain_of: BTreeMap::new(), ..own };
    let mut all =
        task.map_counts(|count| count.repeat_times(u64::from(tasks.at_most).saturating_mul(pursuits)));
    all.depth = all.depth.saturating_add(1);
    all.nesting.insert(0, agent.to_owned());
    all
}

/// An agent that is asked so often at most, each time in a child thread; and so often whatever happens.
fn bound_agent(agent: &str, most: u64, certain: u64) -> RunBound {
    let one = RunBound::default().add_child(agent).map_counts(|count| count.repeat_times(most));
    RunBound {
        asked_of: BTreeMap::from([(agent.to_owned(), BoundCount::from_fixed(most))]),
        certain_of: BTreeMap::from([(agent.to_owned(), certain)]),
        ..one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{CallStep, EachList, ElementName, FORM, Goal, Path, QuestionStep, RepeatUntil};

    fn goal(id: &str, by: &[&str]) -> Step {
        let by = by.iter().map(|agent| (*agent).to_owned()).collect();
        Step::new(
            id,
            StepAction::Do(Goal {
                words: "Do it.".into(),
                by,
                gives: None,
                sees: None,
                hides_request: false,
                tasks: None,
            }),
        )
    }

    fn each(step: Step, least: u32, most: Option<u32>) -> Step {
        let list = Path { goal: "pick".into(), agent: None, fields: vec!["item".into()] };
        Step { each: Some(EachList { list, at_once: 4, least, most }), ..step }
    }

    fn call(id: &str, to: &str) -> Step {
        let element = ElementName { namespace: "urn:x".into(), local: "x".into() };
        Step::new(
            id,
            StepAction::Call(CallStep { element, is_qualified: true, to: to.into(), fields: Vec::new() }),
        )
    }

    fn repeat(id: &str, at_most: u32, steps: Vec<Step>) -> Step {
        Step::new(id, StepAction::Repeat { steps, until: RepeatUntil::Converged, at_most })
    }

    fn workflow(name: &str, steps: Vec<Step>) -> Workflow {
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        Workflow { name: name.into(), returns, returns_text: true, steps, description: None, form: FORM }
    }

    fn of(steps: Vec<Step>) -> RunBound {
        find_bound(&workflow("one", steps), &|_| None)
    }

    #[test]
    fn the_bound_of_the_review_is_the_one_of_the_page() {
        let found = of(vec![
            goal("pick", &["reviewer"]),
            each(goal("review", &["reviewer"]), 1, Some(200)),
            repeat("report", 5, vec![goal("draft", &["reviewer"]), goal("judge", &["critic"])]),
            goal("answer", &["reviewer"]),
        ]);
        assert_eq!(
            (found.terms.join(" + "), found.goals),
            ("1 + 200 + 5 x 2 + 1".to_owned(), BoundCount::from_fixed(212))
        );
        assert_eq!(
            (found.children, found.messages, found.depth),
            (BoundCount::from_fixed(212), BoundCount::from_fixed(212), 2)
        );
        assert_eq!(found.asked_of["critic"], BoundCount::from_fixed(5));
        // Each item that must be there, and one pass.
        assert_eq!(found.certain_of, BTreeMap::from([("critic".into(), 1), ("reviewer".into(), 4)]));
        assert_eq!(found.nesting, ["one", "reviewer"]);
    }

    #[test]
    fn branches_with_several_steps_are_children_of_their_own() {
        let gate = QuestionStep {
            words: "Go?".into(),
            choices: vec![],
            shows: vec![],
            expires_ms: 1,
            otherwise: None,
        };
        let group =
            |id: &str| Step::new(id, StepAction::Group { steps: vec![goal("a", &["x"]), goal("b", &["x"])] });
        let found = of(vec![each(group("wide"), 0, Some(10))]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(20), BoundCount::from_fixed(30), 3)
        );
        assert_eq!(found.nesting, ["one", "a branch of wide", "x"]);
        assert!(found.certain_of.values().all(|count| *count == 0));
        let beside = StepAction::Parallel {
            steps: vec![goal("a", &["x"]), Step::new("gate", StepAction::Ask(gate))],
            at_once: 4,
        };
        let found = of(vec![Step::new("both", beside)]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(1), BoundCount::from_fixed(2), 2)
        );
    }

    #[test]
    fn attempts_several_agents_and_conditions_count() {
        let tried = Step { tries: 3, ..goal("a", &["x", "y"]) };
        let test = crate::spec::ValueTest::Flag(true);
        let path = Path { goal: "a".into(), agent: None, fields: vec![] };
        let skipped = Step { when: vec![crate::spec::Condition { path, test }], ..goal("b", &["x"]) };
        let found = of(vec![tried, skipped, call("c", "shop")]);
        assert_eq!(
            (found.terms.join(" + "), found.goals),
            ("3 x 2 + 1".to_owned(), BoundCount::from_fixed(7))
        );
        assert_eq!(
            (found.children, found.certain_of),
            (BoundCount::from_fixed(8), BTreeMap::from([("x".into(), 1), ("y".into(), 1)]))
        );
    }

    #[test]
    fn f7_tasks_count_as_goals_in_child_threads_one_level_deeper() {
        let mut step = goal("frame", &["x", "y"]);
        if let StepAction::Do(goal) = &mut step.work {
            goal.tasks = Some(crate::spec::TaskRule { by: "helper".into(), at_most: 8, supervise: None });
        }
        let found = of(vec![Step { tries: 2, ..step }, goal("answer", &["x"])]);
        assert_eq!(
            (found.terms.join(" + "), found.goals),
            ("2 x 18 + 1".to_owned(), BoundCount::from_fixed(37))
        );
        assert_eq!(found.asked_of["helper"], BoundCount::from_fixed(32));
        assert_eq!(
            (found.children, found.messages, found.depth),
            (BoundCount::from_fixed(37), BoundCount::from_fixed(37), 3)
        );
        assert_eq!(found.nesting, ["one", "x", "helper"]);
        // No task has to be given.
        assert_eq!(found.certain_of, BTreeMap::from([("x".into(), 2), ("y".into(), 1)]));
    }

    #[test]
    fn f3_a_supervised_task_counts_as_a_supervised_goal_in_a_thread_of_the_workflow() {
        let mut step = goal("frame", &["x"]);
        if let StepAction::Do(goal) = &mut step.work {
            let supervise = Some(Supervisor::Agent("auditor".into()));
            goal.tasks = Some(crate::spec::TaskRule { by: "helper".into(), at_most: 2, supervise });
        }
        let found = of(vec![step]);
        assert_eq!(found.asked_of["helper"], BoundCount::from_fixed(10));
        assert_eq!(found.asked_of["auditor"], BoundCount::from_fixed(4));
        // The goal, and for each of two tasks its own thread and seven requests.
        assert_eq!((found.children, found.depth), (BoundCount::from_fixed(17), 4));
        assert_eq!(found.nesting, ["one", "x", "a supervised task", "helper"]);
    }

    #[test]
    fn f4_a_supervised_goal_is_seven_requests_at_most_and_three_for_certain() {
        let watched = |step: Step, by: Supervisor| Step { supervise: Some(by), ..step };
        let auditor = || Supervisor::Agent("auditor".into());
        let found = of(vec![
            watched(goal("a", &["x", "y"]), auditor()),
            watched(goal("b", &["x"]), Supervisor::Person),
        ]);
        assert_eq!((found.terms.join(" + "), found.goals), ("2 + 1".to_owned(), BoundCount::from_fixed(3)));
        let asked: Vec<(&str, u64)> =
            found.asked_of.iter().map(|(who, count)| (who.as_str(), count.fixed)).collect();
        assert_eq!(asked, [("auditor", 4), ("x", 10), ("y", 5)]);
        let certain: Vec<(&str, u64)> =
            found.certain_of.iter().map(|(who, count)| (who.as_str(), *count)).collect();
        assert_eq!(certain, [("auditor", 0), ("x", 6), ("y", 3)]);
        assert_eq!(
            (found.children, found.messages, found.depth),
            (BoundCount::from_fixed(19), BoundCount::from_fixed(19), 2)
        );
        // Each item has a branch of its own, in which requests are tried again and the branch is not.
        let tried = Step { tries: 2, ..watched(goal("c", &["x"]), auditor()) };
        let found = of(vec![each(tried, 2, Some(10))]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(20), BoundCount::from_fixed(10 * (2 * 7 + 1)), 3)
        );
        assert_eq!(found.certain_of["x"], 6);
    }

    #[test]
    fn a_list_or_a_time_beside_other_steps_is_in_a_branch() {
        let timed = Step { timeout_ms: Some(1000), ..goal("slow", &["x"]) };
        let list = each(goal("wide", &["x"]), 0, Some(5));
        let beside = StepAction::Parallel { steps: vec![timed, list, goal("quick", &["x"])], at_once: 4 };
        let found = of(vec![Step::new("all", beside)]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(7), BoundCount::from_fixed(9), 3)
        );
    }

    #[test]
    fn f7_a_group_that_is_tried_again_or_ended_while_it_asks_is_in_a_thread_of_its_own() {
        let question = QuestionStep {
            words: "Go?".into(),
            choices: vec![],
            shows: vec![],
            expires_ms: 1,
            otherwise: None,
        };
        let gate = || Step::new("gate", StepAction::Ask(question.clone()));
        let group = |steps: Vec<Step>| Step::new("both", StepAction::Group { steps });
        let two = || vec![goal("a", &["x"]), goal("b", &["x"])];
        let again = || Step { tries: 3, ..group(two()) };
        let found = of(vec![again()]);
        assert_eq!((found.terms.join(" + "), found.goals), ("3 x 2".to_owned(), BoundCount::from_fixed(6)));
        assert_eq!(
            (found.children, found.messages, found.depth),
            (BoundCount::from_fixed(9), BoundCount::from_fixed(9), 3)
        );
        assert_eq!(found.nesting, ["one", "a branch of both", "x"]);
        assert_eq!(found.certain_of["x"], 2);
        // Each item of a list has its thread anyway.
        let found = of(vec![each(again(), 0, Some(10))]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(60), BoundCount::from_fixed(90), 3)
        );
        let timed = |steps: Vec<Step>| Step { timeout_ms: Some(1000), ..group(steps) };
        assert_eq!(of(vec![timed(two())]).depth, 2);
        assert_eq!(of(vec![timed(vec![goal("a", &["x"]), gate()])]).depth, 3);
        assert_eq!(of(vec![timed(vec![group(vec![gate()])])]).depth, 2);
        // Beside others the branch keeps the terms, in a thread inside it.
        let beside = StepAction::Parallel { steps: vec![again(), goal("c", &["x"])], at_once: 4 };
        let found = of(vec![Step::new("all", beside)]);
        assert_eq!(
            (found.goals, found.children, found.depth),
            (BoundCount::from_fixed(7), BoundCount::from_fixed(11), 4)
        );
    }

    #[test]
    fn a_list_without_an_end_is_counted_for_each_item() {
        let found = of(vec![goal("pick", &["x"]), each(repeat("r", 3, vec![goal("a", &["x"])]), 0, None)]);
        assert_eq!(found.goals, BoundCount { fixed: 1, per_item: vec![(3, "pick/item".into())] });
        assert_eq!(found.children, BoundCount { fixed: 1, per_item: vec![(4, "pick/item".into())] });
    }

    #[test]
    fn a_called_workflow_counts_with_all_that_it_does() {
        let inner = workflow("inner", vec![goal("a", &["x"]), goal("b", &["x", "y"])]);
        let outer = workflow("outer", vec![call("call", "inner"), each(call("more", "inner"), 2, Some(5))]);
        let found = find_bound(&outer, &|name| (name == "inner").then_some(&inner));
        assert_eq!(
            (found.terms.join(" + "), found.goals),
            ("3 + 5 x 3".to_owned(), BoundCount::from_fixed(18))
        );
        assert_eq!((found.children, found.depth), (BoundCount::from_fixed(24), 3));
        assert_eq!(found.nesting, ["outer", "inner", "x"]);
    }
}
