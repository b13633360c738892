//! Recent records in memory, so that a delivery rarely reads the log.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::types::fast_maps::FastMap;
use crate::types::ids::ThreadId;
use crate::types::limits;
use crate::types::record::Record;

/// Recent records; the oldest are dropped first.
#[derive(Default)]
pub(super) struct FreshRecords {
    pub(super) records: FastMap<(ThreadId, u64), Arc<Record>>,
    order: VecDeque<(ThreadId, u64)>,
    pub(super) bytes: usize,
}

impl FreshRecords {
    /// Keeps a record that was just made; each is put once.
    pub(super) fn put(&mut self, record: Arc<Record>) {
        let key = (record.header.thread.clone(), record.header.seq);
        self.bytes += record.body.len() + limits::RECORD_BYTES;
        self.order.push_back(key.clone());
        self.records.insert(key, record);
        while self.bytes > limits::FRESH_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(gone) = self.records.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.body.len() + limits::RECORD_BYTES);
            }
        }
    }

    pub(super) fn get(&self, thread: &ThreadId, seq: u64) -> Option<Arc<Record>> {
        self.records.get(&(thread.clone(), seq)).cloned()
    }
}
