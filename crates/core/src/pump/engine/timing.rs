//! Timers on their way: they are put on the wheel once they are on disk, and read back when they are
//! due. A resting thread with a timer leaves memory like any other thread; it is woken for the
//! firing.

use std::sync::Arc;

use super::{Engine, LogLookup, PumpInput};
use crate::pump::event::EventKind;
use crate::pump::wall;
use crate::pump::wheel::{DueTimer, TimerDue};
use crate::types::codes::Code;
use crate::types::ids::{ThreadId, TimerId};
use crate::types::record::Record;
use crate::types::refusal::Refusal;

impl Engine {
    /// Starts to wait for a timer, or stops.
    pub(super) fn wait_for(&mut self, thread: ThreadId, timer: TimerId, until: Option<TimerDue>) {
        let (wall, now) = (self.now(), self.ticks());
        self.timers.put(thread, timer, until, wall, now);
    }

    /// Takes up the timers that recovery found. Timers that became due before the start fire at the
    /// next tick.
    pub(super) fn take_up_timers(&mut self) {
        let (wall, now) = (self.now(), self.ticks());
        for thread in self.state.threads.values() {
            for (id, timer) in &thread.timers {
                let until = Some(thread.timer_due(timer));
                self.timers.put(thread.id.clone(), id.clone(), until, wall, now);
            }
        }
    }

    /// Waits for the marks of the messages whose time was running when recovery found them.
    pub(super) fn take_up_running(&mut self) {
        let (wall, now) = (self.now(), self.ticks());
        for (runs, left) in wall::running_of(&self.state, wall) {
            self.state.running.put(runs, Some(left), now);
        }
    }

    /// Handles messages from outside that have used most of their time, or all of it.
    pub(super) fn elapse_budgets(&mut self) {
        let now = self.ticks();
        while let Some(runs) = self.state.running.take_due(now).filter(|_| !self.stopping) {
            self.take_event(EventKind::Elapsed(runs));
        }
    }

    /// Fires due timers. A timer's note is only in the log, unless the timer was set a moment ago.
    pub(super) fn fire_ripe(&mut self) {
        if self.stopping || self.broken.is_some() {
            return;
        }
        let now = self.ticks();
        while let Some(ripe) = self.timers.take_ripe(now) {
            let is_awake = self.state.find_thread(&ripe.thread).is_some();
            let is_first = !self.parked.contains_key(&ripe.thread.stem());
            match self.fresh.get(&ripe.thread, ripe.set) {
                Some(set) if is_awake && is_first => self.fire_timer(ripe, set),
                _ => {
                    let lookup = LogLookup::Timer { thread: ripe.thread.clone(), set: ripe.set };
                    self.park_input(lookup, PumpInput::Ripe(ripe));
                }
            }
        }
    }

    /// Fires the timer that waited for this answer from the log.
    pub(super) fn fire_parked(&mut self, stem: &ThreadId, set: Option<Arc<Record>>) {
        match (self.first_parked(stem), set) {
            (Some(PumpInput::Ripe(_)), _) if self.stopping => {}
            (Some(PumpInput::Ripe(ripe)), Some(set)) => self.fire_timer(ripe, set),
            (Some(PumpInput::Ripe(ripe)), None) => {
                let words = "the record that set a timer is not in the log".to_owned();
                self.refuse_firing(ripe, Refusal::new(Code::DamagedThread, words));
            }
            _ => {}
        }
    }

    fn fire_timer(&mut self, ripe: DueTimer, set: Arc<Record>) {
        let DueTimer { thread, timer, late_ms, .. } = ripe;
        self.take_event(EventKind::Due { thread, timer, set, late_ms });
    }

    /// The log could not be read for a timer: this is recorded in `sys`, and the timer is tried again
    /// if that may help.
    pub(super) fn refuse_firing(&mut self, ripe: DueTimer, refusal: Refusal) {
        if refusal.code != Code::DamagedThread {
            let at = self.ticks().add_ms(crate::types::limits::LOG_PAUSE_MS);
            self.timers.put_again(ripe.thread, ripe.timer, at);
        }
        self.tell_sys(refusal);
    }
}
