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
            is_enough = self.decide_once(&format!("{key}.{n}"), question, || match until {
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
        }
        let mut last = passes.pop().unwrap_or_default();
        if let Some(end) = last.last_mut().filter(|_| !is_enough) {
            *end = Arc::new(KnownEntry { is_unfinished: true, ..KnownEntry::clone(end) });
        }
        known.parts.extend(last.into_iter().map(KnownPart::Entry));
        WalkFlow::Done
    }
}
