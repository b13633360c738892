//! Deliveries that workers on other machines may still have from an earlier life of the pump. Their attempts go on: a
//! reply counts, whether or not its delivery is found. What the carrier of their listener does not find is handed over
//! again in the same attempt, because the broker knows by the token whether it had it before.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Engine;
use crate::pump::event::{Effect, EventKind, ReadyTurn};
use crate::pump::state::{Call, PumpState};
use crate::pump::wake;
use crate::rules::core_payload::AttemptState;
use crate::types::composition::{Listener, OnUnknown};
use crate::types::fast_maps::FastMap;
use crate::types::ids::{AttemptId, CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{CallBack, Lease, LeaseToken};
use crate::types::time::Millis;

/// Why a delivery is lost that a program may have had.
pub(super) const DIED_WITH_PUMP: &str = "the pump stopped while the delivery may have been out";

/// A delivery that a worker may still have.
struct AdoptedTurn {
    lease: Arc<Lease>,
    work: ReadyTurn,
    /// The moment after which it may have been handed over first.
    since: Millis,
    /// Whether it is with the broker or with a worker.
    is_found: bool,
    /// Why it must be taken for lost, if it must.
    lost: Option<String>,
}

/// The deliveries of earlier lives of the pump that this one has not handed over itself.
#[derive(Default)]
pub(super) struct TurnsElsewhere {
    adopted: FastMap<LeaseToken, AdoptedTurn>,
    by_call: FastMap<(ThreadId, CallPath), LeaseToken>,
    /// Those that no carrier has looked for yet, in the order in which they became ready.
    unseen: FastMap<Name, VecDeque<LeaseToken>>,
}

impl TurnsElsewhere {
    fn put(&mut self, adopted: AdoptedTurn) {
        let (token, id) = (adopted.lease.token.clone(), &adopted.lease.id);
        self.by_call.insert((id.thread.clone(), id.call.clone()), token.clone());
        self.unseen.entry(adopted.lease.listener.clone()).or_default().push_back(token.clone());
        self.adopted.insert(token, adopted);
    }

    /// Whether the call has such a delivery.
    pub(super) fn has_call(&self, thread: &ThreadId, call: &CallPath) -> bool {
        !self.by_call.is_empty() && self.by_call.contains_key(&(thread.clone(), call.clone()))
    }

    /// Whether the call has such a delivery that is with the broker or with a worker.
    pub(super) fn is_found(&self, thread: &ThreadId, call: &CallPath) -> bool {
        self.of_call(thread, call).is_some_and(|adopted| adopted.is_found)
    }

    /// Its carrier says that it is gone, or that it will not be answered.
    pub(super) fn remove_lease(&mut self, token: &LeaseToken) -> Option<Arc<Lease>> {
        let AdoptedTurn { lease, .. } = self.adopted.remove(token)?;
        self.by_call.remove(&(lease.id.thread.clone(), lease.id.call.clone()));
        Some(lease)
    }

    /// It is answered. Returns whether it was among them.
    pub(super) fn is_over(&mut self, token: &LeaseToken) -> bool {
        !self.adopted.is_empty() && self.remove_lease(token).is_some()
    }

    /// It is handed over again.
    pub(super) fn is_handed(&mut self, id: &AttemptId) {
        if !self.by_call.is_empty()
            && let Some(token) = self.by_call.remove(&(id.thread.clone(), id.call.clone()))
        {
            self.adopted.remove(&token);
        }
    }

    fn of_call(&self, thread: &ThreadId, call: &CallPath) -> Option<&AdoptedTurn> {
        if self.by_call.is_empty() {
            return None;
        }
        self.adopted.get(self.by_call.get(&(thread.clone(), call.clone()))?)
    }
}

/// The listeners on other machines that open calls began with, and that the current configuration does not name.
pub fn kept_listeners(state: &PumpState) -> Vec<Listener> {
    let mut kept: Vec<Listener> = Vec::new();
    let Some(current) = state.book.current() else { return kept };
    for call in state.threads.values().flat_map(|thread| thread.calls.values()) {
        let name = &call.listener;
        let is_known = current.find_listener(name).is_some() || kept.iter().any(|one| one.name == *name);
        let own = state.book.find_listener(call.config, name).filter(|own| own.reach.is_over_broker());
        kept.extend(own.filter(|_| !is_known).cloned());
    }
    kept
}

/// Whether the due turn of a call may have been out when the pump ended. `unrecorded` says whether a delivery without a
/// record may have been.
pub(super) fn may_be_out(call: &Call, listener: Option<&Listener>, now: Millis, unrecorded: bool) -> bool {
    let (recorded, longest_ms) =
        listener.map_or((false, 0), |l| (l.on_unknown != OnUnknown::Retry, l.retry.longest_ms));
    // It waits for someone who is away, and was not sent.
    if call.waits.as_ref().is_some_and(|wait| !wait.is_sent) {
        return false;
    }
    // Its pause is not over, so it was not sent. A pause longer than the longest comes from a clock that was set back.
    let pause_ms = call.not_before.count_since(now);
    let paused = pause_ms > 0 && pause_ms <= longest_ms;
    // If attempts are recorded before they are sent, the record says whether one was sent.
    let was_out = if recorded { call.attempts > 0 } else { unrecorded };
    // A listener that wrote in its journal had the delivery.
    !paused && (was_out || !call.journal.own.is_empty())
}

impl Engine {
    /// Whether a listener is on other machines now.
    pub(super) fn is_elsewhere(&self, own: &Listener) -> bool {
        let current = self.state.book.current().and_then(|current| current.find_listener(&own.name));
        current.unwrap_or(own).reach.is_over_broker()
    }

    /// How many deliveries that are still due workers on other machines may have.
    pub fn due_elsewhere(&self) -> usize {
        let adopted = self.elsewhere.adopted.values().map(|adopted| &adopted.lease);
        let leases = self.dispatch_queue.elsewhere().chain(adopted);
        leases.filter(|lease| self.state.due_call(&lease.id).is_some()).count()
    }

    /// Names the deliveries that workers on other machines may have, before anything is heard from there.
    pub fn adopt_listeners(&mut self) {
        if self.still {
            return;
        }
        let now = self.now();
        for (thread, path) in wake::ready_calls(&self.state) {
            let Some(call) = self.state.find_thread(&thread).and_then(|t| t.calls.get(&path)) else {
                continue;
            };
            let own = self.state.book.find_listener(call.config, &call.listener);
            let Some(own) = own.filter(|own| self.is_elsewhere(own)) else { continue };
            if !may_be_out(call, Some(own), now, self.is_out_elsewhere) {
                continue;
            }
            let id = AttemptId { turn: call.settled + 1, attempt: call.attempts.max(1), thread, call: path };
            let lease = Arc::new(Lease {
                token: self.ports.tokens.make_token(&id),
                listener: call.listener.clone(),
                id: id.clone(),
                config: call.config,
            });
            let work = ReadyTurn { listener: call.listener.clone(), not_before: call.not_before, id };
            let since = call.ready_at.max(call.not_before).max(call.went_on);
            // In another configuration a program is the listener, and it may have died with the pump.
            let book = &self.state.book;
            let is_always = book.list_versions(&call.listener).all(|one| one.reach.is_over_broker());
            let is_surely_elsewhere = self.was_drained || is_always;
            let lost = (!is_surely_elsewhere).then(|| DIED_WITH_PUMP.to_owned());
            self.ports.leases.put_lease(lease.clone());
            self.ports.carrier.expect_reply(&lease);
            self.elsewhere.put(AdoptedTurn { lease, work, since, is_found: false, lost });
        }
    }

    /// Opens the queues of listeners that only older configurations name. A queue stays closed as long as its carrier
    /// looks for what may be out.
    pub(super) fn seat_elsewhere(&mut self) {
        for listener in kept_listeners(&self.state) {
            self.dispatch_queue.set_slots(&listener.name, listener.in_flight);
        }
        for listener in self.elsewhere.unseen.keys() {
            self.dispatch_queue.set_slots(listener, 0);
        }
    }

    /// The carrier of a listener has looked for the deliveries that may be out. Those it found keep their slot; the
    /// others wait for one, before all later work.
    pub(super) fn finish_adoption(&mut self, listener: &Name, found: Vec<LeaseToken>, lost: Option<String>) {
        let Some(unseen) = self.elsewhere.unseen.remove(listener) else { return };
        for token in found {
            if let Some(adopted) = self.elsewhere.adopted.get_mut(&token) {
                adopted.is_found = true;
                let work = adopted.work.clone();
                self.dispatch_queue.adopt_listener(listener);
                self.send_turn(&work, None);
            }
        }
        for token in unseen {
            if let Some(adopted) = self.elsewhere.adopted.get_mut(&token).filter(|one| !one.is_found) {
                adopted.lost = lost.clone().or(adopted.lost.take());
                let work = adopted.work.clone();
                let client = self.find_client(&work.id.thread);
                self.dispatch_queue.take_first(&client, work);
            }
        }
        self.dispatch_queue.set_slots(listener, self.slots_of(listener));
        self.dispatch_ready();
    }

    fn slots_of(&self, listener: &Name) -> usize {
        let current = self.state.book.current().and_then(|current| current.find_listener(listener));
        let kept = || kept_listeners(&self.state).into_iter().find(|kept| kept.name == *listener);
        current.map(|one| one.in_flight).or_else(|| kept().map(|one| one.in_flight)).unwrap_or(1)
    }

    /// Why a delivery of an earlier life must be taken for lost, if it must. The broker knows only for a while which
    /// deliveries it had.
    pub(super) fn lost_elsewhere(&mut self, work: &ReadyTurn) -> Option<String> {
        let adopted = self.elsewhere.of_call(&work.id.thread, &work.id.call)?;
        let is_old = self.now().count_since(adopted.since) > limits::BROKER_REMEMBERS_MS;
        let words = match &adopted.lost {
            _ if adopted.is_found => return None,
            Some(words) => words.clone(),
            None if is_old => {
                "the broker does not have the delivery, and it is too long ago to know whether a \
                               worker had it"
                    .to_owned()
            }
            None => return None,
        };
        self.forget_elsewhere(work);
        Some(words)
    }

    /// A delivery of an earlier life is lost: nothing that is said for it counts.
    pub(super) fn forget_elsewhere(&mut self, work: &ReadyTurn) {
        let adopted = self.elsewhere.of_call(&work.id.thread, &work.id.call);
        if let Some(token) = adopted.map(|adopted| adopted.lease.token.clone()) {
            self.elsewhere.remove_lease(&token);
            self.ports.leases.retire_lease(&token);
        }
    }

    /// A delivery is no longer wanted.
    pub(super) fn call_back(&mut self, thread: &ThreadId, call: &CallPath, why: CallBack) {
        let out = self.dispatch_queue.give_up(thread, call).map(|lease| lease.token.clone());
        let token = out.or_else(|| self.elsewhere.of_call(thread, call).map(|one| one.lease.token.clone()));
        if let Some(token) = token {
            self.ports.carrier.call_back(&token, why);
        }
    }

    /// A worker on another machine has taken a delivery, so its time runs.
    pub(super) fn note_taken(&mut self, token: &LeaseToken, age_ms: u64, (now, has_waited): (Millis, bool)) {
        let Some(id) = self.dispatch_queue.find_lease(token).map(|lease| lease.id.clone()) else { return };
        let Some(call) = self.state.due_call(&id) else { return };
        let has_waited = has_waited || call.waits.is_some();
        let age_ms = match call.taken {
            Some(at) => now.count_since(at),
            // Nothing was on its way to a worker for so long.
            None if has_waited => 0,
            None => age_ms,
        };
        let is_news = call.taken.is_none() && has_waited;
        let tick = self.ticks();
        if self.dispatch_queue.note_taken(token, age_ms, tick) && is_news {
            self.take_event(EventKind::Attempting { id, state: AttemptState::Taken(now) });
        }
    }

    /// A delivery lies with the broker, and no worker takes it.
    pub(super) fn note_untaken(&mut self, token: &LeaseToken) {
        if let Some(id) = self.dispatch_queue.find_lease(token).map(|lease| lease.id.clone()) {
            let words = "no worker takes it".to_owned();
            self.note_waiting(id, (limits::WORKER_AWAY, limits::BEHIND_WORKER), words);
        }
    }

    /// A delivery for another machine cannot be brought to the broker.
    pub(super) fn note_unreached(&mut self, token: &LeaseToken, words: String) {
        let Some(lease) = self.dispatch_queue.find_lease(token).cloned() else { return };
        let own = self.state.book.find_listener(lease.config, &lease.listener);
        if own.is_some_and(|own| self.is_elsewhere(own)) {
            self.note_waiting(lease.id.clone(), (limits::BROKER_AWAY, limits::BEHIND_BROKER), words);
        }
    }

    /// What is recorded of an attempt happens again.
    pub(super) fn goes_through(&mut self, id: AttemptId, state: AttemptState) {
        let goes_on = matches!(state, AttemptState::GoesOn(_));
        let not_before = self.state.due_call(&id).map_or(Millis(0), |call| call.not_before);
        let listener = self.state.due_call(&id).map(|call| call.listener.clone());
        self.take_event(EventKind::Attempting { id: id.clone(), state });
        if let Some(listener) = listener.filter(|_| goes_on) {
            self.dispatch_queue.withdraw_attempt(&listener, &id);
            self.follow_effect(Effect::Ready(ReadyTurn { listener, not_before, id }));
        }
    }

    fn note_waiting(&mut self, id: AttemptId, (outage, behind): (&str, &'static str), words: String) {
        let listener = self.state.due_call(&id).map(|call| call.listener.clone());
        let state = AttemptState::Waits { outage: outage.to_owned(), after: None, words };
        self.take_event(EventKind::Attempting { id, state });
        if let Some(listener) = listener {
            let state = &self.state;
            let waits = |id: &AttemptId| state.due_call(id).is_none_or(|call| call.waits.is_some());
            self.dispatch_queue.hold_up(&listener, behind, waits);
            self.wait_in_queues();
        }
    }
}
