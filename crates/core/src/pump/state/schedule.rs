//! The schedules, as the fold of the log's own thread has them.

use serde::{Deserialize, Serialize};

use crate::rules::schedule_payload::{ScheduleEvent, ScheduleNews};
use crate::types::ids::ThreadId;
use crate::types::time::Millis;

/// What the log knows of a schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ScheduleState {
    /// When it ticks, as the file said it when it began.
    pub rule: String,
    /// The last tick that fired or was skipped, or the moment when it began.
    pub last: Millis,
    /// The last tick that fired, or the moment of a firing that a person ordered.
    pub fired: Option<Millis>,
    /// The root that this opened.
    pub thread: Option<ThreadId>,
    /// Since when it is paused.
    pub paused: Option<Millis>,
    /// Whether the file no longer has it.
    pub is_ended: bool,
}

impl ScheduleState {
    /// Takes news of it, which were recorded at that moment.
    pub(crate) fn fold_news(&mut self, news: ScheduleNews, recorded: Millis) {
        match news.event {
            ScheduleEvent::Began { rule, at } => {
                (self.rule, self.last, self.is_ended) = (rule, at, false);
            }
            ScheduleEvent::Ended => self.is_ended = true,
            ScheduleEvent::Fired { tick, thread, by } => {
                (self.fired, self.thread) = (Some(tick), Some(thread));
                if by.is_none() {
                    self.last = tick;
                }
            }
            ScheduleEvent::Skipped { to, .. } => self.last = to,
            ScheduleEvent::Paused(_) => self.paused = Some(recorded),
            ScheduleEvent::Resumed(_) => self.paused = None,
        }
    }
}
