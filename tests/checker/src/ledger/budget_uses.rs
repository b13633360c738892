//! Budgets in the ledger: what each message from outside has used, and how deep its work is nested. A budget use
//! belongs to the root, under the number of the top call that a client opened. Everything below counts into it at
//! once, and the calls that its timers open continue it.

use super::thread::LedgerUse;
use super::{CheckLedger, LedgerStep, LedgerThread};
use crate::path;

impl CheckLedger {
    /// The use so far of the message that is at work in the tree of a thread.
    pub(crate) fn budget_use(&self, thread: &str) -> Option<LedgerUse> {
        let root = self.find_thread(path::find_root(thread))?;
        root.budget_uses.get(&root.budget_use_at_work()?).copied()
    }

    /// The depth of what a call begins: calls and spawns above it, over all threads.
    pub(crate) fn depth_below(&self, thread: &str, call: &str) -> u32 {
        let above =
            self.find_thread(thread).and_then(|thread| thread.child.as_ref()).map_or(0, |child| child.depth);
        above + path::count_depth(call) + 1
    }

    /// Counts what a thread began.
    pub(super) fn charge_use(&mut self, thread: &str, messages: u32, children: u32) {
        let Some(root) = self.threads.get_mut(path::find_root(thread)) else { return };
        let budget_use = root.budget_use_at_work().and_then(|number| root.budget_uses.get_mut(&number));
        if let Some(budget_use) = budget_use {
            budget_use.messages = budget_use.messages.saturating_add(messages);
            budget_use.children = budget_use.children.saturating_add(children);
        }
    }

    /// Gives a budget use to a top call that a message from outside opens, or a timer of such a call, or the news of
    /// that timer.
    pub(super) fn gives_budget_use(&mut self, step: &LedgerStep<'_>, call: &str) {
        let fired = step.core_named("timer-fired").and_then(|tag| tag.find_attribute("id"));
        let finished = step.core_named("timer-finished").and_then(|tag| tag.find_attribute("call"));
        let Some(thread) = self.threads.get_mut(&step.record.thread) else { return };
        let number = match (fired, finished) {
            (Some(id), _) => thread.timers.get(id).map(|timer| timer.budget_use),
            (None, Some(about)) => thread.calls.get(about).map(|call| call.budget_use),
            (None, None) => Some(path::find_top(call)),
        };
        if let (Some(number), Some(call)) = (number, thread.calls.get_mut(call)) {
            call.budget_use = number;
            thread.budget_uses.entry(number).or_default();
        }
    }
}

impl LedgerThread {
    /// The number of the budget use that the open top call uses.
    pub(super) fn budget_use_at_work(&self) -> Option<u32> {
        let first = self.first_top()?;
        self.calls.get(&first.to_string()).map(|call| call.budget_use)
    }

    /// Forgets the budget uses that can no longer be used.
    pub(super) fn forget_budget_uses(&mut self) {
        let (calls, timers) = (&self.calls, &self.timers);
        let failed = self.failed.as_ref().filter(|failed| !failed.is_followed);
        let failed = failed.map(|failed| failed.call.budget_use);
        self.budget_uses.retain(|number, _| {
            failed == Some(*number)
                || calls.values().any(|call| call.budget_use == *number)
                || timers.values().any(|timer| timer.budget_use == *number)
        });
    }
}
