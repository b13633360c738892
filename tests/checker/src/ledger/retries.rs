//! Failed calls of roots in the ledger, and their reopening.

use super::thread::{ClockedTime, LedgerCall, LedgerFailure, LedgerThread};
use super::{CheckLedger, LedgerStep};
use crate::meaning::{ItemSort, RecordAct};
use crate::path;
use crate::tag;

impl LedgerThread {
    /// A top call of a root closed. News that no one waits for does not count.
    pub(super) fn note_failure(&mut self, step: &LedgerStep<'_>, path: &str, call: LedgerCall) {
        if call.is_news {
            return;
        }
        let record = step.record;
        let is_final = matches!(step.act, Some(RecordAct::Item { sort: ItemSort::Final, .. }));
        let report = tag::parse_root(&record.body).filter(|tag| tag.name == "final-report");
        let gave_up = report.is_some_and(|tag| tag.find_attribute("outcome") == Some("failure"));
        let is_failure = if is_final { gave_up } else { record.code.as_deref() != Some("handled") };
        let is_followed = self.calls.iter().any(|(other, call)| path::is_top(other) && !call.is_news);
        self.failed = is_failure.then(|| {
            let (path, outcome) = (path.to_owned(), record.id);
            let code = record.code.clone().unwrap_or_default();
            Box::new(LedgerFailure { path, call, code, outcome, is_final, is_followed })
        });
    }
}

impl CheckLedger {
    /// Opens the failed call again. Its next attempt has the next number, and automatic ones are counted anew.
    pub(super) fn reopen_call(&mut self, step: &LedgerStep<'_>, path: &str) {
        let (thread, position) = (&step.record.thread, step.record.position);
        let Some(state) = self.threads.get_mut(thread) else { return };
        let Some(failed) = state.failed.take_if(|failed| failed.path == path && !failed.is_followed) else {
            return;
        };
        let mut call = failed.call;
        let made = call.attempts.unwrap_or(1);
        (call.attempts, call.before_retry) = (Some(made.saturating_add(1)), made);
        (call.lost_with_pump, call.away, call.deaths_on_record) = (0, 0, 0);
        (call.is_dead, call.moved, call.approval) = (false, position, None);
        call.retries = call.retries.saturating_add(1);
        call.journal.clear();
        call.waits_no_more();
        // The limit is that of the configuration under which it goes on.
        if let Some(said) = state.clocks.get_mut(&call.budget_use.to_string()) {
            said.limit_ms = ClockedTime::OPEN;
        }
        state.calls.insert(path.to_owned(), call);
        self.firsts.forget(&["outcome", thread, path]);
    }
}
