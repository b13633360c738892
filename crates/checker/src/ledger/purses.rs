//! Budgets in the ledger: what each message from outside has used, and how deep its work is nested. A purse
//! belongs to the root, under the number of the top call that a client opened. Everything below counts into it at
//! once, and the calls that its timers open continue it.

use super::thread::Purse;
use super::{Ledger, Step, Thread};
use crate::path;

impl Ledger {
    /// The use so far of the message that is at work in the tree of a thread.
    pub(crate) fn purse(&self, thread: &str) -> Option<Purse> {
        let root = self.thread(path::root(thread))?;
        root.purses.get(&root.purse_at_work()?).copied()
    }

    /// The depth of what a call begins: calls and spawns above it, over all threads.
    pub(crate) fn depth_below(&self, thread: &str, call: &str) -> u32 {
        let above =
            self.thread(thread).and_then(|thread| thread.child.as_ref()).map_or(0, |child| child.depth);
        above + path::depth(call) + 1
    }

    /// Counts what a thread began.
    pub(super) fn charge(&mut self, thread: &str, messages: u32, children: u32) {
        let Some(root) = self.threads.get_mut(path::root(thread)) else { return };
        let purse = root.purse_at_work().and_then(|number| root.purses.get_mut(&number));
        if let Some(purse) = purse {
            purse.messages = purse.messages.saturating_add(messages);
            purse.children = purse.children.saturating_add(children);
        }
    }

    /// Gives a purse to a top call that a message from outside opens, or a timer of such a call, or the news of
    /// that timer.
    pub(super) fn gives_purse(&mut self, step: &Step<'_>, call: &str) {
        let fired = step.core_named("timer-fired").and_then(|tag| tag.attribute("id"));
        let finished = step.core_named("timer-finished").and_then(|tag| tag.attribute("call"));
        let Some(thread) = self.threads.get_mut(&step.record.thread) else { return };
        let number = match (fired, finished) {
            (Some(id), _) => thread.timers.get(id).map(|timer| timer.purse),
            (None, Some(about)) => thread.calls.get(about).map(|call| call.purse),
            (None, None) => Some(path::top(call)),
        };
        if let (Some(number), Some(call)) = (number, thread.calls.get_mut(call)) {
            call.purse = number;
            thread.purses.entry(number).or_default();
        }
    }
}

impl Thread {
    /// The number of the purse that the open top call uses.
    pub(super) fn purse_at_work(&self) -> Option<u32> {
        let first = self.first_top()?;
        self.calls.get(&first.to_string()).map(|call| call.purse)
    }

    /// Forgets the purses that can no longer be used.
    pub(super) fn forget_purses(&mut self) {
        let (calls, timers) = (&self.calls, &self.timers);
        self.purses.retain(|number, _| {
            calls.values().any(|call| call.purse == *number)
                || timers.values().any(|timer| timer.purse == *number)
        });
    }
}
