//! Timers in the ledger. Only the bytes of the timer's setter say whether it repeats. Those have any
//! form and are not read here, so the ledger's facts apply to both kinds.

use super::thread::{ClockedTime, LedgerFiring, LedgerTimer};
use super::{CheckLedger, LedgerStep, LedgerThread};
use crate::record::read_moment;
use crate::tag::BodyTag;

impl CheckLedger {
    /// Takes an answer to an item that sets or cancels a timer.
    pub(super) fn answered_timer(&mut self, step: &LedgerStep<'_>, caller: &str, turn: u32, ordinal: u32) {
        let thread = &step.record.thread;
        let item =
            self.find_call(thread, caller).and_then(|call| Some((call, call.find_item(turn, ordinal)?)));
        let Some((call, item)) = item else { return };
        if let (Some(set), Some(tag)) = (item.sets, step.core_named("timer-set")) {
            let due = tag.find_attribute("due").and_then(read_moment);
            let (Some(id), Some(due_ms)) = (tag.find_attribute("id"), due) else { return };
            let timer = LedgerTimer {
                set,
                call: caller.to_owned(),
                listener: call.listener.clone(),
                budget_use: self
                    .find_thread(thread)
                    .and_then(LedgerThread::budget_use_at_work)
                    .unwrap_or_default(),
                span_ms: due_ms.saturating_sub(item.time_ms),
                due_ms,
                fired: None,
            };
            let id = id.to_owned();
            if let Some(thread) = self.threads.get_mut(thread) {
                thread.timers.insert(id, timer);
            }
        } else if item.is_cancel {
            self.remove_timer(step);
        }
    }

    /// Takes a firing. The next moment is then one span later for each span that passed, or one span
    /// from now if the clock was set.
    pub(super) fn note_firing(&mut self, step: &LedgerStep<'_>, call: &str) {
        let record = step.record;
        let Some(tag) = step.core_named("timer-fired") else { return };
        let missed = tag.read_number("missed").map_or(0, u64::from);
        let Some(thread) = self.threads.get_mut(&record.thread) else { return };
        let settled = thread.calls.get(call).map(|call| call.settled);
        let Some(timer) = tag.find_attribute("id").and_then(|id| thread.timers.get_mut(id)) else { return };
        let is_told = timer.call == call;
        timer.fired = Some(LedgerFiring { call: call.to_owned(), settled: settled.filter(|_| is_told) });
        let latest = record.time_ms.saturating_add(timer.span_ms);
        let next = timer.due_ms.saturating_add(timer.span_ms.saturating_mul(missed.saturating_add(1)));
        timer.due_ms = if record.time_ms < next && next <= latest { next } else { latest };
        if let Some(call) = thread.calls.get_mut(call).filter(|_| is_told) {
            call.fired = settled;
        }
    }

    /// Takes the cancel of a timer.
    pub(super) fn remove_timer(&mut self, step: &LedgerStep<'_>) {
        let id = step.core_named("timer-cancelled").and_then(|tag| tag.find_attribute("id"));
        if let (Some(id), Some(thread)) = (id, self.threads.get_mut(&step.record.thread)) {
            thread.timers.remove(id);
        }
    }
}

impl ClockedTime {
    /// A limit that is not known yet.
    pub(crate) const OPEN: u64 = u64::MAX;

    /// Reads a `<budget-time>`.
    pub(crate) fn from_tag(tag: &BodyTag<'_>) -> Option<ClockedTime> {
        let ms = |name| span_ms(tag.find_attribute(name)?);
        let runs = tag.find_attribute("runs")?;
        let runs = ["true", "false"].contains(&runs).then_some(runs == "true")?;
        Some(ClockedTime { runs, used_ms: ms("used")?, limit_ms: ms("limit")? })
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

impl CheckLedger {
    /// Takes a record on the time of a message from outside.
    pub(super) fn note_time(&mut self, step: &LedgerStep<'_>, call: &str) {
        let said = step.core_named("budget-time").and_then(|tag| ClockedTime::from_tag(tag));
        if let (Some(thread), Some(said)) = (self.threads.get_mut(&step.record.thread), said) {
            thread.clocks.insert(call.to_owned(), said);
        }
    }
}
