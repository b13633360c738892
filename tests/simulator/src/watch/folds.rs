//! Checks that the log and the state agree. Each thread is stored as the engine had it when its last
//! records went to the writer; once they are on disk, a fold of the log must give exactly that, and so
//! must a start.

use std::collections::BTreeMap;

use systole_core::pump::fold::apply_record;
use systole_core::pump::state::{PumpState, Thread, ThreadState};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogBatch, LogReader as _, Position};
use systole_log::memory::MemoryLog;

/// Each thread's state when its records went to disk.
#[derive(Default)]
pub(crate) struct Folds {
    durable: BTreeMap<ThreadId, Thread>,
    /// The state after the batch that is being written.
    ahead: Vec<Thread>,
}

impl Folds {
    /// A batch goes to the writer: it contains everything that was decided.
    pub(crate) fn handed_over(&mut self, state: &PumpState, batch: &LogBatch) {
        let mut touched: Vec<&ThreadId> = batch.records.iter().map(|r| &r.header.thread).collect();
        touched.sort();
        touched.dedup();
        self.ahead = touched.into_iter().filter_map(|id| state.find_thread(id)).cloned().collect();
    }

    /// That batch is on disk.
    pub(crate) fn stored(&mut self) {
        self.durable.extend(self.ahead.drain(..).map(|thread| (thread.id.clone(), thread)));
    }

    /// That batch is lost.
    pub(crate) fn lost(&mut self) {
        self.ahead.clear();
    }

    /// Every thread in its state on disk.
    pub(crate) fn durable(&self) -> &BTreeMap<ThreadId, Thread> {
        &self.durable
    }

    /// Folds the whole log and compares.
    pub(crate) fn differs_from_log(&self, log: &MemoryLog) -> Vec<String> {
        let mut state = PumpState::default();
        // Reading memory cannot fail.
        for (_, record) in log.read_after(Position(0), usize::MAX).unwrap_or_default() {
            apply_record(&mut state, &record);
        }
        let mut wrong = Vec::new();
        for (id, thread) in &self.durable {
            wrong.extend(difference(thread, state.find_thread(id)));
        }
        if state.threads.len() != self.durable.len() {
            let (stored, known) = (state.threads.len(), self.durable.len());
            wrong.push(format!("the log has {stored} threads, and {known} went to disk"));
        }
        wrong
    }

    /// Compares the state that a start read from the log.
    pub(crate) fn differs_from_start(&self, state: &PumpState) -> Vec<String> {
        let mut wrong = Vec::new();
        for (id, thread) in &self.durable {
            match state.find_thread(id) {
                None if thread.life() == ThreadState::Working => {
                    wrong.push(format!("{id} was at work and is not in memory"));
                }
                None => {}
                found => wrong.extend(difference(thread, found)),
            }
        }
        wrong
    }
}

/// A fold as text: the chain and the open calls, each with its state.
fn told(thread: &Thread) -> String {
    let calls: Vec<String> = thread
        .calls
        .iter()
        .map(|(path, call)| format!("{path} {:?}, attempts {}", call.stand(), call.attempts))
        .collect();
    format!(
        "record {} with head {}, {}, calls [{}]",
        thread.seq,
        thread.head,
        thread.life().as_str(),
        calls.join("; ")
    )
}

fn difference(had: &Thread, found: Option<&Thread>) -> Option<String> {
    let Some(found) = found else { return Some(format!("{} is not in the log", had.id)) };
    // Recent keys are not part of a row, so they differ with what was read from where.
    let plain = |thread: &Thread| Thread { recent: Default::default(), ..thread.clone() };
    (plain(had) != plain(found)).then(|| format!("{} is {}; it was {}", had.id, told(found), told(had)))
}
