//! What a follower hands to its receiver, and what comes of that: the words between the task and the ways to send.

use std::pin::Pin;

use systole_log::slot_file::LogMark;

/// What is sent about a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowedEvent {
    /// Its id, which is the same each time it is sent.
    pub id: String,
    /// What is posted.
    pub body: Vec<u8>,
    /// The record.
    pub(crate) mark: LogMark,
}

/// What came of sending an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventOutcome {
    /// The receiver took it.
    Taken,
    /// The receiver took it, and says that it does not keep all of it. Its words.
    TakenInPart(String),
    /// The receiver wants no events any more. Its words.
    Gone(String),
    /// The receiver refuses this event. Its words.
    Refused(String),
    /// It is to be sent again, after that time if the receiver named one.
    Failed {
        /// What happened.
        words: String,
        /// The time.
        after_ms: Option<u64>,
    },
}

impl EventOutcome {
    pub(crate) fn new_failure(words: String) -> EventOutcome {
        EventOutcome::Failed { words, after_ms: None }
    }
}

/// Brings events to a receiver.
pub trait EventCarrier: Send + Sync {
    /// Sends an event once, in a bounded time.
    fn send_event<'a>(
        &'a self,
        event: &'a FollowedEvent,
    ) -> Pin<Box<dyn Future<Output = EventOutcome> + Send + 'a>>;
}
