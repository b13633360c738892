//! The batch that is being filled and the one being written. Effects stand beside the records they
//! follow from, and become `Recorded` only when the writer says that those are on disk: nothing
//! unwritten moves. An effect without records of its own waits as well, for the state it was decided
//! from may not be durable yet.

use std::sync::Arc;

use super::Heart;
use super::deliver::RECORD_BYTES;
use crate::pump::event::Effect;
use crate::pump::state::{Life, Thread};
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Ticket;
use crate::types::ids::ThreadId;
use crate::types::limits;
use crate::types::ports::{Batch, Document, Position, Step};
use crate::types::record::{Mark, Record, Role};
use crate::types::refusal::Refusal;

/// An effect, and which record of its batch it belongs to, where somebody asks for its position.
type Pending = (Effect, Option<usize>);

/// Bytes that may wait for the writer before nothing more is taken in. Listeners and askers wait for
/// answers, so what they send while a commit runs is far less; what passes it is a flood of documents
/// that answer nothing, or a disk that has been full for long.
const WAITING_BYTES: usize = 64 << 20;

/// What waits for the writer.
#[derive(Default)]
pub(super) struct Filling {
    pub(super) batch: Batch,
    pub(super) effects: Vec<Pending>,
    bytes: usize,
    checkpoint: bool,
}

impl Filling {
    /// Adds a record.
    pub(super) fn record(&mut self, record: Arc<Record>) {
        self.bytes += record.body.len() + RECORD_BYTES;
        self.batch.records.push(record);
    }

    /// Adds a document that a record names.
    pub(super) fn document(&mut self, document: Document) {
        self.bytes += document.bytes.len();
        self.batch.documents.push(document);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.records.is_empty() && self.effects.is_empty() && !self.checkpoint
    }
}

/// What the writer has, as far as it matters afterwards.
pub(super) struct Writing {
    records: usize,
    settles_a_turn: bool,
    ends_a_child: bool,
    /// Threads whose row is in it, with the last record that is folded in.
    rows: Vec<(ThreadId, u64)>,
    effects: Vec<Pending>,
}

/// Effects whose records are on disk. Only the writer's word makes one.
#[must_use = "what is recorded must be routed"]
pub struct Recorded {
    effects: Vec<(Effect, Option<Position>)>,
}

impl Recorded {
    /// The effects, in the order in which they were decided.
    pub(super) fn into_effects(self) -> Vec<(Effect, Option<Position>)> {
        self.effects
    }
}

/// What the writer says of the batch it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is on disk; the position of its last record.
    Committed(Position),
    /// It cannot be written now and will be tried again.
    Stalled(String),
    /// The log cannot be trusted any further.
    Broken(String),
}

impl Heart {
    pub(super) fn swap_batch(&mut self) -> Option<Batch> {
        if self.writing.is_some() || self.filling.is_empty() {
            return None;
        }
        let mut filling = std::mem::take(&mut self.filling);
        self.since_checkpoint += filling.batch.records.len();
        if self.is_checkpoint_due() || filling.checkpoint {
            self.since_checkpoint = 0;
            filling.batch.checkpoint = true;
            let dirty = std::mem::take(&mut self.dirty);
            let rows = dirty.iter().filter_map(|id| self.state.thread(id)).map(|t| t.to_row());
            filling.batch.rows = rows.collect();
            // A set has no order, and what is written must not depend on where it keeps what.
            filling.batch.rows.sort_unstable_by(|a, b| a.thread.cmp(&b.thread));
        }
        let batch = filling.batch;
        let ends_a_child = batch.records.iter().any(|record| is_news_of_a_child(record));
        if ends_a_child {
            self.ports.steps.passed(Step::ChildEnding);
        }
        self.writing = Some(Writing {
            records: batch.records.len(),
            settles_a_turn: batch.records.iter().any(|r| r.header.ordinal.is_some()),
            ends_a_child,
            rows: batch.rows.iter().map(|row| (row.thread.clone(), row.seq)).collect(),
            effects: filling.effects,
        });
        Some(batch)
    }

    /// A checkpoint writes a row for every thread touched since the last one, so it comes the later the
    /// more threads are at work: rows stay few beside records. Two bounds end the waiting: the records
    /// that opening would have to fold, and the threads that cannot leave memory before their row.
    fn is_checkpoint_due(&self) -> bool {
        let (records, rows) = (self.since_checkpoint, self.dirty.len());
        let few = records >= rows.saturating_mul(limits::RECORDS_PER_ROW);
        let most = records >= limits::RECORDS_TO_FOLD || rows >= limits::CHECKPOINT_RECORDS;
        records >= limits::CHECKPOINT_RECORDS && (few || most)
    }

    /// Whether there is room for what further inputs bring about. Without it only the writer is heard.
    pub fn has_room(&self) -> bool {
        self.filling.bytes < WAITING_BYTES
    }

    /// Asks for a checkpoint with the next batch, and for a batch even if nothing else is to be written.
    pub fn checkpoint_soon(&mut self) {
        if !self.dirty.is_empty() {
            self.filling.checkpoint = true;
        }
    }

    /// Hears what the writer says. What follows from it waits for `route_recorded`.
    pub fn hear_writer(&mut self, written: Written) {
        match written {
            Written::Committed(last) => self.committed(last),
            Written::Stalled(words) => self.stall(words),
            Written::Broken(words) => self.broken = Some(words),
        }
    }

    fn committed(&mut self, last: Position) {
        let Some(Writing { records, settles_a_turn, ends_a_child, rows, effects }) = self.writing.take()
        else {
            return;
        };
        self.stalled = None;
        self.last = last;
        self.ports.steps.passed(Step::Stored);
        let before = last.0.saturating_sub(records as u64);
        let position = |n: usize| Position(before + 1 + n as u64);
        let effects = effects.into_iter().map(|(effect, place)| (effect, place.map(position))).collect();
        if settles_a_turn {
            self.ports.steps.passed(Step::ReplyStored);
        }
        if ends_a_child {
            self.ports.steps.passed(Step::ChildEnded);
        }
        self.let_sleep(rows);
        self.recorded.push_back(Recorded { effects });
    }

    /// Routes what the writer said is on disk. Apart from hearing it, so that the writer can have its
    /// next batch first and works while this one is routed.
    pub fn route_recorded(&mut self) {
        while let Some(recorded) = self.recorded.pop_front() {
            self.route(recorded);
        }
    }

    /// Threads at rest leave memory once their row is on disk, unless something came since. What was
    /// read for a parked input may be older than what is in memory, and would take its place: so the
    /// tree stays until the next checkpoint.
    fn let_sleep(&mut self, rows: Vec<(ThreadId, u64)>) {
        for (id, seq) in rows {
            let rests = |t: &Thread| t.seq == seq && t.life() != Life::Working && !id.is_sys();
            if !self.state.thread(&id).is_some_and(rests) {
                continue;
            }
            if !self.parked.is_empty() && self.parked.contains_key(&id.stem()) {
                self.dirty.insert(id);
            } else {
                self.state.threads.remove(&id);
            }
        }
    }

    /// No room: whoever waits for a word is told so now. Should the batch be written later all the
    /// same, the same key meets the receipt, or the same bytes the same refusal.
    fn stall(&mut self, words: String) {
        let mut waiting = take_tickets(&mut self.filling.effects);
        if let Some(writing) = &mut self.writing {
            waiting.extend(take_tickets(&mut writing.effects));
        }
        self.stalled = Some(words);
        for ticket in waiting {
            self.turn_away(ticket);
        }
    }

    /// Why nothing new can be taken at the moment, if that is so.
    pub(super) fn is_closed(&self) -> Option<String> {
        match (&self.stalled, self.stopping) {
            (Some(words), _) => Some(format!("nothing can be stored at the moment: {words}")),
            (None, true) => Some("the organism is stopping".to_owned()),
            (None, false) => None,
        }
    }

    /// Tells an asker that nothing can be taken at the moment. Not recorded: nothing can be.
    pub(super) fn turn_away(&self, ticket: Ticket) {
        let words = self.is_closed().unwrap_or_else(|| "nothing can be taken at the moment".to_owned());
        let refusal =
            Refusal::new(Code::IngressUnavailable, words).mended_by("send it again later, with the same key");
        self.ports.askers.refused(ticket, refusal);
    }
}

/// Whether a record tells a parent that a child has ended. It stands in one commit with the child's last
/// record, whose thread may be long: so this is the one that is looked for.
fn is_news_of_a_child(record: &Record) -> bool {
    record.header.code == Some(Mark::Role(Role::Inbox))
        && core_payload::finished_child(&record.body).is_some()
}

/// Takes out the effects that are words to somebody who waits, and gives where they wait.
fn take_tickets(effects: &mut Vec<Pending>) -> Vec<Ticket> {
    let mut waiting = Vec::new();
    effects.retain(|(effect, _)| match effect {
        Effect::Receipt { ticket, .. }
        | Effect::Refused { ticket, .. }
        | Effect::Taken { ticket, .. }
        | Effect::Done { ticket } => {
            waiting.push(*ticket);
            false
        }
        Effect::Ready(_)
        | Effect::Wait { .. }
        | Effect::CallBack { .. }
        | Effect::Expires { .. }
        | Effect::Answer { .. }
        | Effect::Recall(_)
        | Effect::Runs { .. }
        | Effect::Resumed(_) => true,
    });
    waiting
}
