//! The messages that have answered a question in words, so that one that is sent again answers no second question.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits;
use systole_core::types::ids::{Key, Name};

/// The newest of them.
#[derive(Default)]
pub(super) struct AnsweredMessages(Mutex<VecDeque<(Name, Key)>>);

impl AnsweredMessages {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Name, Key)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a message that is to answer. `false` if it is kept: it has answered, or is about to.
    pub(super) fn keep(&self, client: &Name, key: &Key) -> bool {
        let mut kept = self.lock();
        if kept.iter().any(|(by, answered)| by == client && answered == key) {
            return false;
        }
        kept.push_front((client.clone(), key.clone()));
        kept.truncate(limits::CHATS);
        true
    }

    /// Forgets one that has answered nothing.
    pub(super) fn forget(&self, client: &Name, key: &Key) {
        self.lock().retain(|(by, answered)| (by, answered) != (client, key));
    }
}
