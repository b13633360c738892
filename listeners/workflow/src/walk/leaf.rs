//! Steps that are one thing for each of their agents: a goal, or a call.

use systole_kit::{Payload, namespaces};

use super::supervised_goal::PursuedGoal;
use super::{StartedUnit, WalkFlow, WorkflowWalk};
use crate::items;
use crate::known::{KnownEntry, KnownOutputs, StepFailure, StepOutput};
use crate::spec::{ElementName, Step, StepAction};
use crate::visible_outputs::{self, GoalParts};

/// What came of a leaf, for each of its agents.
pub(super) enum LeafResult {
    Over(Vec<KnownEntry>),
    Waits,
}

impl WorkflowWalk<'_> {
    /// A goal or a call of its own, or that of an item.
    pub(super) fn run_leaf(
        &mut self,
        step: &Step,
        item: Option<usize>,
        known: &mut KnownOutputs,
    ) -> WalkFlow {
        match self.collect_entries(step, item, known, || known.clone()) {
            LeafResult::Waits => WalkFlow::Waits,
            LeafResult::Over(entries) => {
                for entry in entries {
                    if let StepOutput::Failed(failure) = &entry.output
                        && !step.keeps_failure
                    {
                        return WalkFlow::Failed(name_step(&entry.label(), failure));
                    }
                    known.push_entry(entry);
                }
                WalkFlow::Done
            }
        }
    }

    /// The outputs of a goal or a call, once all are there.
    pub(super) fn collect_entries(
        &mut self,
        step: &Step,
        item: Option<usize>,
        base: &KnownOutputs,
        own_view: impl Fn() -> KnownOutputs,
    ) -> LeafResult {
        let own =
            KnownEntry { item, ..KnownEntry::new(&step.id, StepOutput::Failed(StepFailure::new("", ""))) };
        let prefix = base.key_of("");
        let mut over = Vec::new();
        let mut waits = false;
        let mut take = |unit: StartedUnit, entry: KnownEntry| match unit {
            StartedUnit::Over(output) => over.push(KnownEntry { output, ..entry }),
            StartedUnit::Waits => waits = true,
        };
        match &step.work {
            StepAction::Do(goal) => {
                for agent in &goal.by {
                    let named = (goal.by.len() > 1).then(|| agent.clone());
                    let entry = KnownEntry { agent: named, ..own.clone() };
                    let key = format!("{prefix}{}", entry.label());
                    let workflow = self.workflow;
                    let unit = match &step.supervise {
                        Some(supervisor) => {
                            let known = own_view();
                            let label = entry.label();
                            self.supervise(
                                supervisor,
                                &PursuedGoal {
                                    step,
                                    goal,
                                    agent,
                                    known: &known,
                                    key: &key,
                                    label: &label,
                                    task: None,
                                },
                            )
                        }
                        None => {
                            let request = || {
                                visible_outputs::build_goal_request(
                                    workflow,
                                    step,
                                    goal,
                                    &own_view(),
                                    GoalParts::default(),
                                )
                            };
                            self.pursue(step, &key, agent, goal.gives.as_ref(), request)
                        }
                    };
                    take(unit, entry);
                }
            }
            StepAction::Call(call) => {
                let key = format!("{prefix}{}", own.label());
                let item = |label: &str| {
                    Ok(items::spawn_child(
                        label,
                        &call.to,
                        &items::build_call(call, &own_view())?,
                        &step.budget,
                    ))
                };
                let unit = self.try_item(step, &key, item);
                take(unit, own);
            }
            // Nothing else is a leaf.
            _ => {}
        }
        if waits { LeafResult::Waits } else { LeafResult::Over(over) }
    }
}

impl WorkflowWalk<'_> {
    /// What came of a request to an agent. A goal that asks for a payload takes no report in its place.
    pub(super) fn pursue(
        &mut self,
        step: &Step,
        key: &str,
        agent: &str,
        gives: Option<&ElementName>,
        request: impl FnOnce() -> Result<Payload, StepFailure>,
    ) -> StartedUnit {
        let item = |label: &str| Ok(items::spawn_child(label, agent, &request()?, &step.budget));
        let is_report = |payload: &Payload| payload.name().is_named(namespaces::CORE, "final-report");
        let is_fine = |payload: &Payload| gives.is_none() || !is_report(payload);
        match (self.try_within((step.tries, step.pause_ms), key, is_fine, item), gives) {
            (StartedUnit::Over(StepOutput::Payload(report)), Some(gives)) if is_report(&report) => {
                let words = format!("{agent} gave a report and no <{}>: {}", gives.local, report.text());
                StartedUnit::Over(StepOutput::Failed(StepFailure::new("agent.no-answer", words)))
            }
            (unit, _) => unit,
        }
    }
}

/// A failure with the step that it is of.
pub(super) fn name_step(label: &str, failure: &StepFailure) -> StepFailure {
    let words = match failure.code.starts_with("workflow.") {
        true => format!("{label}: {}", failure.words),
        false => format!("{label}: {}: {}", failure.code, failure.words),
    };
    let code = if failure.code.starts_with("workflow.") { &failure.code } else { "workflow.step-failed" };
    failure.pass_on(code, words)
}
