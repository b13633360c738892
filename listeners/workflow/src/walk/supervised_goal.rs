//! A goal under supervision: its agent commits, pursues the goal and assesses the output; the workflow compares, and if
//! there is a reason, the supervisor decides. After a correction the goal is pursued once more.
//!
//! Each request is a child thread under a key of its own, so that a kill repeats none of them.

use systole_kit::Payload;

use super::{StartedUnit, WorkflowWalk};
use crate::goal_request::Correction;
use crate::known::{KnownEntry, KnownOutputs, StepFailure, StepOutput};
use crate::note::NotedComparison;
use crate::spec::{ElementName, Goal, Path, Step, Supervisor};
use crate::supervision::{self, name_element};
use crate::visible_outputs::{self, GoalParts};

/// A goal that one agent pursues.
pub(super) struct PursuedGoal<'p> {
    pub(super) step: &'p Step,
    pub(super) goal: &'p Goal,
    pub(super) agent: &'p str,
    /// What is known at the goal.
    pub(super) known: &'p KnownOutputs,
    /// The key of the goal.
    pub(super) key: &'p str,
    /// The id under which its output is known.
    pub(super) label: &'p str,
    /// The task that it is, if it is no goal of the workflow: its role, and its goal.
    pub(super) task: Option<(&'p str, &'p str)>,
}

/// A goal that was pursued once, or once more after a correction.
struct GoalRound<'r> {
    of: &'r PursuedGoal<'r>,
    /// The key of its output.
    key: String,
    commitment: Payload,
    /// What was wanted after the first round, and the output of that.
    corrected: Option<(WantedCorrection, Payload)>,
}

/// A correction that is wanted.
#[derive(Clone)]
struct WantedCorrection {
    source: &'static str,
    words: String,
}

/// What is decided about an output.
enum RoundDecision {
    Continue,
    Reorient(WantedCorrection),
}

impl WorkflowWalk<'_> {
    /// What came of a goal under supervision.
    pub(super) fn supervise(&mut self, supervisor: &Supervisor, of: &PursuedGoal<'_>) -> StartedUnit {
        match self.run_rounds(supervisor, of) {
            Ok(output) => StartedUnit::Over(StepOutput::Payload(output)),
            Err(unit) => unit,
        }
    }

    fn run_rounds(&mut self, supervisor: &Supervisor, of: &PursuedGoal<'_>) -> Result<Payload, StartedUnit> {
        let words = (supervision::COMMIT, name_element("commit"));
        let commitment =
            self.request_goal(of, &format!("commit:{}", of.key), of.agent, Some(words), &[], None)?;
        let mut round = GoalRound { of, key: of.key.to_owned(), commitment, corrected: None };
        loop {
            let output = self.find_output(&round)?;
            match self.find_decision(supervisor, &round, &output)? {
                RoundDecision::Continue => return Ok(output),
                RoundDecision::Reorient(wanted) => {
                    round.key = format!("{}:2", of.key);
                    round.corrected = Some((wanted, output));
                }
            }
        }
    }

    /// The output of a round.
    fn find_output(&mut self, round: &GoalRound<'_>) -> Result<Payload, StartedUnit> {
        let mut seen = vec![round.show_entry("commit:", &round.commitment)];
        seen.extend(round.corrected.as_ref().map(|(_, output)| round.show_entry("", output)));
        self.request_goal(round.of, &round.key, round.of.agent, None, &seen, round.correction())
    }

    /// What the supervisor decides about an output, if there is a reason to ask.
    fn find_decision(
        &mut self,
        supervisor: &Supervisor,
        round: &GoalRound<'_>,
        output: &Payload,
    ) -> Result<RoundDecision, StartedUnit> {
        let of = round.of;
        let mut seen = vec![round.show_entry("commit:", &round.commitment), round.show_entry("", output)];
        let words = (supervision::ASSESS, name_element("assessment"));
        let key = format!("assess:{}", round.key);
        let assessment = self.request_goal(of, &key, of.agent, Some(words), &seen, round.correction())?;
        let triggers = self.compare_output(round, &assessment);
        seen.push(round.show_entry("assess:", &assessment));
        let by = match supervisor {
            Supervisor::Person => format!("{} has pursued it", of.agent),
            Supervisor::Agent(_) if triggers.is_empty() => return Ok(RoundDecision::Continue),
            Supervisor::Agent(name) => {
                let mut shown = seen.clone();
                shown.push(
                    round.show_entry("reconcile:", &supervision::write_comparison(&of.step.id, &triggers)),
                );
                let words = if round.is_last() { supervision::LAST_VERDICT } else { supervision::VERDICT };
                let words = (words, name_element("verdict"));
                let key = format!("verdict:{}", round.key);
                let verdict = self.request_goal(of, &key, name, Some(words), &shown, round.correction())?;
                match verdict.find_attribute("value").as_deref() {
                    Some(supervision::CONTINUE) => return Ok(RoundDecision::Continue),
                    Some(supervision::REORIENT) if !round.is_last() => {
                        return Ok(RoundDecision::Reorient(WantedCorrection {
                            source: "supervisor",
                            words: verdict.text(),
                        }));
                    }
                    _ => seen.push(round.show_entry("verdict:", &verdict)),
                }
                format!("{name} has paused it")
            }
        };
        self.ask_person(round, &by, &triggers, seen)
    }

    /// Asks a person what to do with an output.
    fn ask_person(
        &mut self,
        round: &GoalRound<'_>,
        by: &str,
        triggers: &[String],
        seen: Vec<KnownEntry>,
    ) -> Result<RoundDecision, StartedUnit> {
        let mut question = supervision::build_question(round.of.label, by, triggers, round.is_last());
        let mut known = round.of.known.clone();
        for entry in seen {
            question.shows.push(Path { goal: entry.id.clone(), agent: None, fields: Vec::new() });
            known.push_entry(entry);
        }
        let said = take_output(self.find_answer(&format!("ask:{}", round.key), &question, &known))?;
        let note = said.text();
        match said.find_attribute("choice").as_deref() {
            Some(supervision::CONTINUE) => Ok(RoundDecision::Continue),
            Some(supervision::REORIENT) if !round.is_last() => {
                let no_note = "A person wants this done again and wrote no note.";
                let words = if note.trim().is_empty() { no_note.to_owned() } else { note };
                Ok(RoundDecision::Reorient(WantedCorrection { source: "person", words }))
            }
            _ => {
                let words = if note.trim().is_empty() { "a person stopped it".to_owned() } else { note };
                Err(StartedUnit::Over(StepOutput::Failed(StepFailure::new("workflow.stopped", words))))
            }
        }
    }

    /// Compares an output with its commitment, once.
    fn compare_output(&mut self, round: &GoalRound<'_>, assessment: &Payload) -> Vec<String> {
        if let Some(triggers) = self.facts.find_triggers(&round.key) {
            return triggers.to_vec();
        }
        let triggers = supervision::find_triggers(&round.commitment, assessment);
        self.note.reconciled.push(NotedComparison { key: round.key.clone(), triggers: triggers.clone() });
        triggers
    }

    /// Asks an agent to pursue the goal, or what `instead` says.
    fn request_goal(
        &mut self,
        of: &PursuedGoal<'_>,
        key: &str,
        agent: &str,
        instead: Option<(&str, ElementName)>,
        more: &[KnownEntry],
        correction: Option<Correction<'_>>,
    ) -> Result<Payload, StartedUnit> {
        let workflow = self.workflow;
        let gives = instead.as_ref().map(|(_, gives)| gives.clone()).or_else(|| of.goal.gives.clone());
        let asked = GoalParts { instead, more, correction, task: of.task };
        let request = || visible_outputs::build_goal_request(workflow, of.step, of.goal, of.known, asked);
        take_output(self.pursue(of.step, key, agent, gives.as_ref(), request))
    }
}

impl GoalRound<'_> {
    /// Whether no further correction is possible.
    const fn is_last(&self) -> bool {
        self.corrected.is_some()
    }

    fn correction(&self) -> Option<Correction<'_>> {
        let (wanted, _) = self.corrected.as_ref()?;
        Some(Correction { source: wanted.source, words: &wanted.words })
    }

    /// A part of the round as others see it.
    fn show_entry(&self, what: &str, payload: &Payload) -> KnownEntry {
        KnownEntry::new(&format!("{what}{}", self.of.label), StepOutput::Payload(payload.clone()))
    }
}

/// What came of something that succeeded; anything else ends the walk through the goal.
fn take_output(unit: StartedUnit) -> Result<Payload, StartedUnit> {
    match unit {
        StartedUnit::Over(StepOutput::Payload(payload)) => Ok(payload),
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use systole_kit::{DocumentLimits, Payload, namespaces};

    use super::super::{WalkTurn, walk_workflow};
    use crate::facts::RunFacts;
    use crate::note::{NotedStart, TurnNote};
    use crate::spec::{ElementName, FORM, Goal, Step, StepAction, Workflow};

    fn goal(id: &str) -> Step {
        let (words, by) = ("Do it.".to_owned(), vec!["x".to_owned()]);
        Step::new(
            id,
            StepAction::Do(Goal { words, by, gives: None, sees: None, hides_request: false, tasks: None }),
        )
    }

    fn workflow(steps: Vec<Step>) -> Workflow {
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        Workflow { name: "one".into(), returns, returns_text: true, steps, description: None, form: FORM }
    }

    fn core(xml: &str) -> Payload {
        let (name, rest) = xml.split_once(' ').unwrap();
        Payload::parse(
            format!("<{name} xmlns='{}' {rest}", namespaces::CORE).as_bytes(),
            &DocumentLimits::default(),
        )
        .unwrap()
    }

    /// What happened when these were started in one reply and answered so, and this came after it.
    fn facts(starts: &[(&str, &str)], arrivals: &[&str]) -> RunFacts {
        let mut facts = RunFacts::default();
        let starts = (1..).zip(starts);
        let started = starts.clone().map(|(ordinal, (key, _))| NotedStart {
            ordinal,
            key: (*key).to_owned(),
            number: 1,
        });
        facts.take_note(&TurnNote { starts: started.collect(), ..TurnNote::default() });
        starts.for_each(|(ordinal, (_, answer))| facts.take_answer(ordinal, &core(answer)));
        arrivals.iter().for_each(|arrival| facts.take_arrival(&core(arrival)));
        facts
    }

    fn turn(steps: Vec<Step>, facts: &RunFacts) -> WalkTurn {
        walk_workflow(
            &workflow(steps),
            &Payload::parse(b"<ask xmlns='urn:t'>Go.</ask>", &DocumentLimits::default()).unwrap(),
            facts,
            2,
        )
    }

    #[test]
    fn a_goal_that_asks_for_a_payload_fails_with_a_report_of_its_model() {
        let report = "thread-finished id='t' outcome='answered'><final-report source='model' outcome='success'>Done.</final-report></thread-finished>";
        let facts = facts(&[("plan", "thread-spawned assigned_id='t'/>")], &[report]);
        let mut plan = goal("plan");
        assert!(matches!(turn(vec![plan.clone()], &facts), WalkTurn::Final(..)), "text takes a report");
        let StepAction::Do(goal) = &mut plan.work else { unreachable!() };
        goal.gives = Some(ElementName { namespace: "urn:x".into(), local: "plan".into() });
        let WalkTurn::Failed(failure) = turn(vec![plan], &facts) else { panic!("it did not fail") };
        assert_eq!(failure.words, "plan: agent.no-answer: x gave a report and no <plan>: Done.");
    }

    #[test]
    fn a_reply_that_only_cancels_timers_says_of_nothing_else_that_it_starts() {
        let again = Step { tries: 2, ..goal("again") };
        let steps = StepAction::Parallel { steps: vec![again, goal("bad")], at_once: 4 };
        let timed = Step { timeout_ms: Some(60_000), ..Step::new("both", steps) };
        let failed = |id: &str| {
            format!(
                "thread-finished id='{id}' outcome='failed'><system-error code='listener.failed' message='no'/></thread-finished>"
            )
        };
        let starts = [
            ("again", "thread-spawned assigned_id='a'/>"),
            ("bad", "thread-spawned assigned_id='b'/>"),
            ("timeout:both", "timer-set id='t1-3'/>"),
        ];
        let facts = facts(&starts, &[&failed("a"), &failed("b")]);
        let WalkTurn::Items(note, items) = turn(vec![timed], &facts) else {
            panic!("the timer is not cancelled")
        };
        assert_eq!(items.len(), 1);
        assert!(items[0].name().is_named(namespaces::CORE, "cancel-timer"), "{items:?}");
        assert_eq!(note.starts, [], "the pause before the second try is in no reply");
    }

    #[test]
    fn a_step_that_an_earlier_version_began_in_the_run_thread_continues_there() {
        let by = || Some(crate::spec::Supervisor::Agent("critic".into()));
        let timed = |step: Step| Step { timeout_ms: Some(60_000), ..step };
        let alone = || timed(Step { supervise: by(), ..goal("plan") });
        let inside = || StepAction::Group { steps: vec![Step { supervise: by(), ..goal("plan") }] };
        let begun = [
            ("commit:plan", "thread-spawned assigned_id='c'/>"),
            ("timeout:both", "timer-set id='t1-2'/>"),
            ("timeout:plan", "timer-set id='t1-3'/>"),
        ];
        let facts = facts(&begun, &[]);
        for step in [alone(), timed(Step::new("both", inside()))] {
            let WalkTurn::Items(note, _) = turn(vec![step], &facts) else { panic!("it has ended") };
            assert_eq!(note.starts, [], "the commitment is waited for");
        }
        let WalkTurn::Items(note, items) = turn(vec![alone()], &RunFacts::default()) else {
            panic!("it has ended")
        };
        assert_eq!(note.starts.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["plan", "timeout:plan"]);
        assert!(String::from_utf8_lossy(items[0].bytes()).contains("terms=\"outside\""), "{items:?}");
    }

    #[test]
    fn a_run_whose_timer_is_gone_ends_and_does_not_wait_for_ever() {
        let wait = || vec![Step::new("rest", StepAction::Wait { ms: 1000 }), goal("answer")];
        let mut facts = facts(&[("rest", "timer-set id='t1-1'/>")], &[]);
        assert!(matches!(turn(wait(), &facts), WalkTurn::Items(..)), "it waits for the timer");
        facts.take_answer(9, &core("timer-cancelled id='t1-1'/>"));
        let WalkTurn::Failed(failure) = turn(wait(), &facts) else { panic!("it waits for nothing") };
        assert_eq!(failure.code, "workflow.stuck");
    }
}
