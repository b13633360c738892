//! One change set at a time; the others wait, in no order.
//!
//! A change set stops waiting if it is cancelled or its time is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct TurnGate {
    is_taken: Mutex<bool>,
    free: Condvar,
}

/// The turn. It ends when this is dropped.
pub(crate) struct HeldTurn<'g>(&'g TurnGate);

impl TurnGate {
    /// Waits for the turn. `None` if it is no longer wanted, or did not come in time.
    pub(crate) fn enter(&self, is_cancelled: &AtomicBool, deadline: Instant) -> Option<HeldTurn<'_>> {
        let mut is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_taken {
            if is_cancelled.load(Ordering::Relaxed) || Instant::now() >= deadline {
                return None;
            }
            let waited = self.free.wait_timeout(is_taken, crate::limits::TURN_LOOK);
            is_taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_taken = true;
        Some(HeldTurn(self))
    }
}

impl Drop for HeldTurn<'_> {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}
