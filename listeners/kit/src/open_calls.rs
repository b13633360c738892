//! What a listener keeps about its open calls between two deliveries, so that it need not read their view each time.
//!
//! A value is stored under a delivery, and the delivery of the next turn takes it out. The value comes out only if
//! the reply is known to have been accepted and no turn was missed. Otherwise the listener reads the view.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::envelope::Delivered;

/// What is kept about the open calls.
#[derive(Debug)]
pub struct OpenCalls<T> {
    calls: Mutex<CallValues<T>>,
    /// Whether other processes answer under the same name. Then the accepted reply may be another process's.
    is_one_of_many: bool,
}

/// A call: its thread and its path.
type CallKey = (String, String);

#[derive(Debug)]
struct CallValues<T> {
    by_key: HashMap<CallKey, KeptCall<T>>,
    /// How many values were ever stored.
    puts: u64,
}

#[derive(Debug)]
struct KeptCall<T> {
    value: T,
    /// The turn and the delivery answered last.
    turn: u32,
    delivery: String,
    is_taken: bool,
    /// The value of `puts` when it was stored.
    put: u64,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        let calls = CallValues { by_key: HashMap::new(), puts: 0 };
        Self { calls: Mutex::new(calls), is_one_of_many: false }
    }
}

impl<T> OpenCalls<T> {
    /// For a listener with several processes under one name: a kept value counts only after [`OpenCalls::mark_taken`].
    #[must_use]
    pub fn one_of_many(self) -> Self {
        Self { is_one_of_many: true, ..self }
    }

    /// Keeps a value for a call until its next turn is delivered.
    pub fn keep(&self, asked: &Delivered, value: T) {
        let mut calls = self.calls();
        if calls.by_key.len() >= crate::limits::REMEMBERED {
            let oldest = calls.by_key.iter().min_by_key(|(_, kept)| kept.put).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| calls.by_key.remove(&oldest));
        }
        calls.puts += 1;
        let kept = KeptCall {
            value,
            turn: asked.stamp.turn,
            delivery: asked.stamp.delivery.clone(),
            is_taken: !self.is_one_of_many,
            put: calls.puts,
        };
        calls.by_key.insert(build_key(asked), kept);
    }

    /// Notes that the pump accepted the reply to that delivery.
    pub fn mark_taken(&self, asked: &Delivered) {
        let mut calls = self.calls();
        let kept = calls.by_key.get_mut(&build_key(asked));
        if let Some(kept) = kept.filter(|kept| kept.delivery == asked.stamp.delivery) {
            kept.is_taken = true;
        }
    }

    /// Takes out the value kept at the turn right before this delivery.
    pub fn take(&self, asked: &Delivered) -> Option<T> {
        let kept = self.calls().by_key.remove(&build_key(asked))?;
        (kept.turn + 1 == asked.stamp.turn && kept.is_taken).then_some(kept.value)
    }

    fn calls(&self) -> MutexGuard<'_, CallValues<T>> {
        // Each change is a single step, so a poisoned lock leaves no half-made change.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build_key(asked: &Delivered) -> CallKey {
    (asked.thread.clone(), asked.stamp.call.clone())
}
