//! Skipped time: how a test of an organism learns that everything only waits, and moves the clock to the next thing that
//! is due. A program at work is waited for in real time; the clock of the test goes on beside the machine's.
//!
//! In: what the pump reports in each round, and who sleeps on the clock. Out: whether there is work, and until when not.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::edges::clock::SkippingClock;
use crate::runtime::pump_loop::{Rest, RestLines};
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;

/// What an organism needs to run by the clock of a test.
pub struct Rehearsed {
    pub(super) clock: Arc<SkippingClock>,
    pub(super) lines: RestLines,
}

/// The time of one organism under test.
pub struct SkippedTime {
    clock: Arc<SkippingClock>,
    rest: watch::Receiver<Rest>,
    sleepers: watch::Receiver<u64>,
    look: Arc<Notify>,
}

/// What an organism does just now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// A listener, a model or the pump is at work.
    Works,
    /// Nothing happens before that tick.
    WaitsUntil(Millis),
    /// Nothing happens any more unless someone sends something.
    Rests,
    /// The pump has ended.
    Ended,
}

impl SkippedTime {
    /// A clock of its own, with what the organism needs of it.
    pub fn new() -> (SkippedTime, Rehearsed) {
        let (clock, look) = (Arc::new(SkippingClock::default()), Arc::new(Notify::new()));
        let (report, rest) = watch::channel(Rest::default());
        let lines = RestLines { rest: report, look: look.clone() };
        let sleepers = clock.changes();
        (SkippedTime { clock: clock.clone(), rest, sleepers, look }, Rehearsed { clock, lines })
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<SkippingClock> {
        &self.clock
    }

    /// The tick that it is.
    pub fn ticks(&self) -> Millis {
        self.clock.ticks()
    }

    /// Asks what is going on. What was handed to the pump before is part of the answer.
    pub async fn activity(&mut self) -> Activity {
        let before = self.rest.borrow_and_update().turn;
        self.look.notify_one();
        let rest = loop {
            if self.rest.changed().await.is_err() {
                return Activity::Ended;
            }
            let rest = *self.rest.borrow_and_update();
            if rest.turn > before {
                break rest;
            }
        };
        self.sleepers.mark_unchanged();
        let (asleep, first) = self.clock.sleepers();
        // A delivery whose listener sleeps on this clock waits as well.
        if !rest.is_quiet || rest.out > asleep {
            return Activity::Works;
        }
        match rest.next.into_iter().chain(first).min() {
            Some(tick) if tick <= self.ticks() => Activity::Works,
            Some(tick) => Activity::WaitsUntil(tick),
            None => Activity::Rests,
        }
    }

    /// Waits until something changes since the activity was asked for.
    pub async fn change(&mut self) {
        tokio::select! {
            _ = self.rest.changed() => {}
            _ = self.sleepers.changed() => {}
        }
    }

    /// Moves the clock to that tick.
    pub fn skip_to(&self, tick: Millis) {
        self.clock.skip_to(tick);
    }
}
