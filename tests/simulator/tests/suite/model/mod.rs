//! A walk of `decide` and `apply` next to a second, naive pump. Events are drawn, both take them, and after
//! each both must agree on every thread's life, on the state of every open call, on what closed and how, on
//! what every message has used of its budget, on which turns became due, and on the content of each
//! delivery. A failing walk is shortened.

mod drawn;
mod met;
mod naive;
mod real;
mod shown;
mod walk;

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use drawn::{events, limits, loops};
use met::{WORDS, words};
use naive::{Naive, Party, Unknown};
use walk::Walk;

/// Thinks for three turns.
const AGENT: Party = Party { name: "agent", turns: 3, tells: Some(&QUIET), ..TOOL };
/// Answers at once.
const TOOL: Party = Party {
    name: "tool",
    turns: 1,
    owes_answer: true,
    unknown: Unknown::Repeats,
    asks_a_person: false,
    tells: None,
};
/// Owes no answer.
const QUIET: Party = Party { name: "quiet", owes_answer: false, ..TOOL };
/// Its attempts are never repeated if the outcome is unknown.
const CAREFUL: Party = Party { name: "careful", unknown: Unknown::Fails, ..TOOL };
/// Gets what a person approved.
const GUARDED: Party = Party { name: "guarded", asks_a_person: true, ..TOOL };
/// Asks a person if the outcome is unknown, and then thinks on.
const WARY: Party = Party { name: "wary", unknown: Unknown::AsksAPerson, tells: Some(&CAREFUL), ..AGENT };
/// Thinks long enough to go in circles.
const PATIENT: Party = Party { name: "patient", turns: 30, ..TOOL };
const PARTIES: [Party; 7] = [AGENT, TOOL, QUIET, CAREFUL, GUARDED, WARY, PATIENT];
/// The takers of a broadcast.
const CASTS: [&[Party]; 5] =
    [&[TOOL, CAREFUL], &[AGENT, TOOL], &[QUIET, GUARDED, TOOL], &[CAREFUL, AGENT], &[WARY, TOOL]];

/// The number of walks in every test run; `WALKS` in the environment sets another number.
const WALKS: u32 = 7_000;

impl Walk {
    /// Whether both agree.
    fn agrees(&mut self, before: &Naive) -> Result<(), TestCaseError> {
        let stands: Vec<_> = self.naive.threads.iter().collect();
        let ids: Vec<&str> = stands.iter().map(|(id, _)| id.as_str()).collect();
        prop_assert_eq!(self.real.threads(), ids, "threads");
        for (id, thread) in &stands {
            prop_assert_eq!(self.real.life(id), self.naive.life(id), "the life of {}", id);
            if self.naive.life(id) != "ended" {
                prop_assert_eq!(self.real.is_halted(id), self.naive.is_halted(id), "a pause of {}", id);
            }
            let naive: Vec<_> = thread.calls.iter().map(|(path, c)| (path.clone(), c.stand())).collect();
            prop_assert_eq!(self.real.stands(id), naive, "the calls of {}", id);
            prop_assert_eq!(self.real.timers(id), self.naive.timers_of(id), "the timers of {}", id);
        }
        prop_assert_eq!(self.real.told(), self.naive.told.as_deref(), "what who asked is told");
        prop_assert_eq!(self.real.closed(), &self.naive.closed, "what closed");
        for (payer, used) in self.naive.used() {
            prop_assert_eq!(
                self.real.used(&payer),
                Some(used),
                "what message {} of {} used",
                payer.1,
                payer.0
            );
        }
        prop_assert_eq!(self.real.clocked(), &self.naive.clocked, "what is said of time");
        let mark = self.real.next_mark().map(|mark| i64::try_from(mark.0).unwrap());
        prop_assert_eq!(mark, self.naive.next_mark(), "when the next mark of anybody's time is due");
        let due = |naive: &Naive, id: &str, path: &str| naive.call(id, path).and_then(naive::Call::due);
        let mut became_due = Vec::new();
        for (id, thread) in stands {
            for path in thread.calls.keys() {
                let now = due(&self.naive, id, path);
                if now.is_some() && now != due(before, id, path) {
                    became_due.push((id.clone(), path.clone()));
                }
            }
        }
        prop_assert_eq!(self.real.became_due(), &became_due, "what became due");
        for (id, path) in &became_due {
            let shows = self.naive.call(id, path).map(naive::Call::shows).unwrap_or_default();
            prop_assert_eq!(self.real.shows(id, path), shows, "what call {} of {} is shown", path, id);
        }
        Ok(())
    }
}

#[test]
fn b19_two_pumps_that_share_no_code_say_the_same() {
    let asked = std::env::var("WALKS").ok().and_then(|walks| walks.parse().ok());
    let config = ProptestConfig {
        cases: asked.unwrap_or(WALKS),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // The same walks every time, unless `WALKS` asks for many.
    let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, same),
    };
    let met = RefCell::new(BTreeSet::new());
    let walked = runner.run(&(limits(), loops(), events()), |(limits, loops, bursts)| {
        let mut walk = Walk::new(limits, loops);
        for drawn in bursts.iter().flatten() {
            let before = walk.naive.clone();
            walk.begins();
            walk.takes(drawn);
            walk.naive.looks_at_clocks();
            walk.agrees(&before)?;
            met.borrow_mut().extend(words(&walk));
        }
        Ok(())
    });
    if let Err(differs) = walked {
        panic!("{differs}");
    }
    let missed: Vec<&&str> = WORDS.iter().filter(|word| !met.borrow().contains(**word)).collect();
    assert!(missed.is_empty(), "no walk came by {missed:?}, only by {:?}", met.borrow());
}
