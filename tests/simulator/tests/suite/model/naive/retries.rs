//! Failed roots of the naive pump: the last top call as it was when it closed, and a client that has it tried again.

use super::{Call, Naive, Payer, Shown, Thread};

/// A top call that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    path: String,
    /// None once another top call was opened.
    call: Option<Call>,
    outcome: String,
    shown: Shown,
}

impl Thread {
    /// Another top call opens.
    pub(super) fn is_followed(&mut self) {
        self.failed.iter_mut().for_each(|failed| failed.call = None);
    }
}

impl Naive {
    /// A top call of a root closed.
    pub(super) fn keeps_failed(
        &mut self,
        thread: &str,
        path: &str,
        call: Call,
        (outcome, shown): (&str, &str),
    ) {
        let Some(here) = self.threads.get_mut(thread).filter(|_| !call.is_news) else { return };
        let (is_last, payer) = (here.calls.values().all(|other| other.is_news), call.payer.clone());
        let is_failure = !matches!(outcome, "answered" | "handled");
        here.failed = is_failure.then(|| {
            let call = is_last.then_some(call);
            Box::new(Failed {
                path: path.to_owned(),
                call,
                outcome: outcome.to_owned(),
                shown: shown.to_owned(),
            })
        });
        let is_left = self.open_calls(&payer).next().is_none() && !self.has_timers_of(&payer);
        if is_left && self.may_go_on(&payer) {
            self.stops_clock(&payer);
        }
    }

    /// Whether a failed call of a message may be tried again.
    pub(super) fn may_go_on(&self, payer: &Payer) -> bool {
        let failed = self.threads.values().filter_map(|here| here.failed.as_ref()?.call.as_ref());
        failed.into_iter().any(|call| call.payer == *payer)
    }

    /// The roots with a call that may be tried again.
    pub(crate) fn failed_roots(&self) -> Vec<String> {
        let failed = |here: &Thread| here.failed.as_ref().is_some_and(|failed| failed.call.is_some());
        self.threads
            .iter()
            .filter(|(_, here)| !here.ended && failed(here))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Tries a root again.
    pub(crate) fn retried(&mut self, thread: &str) {
        let told = match (self.life(thread), self.threads.get(thread).and_then(|here| here.failed.clone())) {
            ("none", _) => "refused thread.unknown",
            _ if thread.contains('.') => "refused retry.not-failed",
            ("ended", _) => "refused retry.decided",
            (_, None) => "refused retry.not-failed",
            (_, Some(failed)) => match failed.call {
                None => "refused retry.superseded",
                Some(call) if call.wraps_up() || failed.outcome == "budget" || is_used_up(&failed.shown) => {
                    "refused retry.spent"
                }
                Some(_) if matches!(&*failed.outcome, "rejected" | "cancelled") => "refused retry.decided",
                Some(call) if call.is_settled => "refused retry.settled",
                Some(call) => {
                    self.goes_on_in_place(thread, &failed.path, call, failed.outcome == "expired");
                    "done"
                }
            },
        };
        self.told = Some(told.to_owned());
    }

    fn goes_on_in_place(&mut self, thread: &str, path: &str, mut call: Call, is_expired: bool) {
        (call.before, call.attempt, call.recorded) = (call.attempt, call.attempt + 1, true);
        (call.lost_with_pump, call.counted_deaths) = (0, 0);
        call.journal.passes();
        // What no person has seen in time is asked about once more.
        call.asks = is_expired && !call.doubts;
        call.doubts = false;
        self.met.insert(format!("tried again, {}", if call.asks { "a person is asked" } else { "turn due" }));
        let Some(here) = self.threads.get_mut(thread) else { return };
        call.held = !here.calls.is_empty();
        here.failed = None;
        here.calls.insert(path.to_owned(), call);
    }
}

fn is_used_up(shown: &str) -> bool {
    shown.starts_with("budget.") || shown.starts_with("loop.")
}
