//! Timers in the ledger. Only the bytes of the timer's setter say whether it repeats. Those have any
//! form and are not read here, so the ledger's facts apply to both kinds.

use super::{Ledger, Step, Thread};
use crate::record::{Id, read_moment};
use crate::tag::Tag;

/// A timer that is set, or that was set and may fire again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Timer {
    /// The record of the item that set it.
    pub(crate) set: Id,
    pub(crate) call: String,
    pub(crate) listener: String,
    /// The purse for the calls that it opens.
    pub(crate) purse: u32,
    /// The time from its setting to its first due moment.
    pub(crate) span_ms: u64,
    /// When it may fire next, if it repeats; before its first firing, the earliest moment to fire at
    /// all.
    pub(crate) due_ms: u64,
    pub(crate) fired: Option<Firing>,
}

/// The last firing of a timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Firing {
    /// The call that got it, or that it opened.
    pub(crate) call: String,
    /// The last turn of the call that was settled then. None if the firing opened the call, and once the
    /// call has closed after turns that must have shown it.
    pub(crate) settled: Option<u32>,
}

impl Timer {
    /// Notes that a call closed after that turn. A firing that came while a turn was out is shown by the
    /// next turn at the latest.
    pub(super) fn closed(&mut self, call: &str, turn: u32) {
        if let Some(firing) = self.fired.as_mut().filter(|firing| firing.call == call)
            && firing.settled.is_some_and(|then| turn > then.saturating_add(1))
        {
            firing.settled = None;
        }
    }
}

impl Ledger {
    /// Takes an answer to an item that sets or cancels a timer.
    pub(super) fn answered_timer(&mut self, step: &Step<'_>, caller: &str, turn: u32, ordinal: u32) {
        let thread = &step.record.thread;
        let item = self.call(thread, caller).and_then(|call| Some((call, call.item(turn, ordinal)?)));
        let Some((call, item)) = item else { return };
        if let (Some(set), Some(tag)) = (item.sets, step.core_named("timer-set")) {
            let due = tag.attribute("due").and_then(read_moment);
            let (Some(id), Some(due_ms)) = (tag.attribute("id"), due) else { return };
            let timer = Timer {
                set,
                call: caller.to_owned(),
                listener: call.listener.clone(),
                purse: self.thread(thread).and_then(Thread::purse_at_work).unwrap_or_default(),
                span_ms: due_ms.saturating_sub(item.time_ms),
                due_ms,
                fired: None,
            };
            let id = id.to_owned();
            if let Some(thread) = self.threads.get_mut(thread) {
                thread.timers.insert(id, timer);
            }
        } else if item.is_cancel {
            self.unset(step);
        }
    }

    /// Takes a firing. The next moment is then one span later for each span that passed, or one span
    /// from now if the clock was set.
    pub(super) fn fired(&mut self, step: &Step<'_>, call: &str) {
        let record = step.record;
        let Some(tag) = step.core_named("timer-fired") else { return };
        let missed = tag.number("missed").map_or(0, u64::from);
        let Some(thread) = self.threads.get_mut(&record.thread) else { return };
        let settled = thread.calls.get(call).map(|call| call.settled);
        let Some(timer) = tag.attribute("id").and_then(|id| thread.timers.get_mut(id)) else { return };
        let is_told = timer.call == call;
        timer.fired = Some(Firing { call: call.to_owned(), settled: settled.filter(|_| is_told) });
        let latest = record.time_ms.saturating_add(timer.span_ms);
        let next = timer.due_ms.saturating_add(timer.span_ms.saturating_mul(missed.saturating_add(1)));
        timer.due_ms = if record.time_ms < next && next <= latest { next } else { latest };
    }

    /// Takes the cancel of a timer.
    pub(super) fn unset(&mut self, step: &Step<'_>) {
        let id = step.core_named("timer-cancelled").and_then(|tag| tag.attribute("id"));
        if let (Some(id), Some(thread)) = (id, self.threads.get_mut(&step.record.thread)) {
            thread.timers.remove(id);
        }
    }
}

/// A record on the time of a message from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clocked {
    pub(crate) runs: bool,
    pub(crate) used_ms: u64,
    pub(crate) limit_ms: u64,
}

impl Clocked {
    /// Reads a `<budget-time>`.
    pub(crate) fn read(tag: &Tag<'_>) -> Option<Clocked> {
        let ms = |name| span_ms(tag.attribute(name)?);
        let runs = tag.attribute("runs")?;
        let runs = ["true", "false"].contains(&runs).then_some(runs == "true")?;
        Some(Clocked { runs, used_ms: ms("used")?, limit_ms: ms("limit")? })
    }
}

/// A whole number with its unit.
fn span_ms(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

impl Ledger {
    /// Takes a record on the time of a message from outside.
    pub(super) fn clocked(&mut self, step: &Step<'_>, call: &str) {
        let said = step.core_named("budget-time").and_then(|tag| Clocked::read(tag));
        if let (Some(thread), Some(said)) = (self.threads.get_mut(&step.record.thread), said) {
            thread.clocks.insert(call.to_owned(), said);
        }
    }
}
