//! What the engine hands to the writer, and what comes back.

use std::sync::Arc;

use crate::pump::event::Effect;
use crate::types::ids::ThreadId;
use crate::types::limits;
use crate::types::ports::{LogBatch, LogStop, Position, StoredDocument};
use crate::types::record::Record;

/// An effect, and the index of its record in the batch if an asker waits for the position.
pub(super) type PendingEffect = (Effect, Option<usize>);

/// What waits for the writer.
#[derive(Default)]
pub(super) struct BatchDraft {
    pub(super) batch: LogBatch,
    pub(super) effects: Vec<PendingEffect>,
    pub(super) bytes: usize,
    pub(super) checkpoint: bool,
}

impl BatchDraft {
    /// Adds a record.
    pub(super) fn add_record(&mut self, record: Arc<Record>) {
        self.bytes += record.body.len() + limits::RECORD_BYTES;
        self.batch.records.push(record);
    }

    /// Adds a document that a record names.
    pub(super) fn add_document(&mut self, document: StoredDocument) {
        self.bytes += document.bytes.len();
        self.batch.documents.push(document);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.records.is_empty() && self.effects.is_empty() && !self.checkpoint
    }
}

/// What is still needed of the batch after the writer has it.
pub(super) struct BatchWriting {
    pub(super) records: usize,
    pub(super) settles_a_turn: bool,
    pub(super) ends_a_child: bool,
    /// Threads whose row is in the batch, with the seq of the last record folded into the row.
    pub(super) rows: Vec<(ThreadId, u64)>,
    pub(super) effects: Vec<PendingEffect>,
}

/// Effects whose records are on disk. Only the writer's confirmation creates one.
#[must_use = "what is recorded must be routed"]
pub struct Recorded {
    pub(super) effects: Vec<(Effect, Option<Position>)>,
}

impl Recorded {
    /// The effects, in the order in which they were decided.
    pub(super) fn into_effects(self) -> Vec<(Effect, Option<Position>)> {
        self.effects
    }
}

/// What the writer reports about its batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteReport {
    /// The batch is on disk; the position of its last record.
    Committed(Position),
    /// The batch cannot be written now; the writer will try again.
    Stalled(String),
    /// The log takes nothing more.
    Broken(LogStop),
}
