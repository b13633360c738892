//! The calls that MCP clients wait for, by the client's own names for them, so that a later message can cancel one.
//! It counts them, and knows nothing of what they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::rpc::RpcFault;
use systole_core::types::ids::Name;

/// Calls that may wait at once: each costs a task and a page of records.
const CALLS: usize = 256;

/// A client's name for a call: its session and the id of its request. Ids are only unique within a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CallName {
    pub(super) client: Name,
    pub(super) session: String,
    pub(super) id: String,
}

/// The calls that can be cancelled. One that is cancelled keeps its name until it has ended.
type NamedCalls = HashMap<CallName, Option<oneshot::Sender<()>>>;

/// The waiting calls.
pub(in crate::console) struct OpenCalls {
    seats: Arc<Semaphore>,
    named: Arc<Mutex<NamedCalls>>,
}

impl Default for OpenCalls {
    fn default() -> OpenCalls {
        OpenCalls { seats: Arc::new(Semaphore::new(CALLS)), named: Arc::default() }
    }
}

/// A place among the waiting calls, until it is dropped.
pub(super) struct CallSeat {
    /// Tells that the client cancels the call. Without a session it cannot.
    pub(super) cancelled: Option<oneshot::Receiver<()>>,
    name: Option<CallName>,
    named: Arc<Mutex<NamedCalls>>,
    _seat: OwnedSemaphorePermit,
}

impl OpenCalls {
    /// Takes a place. A name that waits already is refused.
    pub(super) fn enter(&self, name: Option<CallName>) -> Result<CallSeat, RpcFault> {
        let Ok(seat) = self.seats.clone().try_acquire_owned() else {
            return Err(RpcFault::unavailable(format!(
                "{CALLS} calls are waited for already: call again later"
            )));
        };
        let mut cancelled = None;
        if let Some(name) = &name {
            let (cancel, is_cancelled) = oneshot::channel();
            let mut named = lock(&self.named);
            if named.contains_key(name) {
                let words =
                    format!("a request with the id {} is still being answered: use a new id", name.id);
                return Err(RpcFault::request(words));
            }
            named.insert(name.clone(), Some(cancel));
            cancelled = Some(is_cancelled);
        }
        Ok(CallSeat { cancelled, name, named: self.named.clone(), _seat: seat })
    }

    /// Cancels a call. One that has ended is none.
    pub(super) fn cancel(&self, name: &CallName) {
        let waiting = lock(&self.named).get_mut(name).and_then(Option::take);
        // A call that ended just now has nothing to cancel.
        let _told = waiting.map(|cancel| cancel.send(()));
    }
}

impl Drop for CallSeat {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            lock(&self.named).remove(name);
        }
    }
}

fn lock<T>(named: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is complete before anything can panic.
    named.lock().unwrap_or_else(PoisonError::into_inner)
}
