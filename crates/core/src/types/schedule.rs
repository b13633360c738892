//! Schedules of the organism's file: when a message without a sender outside comes, to whom, and what it says. When the
//! ticks are is computed above the core, which knows no calendar.

use std::fmt;
use std::sync::Arc;

use super::flow::{Admitted, PayloadKind};
use super::ids::{Key, Name};
use super::time::Millis;

/// The ticks of a schedule, on the wall clock.
pub trait TickTimes: fmt::Debug + Send + Sync {
    /// The first tick after a moment; `None` if there is none.
    fn next_after(&self, moment: Millis) -> Option<Millis>;

    /// The last tick before a moment; `None` if there is none.
    fn last_before(&self, moment: Millis) -> Option<Millis>;
}

/// A schedule, with its judged payload.
#[derive(Debug)]
pub struct Schedule {
    /// Its name.
    pub name: Name,
    /// When it ticks, as its file says it.
    pub rule: String,
    /// Its ticks.
    pub ticks: Arc<dyn TickTimes>,
    /// Whether the newest of the ticks that no pump saw fires all the same.
    pub catches_up: bool,
    /// What it sends.
    pub payload: Admitted,
}

impl Schedule {
    /// The listener that gets what it sends.
    pub fn addressee(&self) -> Option<&Name> {
        match self.payload.what() {
            PayloadKind::For(to) => Some(to),
            _ => None,
        }
    }
}

/// The key of the root that a tick opens. It makes each tick single. `None` if the name is too long for a key.
pub fn make_tick_key(schedule: &Name, tick: Millis) -> Option<Key> {
    Key::parse(&format!("{schedule}@{tick}")).ok()
}

/// Ticks of a schedule that are due together.
#[derive(Clone, Debug)]
pub struct DueTicks {
    /// The schedule.
    pub schedule: Arc<Schedule>,
    /// The first of them.
    pub first: Millis,
    /// The last of them but one, if there are several.
    pub before: Option<Millis>,
    /// The last of them.
    pub newest: Millis,
    /// Whether no pump was there at the time of the last one.
    pub is_missed: bool,
}

impl ScheduleChange {
    /// Its word in a command and in an address.
    pub const fn as_str(&self) -> &'static str {
        match self {
            ScheduleChange::Pause => "pause",
            ScheduleChange::Resume => "resume",
            ScheduleChange::Fire(_) => "fire",
        }
    }
}

/// A change that a person orders for a schedule.
#[derive(Clone, Debug)]
pub enum ScheduleChange {
    /// It fires no tick until it is resumed.
    Pause,
    /// It goes on.
    Resume,
    /// It fires now, apart from its ticks. The pump adds the schedule, if it knows it, and the moment.
    Fire(Option<(Arc<Schedule>, Millis)>),
}
