//! The messages that have answered a question in words, so that one that is sent again answers no second question.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::limits;
use systole_core::types::ids::{Key, Name};

/// The newest of them.
#[derive(Default)]
pub(super) struct AnsweredMessages(Mutex<VecDeque<(Name, Key)>>);

impl AnsweredMessages {
    /// Whether that message has answered.
    pub(super) fn has(&self, client: &Name, key: &Key) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().any(|(by, answered)| by == client && answered == key)
    }

    /// Keeps one.
    pub(super) fn keep(&self, client: &Name, key: &Key) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_front((client.clone(), key.clone()));
        known.truncate(limits::CHATS);
    }
}
