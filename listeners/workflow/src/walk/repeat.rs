//! Steps that are done again and again, until it is enough or so many passes are over.

use std::sync::Arc;

use super::{WalkFlow, WorkflowWalk};
use crate::condition;
use crate::known::{KnownEntry, KnownOutputs, KnownPart, is_converged};
use crate::spec::{RepeatUntil, Step};

impl WorkflowWalk<'_> {
    pub(super) fn run_repeat(
        &mut self,
        step: &Step,
        (steps, until, at_most): (&[Step], &RepeatUntil, u32),
        known: &mut KnownOutputs,
    ) -> WalkFlow {
        let key = known.key_of(&step.id);
        let mut passes: Vec<Vec<Arc<KnownEntry>>> = Vec::new();
        let mut is_enough = false;
        let form = self.workflow.form;
        for n in 1..=at_most {
            let mut inner = known.clone();
            inner
                .parts
                .extend((1..).zip(&passes).map(|(n, pass)| KnownPart::Pass { n, entries: pass.clone() }));
            inner.within.push((step.id.clone(), n));
            let before = inner.parts.len();
            match self.run_sequence(steps, &mut inner) {
                WalkFlow::Done => {}
                other => return other,
            }
            let own = inner.parts.split_off(before).into_iter().filter_map(|part| match part {
                KnownPart::Entry(entry) => Some(entry),
                KnownPart::Pass { .. } => None,
            });
            let own: Vec<Arc<KnownEntry>> = own.collect();
            let question = if *until == RepeatUntil::Converged { "converged" } else { "until" };
            let pass = format!("{key}.{n}");
            let is_new = self.facts.find_decision(&pass, question).is_none();
            is_enough = self.decide_once(&pass, question, || match until {
                RepeatUntil::Converged => {
                    let last = own.last().and_then(|last| last.payload());
                    last.is_some_and(|last| is_converged(last, form))
                }
                RepeatUntil::Holds(conditions) => {
                    let mut known = known.clone();
                    known.parts.extend(own.iter().cloned().map(KnownPart::Entry));
                    condition::check_conditions(conditions, &known)
                }
            });
            // Who finds nothing left to change has the pass before in mind.
            if !(is_enough && *until == RepeatUntil::Converged && !passes.is_empty()) {
                passes.push(own);
            }
            if is_enough {
                break;
            }
            if n == at_most && is_new && form > 1 {
                self.note.reached.push(describe_limit(&step.id, at_most, until));
            }
        }
        let mut last = passes.pop().unwrap_or_default();
        if let Some(end) = last.last_mut().filter(|_| !is_enough) {
            *end = Arc::new(KnownEntry { is_unfinished: true, ..KnownEntry::clone(end) });
        }
        known.parts.extend(last.into_iter().map(KnownPart::Entry));
        WalkFlow::Done
    }
}

/// What a notice says of a loop that reached its limit.
fn describe_limit(id: &str, at_most: u32, until: &RepeatUntil) -> String {
    let passes = if at_most == 1 { "1 pass".to_owned() } else { format!("{at_most} passes") };
    let why = if *until == RepeatUntil::Converged { "did not converge" } else { "did not meet its `until`" };
    format!("{id}: the loop {why} in {passes}; the run goes on with the last one")
}

#[cfg(test)]
mod tests {
    use systole_kit::{DocumentLimits, Payload, namespaces};

    use super::super::{WalkTurn, walk_workflow};
    use crate::facts::RunFacts;
    use crate::note::{NotedStart, TurnNote};
    use crate::spec::{ElementName, FORM, Goal, RepeatUntil, Step, StepAction, Workflow};

    fn goal(id: &str) -> Step {
        let (words, by) = ("Do it.".to_owned(), vec!["x".to_owned()]);
        let goal = Goal { words, by, gives: None, sees: None, hides_request: false, tasks: None };
        Step::new(id, StepAction::Do(goal))
    }

    /// The turn after the only pass of a loop, whose goal said this.
    fn turn_after(said: &str, form: u32, facts: &mut RunFacts) -> WalkTurn {
        let repeat =
            StepAction::Repeat { steps: vec![goal("draft")], until: RepeatUntil::Converged, at_most: 1 };
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        let steps = vec![Step::new("polish", repeat), goal("answer")];
        let name = "one".into();
        let workflow = Workflow { name, returns, returns_text: true, steps, description: None, form };
        let read = |xml: &str| Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap();
        let start = NotedStart { ordinal: 1, key: "polish.1/draft".to_owned(), number: 1 };
        facts.take_note(&TurnNote { starts: vec![start], ..TurnNote::default() });
        let core = namespaces::CORE;
        facts.take_answer(1, &read(&format!("<thread-spawned xmlns='{core}' assigned_id='d'/>")));
        let output = format!("<goal-output xmlns='{}'>{said}</goal-output>", namespaces::WORKFLOW);
        facts.take_arrival(&read(&format!(
            "<thread-finished xmlns='{core}' id='d' outcome='answered'>{output}</thread-finished>"
        )));
        walk_workflow(&workflow, &read("<ask xmlns='urn:t'>Go.</ask>"), facts, 2)
    }

    fn list_notices(said: &str, form: u32) -> Vec<String> {
        match turn_after(said, form, &mut RunFacts::default()) {
            WalkTurn::Items(note, _) | WalkTurn::Final(note, _) => note.reached,
            _ => panic!("it goes on"),
        }
    }

    #[test]
    fn f2_a_loop_that_reaches_its_limit_says_so_once() {
        let limit = "polish: the loop did not converge in 1 pass; the run goes on with the last one";
        assert_eq!(list_notices("Better.", FORM), [limit]);
        assert_eq!(list_notices("**Converged.**", FORM), [""; 0]);
        assert_eq!(list_notices("Better.", 1), [""; 0], "runs of an earlier version say nothing");
        let mut facts = RunFacts::default();
        let WalkTurn::Items(note, _) = turn_after("Better.", FORM, &mut facts) else {
            panic!("it has ended")
        };
        facts.take_note(&TurnNote { decided: note.decided, ..TurnNote::default() });
        let WalkTurn::Items(note, _) = turn_after("Better.", FORM, &mut facts) else {
            panic!("it has ended")
        };
        assert_eq!(note.reached, [""; 0], "it was decided before");
    }
}
