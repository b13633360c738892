//! Routes what is recorded, and hands turns to their listeners: a slot, a lease, the document.

use std::collections::HashMap;
use std::sync::Arc;

use super::adopting::{DIED_WITH_PUMP, may_be_out};
use super::waiting_out::waits_without_slot;
use super::{Engine, LogLookup, Recorded};
use crate::pump::dispatch_queue::TimeRuns;
use crate::pump::event::{Effect, EventKind, LostAttempt, ReadyTurn};
use crate::pump::turn_records;
use crate::pump::wake;
use crate::types::codes::Code;
use crate::types::composition::OnUnknown;
use crate::types::delivery::DeliveredTurn;
use crate::types::ids::{AttemptId, Name, ThreadId};
use crate::types::ports::{Delivery, Lease, PumpStep};
use crate::types::record::Record;

impl Engine {
    /// Routes what is on disk.
    pub(super) fn route_records(&mut self, recorded: Recorded) {
        // The first record of a run is always that the run began.
        self.unannounced = false;
        for (effect, position) in recorded.into_effects() {
            match effect {
                Effect::Ready(work) => self.make_ready(work, true),
                Effect::Wait { thread, timer, until } => self.wait_for(thread, timer, until),
                Effect::CallBack { thread, call, why } => self.call_back(&thread, &call, why),
                Effect::LetGo { listener, token } => self.ports.carrier.let_go(&listener, &token),
                Effect::Expires { .. } => self.await_person(effect),
                Effect::Recall(recall) => self.recall_journal(recall),
                Effect::Answer { listener, answer } => self.ports.carrier.send_answer(&listener, *answer),
                Effect::Runs { runs, left } => {
                    let now = self.ticks();
                    self.state.running.put(runs, left, now);
                }
                Effect::Resumed(thread) => self.take_up_aside(&thread),
                Effect::Receipt { ticket, receipt } => {
                    self.ports.askers.send_receipt(ticket, receipt, position);
                    self.ports.steps.note_step(PumpStep::Acknowledged);
                }
                Effect::Refused { ticket, refusal } => self.ports.askers.send_refusal(ticket, *refusal),
                Effect::Done { ticket } => self.ports.askers.finish_sender(ticket),
                Effect::Taken { ticket, taken } => self.ports.askers.note_taken(ticket, *taken),
            }
        }
        self.dispatch_ready();
    }

    /// Takes up the work that recovery found. If the previous run did not end in order, every ready turn may
    /// have been out, so each gets a new number before it goes out again. If the previous run ended with
    /// nothing out, no turn was out.
    pub(super) fn take_up(&mut self) {
        let now = self.now();
        for (thread, path) in wake::ready_calls(&self.state) {
            let Some(call) = self.state.find_thread(&thread).and_then(|t| t.calls.get(&path)) else {
                continue;
            };
            if self.elsewhere.has_call(&thread, &path) {
                continue;
            }
            // The configuration that a call began with decides what happens to its attempts.
            let listener = self.state.book.find_listener(call.config, &call.listener);
            // Where the earlier run reached it, only that run's configuration says.
            let book = &self.state.book;
            let was_elsewhere = book.list_versions(&call.listener).any(|one| one.reach.is_over_broker());
            let unrecorded = if was_elsewhere { self.is_out_elsewhere } else { !self.was_drained };
            if may_be_out(call, listener, now, unrecorded) {
                self.suspects.insert((thread.clone(), path.clone()));
            }
            let work = ReadyTurn {
                listener: call.listener.clone(),
                not_before: call.not_before,
                id: AttemptId { turn: call.settled + 1, attempt: call.attempts.max(1), thread, call: path },
            };
            self.make_ready(work, false);
        }
        self.dispatch_ready();
    }

    /// Takes a turn that may go out. `is_new` says whether a record made it ready just now.
    pub(super) fn make_ready(&mut self, work: ReadyTurn, is_new: bool) {
        // The set is almost always empty, and a delivery must not pay for it.
        if !self.reserved.is_empty() && self.reserved.remove(&(work.id.thread.clone(), work.id.call.clone()))
        {
            // This also happens while the organism stops: the attempt is on record, so it already counts as
            // out.
            return self.send_turn(&work, None);
        }
        if self.waits_out(&work, is_new) {
            return;
        }
        let now = self.ticks();
        let due = now.add_ms(self.find_pause_ms(&work));
        let client = self.find_client(&work.id.thread);
        let Err(work) = self.dispatch_queue.take_turn((&client, work), due, now) else { return };
        // An earlier listener of that name may have had it.
        if self.suspects.remove(&(work.id.thread.clone(), work.id.call.clone())) {
            let words = DIED_WITH_PUMP.to_owned();
            self.attempt_lost(LostAttempt::new(&work.id, Code::ListenerLost, words, true));
        } else if !self.waits_for_listener(&work) {
            let words = format!("{} is not part of the running organism", work.listener.as_str());
            self.attempt_lost(LostAttempt::new(&work.id, Code::Unavailable, words, false));
        }
    }

    /// The client for whom a thread works: the sender that opened its root.
    pub(super) fn find_client(&self, thread: &ThreadId) -> Name {
        let root = self.state.find_thread(&thread.root_of());
        let opener = root.and_then(|root| root.opener.as_ref());
        opener.map_or_else(Name::new_core, |opener| opener.sender.clone())
    }

    /// A pause is counted from now on, and is never longer than the listener's longest pause, even if the clock that
    /// recorded its end was set.
    fn find_pause_ms(&self, work: &ReadyTurn) -> u64 {
        let left_ms = work.not_before.count_since(self.now());
        if left_ms == 0 {
            return 0;
        }
        let call = self.state.find_thread(&work.id.thread).and_then(|t| t.calls.get(&work.id.call));
        let listener = call.and_then(|call| self.state.book.find_listener(call.config, &work.listener));
        left_ms.min(listener.map_or(0, |listener| listener.retry.longest_ms))
    }

    /// Sends what may go out.
    pub fn dispatch_ready(&mut self) {
        if self.holds_back() || self.broken.is_some() {
            return self.tell_holder();
        }
        let now = self.ticks();
        loop {
            let state = &self.state;
            let waits = |work: &ReadyTurn| state.due_call(&work.id).map(waits_without_slot);
            // Work that could not be begun goes before work that waits: it has its slot.
            let retry = self.dispatch_queue.take_retry(now).map(|work| {
                let waits = waits(&work).unwrap_or_default();
                (work, waits)
            });
            let Some((work, waits)) = retry.or_else(|| self.dispatch_queue.next(now, waits)) else { break };
            if self.is_paused(&work.id.thread) || !self.may_send(&work) {
                self.dispatch_queue.free_slot(&work.listener);
                self.lay_aside(work);
            } else if waits {
                self.begins_again(work);
            } else if !self.is_diverted(&work) {
                self.send_turn(&work, None);
            }
        }
        self.wait_in_queues();
    }

    /// Sends a turn whose slot is taken. `looked` are the records read from the log, if it was asked: a turn
    /// may show more than memory holds.
    pub(super) fn send_turn(&mut self, work: &ReadyTurn, looked: Option<&HashMap<u64, Arc<Record>>>) {
        if self.ended {
            return self.dispatch_queue.free_slot(&work.listener);
        }
        if !self.suspects.is_empty() && self.suspects.remove(&(work.id.thread.clone(), work.id.call.clone()))
        {
            return self.send_under_new_number(work, DIED_WITH_PUMP.to_owned());
        }
        if let Some(words) = self.lost_elsewhere(work) {
            return self.send_under_new_number(work, words);
        }
        let Some(call) = self.state.due_call(&work.id) else {
            return self.dispatch_queue.free_slot(&work.listener);
        };
        let Some(listener) = self.state.book.find_listener(call.config, &work.listener) else {
            let words = "the configuration of this call has no such listener";
            return self.report_undeliverable(work, Code::Unavailable, words);
        };
        if listener.on_unknown != OnUnknown::Retry && call.attempts == 0 {
            let AttemptId { thread, call, turn, .. } = work.id.clone();
            self.reserved.insert((thread.clone(), call.clone()));
            return self.take_event(EventKind::Sending { thread, call, turn });
        }
        let token = self.ports.tokens.make_token(&work.id);
        // A worker has answered it since an earlier life, and its reply waits for the log.
        if self.has_parked_reply(&work.id.thread.stem(), &token) {
            return self.dispatch_queue.free_slot(&work.listener);
        }
        let is_elsewhere = self.is_elsewhere(listener);
        let deadline = (!is_elsewhere).then(|| self.now().add_ms(listener.timeout_ms));
        let lease = Arc::new(Lease {
            token,
            listener: work.listener.clone(),
            id: work.id.clone(),
            config: call.config,
        });
        let found = |seq| match looked {
            Some(records) => records.get(&seq).cloned(),
            None => self.fresh.get(&work.id.thread, seq),
        };
        let turn = turn_records::collect_turn(call, deadline, found);
        if let Some(element) = turn.as_ref().and_then(|turn| self.untaken_element(call, turn)) {
            return self.waits_for_element(work, &element);
        }
        match turn {
            Some(turn) => {
                // Over a broker, the carrier watches for signs of life.
                let idle_ms = listener.idle_ms.filter(|_| !is_elsewhere);
                let runs = if is_elsewhere { TimeRuns::WhenTaken } else { TimeRuns::Now };
                let timeout = (listener.timeout_ms, runs);
                self.elsewhere.is_handed(&work.id);
                self.ports.leases.put_lease(lease.clone());
                let now = self.ticks();
                self.dispatch_queue.note_sent(lease.clone(), now, timeout, idle_ms);
                let turn = DeliveredTurn::Recorded(Arc::new(turn));
                self.ports.carrier.send_delivery(Delivery { lease, turn });
                self.ports.steps.note_step(PumpStep::Delivered);
            }
            None if looked.is_none() => {
                let seqs = turn_records::list_shown(call);
                self.lookups.push_back(LogLookup::Records { work: work.clone(), seqs });
            }
            None => {
                let words = "a record that this turn shows cannot be read";
                self.report_undeliverable(work, Code::DamagedThread, words);
            }
        }
    }

    /// Records that the delivery may have been out when the pump stopped. The next attempt keeps the slot, so
    /// its delivery goes out as soon as the record is on disk.
    pub(super) fn send_under_new_number(&mut self, work: &ReadyTurn, words: String) {
        let key = (work.id.thread.clone(), work.id.call.clone());
        self.reserved.insert(key.clone());
        self.attempt_lost(LostAttempt::new(&work.id, Code::ListenerLost, words, true));
        let next = AttemptId { attempt: work.id.attempt + 1, ..work.id.clone() };
        if self.state.due_call(&next).is_none() {
            // The call ended, or a person is asked first.
            self.reserved.remove(&key);
            self.dispatch_queue.free_slot(&work.listener);
        }
    }

    /// Gives the slot back and closes the call, because records that it would show are damaged or missing.
    pub(super) fn report_undeliverable(&mut self, work: &ReadyTurn, code: Code, words: &str) {
        self.dispatch_queue.free_slot(&work.listener);
        self.attempt_lost(LostAttempt::new(&work.id, code, words.to_owned(), false));
    }
}
