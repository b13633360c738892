//! The schedules that the pump waits for, as live data.

use std::sync::Arc;

use crate::types::schedule::Schedule;
use crate::types::time::Millis;

/// A schedule that the pump waits for.
pub(super) struct WatchedSchedule {
    pub(super) schedule: Arc<Schedule>,
    /// The first tick that the log does not have; `None` while it is paused.
    pub(super) next: Option<Millis>,
    /// Whether due ticks wait for the log's answer.
    pub(super) is_asked: bool,
    /// It is not looked at before this moment, on the monotonic clock.
    pub(super) not_before: Millis,
}

/// The schedules that the pump waits for.
pub(super) struct WatchedSchedules {
    pub(super) watched: Vec<WatchedSchedule>,
    /// When the pump began to watch them, on the wall clock.
    pub(super) since: Millis,
    /// The wall clock when it was read last.
    pub(super) seen: Millis,
}
