//! The timers of a thread, as the fold has them. A timer belongs to the call that set it; a timer of a root's top
//! call outlives the call. Notes are not here, because a fold holds no bodies. The only exception is the start of
//! the note of a timer whose call is open.

use serde::{Deserialize, Serialize};

use super::Thread;
use crate::pump::wheel::TimerDue;
use crate::types::ids::{CallPath, Name, TimerId};
use crate::types::limits;
use crate::types::primitive::TimerPace;
use crate::types::time::Millis;

/// A timer that is set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// The record of the item that set it; its note is there.
    pub set: u64,
    /// The call that set it.
    pub call: CallPath,
    /// The listener of that call.
    pub listener: Name,
    /// The budget use of that call, which pays for a call that the timer opens later.
    pub budget_use: u32,
    /// When it fires next, on the wall clock.
    pub due: Millis,
    /// After how long it fires, and whether it repeats.
    pub pace: TimerPace,
    /// Its last firing, until a turn has shown it.
    pub fired: Option<FiringTarget>,
}

/// The destination of a firing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FiringTarget {
    /// Into the inbox of the call that set the timer, as that record.
    Told(u64),
    /// It opened that top call.
    Opened(CallPath),
}

/// The firing that opened a call, as the outcome of that call names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimerFiring {
    /// The timer.
    pub id: TimerId,
    /// Its note, cut to the length that an outcome repeats.
    pub note: String,
}

impl Timer {
    /// The due moment after a firing at `now` that reports `missed` firings. Due moments stay a whole number of
    /// spans apart, unless the clock was set: then they are counted from this firing.
    pub fn due_after(&self, now: Millis, missed: u64) -> Millis {
        let span_ms = self.pace.span_ms;
        let next = self.due.add_ms(span_ms.saturating_mul(missed.saturating_add(1)));
        let latest = now.add_ms(span_ms);
        if now < next && next <= latest { next } else { latest }
    }
}

impl Thread {
    /// Whether a timer may fire. If its last firing has not been shown yet, the timer waits for that: a call that
    /// is busy for an hour finds one firing of a timer that is due every second, not 3,600. A timer that would open
    /// a call waits while no further call may wait.
    pub fn may_fire(&self, timer: &Timer) -> bool {
        let setter = self.calls.get(&timer.call);
        let is_shown = match &timer.fired {
            None => true,
            Some(FiringTarget::Told(seq)) => {
                !setter.is_some_and(|call| call.inbox.iter().any(|arrival| arrival.seq == *seq))
            }
            Some(FiringTarget::Opened(call)) => !self.calls.contains_key(call),
        };
        is_shown && (setter.is_some() || self.has_room())
    }

    /// Until when the pump must wait for a timer.
    pub fn timer_due(&self, timer: &Timer) -> TimerDue {
        let may_fire = self.may_fire(timer);
        TimerDue { set: timer.set, due: timer.due, most_ms: timer.pace.span_ms, may_fire }
    }

    /// Whether a timer is over with the reply to that turn of a call: it fires once, and the turn showed its
    /// firing. The fold forgets the timer with the first record of the reply, so a decision about that record must
    /// not find it either.
    pub fn is_spent(&self, path: &CallPath, turn: u32, timer: &Timer) -> bool {
        let Some(call) = self.calls.get(path).filter(|call| turn > call.settled) else { return false };
        let is_shown = matches!(timer.fired, Some(FiringTarget::Told(seq)) if call.shown_inbox().any(|shown| shown == seq));
        is_shown && !timer.pace.repeats && timer.call == *path
    }

    /// Whether one more top call may wait behind the open one.
    pub fn has_room(&self) -> bool {
        self.calls.values().filter(|call| call.held).count() < limits::QUEUED_TOP_CALLS
    }

    /// Whether a timer outlives the call that set it. It does not if the time of its message is over.
    pub fn can_keep(&self, timer: &Timer) -> bool {
        let is_over = self.budget_uses.get(&timer.budget_use).is_some_and(|budget_use| budget_use.is_over);
        self.id.parent().is_none() && timer.call.depth() == 0 && !is_over
    }

    /// The timers that a call has set.
    pub fn timers_of(&self, call: &CallPath) -> impl Iterator<Item = (&TimerId, &Timer)> {
        self.timers.iter().filter(move |(_, timer)| timer.call == *call)
    }

    /// Whether a call may cancel a timer: its own, or one left by an earlier top call of the same listener.
    pub fn may_cancel(&self, call: &CallPath, listener: &Name, timer: &Timer) -> bool {
        let is_left = !self.calls.contains_key(&timer.call);
        timer.call == *call || is_left && call.depth() == 0 && timer.listener == *listener
    }
}
