//! Calls that wait for someone who is away, without a slot: they are tried again one at a time, and fail when they have
//! waited for too long.

use super::Engine;
use super::adopting::DIED_WITH_PUMP;
use crate::pump::event::{Effect, EventKind, ReadyTurn};
use crate::pump::failing::longest_wait_ms;
use crate::pump::outages::{AwayParty, TrialRoom};
use crate::pump::state::{Call, OutageWait};
use crate::rules::core_payload::AttemptState;
use crate::rules::outage_words;
use crate::types::delivery::{RecordedTurn, ShownRecords};
use crate::types::flow::JudgedDocument;
use crate::types::ids::{AttemptId, CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::time::Millis;
use systole_wire::{Payload, namespaces};

/// Whether the due turn of a call waits for someone, and is neither in a queue nor out.
pub(super) fn waits_without_slot(call: &Call) -> bool {
    call.waits.as_ref().is_some_and(|wait| !wait.is_sent)
}

impl Engine {
    /// If a ready turn waits for someone, it is kept here and returns when it may go on. `has_failed` says whether it has
    /// just found that someone is away.
    pub(super) fn waits_out(&mut self, work: &ReadyTurn, has_failed: bool) -> bool {
        let Some(call) = self.state.due_call(&work.id) else { return false };
        let Some(OutageWait { outage, is_sent: false, .. }) = call.waits.clone() else { return false };
        let key = (work.id.thread.clone(), work.id.call.clone());
        if outage == limits::ELEMENT_AWAY && self.unfit.contains(&key) {
            true
        } else if !self.dispatch_queue.has_seat(&work.listener) {
            // Whatever else it waits for: it cannot be tried.
            self.waits_for_listener(work)
        } else if !limits::is_queued(&outage) && outage != limits::ELEMENT_AWAY {
            self.keep_waiting(work.clone(), outage, has_failed);
            true
        } else {
            if !self.outages.is_recorded() {
                self.goes_on(work.clone());
            }
            true
        }
    }

    fn keep_waiting(&mut self, work: ReadyTurn, word: String, has_failed: bool) {
        let (now, seed) = (self.ticks(), self.ports.seeds.draw_seed());
        let party = AwayParty { listener: self.own_words(&work), word };
        self.outages.add_waiting(party, work, has_failed, now, seed);
    }

    /// The listener, unless it is an agent: only agents share their words.
    fn own_words(&self, work: &ReadyTurn) -> Option<Name> {
        let config = self.state.due_call(&work.id).map(|call| call.config);
        let page = config.and_then(|config| self.state.book.find_composition(config));
        let section = page.and_then(|page| page.sections.get(&work.listener));
        let is_agent = section.is_some_and(|section| section.path.starts_with("agents."));
        (!is_agent).then(|| work.listener.clone())
    }

    /// A turn whose listener would not reach the one who is away for all: it waits, and its slot is free.
    pub(super) fn is_diverted(&mut self, work: &ReadyTurn) -> bool {
        if self.outages.is_empty() {
            return false;
        }
        let Some(word) = self.outages.find_away(&work.listener).map(|party| party.word.clone()) else {
            return false;
        };
        if self.may_have_been_out(work) {
            return false;
        }
        let now = self.now();
        let has_time = |call: &Call| {
            let waited_ms = call.away_since.map_or(0, |since| now.count_since(since));
            waited_ms < self.outage_ms(call)
        };
        // One that has waited for as long as it may asks once more.
        if !self.state.due_call(&work.id).is_some_and(has_time) {
            return false;
        }
        self.dispatch_queue.free_slot(&work.listener);
        let words = outage_words(&word, &work.listener);
        let state = AttemptState::Waits { outage: word.clone(), after: None, words };
        self.take_event(EventKind::Attempting { id: work.id.clone(), state });
        self.keep_waiting(work.clone(), word, false);
        true
    }

    /// The listener of a turn is not part of the running organism. Returns false if its call may not wait for it.
    pub(super) fn waits_for_listener(&mut self, work: &ReadyTurn) -> bool {
        if self.state.due_call(&work.id).is_none_or(|call| self.outage_ms(call) == 0) {
            return false;
        }
        let outage = limits::LISTENER_AWAY.to_owned();
        let words = outage_words(&outage, &work.listener);
        let state = AttemptState::Waits { outage, after: None, words };
        self.take_event(EventKind::Attempting { id: work.id.clone(), state });
        true
    }

    /// The element of a request that the listener in force does not take. The configuration of its call had it.
    pub(super) fn untaken_element(&self, call: &Call, turn: &RecordedTurn) -> Option<String> {
        let current = self.state.book.current().filter(|current| current.hash != call.config)?;
        let ShownRecords::Request(request) = &turn.shows else { return None };
        let (thread, path) = (&request.header.thread, request.header.call.as_ref());
        // A worker has it already.
        if path.is_some_and(|path| self.elsewhere.is_found(thread, path)) {
            return None;
        }
        let listener = current.find_listener(&call.listener).filter(|_| self.outage_ms(call) > 0)?;
        let payload = Payload::from_trusted(request.body.clone()).ok()?;
        let (name, is_core) = (payload.name(), *payload.name().ns == *namespaces::CORE);
        (!is_core && listener.find_accepted(name).is_none()).then(|| name.local.to_string())
    }

    /// A turn waits until a configuration takes its element, and its slot is free.
    pub(super) fn waits_for_element(&mut self, work: &ReadyTurn, element: &str) {
        if self.elsewhere.has_call(&work.id.thread, &work.id.call) {
            self.forget_elsewhere(work);
            return self.send_under_new_number(work, DIED_WITH_PUMP.to_owned());
        }
        self.dispatch_queue.free_slot(&work.listener);
        let words = format!("{} does not take <{element}>", work.listener.as_str());
        let state = AttemptState::Waits { outage: limits::ELEMENT_AWAY.to_owned(), after: None, words };
        self.take_event(EventKind::Attempting { id: work.id.clone(), state });
    }

    /// Work that queues behind deliveries that wait themselves waits too.
    pub(super) fn wait_in_queues(&mut self) {
        for (work, behind) in self.dispatch_queue.held_up() {
            let may_wait = |call: &Call| call.waits.is_none() && self.outage_ms(call) > 0;
            if self.may_have_been_out(&work) || !self.state.due_call(&work.id).is_some_and(may_wait) {
                continue;
            }
            let words = outage_words(behind, &work.listener);
            let state = AttemptState::Waits { outage: behind.to_owned(), after: None, words };
            self.take_event(EventKind::Attempting { id: work.id, state });
        }
    }

    /// Whether an earlier life of the pump may have sent a turn, so that it gets its new number before anything else.
    fn may_have_been_out(&self, work: &ReadyTurn) -> bool {
        let key = (work.id.thread.clone(), work.id.call.clone());
        self.suspects.contains(&key) || self.elsewhere.has_call(&key.0, &key.1)
    }

    fn outage_ms(&self, call: &Call) -> u64 {
        self.state.book.find_composition(call.config).map_or(0, |page| page.outage_ms)
    }

    /// Lets a waiting turn queue for a slot.
    fn goes_on(&mut self, work: ReadyTurn) {
        let now = self.ticks();
        // Only calls whose listener has a queue are kept here, and a queue lasts as long as the engine.
        let client = self.find_client(&work.id.thread);
        let _has_queue = self.dispatch_queue.take_turn((&client, work), now, now);
    }

    /// A waiting turn has a slot. If it may go on, that is recorded first, and the slot is kept for it.
    pub(super) fn begins_again(&mut self, work: ReadyTurn) {
        let key = (work.id.thread.clone(), work.id.call.clone());
        let waits = self.state.due_call(&work.id).and_then(|call| call.waits.clone());
        let outage = waits.map(|wait| wait.outage);
        let outage = outage.filter(|outage| {
            limits::is_queued(outage) || outage == limits::ELEMENT_AWAY || self.outages.begin_trial(&key)
        });
        // In a replay the record lets it go on.
        let outage = outage.filter(|_| !self.outages.is_recorded());
        let Some(outage) = outage else { return self.dispatch_queue.free_slot(&work.listener) };
        self.reserved.insert(key);
        self.take_event(EventKind::Attempting { id: work.id.clone(), state: AttemptState::GoesOn(outage) });
        self.follow_effect(Effect::Ready(work));
    }

    /// A listener has replied: if that shows that no one is away, some who wait go on.
    pub(super) fn heard_from(&mut self, judged: &JudgedDocument) {
        let id = &judged.lease.id;
        if self.outages.is_empty() || !judged.said.shows_presence() || self.state.due_call(id).is_none() {
            return;
        }
        let call = (id.thread.clone(), id.call.clone());
        let (now, seed) = (self.ticks(), self.ports.seeds.draw_seed());
        for work in self.outages.let_go_on(&judged.lease.listener, &call, now, seed) {
            self.goes_on(work);
        }
    }

    /// Lets calls that wait be tried again, and ends the wait of those that have waited for too long.
    pub(super) fn try_waiting(&mut self) {
        if self.stopping || self.broken.is_some() {
            return;
        }
        let now = self.ticks();
        while !self.outages.is_empty() {
            let seed = self.ports.seeds.draw_seed();
            let mut outages = std::mem::take(&mut self.outages);
            let work = outages.take_trial(now, seed, |party, work| self.find_trial_room(party, work));
            self.outages = outages;
            let Some(work) = work else { break };
            self.goes_on(work);
        }
        while let Some((_, (thread, call, since))) = self.outage_ends.take_due(now) {
            if self.waits_for_slot_alone(&thread, &call) {
                self.outage_ends.put(now.add_ms(limits::TRIAL_MOST_MS), (thread, call, since));
            } else {
                self.end_wait(&thread, &call, since);
            }
        }
    }

    /// Whether a call can be tried for the one it waits for. While it is tried it may come to wait for someone else, for
    /// days, and must not keep others from being tried for so long.
    fn find_trial_room(&self, party: &AwayParty, work: &ReadyTurn) -> TrialRoom {
        let Some(call) = self.state.due_call(&work.id) else { return TrialRoom::Gone };
        let waits_for_another = call.waits.as_ref().is_some_and(|wait| wait.outage != party.word);
        if waits_for_another || self.is_paused(&work.id.thread) {
            TrialRoom::Blocked
        } else if self.dispatch_queue.explain_wait(&work.listener).is_some() {
            TrialRoom::Queued
        } else {
            TrialRoom::Open
        }
    }

    /// Whether a call waits behind others that are not kept waiting any more.
    fn waits_for_slot_alone(&self, thread: &ThreadId, path: &CallPath) -> bool {
        let call = self.state.find_thread(thread).and_then(|t| t.calls.get(path));
        let wait = call.and_then(|call| Some((call.waits.as_ref()?, &call.listener)));
        wait.is_some_and(|(wait, listener)| {
            let is_behind = limits::is_queued(&wait.outage) && wait.outage != limits::LISTENER_AWAY;
            is_behind && self.dispatch_queue.explain_wait(listener).is_none()
        })
    }

    fn end_wait(&mut self, thread: &ThreadId, path: &CallPath, since: Millis) {
        let Some(call) = self.state.find_thread(thread).and_then(|t| t.calls.get(path)) else { return };
        let Some(wait) = &call.waits else { return };
        let words = outage_words(&wait.outage, &call.listener);
        let (turn, attempt) = (call.settled + 1, call.attempts.max(1));
        let id = AttemptId { turn, attempt, thread: thread.clone(), call: path.clone() };
        self.take_event(EventKind::Waited { id, since, words });
    }

    /// Notes when a wait that was just recorded ends at the latest. From now on the monotonic clock counts, so a clock
    /// that is set back makes no wait longer.
    pub(super) fn ends_wait(&mut self, thread: &ThreadId, path: &CallPath) {
        let Some(call) = self.state.find_thread(thread).and_then(|t| t.calls.get(path)) else { return };
        let Some(since) = call.away_since.filter(|_| call.waits.is_some()) else { return };
        let most_ms =
            longest_wait_ms(self.state.book.find_composition(call.config).map(|page| &**page), call);
        if most_ms > 0 {
            let left_ms = most_ms.saturating_sub(self.now().count_since(since));
            self.outage_ends.put(self.ticks().add_ms(left_ms.max(1)), (thread.clone(), path.clone(), since));
        }
    }

    /// Notes the same of all waits that recovery found.
    pub(super) fn take_up_waits(&mut self) {
        let waiting: Vec<_> = self
            .state
            .threads
            .values()
            .flat_map(|t| t.calls.iter().map(move |(path, call)| (&t.id, path, call)))
            .filter(|(.., call)| call.waits.is_some())
            .map(|(thread, path, _)| (thread.clone(), path.clone()))
            .collect();
        waiting.iter().for_each(|(thread, path)| self.ends_wait(thread, path));
    }
}
