//! What the messages from outside have used in one thread, as its fold has it. A thread counts what its own
//! calls began and what its ended children had used; running children count their own use. Limits are not
//! here: they are in the configuration that a budget use names, and in the records of spawns.

use serde::{Deserialize, Serialize};

use super::{Call, Thread};
use crate::types::budget::{Measure, RecordedTime, UsedAmounts};
use crate::types::ids::{CallPath, Digest, ThreadId};
use crate::types::time::Millis;

/// The use of one message from outside, or of the one request of a child.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The configuration that the message began with; its limits apply.
    pub config: Digest,
    /// What was used in this thread and by children of it that have ended.
    pub used: UsedAmounts,
    /// How long it was worked on, in milliseconds, up to the last record about that. Only for a root.
    pub ran_ms: u64,
    /// Since when it is worked on; `None` while it waits only for persons and timers.
    pub runs: Option<Millis>,
    /// Whether its time is over.
    pub is_over: bool,
    /// The limits of tokens and money for which its calls were warned, each as written.
    pub warned: Vec<(Measure, String)>,
}

impl BudgetUse {
    /// A budget use that a message opens. Its time runs from `runs` on, or does not run at first.
    pub fn new(config: Digest, runs: Option<Millis>) -> BudgetUse {
        BudgetUse {
            config,
            used: UsedAmounts::default(),
            ran_ms: 0,
            runs,
            is_over: false,
            warned: Vec::new(),
        }
    }

    /// Stops its time, as long as the call that it pays for is closed.
    pub fn stop_time(&mut self, at: Millis) {
        let ran_ms = self.runs.take().map_or(0, |since| at.count_since(since));
        self.ran_ms = self.ran_ms.saturating_add(ran_ms);
    }

    /// Takes a record about its time, made at that moment.
    pub fn add_time(&mut self, clocked: &RecordedTime, at: Millis) {
        self.ran_ms = clocked.used_ms;
        self.runs = clocked.runs.then_some(at);
        self.is_over = clocked.used_ms >= clocked.limit_ms;
    }
}

/// A call that may only answer, because a budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WrapUp {
    /// The budget.
    pub what: Measure,
    /// The record that says so. The first turn that shows this record is the wrap-up turn.
    pub seq: u64,
}

/// The use under a budget use of a thread: in the thread, and in all running children. `of` returns a thread;
/// running threads are all in memory.
pub fn used_under<'t>(
    of: &impl Fn(&ThreadId) -> Option<&'t Thread>,
    thread: &'t Thread,
    budget_use: u32,
) -> UsedAmounts {
    let own =
        thread.budget_uses.get(&budget_use).map_or_else(UsedAmounts::default, |budget_use| budget_use.used);
    let calls = thread.calls.values().filter(|call| call.budget_use == budget_use);
    let children = calls.flat_map(|call| call.running()).filter_map(of);
    // A child has one request, so it has one budget use.
    children.fold(own, |sum, child| sum.sum_with(used_under(of, child, CHILD)))
}

/// The number of a child's budget use.
pub const CHILD: u32 = 1;

impl Thread {
    /// Counts what a call has begun.
    pub fn charge_call(&mut self, call: &CallPath, used: UsedAmounts) {
        let Some(number) = self.calls.get(call).map(|call| call.budget_use) else { return };
        if let Some(budget_use) = self.budget_uses.get_mut(&number) {
            budget_use.used = budget_use.used.sum_with(used);
        }
    }

    /// Replaces the reservation of a model call with its result.
    pub fn settle_use(&mut self, call: &CallPath, kept: UsedAmounts, used: UsedAmounts) {
        let Some(number) = self.calls.get(call).map(|call| call.budget_use) else { return };
        if let Some(budget_use) = self.budget_uses.get_mut(&number) {
            budget_use.used = budget_use.used.subtract_use(kept).sum_with(used);
        }
    }

    /// Notes that a call was warned of a limit.
    pub fn note_warning(&mut self, call: &CallPath, of: (Measure, String)) {
        let Some(number) = self.calls.get(call).map(|call| call.budget_use) else { return };
        if let Some(budget_use) =
            self.budget_uses.get_mut(&number).filter(|budget_use| !budget_use.warned.contains(&of))
        {
            budget_use.warned.push(of);
        }
    }

    /// A top call opens: the one that failed before it stays closed.
    pub fn supersede_failed(&mut self) {
        if let Some(failed) = &mut self.failed {
            failed.call = None;
        }
    }

    /// Forgets budget uses that can no longer be used: no call is open under them, and no timer set there will
    /// open another. That of a call that may be reopened is kept, and its time stands still.
    pub fn close_budget_uses(&mut self, at: Millis) {
        let (calls, timers) = (&self.calls, &self.timers);
        let failed = self.failed.as_ref().and_then(|failed| failed.call.as_ref()).map(|call| call.budget_use);
        self.budget_uses.retain(|number, budget_use| {
            let is_charged = calls.values().any(|call| call.budget_use == *number);
            if is_charged || timers.values().any(|timer| timer.budget_use == *number) {
                return true;
            }
            budget_use.stop_time(at);
            failed == Some(*number)
        });
    }

    /// The open call that spawned a running child.
    pub fn spawning_call(&self, child: &ThreadId) -> Option<(&CallPath, &Call)> {
        let mut calls = self.calls.iter().map(|(path, call)| (path, &**call));
        calls.find(|(_, call)| call.running().any(|id| id == child))
    }
}

impl Call {
    /// Whether the due turn is its wrap-up turn.
    pub fn is_wrapping_up(&self) -> bool {
        self.wrap_up.is_some_and(|wrap_up| wrap_up.seq <= self.ready_seq)
    }
}
