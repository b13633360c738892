//! A person who is asked, and time that passes.

use super::{Flow, Unit, Walk};
use crate::ask_person;
use crate::facts::State;
use crate::items;
use crate::known::{Entry, Failure, Known, Output};
use crate::spec::{QuestionStep, Step};

impl Walk<'_> {
    pub(super) fn ask_question(&mut self, step: &Step, question: &QuestionStep, known: &mut Known) -> Flow {
        match self.find_answer(&known.key_of(&step.id), question, known) {
            Unit::Waits => Flow::Waits,
            Unit::Over(Output::Failed(failure)) => Flow::Failed(super::leaf::name_step(&step.id, &failure)),
            Unit::Over(said) => {
                known.push_entry(Entry::new(&step.id, said));
                Flow::Done
            }
        }
    }

    /// What a person answers to a question that is asked under a key.
    pub(super) fn find_answer(&mut self, key: &str, question: &QuestionStep, known: &Known) -> Unit {
        let facts = self.facts;
        if facts.tries_of(key).is_empty() && !question.shows.is_empty() && !facts.has_numbers() {
            self.needs_numbers = true;
            return Unit::Waits;
        }
        let before = self.items.len();
        match self.try_once(key, |_| ask_person::ask_person(question, known, facts)) {
            Unit::Waits => {
                // The item stays open until the person has answered.
                self.asks |= self.items.len() > before || facts.tries_of(key).last() == Some(&State::Asked);
                Unit::Waits
            }
            Unit::Over(Output::Payload(said)) => Unit::Over(items::person_said(&said, question).map_or_else(
                || Output::Failed(Failure::new("workflow.nobody-answered", "no one answered in time")),
                Output::Payload,
            )),
            failed => failed,
        }
    }

    pub(super) fn run_wait(&mut self, step: &Step, ms: u64, known: &Known) -> Flow {
        let key = known.key_of(&step.id);
        match self.facts.tries_of(&key).last() {
            Some(State::Fired(_)) => Flow::Done,
            Some(State::Ended(Output::Failed(failure))) => {
                Flow::Failed(super::leaf::name_step(&step.id, failure))
            }
            Some(_) => Flow::Waits,
            None => {
                self.start_item(&key, 1, |id| items::start_timer(id, ms));
                Flow::Waits
            }
        }
    }
}
