//! Steps beside one another: the items of a list, or the branches of `parallel`. So many run at once; what came of them
//! is joined in the order of the list and of the file.

use super::leaf::{LeafResult, name_step};
use super::{StartedUnit, WalkFlow, WorkflowWalk};
use crate::items::{self, BranchTerms};
use crate::known::{KnownEntry, KnownOutputs, StepFailure, StepOutput};
use crate::spec::{Budget, EachList, Step, StepAction};
use crate::tree::TreeNode;

impl WorkflowWalk<'_> {
    /// A step for each item of a list.
    pub(super) fn run_each(&mut self, step: &Step, each: &EachList, known: &mut KnownOutputs) -> WalkFlow {
        let base = known.clone();
        let tree = self
            .facts
            .read_list(&base.key_of(&step.id), || TreeNode::from_payload(base.find_output(&each.list)?));
        let count = tree.as_ref().map_or(0, |tree| tree.count_elements(&each.list.fields));
        let one = |walk: &mut Self, at: usize| {
            let own = || {
                tree.as_ref().map_or_else(|| base.clone(), |tree| base.narrow_list(&each.list, tree, at + 1))
            };
            walk.run_one(step, Some(at + 1), &base, own)
        };
        let begun = |walk: &Self, at: usize| walk.has_begun(step, Some(at + 1), &base);
        self.fan_out(&base.key_of(&step.id), (count, each.at_once), one, begun, |_| step.keeps_failure, known)
    }

    /// Steps that are done at the same time.
    pub(super) fn run_parallel(
        &mut self,
        step: &Step,
        (steps, at_once): (&[Step], u32),
        known: &mut KnownOutputs,
    ) -> WalkFlow {
        let base = known.clone();
        let one = |walk: &mut Self, at: usize| match steps.get(at) {
            Some(step) => walk.run_one(step, None, &base, || base.clone()),
            None => LeafResult::Over(Vec::new()),
        };
        let begun =
            |walk: &Self, at: usize| steps.get(at).is_some_and(|step| walk.has_begun(step, None, &base));
        let keeps = |at: usize| steps.get(at).is_some_and(|step| step.keeps_failure);
        self.fan_out(&base.key_of(&step.id), (steps.len(), at_once), one, begun, keeps, known)
    }

    fn fan_out(
        &mut self,
        key: &str,
        (count, at_once): (usize, u32),
        mut one: impl FnMut(&mut Self, usize) -> LeafResult,
        has_begun: impl Fn(&Self, usize) -> bool,
        keeps: impl Fn(usize) -> bool,
        known: &mut KnownOutputs,
    ) -> WalkFlow {
        // Those that are known to be over are looked at again only to be joined, so that a list of a thousand items is
        // not walked through a thousand times.
        let first = self.facts.over_from_first(key);
        let (mut running, mut over) = (0, first);
        let mut joined = Vec::new();
        for at_place in first..count {
            if running >= at_once && !has_begun(self, at_place) {
                break;
            }
            match self.keep_failures(keeps(at_place), |walk| one(walk, at_place)) {
                LeafResult::Waits => running += 1,
                LeafResult::Over(entries) => {
                    let failed = entries.iter().find_map(|entry| match &entry.output {
                        StepOutput::Failed(failure) if !keeps(at_place) => {
                            Some(name_step(&entry.label(), failure))
                        }
                        _ => None,
                    });
                    if let Some(failure) = failed {
                        return WalkFlow::Failed(failure);
                    }
                    over += usize::from(over == at_place);
                    joined.extend(entries);
                }
            }
        }
        if running > 0 {
            self.facts.note_over_from_first(key, over);
            return WalkFlow::Waits;
        }
        for at_place in 0..first {
            if let LeafResult::Over(entries) = self.keep_failures(keeps(at_place), |walk| one(walk, at_place))
            {
                entries.into_iter().for_each(|entry| known.push_entry(entry));
            }
        }
        joined.into_iter().for_each(|entry| known.push_entry(entry));
        WalkFlow::Done
    }

    /// One item or branch: by its agents themselves where it is one goal or call, else by a branch of this workflow.
    fn run_one(
        &mut self,
        step: &Step,
        item: Option<usize>,
        base: &KnownOutputs,
        own: impl Fn() -> KnownOutputs,
    ) -> LeafResult {
        if item.is_none() && !step.when.is_empty() {
            let key = base.key_of(&step.id);
            if !self.decide_once(&key, "when", || crate::condition::check_conditions(&step.when, base)) {
                return LeafResult::Over(Vec::new());
            }
        }
        if is_leaf(step) && (item.is_some() || (step.each.is_none() && step.timeout_ms.is_none())) {
            return self.collect_entries(step, item, base, own);
        }
        let own_entry = |output| KnownEntry { item, ..KnownEntry::new(&step.id, output) };
        let label = own_entry(StepOutput::Failed(StepFailure::new("", ""))).label();
        match self.run_branch(
            step,
            item,
            &base.key_of(&label),
            (BranchTerms::from_item(item), &step.budget),
            own,
        ) {
            StartedUnit::Waits => LeafResult::Waits,
            StartedUnit::Over(StepOutput::Failed(failure)) => {
                LeafResult::Over(vec![own_entry(StepOutput::Failed(failure))])
            }
            StartedUnit::Over(StepOutput::Payload(payload)) => {
                let mut came = items::read_outputs(&payload);
                if item.is_some() {
                    // Later goals see a branch as its last output.
                    came = came.pop().map(|last| own_entry(last.output)).into_iter().collect();
                }
                LeafResult::Over(came)
            }
        }
    }

    /// A step that a thread of its own does as a whole. Then the outputs of all steps inside it are known, as if they had
    /// been done here.
    pub(super) fn run_in_thread(&mut self, step: &Step, known: &mut KnownOutputs) -> WalkFlow {
        // The steps inside have the budget of the step, each of them.
        let terms = (BranchTerms::Outside, &Budget::default());
        match self.run_branch(step, None, &known.key_of(&step.id), terms, || known.clone()) {
            StartedUnit::Waits => WalkFlow::Waits,
            StartedUnit::Over(StepOutput::Failed(failure))
                if failure.words.starts_with(&format!("{}: ", step.id)) =>
            {
                WalkFlow::Failed(failure)
            }
            StartedUnit::Over(StepOutput::Failed(failure)) => WalkFlow::Failed(name_step(&step.id, &failure)),
            StartedUnit::Over(StepOutput::Payload(payload)) => {
                items::read_outputs(&payload).into_iter().for_each(|entry| known.push_entry(entry));
                WalkFlow::Done
            }
        }
    }

    /// What came of a branch of this workflow.
    fn run_branch(
        &mut self,
        step: &Step,
        item: Option<usize>,
        key: &str,
        (terms, budget): (BranchTerms, &Budget),
        own: impl Fn() -> KnownOutputs,
    ) -> StartedUnit {
        let workflow = self.workflow;
        let spawned = |label: &str| {
            let request = items::build_branch(step, item, terms, &own());
            Ok(items::spawn_child(label, &workflow.name, &request, budget))
        };
        match terms {
            BranchTerms::Outside if !step.is_tried_inside() => self.try_item(step, key, spawned),
            _ => self.try_once(key, spawned),
        }
    }

    /// Whether something was started of an item or branch.
    fn has_begun(&self, step: &Step, item: Option<usize>, known: &KnownOutputs) -> bool {
        let entry =
            KnownEntry { item, ..KnownEntry::new(&step.id, StepOutput::Failed(StepFailure::new("", ""))) };
        let key = format!("{}{}", known.key_of(""), entry.label());
        let first = match &step.work {
            StepAction::Do(goal) if goal.by.len() > 1 && is_leaf(step) => {
                goal.by.first().map(|agent| format!("{key}[{agent}]"))
            }
            _ => None,
        };
        !self.tries_of(first.as_deref().unwrap_or(&key), |_| true).is_empty()
    }
}

/// Whether a step is one thing for each of its agents, which needs no branch.
fn is_leaf(step: &Step) -> bool {
    match &step.work {
        // Tasks need no branch: the goal's agent gives them in its own thread.
        StepAction::Do(_) => step.supervise.is_none(),
        StepAction::Call(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use systole_kit::{DocumentLimits, Payload, namespaces};

    use super::super::{WalkTurn, walk_workflow};
    use crate::facts::RunFacts;
    use crate::note::{NotedStart, TurnNote};
    use crate::spec::{EachList, ElementName, FORM, Goal, Path, Step, StepAction, Workflow};

    fn goal(id: &str) -> Step {
        let (words, by) = ("Do it.".to_owned(), vec!["x".to_owned()]);
        Step::new(
            id,
            StepAction::Do(Goal { words, by, gives: None, sees: None, hides_request: false, tasks: None }),
        )
    }

    fn read(xml: &str) -> Payload {
        Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()
    }

    fn ended(id: &str) -> Payload {
        let output = format!("<goal-output xmlns='{}'>Of {id}.</goal-output>", namespaces::WORKFLOW);
        let core = namespaces::CORE;
        read(&format!(
            "<thread-finished xmlns='{core}' id='{id}' outcome='answered'>{output}</thread-finished>"
        ))
    }

    #[test]
    fn an_item_that_is_over_before_an_earlier_one_does_not_hide_it() {
        let list = Path { goal: "request".into(), agent: None, fields: vec!["n".into()] };
        let each = Some(EachList { list, at_once: 2, least: 0, most: None });
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        let steps = vec![Step { each, ..goal("part") }, goal("answer")];
        let workflow = Workflow {
            name: "one".into(),
            returns,
            returns_text: true,
            steps,
            description: None,
            form: FORM,
        };
        let request = read("<ask xmlns='urn:t'><n>1</n><n>2</n></ask>");
        let started = |ordinal, key: &str| NotedStart { ordinal, key: key.to_owned(), number: 1 };
        let mut facts = RunFacts::default();
        facts.take_note(&TurnNote {
            starts: vec![started(1, "part[1]"), started(2, "part[2]")],
            ..TurnNote::default()
        });
        for (ordinal, id) in [(1, "a"), (2, "b")] {
            let spawned = format!("<thread-spawned xmlns='{}' assigned_id='{id}'/>", namespaces::CORE);
            facts.take_answer(ordinal, &read(&spawned));
        }
        facts.take_arrival(&ended("b"));
        for turn in 2..4 {
            let WalkTurn::Items(note, _) = walk_workflow(&workflow, &request, &facts, turn) else {
                panic!("it has ended")
            };
            assert_eq!(note.starts, [], "the first item still runs");
        }
        facts.take_arrival(&ended("a"));
        let WalkTurn::Items(_, items) = walk_workflow(&workflow, &request, &facts, 4) else {
            panic!("it has ended")
        };
        let next = String::from_utf8(items[0].bytes().to_vec()).unwrap();
        let places = ["Of a.", "Of b."].map(|output| next.find(output));
        assert!(places[0].is_some() && places[0] < places[1], "{next}");
    }
}
