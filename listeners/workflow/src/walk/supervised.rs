//! A goal under supervision: its agent commits, pursues the goal and assesses the output; the workflow compares, and if
//! there is a reason, the supervisor decides. After a correction the goal is pursued once more.
//!
//! Each request is a child thread under a key of its own, so that a kill repeats none of them.

use systole_kit::Payload;

use super::{Unit, Walk};
use crate::goal_request::Correction;
use crate::known::{Entry, Failure, Known, Output};
use crate::note::Reconciled;
use crate::shown::{self, Asked};
use crate::spec::{ElementName, Goal, Path, Step, Supervisor};
use crate::supervision::{self, name_element};

/// A goal that one agent pursues.
pub(super) struct Pursued<'p> {
    pub(super) step: &'p Step,
    pub(super) goal: &'p Goal,
    pub(super) agent: &'p str,
    /// What is known at the goal.
    pub(super) known: &'p Known,
    /// The key of the goal.
    pub(super) key: &'p str,
    /// The id under which its output is known.
    pub(super) label: &'p str,
}

/// A goal that was pursued once, or once more after a correction.
struct Round<'r> {
    of: &'r Pursued<'r>,
    /// The key of its output.
    key: String,
    commitment: Payload,
    /// What was wanted after the first round, and the output of that.
    corrected: Option<(Wanted, Payload)>,
}

/// A correction that is wanted.
#[derive(Clone)]
struct Wanted {
    source: &'static str,
    words: String,
}

/// What is decided about an output.
enum Decision {
    Continue,
    Reorient(Wanted),
}

impl Walk<'_> {
    /// What came of a goal under supervision.
    pub(super) fn supervise(&mut self, supervisor: &Supervisor, of: &Pursued<'_>) -> Unit {
        match self.run_rounds(supervisor, of) {
            Ok(output) => Unit::Over(Output::Payload(output)),
            Err(unit) => unit,
        }
    }

    fn run_rounds(&mut self, supervisor: &Supervisor, of: &Pursued<'_>) -> Result<Payload, Unit> {
        let words = (supervision::COMMIT, name_element("commit"));
        let commitment =
            self.request_goal(of, &format!("commit:{}", of.key), of.agent, Some(words), &[], None)?;
        let mut round = Round { of, key: of.key.to_owned(), commitment, corrected: None };
        loop {
            let output = self.find_output(&round)?;
            match self.find_decision(supervisor, &round, &output)? {
                Decision::Continue => return Ok(output),
                Decision::Reorient(wanted) => {
                    round.key = format!("{}:2", of.key);
                    round.corrected = Some((wanted, output));
                }
            }
        }
    }

    /// The output of a round.
    fn find_output(&mut self, round: &Round<'_>) -> Result<Payload, Unit> {
        let mut seen = vec![round.show_entry("commit:", &round.commitment)];
        seen.extend(round.corrected.as_ref().map(|(_, output)| round.show_entry("", output)));
        self.request_goal(round.of, &round.key, round.of.agent, None, &seen, round.correction())
    }

    /// What the supervisor decides about an output, if there is a reason to ask.
    fn find_decision(
        &mut self,
        supervisor: &Supervisor,
        round: &Round<'_>,
        output: &Payload,
    ) -> Result<Decision, Unit> {
        let of = round.of;
        let mut seen = vec![round.show_entry("commit:", &round.commitment), round.show_entry("", output)];
        let words = (supervision::ASSESS, name_element("assessment"));
        let key = format!("assess:{}", round.key);
        let assessment = self.request_goal(of, &key, of.agent, Some(words), &seen, round.correction())?;
        let triggers = self.compare_output(round, &assessment);
        seen.push(round.show_entry("assess:", &assessment));
        let by = match supervisor {
            Supervisor::Person => format!("{} has pursued it", of.agent),
            Supervisor::Agent(_) if triggers.is_empty() => return Ok(Decision::Continue),
            Supervisor::Agent(name) => {
                let mut shown = seen.clone();
                shown.push(
                    round.show_entry("reconcile:", &supervision::write_comparison(&of.step.id, &triggers)),
                );
                let words = if round.is_last() { supervision::LAST_VERDICT } else { supervision::VERDICT };
                let words = (words, name_element("verdict"));
                let key = format!("verdict:{}", round.key);
                let verdict = self.request_goal(of, &key, name, Some(words), &shown, round.correction())?;
                match verdict.attribute("value").as_deref() {
                    Some(supervision::CONTINUE) => return Ok(Decision::Continue),
                    Some(supervision::REORIENT) if !round.is_last() => {
                        return Ok(Decision::Reorient(Wanted {
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
        round: &Round<'_>,
        by: &str,
        triggers: &[String],
        seen: Vec<Entry>,
    ) -> Result<Decision, Unit> {
        let mut question = supervision::build_question(round.of.label, by, triggers, round.is_last());
        let mut known = round.of.known.clone();
        for entry in seen {
            question.shows.push(Path { goal: entry.id.clone(), agent: None, fields: Vec::new() });
            known.push_entry(entry);
        }
        let said = take_output(self.find_answer(&format!("ask:{}", round.key), &question, &known))?;
        let note = said.text();
        match said.attribute("choice").as_deref() {
            Some(supervision::CONTINUE) => Ok(Decision::Continue),
            Some(supervision::REORIENT) if !round.is_last() => {
                let no_note = "A person wants this done again and wrote no note.";
                let words = if note.trim().is_empty() { no_note.to_owned() } else { note };
                Ok(Decision::Reorient(Wanted { source: "person", words }))
            }
            _ => {
                let words = if note.trim().is_empty() { "a person stopped it".to_owned() } else { note };
                Err(Unit::Over(Output::Failed(Failure::new("workflow.stopped", words))))
            }
        }
    }

    /// Compares an output with its commitment, once.
    fn compare_output(&mut self, round: &Round<'_>, assessment: &Payload) -> Vec<String> {
        if let Some(triggers) = self.facts.find_triggers(&round.key) {
            return triggers.to_vec();
        }
        let triggers = supervision::find_triggers(&round.commitment, assessment);
        self.note.reconciled.push(Reconciled { key: round.key.clone(), triggers: triggers.clone() });
        triggers
    }

    /// Asks an agent to pursue the goal, or what `instead` says.
    fn request_goal(
        &mut self,
        of: &Pursued<'_>,
        key: &str,
        agent: &str,
        instead: Option<(&str, ElementName)>,
        more: &[Entry],
        correction: Option<Correction<'_>>,
    ) -> Result<Payload, Unit> {
        let workflow = self.workflow;
        let gives = instead.as_ref().map(|(_, gives)| gives.clone()).or_else(|| of.goal.gives.clone());
        let asked = Asked { instead, more, correction };
        let request = || shown::goal_request(workflow, of.step, of.goal, of.known, asked);
        take_output(self.pursue(of.step, key, agent, gives.as_ref(), request))
    }
}

impl Round<'_> {
    /// Whether no further correction is possible.
    const fn is_last(&self) -> bool {
        self.corrected.is_some()
    }

    fn correction(&self) -> Option<Correction<'_>> {
        let (wanted, _) = self.corrected.as_ref()?;
        Some(Correction { source: wanted.source, words: &wanted.words })
    }

    /// A part of the round as others see it.
    fn show_entry(&self, what: &str, payload: &Payload) -> Entry {
        Entry::new(&format!("{what}{}", self.of.label), Output::Payload(payload.clone()))
    }
}

/// What came of something that succeeded; anything else ends the walk through the goal.
fn take_output(unit: Unit) -> Result<Payload, Unit> {
    match unit {
        Unit::Over(Output::Payload(payload)) => Ok(payload),
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use systole_kit::{DocumentLimits, Payload, namespaces};

    use super::super::{Turn, walk_workflow};
    use crate::facts::Facts;
    use crate::note::{Note, Started};
    use crate::spec::{ElementName, Goal, Step, StepAction, Workflow};

    fn goal(id: &str) -> Step {
        let (words, by) = ("Do it.".to_owned(), vec!["x".to_owned()]);
        Step::new(id, StepAction::Do(Goal { words, by, gives: None, sees: None, tasks: None }))
    }

    fn workflow(steps: Vec<Step>) -> Workflow {
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        Workflow { name: "one".into(), returns, returns_text: true, steps, description: None }
    }

    fn core(xml: &str) -> Payload {
        let (name, rest) = xml.split_once(' ').unwrap();
        Payload::read(
            format!("<{name} xmlns='{}' {rest}", namespaces::CORE).as_bytes(),
            &DocumentLimits::default(),
        )
        .unwrap()
    }

    /// What happened when these were started in one reply and answered so, and this came after it.
    fn facts(starts: &[(&str, &str)], arrivals: &[&str]) -> Facts {
        let mut facts = Facts::default();
        let starts = (1..).zip(starts);
        let started =
            starts.clone().map(|(ordinal, (key, _))| Started { ordinal, key: (*key).to_owned(), number: 1 });
        facts.take_note(&Note { starts: started.collect(), ..Note::default() });
        starts.for_each(|(ordinal, (_, answer))| facts.take_answer(ordinal, &core(answer)));
        arrivals.iter().for_each(|arrival| facts.take_arrival(&core(arrival)));
        facts
    }

    fn turn(steps: Vec<Step>, facts: &Facts) -> Turn {
        walk_workflow(
            &workflow(steps),
            &Payload::read(b"<ask xmlns='urn:t'>Go.</ask>", &DocumentLimits::default()).unwrap(),
            facts,
            2,
        )
    }

    #[test]
    fn a_goal_that_asks_for_a_payload_fails_with_a_report_of_its_model() {
        let report = "thread-finished id='t' outcome='answered'><final-report source='model' outcome='success'>Done.</final-report></thread-finished>";
        let facts = facts(&[("plan", "thread-spawned assigned_id='t'/>")], &[report]);
        let mut plan = goal("plan");
        assert!(matches!(turn(vec![plan.clone()], &facts), Turn::Final(..)), "text takes a report");
        let StepAction::Do(goal) = &mut plan.work else { unreachable!() };
        goal.gives = Some(ElementName { namespace: "urn:x".into(), local: "plan".into() });
        let Turn::Failed(failure) = turn(vec![plan], &facts) else { panic!("it did not fail") };
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
        let Turn::Items(note, items) = turn(vec![timed], &facts) else {
            panic!("the timer is not cancelled")
        };
        assert_eq!(items.len(), 1);
        assert!(items[0].name().is(namespaces::CORE, "cancel-timer"), "{items:?}");
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
            let Turn::Items(note, _) = turn(vec![step], &facts) else { panic!("it has ended") };
            assert_eq!(note.starts, [], "the commitment is waited for");
        }
        let Turn::Items(note, items) = turn(vec![alone()], &Facts::default()) else { panic!("it has ended") };
        assert_eq!(note.starts.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["plan", "timeout:plan"]);
        assert!(String::from_utf8_lossy(items[0].bytes()).contains("terms=\"outside\""), "{items:?}");
    }

    #[test]
    fn a_run_whose_timer_is_gone_ends_and_does_not_wait_for_ever() {
        let wait = || vec![Step::new("rest", StepAction::Wait { ms: 1000 }), goal("answer")];
        let mut facts = facts(&[("rest", "timer-set id='t1-1'/>")], &[]);
        assert!(matches!(turn(wait(), &facts), Turn::Items(..)), "it waits for the timer");
        facts.take_answer(9, &core("timer-cancelled id='t1-1'/>"));
        let Turn::Failed(failure) = turn(wait(), &facts) else { panic!("it waits for nothing") };
        assert_eq!(failure.code, "workflow.stuck");
    }
}
