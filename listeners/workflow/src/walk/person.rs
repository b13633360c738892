//! A person who is asked, and time that passes.

use super::{StartedUnit, WalkFlow, WorkflowWalk};
use crate::ask_person;
use systole_kit::Payload;

use crate::facts::StartState;
use crate::items;
use crate::known::{KnownEntry, KnownOutputs, StepFailure, StepOutput, is_expired};
use crate::spec::{QuestionStep, Step};

impl WorkflowWalk<'_> {
    pub(super) fn ask_question(
        &mut self,
        step: &Step,
        question: &QuestionStep,
        known: &mut KnownOutputs,
    ) -> WalkFlow {
        match self.find_answer(&known.key_of(&step.id), question, known) {
            StartedUnit::Waits => WalkFlow::Waits,
            StartedUnit::Over(StepOutput::Failed(failure)) => {
                WalkFlow::Failed(super::leaf::name_step(&step.id, &failure))
            }
            StartedUnit::Over(said) => {
                known.push_entry(KnownEntry::new(&step.id, said));
                WalkFlow::Done
            }
        }
    }

    /// What a person answers to a question that is asked under a key.
    pub(super) fn find_answer(
        &mut self,
        key: &str,
        question: &QuestionStep,
        known: &KnownOutputs,
    ) -> StartedUnit {
        let facts = self.facts;
        let is_fine = |said: &Payload| !is_expired(said) || question.otherwise.is_some();
        if self.tries_of(key, is_fine).is_empty() && !question.shows.is_empty() && !facts.has_numbers() {
            self.needs_numbers = true;
            return StartedUnit::Waits;
        }
        let before = self.items.len();
        let item = |_: &str| ask_person::ask_person(question, known, facts);
        match self.try_within((1, (0, 0)), key, is_fine, item) {
            StartedUnit::Waits => {
                // The item stays open until the person has answered.
                self.asks |=
                    self.items.len() > before || facts.tries_of(key).last() == Some(&StartState::Asked);
                StartedUnit::Waits
            }
            StartedUnit::Over(StepOutput::Payload(said)) => {
                StartedUnit::Over(items::read_person_answer(&said, question).map_or_else(
                    || {
                        StepOutput::Failed(StepFailure::new(
                            "workflow.nobody-answered",
                            "no one answered in time",
                        ))
                    },
                    StepOutput::Payload,
                ))
            }
            failed => failed,
        }
    }

    pub(super) fn run_wait(&mut self, step: &Step, ms: u64, known: &KnownOutputs) -> WalkFlow {
        let key = known.key_of(&step.id);
        match self.tries_of(&key, |_| true).last() {
            Some(StartState::Fired(_)) => WalkFlow::Done,
            Some(StartState::Ended(StepOutput::Failed(failure))) => {
                WalkFlow::Failed(super::leaf::name_step(&step.id, failure))
            }
            Some(_) => WalkFlow::Waits,
            None => {
                self.start_item(&key, self.next_number(&key), |id| items::start_timer(id, ms));
                WalkFlow::Waits
            }
        }
    }
}
