//! Requests for responses that are on their way to the disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as OrderlyMutex;

use super::chat_hash::ChatHash;

/// Requests that are being sent, by what they are known by.
#[derive(Default)]
pub(super) struct SendingRequests(Mutex<BTreeMap<ChatHash, Arc<OrderlyMutex<()>>>>);

impl SendingRequests {
    /// The lock of a request: a repetition of it waits until it is on disk.
    pub(super) fn find_lock(&self, hash: &ChatHash) -> Arc<OrderlyMutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        locks.entry(hash.clone()).or_default().clone()
    }
}
