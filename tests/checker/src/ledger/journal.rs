//! Journals in the ledger: the entries of the due attempt of each open call, and the model use of each
//! thread. The reserve of a start counts as used until its result replaces it.

use super::{CheckLedger, LedgerStep};
use crate::path;
use crate::tag::{self, BodyTag};

/// An entry of a listener's journal.
#[derive(Debug)]
pub(crate) struct LedgerEntry {
    pub(crate) id: u64,
    /// Its reserve, if it is a start without a result.
    pub(crate) kept: Option<BoughtUse>,
    pub(crate) is_start: bool,
}

/// The use of models.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BoughtUse {
    pub(crate) tokens: u64,
    /// In millionths of the currency's unit.
    pub(crate) micros: u64,
    /// Requests, without those that failed and cost nothing.
    pub(crate) requests: u64,
}

impl BoughtUse {
    pub(crate) fn sum_with(self, other: BoughtUse) -> BoughtUse {
        let tokens = self.tokens.saturating_add(other.tokens);
        let requests = self.requests.saturating_add(other.requests);
        BoughtUse { tokens, micros: self.micros.saturating_add(other.micros), requests }
    }

    fn subtract_use(self, other: BoughtUse) -> BoughtUse {
        let tokens = self.tokens.saturating_sub(other.tokens);
        let requests = self.requests.saturating_sub(other.requests);
        BoughtUse { tokens, micros: self.micros.saturating_sub(other.micros), requests }
    }
}

/// What a start keeps.
pub(crate) fn read_kept(tag: &BodyTag<'_>) -> BoughtUse {
    let tokens = tag.read_large("reserve-tokens").unwrap_or(0);
    BoughtUse { tokens, micros: tag.read_micros("reserve-money").unwrap_or(0), requests: 1 }
}

impl CheckLedger {
    pub(super) fn note_entry(&mut self, step: &LedgerStep<'_>, call: &str) {
        let Some(tag) = tag::parse_entry(&step.record.body) else { return };
        let thread = &step.record.thread;
        let id = tag.read_large("id").unwrap_or_default();
        if step.record.code.as_deref() == Some("model-started") {
            let kept = read_kept(&tag);
            self.with_call(thread, call, |call| {
                call.journal.push(LedgerEntry { id, kept: Some(kept), is_start: true });
            });
            self.replace_spent(thread, BoughtUse::default(), kept);
            return;
        }
        let mut kept = None;
        self.with_call(thread, call, |call| {
            let of = tag.read_large("of");
            let start = call.journal.iter_mut().find(|entry| entry.is_start && Some(entry.id) == of);
            kept = start.and_then(|start| start.kept.take());
            call.journal.push(LedgerEntry { id, kept: None, is_start: false });
        });
        let Some(kept) = kept else { return };
        let (read, written) = (tag.read_large("in"), tag.read_large("out"));
        let has_counts = read.or(written).is_some();
        let tokens = match has_counts {
            true => read.unwrap_or(0).saturating_add(written.unwrap_or(0)),
            false => kept.tokens,
        };
        let money = tag.read_micros("money");
        let is_fault = tag.find_attribute("stop").is_some_and(|stop| stop.starts_with("model."));
        let is_unpaid = is_fault && has_counts && tokens == 0 && money.unwrap_or(0) == 0;
        let bought =
            BoughtUse { tokens, micros: money.unwrap_or(kept.micros), requests: u64::from(!is_unpaid) };
        self.replace_spent(thread, kept, bought);
    }

    /// Adds the use of an ended child to a thread; its tree already counted it.
    pub(super) fn note_purchase(&mut self, thread: &str, bought: BoughtUse) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.bought = thread.bought.sum_with(bought);
        }
    }

    fn replace_spent(&mut self, thread: &str, instead_of: BoughtUse, bought: BoughtUse) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.bought = thread.bought.subtract_use(instead_of).sum_with(bought);
        }
        let Some(root) = self.threads.get_mut(path::find_root(thread)) else { return };
        let budget_use = root.budget_use_at_work().and_then(|number| root.budget_uses.get_mut(&number));
        if let Some(budget_use) = budget_use {
            budget_use.bought = budget_use.bought.subtract_use(instead_of).sum_with(bought);
        }
    }
}
