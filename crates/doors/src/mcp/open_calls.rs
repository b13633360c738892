//! The calls that MCP clients wait for, by the client's own names for them, so that a later message can cancel one.
//! It counts them, and knows nothing of what they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::limits::OPEN_CALLS;
use systole_api::types::ApiReceipt;
use systole_doorway::rpc::RpcFault;
use systole_hall::runs::open_forms::CallName;

/// A thread, and the call in it.
type RunName = (String, String);

/// What is known of the waiting calls.
#[derive(Default)]
struct CallWaits {
    /// The calls that can be cancelled. One that is cancelled keeps its name until it has ended.
    named: HashMap<CallName, Option<oneshot::Sender<()>>>,
    /// How many wait for each run: several requests with one key are one call.
    runs: HashMap<RunName, usize>,
}

/// The waiting calls.
pub(super) struct WaitingMcpCalls {
    seats: Arc<Semaphore>,
    waiting: Arc<Mutex<CallWaits>>,
}

impl Default for WaitingMcpCalls {
    fn default() -> WaitingMcpCalls {
        WaitingMcpCalls { seats: Arc::new(Semaphore::new(OPEN_CALLS)), waiting: Arc::default() }
    }
}

/// A place among the waiting calls, until it is dropped.
pub(super) struct CallSeat {
    /// Tells that the client cancels the call. Without a session it cannot.
    pub(super) cancelled: Option<oneshot::Receiver<()>>,
    name: Option<CallName>,
    run: Option<RunName>,
    waiting: Arc<Mutex<CallWaits>>,
    _seat: OwnedSemaphorePermit,
}

impl WaitingMcpCalls {
    /// Takes a place. A name that waits already is refused.
    pub(super) fn enter_call(&self, name: Option<CallName>) -> Result<CallSeat, RpcFault> {
        let Ok(seat) = self.seats.clone().try_acquire_owned() else {
            return Err(RpcFault::refuse_unavailable(format!(
                "{OPEN_CALLS} calls are waited for already: call again later"
            )));
        };
        let mut cancelled = None;
        if let Some(name) = &name {
            let (cancel, is_cancelled) = oneshot::channel();
            let mut waiting = lock_calls(&self.waiting);
            if waiting.named.contains_key(name) {
                let words =
                    format!("a request with the id {} is still being answered: use a new id", name.id);
                return Err(RpcFault::refuse_request(words));
            }
            waiting.named.insert(name.clone(), Some(cancel));
            cancelled = Some(is_cancelled);
        }
        Ok(CallSeat { cancelled, name, run: None, waiting: self.waiting.clone(), _seat: seat })
    }

    /// Cancels a call. Does nothing if the call has ended.
    pub(super) fn cancel_call(&self, name: &CallName) {
        let waiting = lock_calls(&self.waiting).named.get_mut(name).and_then(Option::take);
        // A call that ended just now has nothing to cancel.
        let _told = waiting.map(|cancel| cancel.send(()));
    }
}

impl CallSeat {
    /// Says what the call is in the log.
    pub(super) fn set_run(&mut self, receipt: &ApiReceipt) {
        let run = (receipt.thread.clone(), receipt.call.clone());
        *lock_calls(&self.waiting).runs.entry(run.clone()).or_default() += 1;
        self.run = Some(run);
    }

    /// Ends the wait. Returns whether no one else waits for the same.
    pub(super) fn leave_call(mut self) -> bool {
        self.stop_waiting()
    }

    fn stop_waiting(&mut self) -> bool {
        let Some(run) = self.run.take() else { return true };
        let mut waiting = lock_calls(&self.waiting);
        let left = waiting.runs.get_mut(&run).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            waiting.runs.remove(&run);
        }
        left == 0
    }
}

impl Drop for CallSeat {
    fn drop(&mut self) {
        self.stop_waiting();
        if let Some(name) = &self.name {
            lock_calls(&self.waiting).named.remove(name);
        }
    }
}

fn lock_calls<T>(waiting: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is complete before anything can panic.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
