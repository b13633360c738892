//! Skipped time: lets a test of an organism detect that everything only waits, and move the clock to the next due
//! event. A working program is waited for in real time; the test's clock advances with the machine's.
//!
//! Input: the pump's report of each round, and the sleepers on the clock. Output: whether there is work, or until
//! when there is none.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::pump_loop::{RestChannels, RestReport};
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_system::clock::SkippingClock;

/// The parts that an organism needs to run on a test's clock.
pub struct RehearsalParts {
    pub(super) clock: Arc<SkippingClock>,
    pub(super) lines: RestChannels,
}

/// The time of one organism under test.
pub struct SkippedTime {
    clock: Arc<SkippingClock>,
    rest: watch::Receiver<RestReport>,
    sleepers: watch::Receiver<u64>,
    look: Arc<Notify>,
}

/// The current activity of an organism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrganismActivity {
    /// A listener, a model or the pump is at work.
    Works,
    /// Nothing happens before this tick.
    WaitsUntil(Millis),
    /// Nothing happens before this tick, when a schedule is due.
    RestsUntil(Millis),
    /// Nothing happens until someone sends something.
    Rests,
    /// The pump has ended.
    Ended,
}

impl SkippedTime {
    /// A new clock, and the parts that the organism needs of it.
    pub fn new() -> (SkippedTime, RehearsalParts) {
        let (clock, look) = (Arc::new(SkippingClock::default()), Arc::new(Notify::new()));
        let (report, rest) = watch::channel(RestReport::default());
        let lines = RestChannels { rest: report, look: look.clone() };
        let sleepers = clock.watch_changes();
        (SkippedTime { clock: clock.clone(), rest, sleepers, look }, RehearsalParts { clock, lines })
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<SkippingClock> {
        &self.clock
    }

    /// The current tick.
    pub fn ticks(&self) -> Millis {
        self.clock.ticks()
    }

    /// Returns the activity. It includes everything that the pump received before.
    pub async fn read_activity(&mut self) -> OrganismActivity {
        let before = self.rest.borrow_and_update().turn;
        self.look.notify_one();
        let rest = loop {
            if self.rest.changed().await.is_err() {
                return OrganismActivity::Ended;
            }
            let rest = *self.rest.borrow_and_update();
            if rest.turn > before {
                break rest;
            }
        };
        self.sleepers.mark_unchanged();
        let (asleep, first) = self.clock.count_sleepers();
        // A delivery whose listener sleeps on this clock also counts as waiting.
        if !rest.is_quiet || rest.out > asleep {
            return OrganismActivity::Works;
        }
        let work = rest.next.into_iter().chain(first).min();
        match (work, work.into_iter().chain(rest.schedule).min()) {
            (_, Some(tick)) if tick <= self.ticks() => OrganismActivity::Works,
            (Some(_), Some(tick)) => OrganismActivity::WaitsUntil(tick),
            (None, Some(tick)) => OrganismActivity::RestsUntil(tick),
            (_, None) => OrganismActivity::Rests,
        }
    }

    /// Waits until something changes after the last `activity`.
    pub async fn wait_for_change(&mut self) {
        tokio::select! {
            _ = self.rest.changed() => {}
            _ = self.sleepers.changed() => {}
        }
    }

    /// Moves the clock to this tick.
    pub fn skip_to(&self, tick: Millis) {
        self.clock.skip_to(tick);
    }
}
