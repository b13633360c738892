//! What the messages from outside have used in one thread, as its fold has it. A thread counts what its own
//! calls began, and what its children that have ended had used; those that run count for themselves. Limits
//! are not here: they stand in the configuration that a purse names, and in the records of spawns.

use serde::{Deserialize, Serialize};

use super::{Call, Thread};
use crate::types::budget::{Clocked, Measure, Use};
use crate::types::ids::{CallPath, Digest, ThreadId};
use crate::types::time::Millis;

/// The use of one message from outside, or of the one request of a child.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Purse {
    /// The configuration that the message began with: its limits hold.
    pub config: Digest,
    /// What was used in this thread and by children of it that have ended.
    pub used: Use,
    /// How long it was worked on, in milliseconds, up to the last word on that. Only of a root.
    pub ran_ms: u64,
    /// Since when it is worked on; none while only persons and timers are waited for.
    pub runs: Option<Millis>,
    /// Whether its time is over.
    pub is_over: bool,
    /// Which limits of tokens and money its calls were told that most of is used, each as it is written.
    pub warned: Vec<(Measure, String)>,
}

impl Purse {
    /// One that is opened by a message; its time runs from that moment, or stands still at first.
    pub fn new(config: Digest, runs: Option<Millis>) -> Purse {
        Purse { config, used: Use::default(), ran_ms: 0, runs, is_over: false, warned: Vec::new() }
    }

    /// Takes the word on its time of that moment.
    pub fn clocked(&mut self, clocked: &Clocked, at: Millis) {
        self.ran_ms = clocked.used_ms;
        self.runs = clocked.runs.then_some(at);
        self.is_over = clocked.used_ms >= clocked.limit_ms;
    }
}

/// A call that may only answer, because a budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WrapUp {
    /// Which.
    pub what: Measure,
    /// The record that says so. The first turn that shows it is the wrap-up turn.
    pub seq: u64,
}

/// What was used under a purse of a thread: there, and in all children that run. `of` gives a thread;
/// those that run are all in memory.
pub fn used_under<'t>(of: &impl Fn(&ThreadId) -> Option<&'t Thread>, thread: &'t Thread, purse: u32) -> Use {
    let own = thread.purses.get(&purse).map_or_else(Use::default, |purse| purse.used);
    let calls = thread.calls.values().filter(|call| call.purse == purse);
    let children = calls.flat_map(|call| call.running()).filter_map(of);
    // A child has one request, and so one purse.
    children.fold(own, |sum, child| sum.and(used_under(of, child, CHILD)))
}

/// The number of a child's purse.
pub const CHILD: u32 = 1;

impl Thread {
    /// Counts what a call has begun.
    pub fn charge(&mut self, call: &CallPath, used: Use) {
        let Some(number) = self.calls.get(call).map(|call| call.purse) else { return };
        if let Some(purse) = self.purses.get_mut(&number) {
            purse.used = purse.used.and(used);
        }
    }

    /// Takes a result in place of what was kept for it.
    pub fn settle(&mut self, call: &CallPath, kept: Use, used: Use) {
        let Some(number) = self.calls.get(call).map(|call| call.purse) else { return };
        if let Some(purse) = self.purses.get_mut(&number) {
            purse.used = purse.used.without(kept).and(used);
        }
    }

    /// Notes that a call was told of a limit.
    pub fn warned(&mut self, call: &CallPath, of: (Measure, String)) {
        let Some(number) = self.calls.get(call).map(|call| call.purse) else { return };
        if let Some(purse) = self.purses.get_mut(&number).filter(|purse| !purse.warned.contains(&of)) {
            purse.warned.push(of);
        }
    }

    /// Forgets purses that nothing can use any more: no call is open under them, and no timer set there
    /// will open another.
    pub fn close_purses(&mut self) {
        let (calls, timers) = (&self.calls, &self.timers);
        self.purses.retain(|number, _| {
            let is_charged = calls.values().any(|call| call.purse == *number);
            is_charged || timers.values().any(|timer| timer.purse == *number)
        });
    }

    /// The open call that spawned a child which still runs.
    pub fn spawner(&self, child: &ThreadId) -> Option<(&CallPath, &Call)> {
        self.calls.iter().find(|(_, call)| call.running().any(|id| id == child))
    }
}

impl Call {
    /// Whether the due turn is its wrap-up turn.
    pub fn is_wrapping_up(&self) -> bool {
        self.wrap_up.is_some_and(|wrap_up| wrap_up.seq <= self.ready_seq)
    }
}
