//! The JSON of an order about a schedule.

use std::fmt;

use serde::{Deserialize, Serialize};

use systole_core::types::ids::Name;
use systole_core::types::schedule::ScheduleChange;
use systole_organism::waiting::SenderReply;

/// A schedule was paused, resumed or fired.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScheduleChanged {
    /// The schedule.
    pub schedule: String,
    /// `paused`, `resumed` or `fired`.
    pub change: String,
    /// The thread that it opened, if it was fired.
    pub thread: Option<String>,
}

impl ScheduleChanged {
    /// What the reply to such an order says.
    pub fn from_reply(schedule: &Name, change: &ScheduleChange, reply: &SenderReply) -> ScheduleChanged {
        let (change, thread) = match (change, reply) {
            (ScheduleChange::Pause, _) => ("paused", None),
            (ScheduleChange::Resume, _) => ("resumed", None),
            (ScheduleChange::Fire(_), SenderReply::Receipt(receipt, _)) => {
                ("fired", Some(receipt.thread.to_string()))
            }
            (ScheduleChange::Fire(_), _) => ("fired", None),
        };
        ScheduleChanged { schedule: schedule.to_string(), change: change.to_owned(), thread }
    }
}

impl fmt::Display for ScheduleChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.schedule, self.change)?;
        self.thread.iter().try_for_each(|thread| write!(f, ": thread {thread}"))
    }
}
