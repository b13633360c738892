//! Routing what is recorded, and handing turns to their listeners: a slot, a lease, the document.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{Heart, Input, Lookup, Recorded};
use crate::pump::compose;
use crate::pump::event::{Effect, Happening, Lost, Work};
use crate::pump::wake;
use crate::words::codes::Code;
use crate::words::composition::OnUnknown;
use crate::words::ids::ThreadId;
use crate::words::ports::{Delivery, Lease, Step};
use crate::words::record::Record;
use crate::words::refusal::Refusal;

/// Bytes of records that are kept at hand for deliveries.
const FRESH_BYTES: usize = 32 << 20;

/// Records of late, oldest dropped first.
#[derive(Default)]
pub(super) struct Fresh {
    records: HashMap<(ThreadId, u64), Arc<Record>>,
    order: VecDeque<(ThreadId, u64)>,
    bytes: usize,
}

/// What a record weighs beside its body.
const RECORD_BYTES: usize = 512;

impl Fresh {
    pub(super) fn put(&mut self, record: Arc<Record>) {
        let key = (record.header.thread.clone(), record.header.seq);
        self.bytes += record.body.len() + RECORD_BYTES;
        if self.records.insert(key.clone(), record).is_none() {
            self.order.push_back(key);
        }
        while self.bytes > FRESH_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(gone) = self.records.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.body.len() + RECORD_BYTES);
            }
        }
    }

    fn get(&self, thread: &ThreadId, seq: u64) -> Option<Arc<Record>> {
        self.records.get(&(thread.clone(), seq)).cloned()
    }
}

impl Heart {
    /// Routes what is on disk.
    pub(super) fn route(&mut self, recorded: Recorded) {
        for (effect, position) in recorded.into_effects() {
            match effect {
                Effect::Ready(work) => self.ready(work),
                Effect::CallBack { thread, call, why } => {
                    if let Some(lease) = self.desk.give_up(&thread, &call) {
                        self.ports.carrier.call_back(&lease.token, why);
                    }
                }
                Effect::Receipt { ticket, receipt } => {
                    self.ports.askers.receipt(ticket, receipt, position);
                    self.ports.steps.passed(Step::Acknowledged);
                }
                Effect::Refused { ticket, refusal } => self.ports.askers.refused(ticket, *refusal),
                Effect::Done { ticket } => self.ports.askers.done(ticket),
            }
        }
        self.dispatch();
    }

    /// Takes up the work that recovery found. As many calls of each listener as it has slots may have
    /// been out when the pump died; they count as lost before they go out again.
    pub(super) fn take_up(&mut self) {
        let mut slots: HashMap<_, usize> = HashMap::new();
        for (thread, path) in wake::ready_calls(&self.state) {
            let Some(call) = self.state.thread(&thread).and_then(|t| t.calls.get(&path)) else { continue };
            let listener = self.state.book.current().and_then(|c| c.listener(&call.listener));
            let recorded = listener.is_some_and(|l| l.on_unknown != OnUnknown::Retry);
            let seats = listener.map_or(0, |l| l.in_flight);
            let taken = slots.entry(call.listener.clone()).or_default();
            // Where attempts are recorded before they are sent, the record says whether one was.
            if if recorded { call.attempts > 0 } else { *taken < seats } {
                *taken += 1;
                self.suspects.insert((thread.clone(), path.clone()));
            }
            let work = Work {
                listener: call.listener.clone(),
                turn: call.settled + 1,
                attempt: call.attempts.max(1),
                not_before: call.not_before,
                thread,
                call: path,
            };
            self.ready(work);
        }
        self.dispatch();
    }

    fn ready(&mut self, work: Work) {
        let now = self.now();
        if let Err(work) = self.desk.take(work, now) {
            let words = [work.listener.as_str(), " is not part of the running organism"].concat();
            self.happened(lost(&work, Code::Unavailable, words, false));
        }
    }

    /// Sends what may go out.
    pub(super) fn dispatch(&mut self) {
        if self.stopping {
            return;
        }
        let now = self.now();
        loop {
            let state = &self.state;
            let due = |work: &Work| {
                let call = state.thread(&work.thread).and_then(|t| t.calls.get(&work.call));
                call.is_some_and(|c| c.is_due(work.turn, work.attempt))
            };
            let Some(work) = self.desk.next(now, due) else { break };
            self.send(&work, true);
        }
    }

    /// Sends a turn whose slot is taken. `look` says whether the log may still be asked for records.
    pub(super) fn send(&mut self, work: &Work, look: bool) {
        if self.suspects.remove(&(work.thread.clone(), work.call.clone())) {
            self.desk.unused(&work.listener);
            let words = "the pump stopped while the delivery may have been out".to_owned();
            return self.happened(lost(work, Code::ListenerLost, words, true));
        }
        let thread = self.state.thread(&work.thread);
        let Some((thread, call)) = thread.and_then(|t| Some((t, t.calls.get(&work.call)?))) else {
            return self.desk.unused(&work.listener);
        };
        if !call.is_due(work.turn, work.attempt) {
            return self.desk.unused(&work.listener);
        }
        let Some(listener) = self.state.book.listener(call.config, &work.listener) else {
            return self.undeliverable(work, "the configuration of this call has no such listener");
        };
        if listener.on_unknown != OnUnknown::Retry && call.attempts == 0 {
            let (thread, call, turn) = (work.thread.clone(), work.call.clone(), work.turn);
            self.desk.unused(&work.listener);
            return self.happened(Happening::Sending { thread, call, turn });
        }
        let now = self.now();
        let deadline = now.plus(listener.timeout_ms);
        let lease = Arc::new(Lease {
            token: self.ports.tokens.token(&work.thread, &work.call, work.turn, work.attempt),
            listener: work.listener.clone(),
            thread: work.thread.clone(),
            call: work.call.clone(),
            turn: work.turn,
            attempt: work.attempt,
            config: call.config,
        });
        let found = |seq| self.fresh.get(&work.thread, seq);
        match compose::envelope(thread, &work.call, call, &lease, deadline, found) {
            Some(envelope) => {
                let (timeout_ms, idle_ms) = (listener.timeout_ms, listener.idle_ms);
                self.ports.leases.put(lease.clone());
                self.desk.sent(lease.clone(), now, timeout_ms, idle_ms);
                self.ports.carrier.hand(Delivery { lease, envelope: Box::new(envelope) });
                self.ports.steps.passed(Step::Delivered);
            }
            None if look => {
                let seqs = compose::needed(call);
                self.lookups.push_back(Lookup::Records { work: work.clone(), seqs });
            }
            None => self.undeliverable(work, "a record that this turn shows cannot be read"),
        }
    }

    /// Gives the slot back and closes the call: what it would show is damaged or gone.
    pub(super) fn undeliverable(&mut self, work: &Work, words: &str) {
        self.desk.unused(&work.listener);
        self.happened(lost(work, Code::Unavailable, words.to_owned(), false));
    }

    /// Refuses what waited for a thread that cannot be read.
    pub(super) fn refuse_damaged(&mut self, input: Input, words: &str) {
        let refusal = Refusal::new(Code::DamagedThread, words.to_owned());
        match input {
            Input::Asked(asked) => self.ports.askers.refused(asked.ticket, refusal),
            Input::Cancel { ticket, .. } => self.ports.askers.refused(ticket, refusal),
            Input::Judged(judged) => {
                let refused = crate::words::flow::Refused { refusal, kept: None };
                let listener = judged.lease.listener.clone();
                self.happened(Happening::Stray(crate::words::flow::Unconnected { listener, refused }));
            }
            _ => {}
        }
    }
}

fn lost(work: &Work, code: Code, words: String, with_pump: bool) -> Happening {
    Happening::Lost(Lost {
        thread: work.thread.clone(),
        call: work.call.clone(),
        turn: work.turn,
        attempt: work.attempt,
        code,
        words,
        with_pump,
    })
}
