//! A person who is asked, and time that passes.

use super::{Flow, Unit, Walk};
use crate::ask_person;
use crate::facts::State;
use crate::items;
use crate::known::{Entry, Failure, Known, Output};
use crate::spec::{QuestionStep, Step};

impl Walk<'_> {
    pub(super) fn ask(&mut self, step: &Step, question: &QuestionStep, known: &mut Known) -> Flow {
        match self.answer(&known.key(&step.id), question, known) {
            Unit::Waits => Flow::Waits,
            Unit::Over(Output::Failed(failure)) => Flow::Failed(super::leaf::at(&step.id, &failure)),
            Unit::Over(said) => {
                known.push(Entry::new(&step.id, said));
                Flow::Done
            }
        }
    }

    /// What a person answers to a question that is asked under a key.
    pub(super) fn answer(&mut self, key: &str, question: &QuestionStep, known: &Known) -> Unit {
        let facts = self.facts;
        if facts.tries(key).is_empty() && !question.shows.is_empty() && !facts.has_numbers() {
            self.needs_numbers = true;
            return Unit::Waits;
        }
        let before = self.items.len();
        match self.once(key, |_| ask_person::ask_person(question, known, facts)) {
            Unit::Waits => {
                // The item stays open until the person has answered.
                self.asks |= self.items.len() > before || facts.tries(key).last() == Some(&State::Asked);
                Unit::Waits
            }
            Unit::Over(Output::Payload(said)) => Unit::Over(items::person_said(&said, question).map_or_else(
                || Output::Failed(Failure::new("workflow.nobody-answered", "no one answered in time")),
                Output::Payload,
            )),
            failed => failed,
        }
    }

    pub(super) fn wait(&mut self, step: &Step, ms: u64, known: &Known) -> Flow {
        let key = known.key(&step.id);
        match self.facts.tries(&key).last() {
            Some(State::Fired(_)) => Flow::Done,
            Some(State::Ended(Output::Failed(failure))) => Flow::Failed(super::leaf::at(&step.id, failure)),
            Some(_) => Flow::Waits,
            None => {
                self.start(&key, 1, |id| items::timer(id, ms));
                Flow::Waits
            }
        }
    }
}
