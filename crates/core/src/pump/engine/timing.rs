//! Timers and schedules on their way. Timers are put on the wheel once they are on disk, and read back when they are
//! due. A resting thread with a timer leaves memory like any other thread; it is woken for the
//! firing.
//!
//! Schedules follow the wall clock. The engine asks the log for the root that a tick may have opened before; what the
//! tick leads to is decided in `pump::scheduling`.

use std::sync::Arc;

use super::watched_schedules::{WatchedSchedule, WatchedSchedules};
use super::{Engine, LogLookup, PumpInput};
use crate::pump::event::{ClientOrder, EventKind, KnownSchedule, ScheduleOrder};
use crate::pump::wall;
use crate::pump::wheel::{DueTimer, TimerDue};
use crate::types::codes::Code;
use crate::types::ids::{Name, ThreadId, TimerId};
use crate::types::limits;
use crate::types::record::Record;
use crate::types::refusal::Refusal;
use crate::types::schedule::{DueTicks, Schedule, ScheduleChange, make_tick_key};
use crate::types::thread_choice::SoughtRoot;
use crate::types::time::Millis;

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
        let mut held = Vec::new();
        while let Some(ripe) = self.timers.take_ripe(now) {
            let timer = (ripe.thread.clone(), ripe.timer.clone());
            if self.firing_only.as_ref().is_some_and(|firing| !firing.contains(&timer)) {
                held.push(timer);
                continue;
            }
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
        for (thread, timer) in held {
            self.timers.put_again(thread, timer, now);
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

impl Engine {
    /// The same engine, which fires these schedules. If it runs for one order only, it fires nothing.
    pub fn with_schedules(self, schedules: Vec<Schedule>) -> Engine {
        let watch = |schedule| WatchedSchedule {
            schedule: Arc::new(schedule),
            next: None,
            is_asked: false,
            not_before: Millis::default(),
        };
        let watched = schedules.into_iter().map(watch).collect();
        let schedules = Some(WatchedSchedules { watched, since: Millis(0), seen: Millis(0) });
        Engine { schedules, ..self }
    }

    /// Begins to watch the schedules.
    pub(super) fn take_up_schedules(&mut self) {
        let now = self.now();
        let Some(table) = self.schedules.as_mut().filter(|_| !self.still) else { return };
        (table.since, table.seen) = (now, now);
        self.look_at_clock(now, true);
    }

    /// Records what the wall clock says about the schedules: which begin, and whose last tick is void.
    fn look_at_clock(&mut self, now: Millis, are_all: bool) {
        let Some(table) = &self.schedules else { return };
        let known = table.watched.iter().map(|one| KnownSchedule {
            name: one.schedule.name.clone(),
            rule: one.schedule.rule.clone(),
            next: one.schedule.ticks.next_after(now),
        });
        let known: Vec<KnownSchedule> = known.collect();
        self.take_event(EventKind::Watched { known, are_all });
        self.follow_fold(None);
    }

    /// Waits for the first tick that the log does not have, of one schedule or of all.
    fn follow_fold(&mut self, name: Option<&Name>) {
        let sys = self.state.threads.get(&ThreadId::new_sys());
        let watched = self.schedules.iter_mut().flat_map(|table| &mut table.watched);
        for one in watched.filter(|one| name.is_none_or(|name| one.schedule.name == *name)) {
            let state = sys.and_then(|sys| sys.schedules.get(&one.schedule.name));
            let last =
                state.filter(|state| !state.is_ended && state.paused.is_none()).map(|state| state.last);
            one.next = last.and_then(|last| one.schedule.ticks.next_after(last));
        }
    }

    /// The tick of the monotonic clock at which a schedule is due.
    pub fn next_schedule(&self) -> Option<Millis> {
        let table = self.schedules.as_ref().filter(|_| self.fires_schedules())?;
        let (now, ticks) = (self.now(), self.ticks());
        let waiting = table.watched.iter().filter(|one| !one.is_asked);
        let due =
            waiting.filter_map(|one| Some(ticks.add_ms(one.next?.count_since(now)).max(one.not_before)));
        due.min()
    }

    fn fires_schedules(&self) -> bool {
        !self.still && self.broken.is_none() && self.is_closed().is_none()
    }

    /// Decides on the ticks that are due, as soon as the log says whether their roots are open.
    pub(super) fn fire_schedules(&mut self) {
        let (now, ticks, fires) = (self.now(), self.ticks(), self.fires_schedules());
        let Some(table) = self.schedules.as_mut().filter(|_| fires) else { return };
        let was_set_back = now < std::mem::replace(&mut table.seen, now);
        if was_set_back {
            self.look_at_clock(now, false);
        }
        let Some(table) = &mut self.schedules else { return };
        let since = table.since;
        let mut due = Vec::new();
        for one in table.watched.iter_mut().filter(|one| !one.is_asked && one.not_before <= ticks) {
            let ticks = &one.schedule.ticks;
            let Some(first) = one.next.filter(|next| *next <= now) else { continue };
            let newest = ticks.last_before(now.add_ms(1)).map_or(first, |newest| newest.max(first));
            let before = if newest > first { ticks.last_before(newest) } else { None };
            let is_missed = newest <= since || now.count_since(newest) > limits::TICK_LATE_MS;
            one.is_asked = true;
            due.push(DueTicks { schedule: one.schedule.clone(), first, before, newest, is_missed });
        }
        for due in due {
            match self.find_root_of(&due.schedule.name, due.newest) {
                Some(lookup) => self.park_input(lookup, PumpInput::Ticked(due)),
                None => self.take_due(due),
            }
        }
    }

    /// The question for the root that a tick opens.
    fn find_root_of(&self, schedule: &Name, tick: Millis) -> Option<LogLookup> {
        let key = make_tick_key(schedule, tick)?;
        let organism = self.state.book.current()?.organism.clone();
        Some(LogLookup::Root(SoughtRoot { organism, sender: Name::new_schedule(), key, name: None }))
    }

    /// Decides on due ticks. If the pump stops, the next start finds them.
    pub(super) fn take_due(&mut self, due: DueTicks) {
        let name = due.schedule.name.clone();
        self.end_question(&name, Millis::default());
        if self.fires_schedules() {
            self.take_event(EventKind::Ticked(due));
            self.follow_fold(Some(&name));
        }
    }

    /// The log could not be read for due ticks: this is recorded in `sys`, and they are tried again.
    pub(super) fn refuse_due(&mut self, due: &DueTicks, refusal: Refusal) {
        let not_before = self.ticks().add_ms(limits::LOG_PAUSE_MS);
        self.end_question(&due.schedule.name, not_before);
        self.tell_sys(refusal);
    }

    fn end_question(&mut self, name: &Name, not_before: Millis) {
        let mut watched = self.schedules.iter_mut().flat_map(|table| &mut table.watched);
        if let Some(one) = watched.find(|one| one.schedule.name == *name) {
            (one.is_asked, one.not_before) = (false, not_before);
        }
    }

    /// Decides on an order about a schedule, with what only the pump knows about it.
    pub(super) fn order_schedule(&mut self, mut order: ScheduleOrder) {
        let (now, name) = (self.now(), order.name.clone());
        let mut watched = self.schedules.iter().flat_map(|table| &table.watched);
        let schedule = watched.find(|one| one.schedule.name == name).map(|one| one.schedule.clone());
        match (&mut order.change, schedule) {
            (ScheduleChange::Fire(known), Some(schedule)) if !self.still => {
                *known = Some((schedule, now));
                if let Some(lookup) = self.find_root_of(&name, now) {
                    return self.park_input(lookup, PumpInput::Ordered(ClientOrder::Schedule(order)));
                }
            }
            (ScheduleChange::Resume, Some(schedule)) => {
                let sys = self.state.threads.get(&ThreadId::new_sys());
                let last = sys.and_then(|sys| sys.schedules.get(&name)).map(|state| state.last);
                let first = last.and_then(|last| schedule.ticks.next_after(last));
                let newest = schedule.ticks.last_before(now.add_ms(1));
                order.passed = first.zip(newest).filter(|(first, newest)| first <= newest);
            }
            _ => {}
        }
        self.take_event(EventKind::Ordered(ClientOrder::Schedule(order)));
        self.follow_fold(Some(&name));
    }
}
