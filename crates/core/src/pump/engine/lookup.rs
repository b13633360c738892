//! Questions to the log: for a thread that is not in memory, a key that was bound before, a record that a
//! delivery shows. The engine only asks. A reader of the log answers later, and the inputs that waited for
//! the answer continue in their old order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::looked_up::{FoundInLog, LogAnswer, LogLookup};
use super::{Engine, PumpInput, recalling};
use crate::pump::event::{BoundKey, Effect, EventKind, JournalRecall, LostAttempt, ReadyTurn};
use crate::pump::state::Thread;
use crate::pump::view::{self, BegunViews};
use crate::pump::wake;
use crate::types::codes::Code;
use crate::types::flow::{Receipt, Refused, UnmatchedDocument};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::ports::{LogFault, LogReader};
use crate::types::record::Record;
use crate::types::refusal::Refusal;

/// Answers a question from the log, with views that were begun earlier. Blocks: call it only where reading
/// may block.
pub fn answer_lookup(reader: &dyn LogReader, begun: &mut BegunViews, lookup: LogLookup) -> LogAnswer {
    let found = read_lookup(reader, begun, &lookup);
    LogAnswer { lookup, found }
}

fn read_lookup(
    reader: &dyn LogReader,
    begun: &mut BegunViews,
    lookup: &LogLookup,
) -> Result<FoundInLog, LogFault> {
    match lookup {
        LogLookup::Line(thread) => Ok(FoundInLog::Threads(wake::wake_line(reader, thread)?, None)),
        LogLookup::Root(sought) => {
            let (threads, own) = wake::wake_root(reader, sought)?;
            let bound = own.map(|id| reader.by_key(&id, &sought.sender, &sought.key)).transpose()?.flatten();
            Ok(FoundInLog::Threads(threads, bound.map(|(_, record)| bind_key(&record))))
        }
        LogLookup::Key { thread, client, key, line } => {
            let bound = reader.by_key(thread, client, key)?.map(|(_, record)| bind_key(&record));
            let threads = if *line { wake::wake_line(reader, thread)? } else { Vec::new() };
            Ok(FoundInLog::Threads(threads, bound))
        }
        LogLookup::Timer { thread, set } => {
            let record = reader.of_thread(thread, *set, 1)?.pop().map(|(_, record)| Arc::new(record));
            Ok(FoundInLog::Timer(wake::wake_thread(reader, thread)?, record))
        }
        LogLookup::View { whose, wanted } => {
            Ok(FoundInLog::View(view::read_requests(reader, begun, whose, wanted)?))
        }
        LogLookup::Records { work, seqs } => read_records(reader, &work.id.thread, seqs),
        LogLookup::Journal(recall) => read_journal(reader, recall),
        LogLookup::Request { lost, seq } => read_records(reader, &lost.id.thread, &[*seq]),
    }
}

fn read_records(reader: &dyn LogReader, thread: &ThreadId, seqs: &[u64]) -> Result<FoundInLog, LogFault> {
    Ok(FoundInLog::Records(by_place(reader, thread, seqs)?))
}

fn by_place(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seqs: &[u64],
) -> Result<HashMap<u64, Arc<Record>>, LogFault> {
    let mut records = HashMap::with_capacity(seqs.len());
    for seq in seqs {
        let found = reader.of_thread(thread, *seq, 1)?;
        records.extend(found.into_iter().map(|(_, r)| (r.header.seq, Arc::new(r))));
    }
    Ok(records)
}

fn read_journal(reader: &dyn LogReader, recall: &JournalRecall) -> Result<FoundInLog, LogFault> {
    let records = by_place(reader, &recall.lease.id.thread, &recall.seqs)?;
    let with_words = |outcome| view::with_words(reader, outcome);
    Ok(FoundInLog::Journal(recalling::make_page(recall, &records, with_words)?))
}

fn bind_key(record: &Record) -> BoundKey {
    let h = &record.header;
    let call = h.call.clone().unwrap_or_else(|| CallPath::new_top(1));
    let receipt = Receipt {
        thread: h.thread.clone(),
        seq: h.seq,
        id: h.id,
        call,
        sender: h.from.clone(),
        repeated: true,
        claimed: None,
    };
    BoundKey { receipt, body: Digest::hash_bytes(&record.body) }
}

impl Engine {
    /// Parks an input until its question is answered. Inputs that are already parked stay before it.
    pub(super) fn park_input(&mut self, lookup: LogLookup, input: PumpInput) {
        self.parked.entry(lookup.stem()).or_default().push_back(input);
        self.lookups.push_back(lookup);
    }

    pub(super) fn take_answer(&mut self, answered: LogAnswer) {
        let LogAnswer { lookup, found } = answered;
        match (found, lookup) {
            (_, LogLookup::Records { work, .. }) if self.stopping || self.still => {
                self.dispatch_queue.free_slot(&work.listener)
            }
            // The records were asked for before the pause, but nothing has gone out, except what a worker on another
            // machine has since an earlier life: its time runs.
            (_, LogLookup::Records { work, .. })
                if self.is_paused(&work.id.thread)
                    && !self.elsewhere.is_found(&work.id.thread, &work.id.call) =>
            {
                self.dispatch_queue.free_slot(&work.listener);
                self.lay_aside(work);
            }
            (Ok(FoundInLog::Records(records)), LogLookup::Records { work, .. }) => {
                self.send_turn(&work, Some(&records));
            }
            (Ok(FoundInLog::Threads(threads, bound)), lookup) => {
                self.wake_threads(threads);
                self.unpark_inputs(&lookup.stem(), bound);
            }
            (Ok(FoundInLog::Timer(thread, set)), lookup) => {
                self.wake_threads(thread);
                self.fire_parked(&lookup.stem(), set);
            }
            (Ok(FoundInLog::View(seen)), lookup) => self.take_results(&lookup.stem(), Ok(seen)),
            (Ok(FoundInLog::Journal(past)), LogLookup::Journal(recall)) => self.answer_recall(&recall, past),
            (Ok(FoundInLog::Records(mut records)), LogLookup::Request { lost, seq }) => {
                self.take_event(EventKind::Lost(LostAttempt { request: records.remove(&seq), ..lost }));
            }
            (Ok(FoundInLog::Records(_) | FoundInLog::Journal(_)), _) => {}
            (Err(fault), lookup) => self.report_unreadable(&lookup, &fault),
        }
    }

    /// Takes threads into memory. A thread in memory is never older than the one that was read.
    fn wake_threads(&mut self, threads: impl IntoIterator<Item = Thread>) {
        for thread in threads {
            if let Entry::Vacant(place) = self.state.threads.entry(thread.id.clone()) {
                self.since_checkpoint += 1;
                self.dirty.insert(thread.id.clone());
                place.insert(thread);
            }
        }
    }

    /// Removes the input that has waited longest for this stem. Every parked input gets its own answer,
    /// and answers come in the order of the questions.
    pub(super) fn first_parked(&mut self, stem: &ThreadId) -> Option<PumpInput> {
        let queue = self.parked.get_mut(stem)?;
        let input = queue.pop_front();
        if queue.is_empty() {
            self.parked.remove(stem);
        }
        input
    }

    fn unpark_inputs(&mut self, stem: &ThreadId, bound: Option<BoundKey>) {
        match self.first_parked(stem) {
            Some(PumpInput::Asked(asked)) => self.take_message(asked, Some(bound)),
            Some(PumpInput::Judged(judged)) => self.take_event(EventKind::Replied(judged)),
            // `input` would park the order again while others wait behind it.
            Some(PumpInput::Ordered(order)) => self.take_event(EventKind::Ordered(order)),
            Some(PumpInput::Ticked(due)) => self.take_due(due),
            Some(other) => self.take_input(other),
            None => {}
        }
    }

    /// The log could not be read for a turn that has not gone out: the turn is tried again, and the
    /// failure is recorded in `sys`.
    fn put_off(&mut self, work: ReadyTurn, words: String) {
        self.dispatch_queue.free_slot(&work.listener);
        let now = self.ticks();
        // Its listener has a queue, since the work had a slot.
        let client = self.find_client(&work.id.thread);
        let due = now.add_ms(crate::types::limits::LOG_PAUSE_MS);
        let _seated = self.dispatch_queue.take_turn((&client, work), due, now);
        self.tell_sys(Refusal::new(Code::IngressUnavailable, words));
    }

    /// Records in `sys` a failure of the pump that concerns no particular sender.
    pub(super) fn tell_sys(&mut self, refusal: Refusal) {
        let refused = Refused { refusal, kept: None };
        let listener = Name::new_core();
        let stray = UnmatchedDocument { listener, refused, waits: None, replies_to: None, ticket: None };
        self.take_event(EventKind::Stray(stray));
    }

    /// The log could not be read: no one is left waiting, and nothing is decided from half a thread.
    /// Inputs that are parked behind get their own answer.
    fn report_unreadable(&mut self, lookup: &LogLookup, fault: &LogFault) {
        let words = fault.to_string();
        let refusal = match (lookup, fault) {
            (LogLookup::Records { work, .. }, LogFault::Damaged { .. }) => {
                return self.report_undeliverable(work, Code::DamagedThread, &words);
            }
            (LogLookup::Records { work, .. }, _) => return self.put_off(work.clone(), words),
            // A person cannot decide about a request that cannot be shown: the call fails as if no person
            // were to be asked.
            (LogLookup::Request { lost, .. }, _) => return self.take_event(EventKind::Lost(lost.clone())),
            (LogLookup::Journal(recall), LogFault::Damaged { .. }) => {
                return self.refuse_recall(recall, Code::DamagedThread, &words);
            }
            (LogLookup::Journal(recall), _) => {
                return self.refuse_recall(recall, Code::IngressUnavailable, &words);
            }
            (_, LogFault::Damaged { .. }) => Refusal::new(Code::DamagedThread, words),
            _ => Refusal::new(Code::IngressUnavailable, words)
                .fixed_by("send it again later, with the same key"),
        };
        if let LogLookup::View { .. } = lookup {
            return self.take_results(&lookup.stem(), Err(refusal));
        }
        let (to, ticket) = match self.first_parked(&lookup.stem()) {
            Some(PumpInput::Asked(asked)) => (asked.client, Some(asked.ticket)),
            Some(PumpInput::Ordered(order)) => {
                let (ticket, by) = order.asker();
                (by.clone(), Some(ticket))
            }
            Some(PumpInput::Judged(judged)) => (judged.lease.listener.clone(), judged.ticket),
            Some(PumpInput::Ripe(ripe)) => return self.refuse_firing(ripe, refusal),
            Some(PumpInput::Ticked(due)) => return self.refuse_due(&due, refusal),
            // The thread cannot be read, so the count is reported in `sys`.
            Some(PumpInput::Noticed(notice)) => return self.take_event(EventKind::Noticed(notice)),
            _ => return,
        };
        let refused = Refused { refusal: refusal.clone(), kept: None };
        let stray = UnmatchedDocument { listener: to, refused, waits: None, replies_to: None, ticket: None };
        self.take_event(EventKind::Stray(stray));
        if let Some(ticket) = ticket {
            self.follow_effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
        }
    }
}
