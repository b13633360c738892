//! The batch that is being filled, and the batch that is being written. Effects are stored next to the
//! records they follow from. They become `Recorded` only when the writer says that those records are on
//! disk, so nothing unwritten takes effect. An effect without records waits as well, because the state
//! it was decided from may not be durable yet.

use super::Engine;
use super::batch::{BatchWriting, PendingEffect, Recorded, WriteReport};
use crate::pump::event::Effect;
use crate::pump::state::{Thread, ThreadState};
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Ticket;
use crate::types::ids::ThreadId;
use crate::types::limits;
use crate::types::ports::{LogBatch, Position, PumpStep};
use crate::types::record::{MessageRole, Record, RecordCode};
use crate::types::refusal::Refusal;

impl Engine {
    pub(super) fn swap_batch(&mut self) -> Option<LogBatch> {
        if self.writing.is_some() || self.filling.is_empty() && self.sweep.is_over() {
            return None;
        }
        let mut filling = std::mem::take(&mut self.filling);
        self.since_checkpoint += filling.batch.records.len();
        if self.sweep.is_over() && (self.is_checkpoint_due() || filling.checkpoint) {
            self.since_checkpoint = 0;
            let at = Position(self.last.0 + filling.batch.records.len() as u64);
            self.sweep.begin(std::mem::take(&mut self.dirty), at);
        } else {
            self.filling.checkpoint = filling.checkpoint;
        }
        self.write_due_rows(&mut filling.batch);
        let batch = filling.batch;
        let ends_a_child = batch.records.iter().any(|record| is_news_of_a_child(record));
        if ends_a_child {
            self.ports.steps.note_step(PumpStep::ChildEnding);
        }
        self.writing = Some(BatchWriting {
            records: batch.records.len(),
            settles_a_turn: batch.records.iter().any(|r| r.header.ordinal.is_some()),
            ends_a_child,
            rows: batch.rows.iter().map(|row| (row.thread.clone(), row.seq)).collect(),
            effects: filling.effects,
        });
        Some(batch)
    }

    /// Writes the next rows of a checkpoint. Everyone waits for a commit, so a checkpoint of many threads takes several.
    /// At the end of a run no one waits any more.
    fn write_due_rows(&mut self, batch: &mut LogBatch) {
        for id in self.sweep.take_next(batch.records.len(), self.stopping) {
            let Some(thread) = self.state.find_thread(&id) else { continue };
            batch.rows.push(thread.to_row());
            // The row is as new as this batch.
            self.dirty.remove(&id);
        }
        batch.checkpoint = self.sweep.take_end();
    }

    /// A checkpoint writes a row for every thread touched since the last one, so the more threads are at
    /// work, the later it comes: rows stay few compared with records. Two limits end the delay: the
    /// number of records that opening would have to fold, and the number of threads that cannot leave
    /// memory before their row is written.
    fn is_checkpoint_due(&self) -> bool {
        let (records, rows) = (self.since_checkpoint, self.dirty.len());
        let few = records >= rows.saturating_mul(limits::RECORDS_PER_ROW);
        let most = records >= limits::RECORDS_TO_FOLD || rows >= limits::CHECKPOINT_RECORDS;
        records >= limits::CHECKPOINT_RECORDS && (few || most)
    }

    /// Whether there is room for the results of further inputs. Without room, the pump hears only the
    /// writer.
    pub fn has_room(&self) -> bool {
        self.filling.bytes < limits::WAITING_BYTES
    }

    /// Asks for a checkpoint with the next batch, and for a batch even if there is nothing else to
    /// write.
    pub fn checkpoint_soon(&mut self) {
        if !self.dirty.is_empty() {
            self.filling.checkpoint = true;
        }
    }

    /// Takes the writer's report. Its effects wait for `route_recorded`.
    pub fn hear_writer(&mut self, written: WriteReport) {
        match written {
            WriteReport::Committed(last) => self.finish_commit(last),
            WriteReport::Stalled(words) => self.stall_log(words),
            WriteReport::Broken(stop) => self.broken = Some(stop),
        }
    }

    fn finish_commit(&mut self, last: Position) {
        let Some(BatchWriting { records, settles_a_turn, ends_a_child, rows, effects }) = self.writing.take()
        else {
            return;
        };
        self.stalled = None;
        self.last = last;
        self.ports.steps.note_step(PumpStep::Stored);
        let before = last.0.saturating_sub(records as u64);
        let position = |n: usize| Position(before + 1 + n as u64);
        let effects = effects.into_iter().map(|(effect, place)| (effect, place.map(position))).collect();
        if settles_a_turn {
            self.ports.steps.note_step(PumpStep::ReplyStored);
        }
        if ends_a_child {
            self.ports.steps.note_step(PumpStep::ChildEnded);
        }
        self.unload_resting(rows);
        self.recorded.push_back(Recorded { effects });
    }

    /// Routes what the writer has reported as on disk. This is separate from taking the report, so that
    /// the writer can get its next batch first and works while this batch is routed.
    pub fn route_recorded(&mut self) {
        while let Some(recorded) = self.recorded.pop_front() {
            self.route_records(recorded);
        }
    }

    /// Threads at rest leave memory once their row is on disk, unless a record came since. A tree with
    /// parked inputs stays until the next checkpoint: what was read for a parked input may be older than
    /// what is in memory, and would replace it.
    fn unload_resting(&mut self, rows: Vec<(ThreadId, u64)>) {
        for (id, seq) in rows {
            let rests = |t: &Thread| t.seq == seq && t.life() != ThreadState::Working && !id.is_sys();
            if !self.state.find_thread(&id).is_some_and(rests) {
                continue;
            }
            if !self.parked.is_empty() && self.parked.contains_key(&id.stem()) {
                self.dirty.insert(id);
            } else {
                self.state.threads.remove(&id);
            }
        }
    }

    /// There is no room: everyone who waits for an answer is refused now. If the batch is written later
    /// after all, the same key gets its receipt, or the same bytes get the same refusal.
    fn stall_log(&mut self, words: String) {
        let mut waiting = take_tickets(&mut self.filling.effects);
        if let Some(writing) = &mut self.writing {
            waiting.extend(take_tickets(&mut writing.effects));
        }
        self.stalled = Some(words);
        for ticket in waiting {
            self.turn_away(ticket);
        }
    }

    /// Why nothing new can be taken at the moment; `None` if it can.
    pub(super) fn is_closed(&self) -> Option<String> {
        match (&self.stalled, self.stopping) {
            (Some(words), _) => Some(format!("nothing can be stored at the moment: {words}")),
            (None, true) => Some("the organism is stopping".to_owned()),
            (None, false) => None,
        }
    }

    /// Tells an asker that nothing can be taken at the moment. This is not recorded, because nothing can
    /// be.
    pub(super) fn turn_away(&self, ticket: Ticket) {
        let words = self.is_closed().unwrap_or_else(|| "nothing can be taken at the moment".to_owned());
        let refusal =
            Refusal::new(Code::IngressUnavailable, words).fixed_by("send it again later, with the same key");
        self.ports.askers.send_refusal(ticket, refusal);
    }
}

/// Whether a record tells a parent that a child has ended. It is in one commit with the child's last
/// record, whose thread may be long, so this is the record to look for.
fn is_news_of_a_child(record: &Record) -> bool {
    record.header.code == Some(RecordCode::Role(MessageRole::Inbox))
        && core_payload::finished_child(&record.body).is_some()
}

/// Removes the effects that answer someone who waits, and returns their tickets.
fn take_tickets(effects: &mut Vec<PendingEffect>) -> Vec<Ticket> {
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
        | Effect::LetGo { .. }
        | Effect::Expires { .. }
        | Effect::Answer { .. }
        | Effect::Recall(_)
        | Effect::Runs { .. }
        | Effect::Resumed(_) => true,
    });
    waiting
}
