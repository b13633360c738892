//! The queue: which turns wait for a slot of their listener, which deliveries are out, and until when. Live data, not
//! state: after a restart it is filled again from the state, and deliveries that may have been out are kept apart
//! from those that cannot have been. Pure except for what its caller passes in.
//!
//! A listener's slots count the deliveries that are out with its program, not its open calls, so a cycle of calls
//! cannot deadlock. A delivery past its deadline keeps its slot until its carrier says that it is over, so a hung
//! program never gets more than it can hold.
//!
//! Every moment here is a tick, from a clock that no one can set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::event::ReadyTurn;
use super::waiting_turns::WaitingTurns;
use crate::types::fast_maps::FastMap;
use crate::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId};
use crate::types::ports::{Lease, LeaseToken};
use crate::types::rate::{Rate, RateGate};
use crate::types::time::Millis;

/// Work that waits for a listener, and the number of its deliveries that are out.
#[derive(Debug, Default)]
struct ListenerQueue {
    waiting: WaitingTurns,
    out: usize,
    slots: usize,
    /// How many deliveries may go out in a time, and what went out.
    rate: Option<(Rate, RateGate)>,
    /// What the work in this queue waits for as long as every delivery that has a slot waits too.
    behind: Option<&'static str>,
}

/// Since when the time of an attempt runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeRuns {
    /// Since the delivery was handed over.
    Now,
    /// Since the moment when a worker on another machine took it.
    WhenTaken,
}

/// A delivery that is out.
#[derive(Debug)]
struct DispatchedTurn {
    lease: Arc<Lease>,
    /// Whether it is on another machine.
    is_elsewhere: bool,
    /// How long its attempt may take from the moment when a worker takes it, until then.
    when_taken_ms: Option<u64>,
    /// When its attempt is over; `None` as long as no worker has taken it, once the attempt is over or its call has
    /// closed.
    deadline: Option<Millis>,
    idle_ms: Option<u64>,
    idle_until: Option<Millis>,
    /// Questions it has asked, without those for the next page of its view.
    asks: usize,
    /// Where the next page of its view begins, until the delivery asks for that page.
    next_page: Option<u64>,
    /// How much of its view it has been given.
    read_to: u64,
    /// The documents that it has stored. Each was a question, so there are few.
    stored: Vec<Digest>,
}

impl DispatchedTurn {
    fn ends(&self) -> Option<Millis> {
        let hard = self.deadline?;
        Some(self.idle_until.map_or(hard, |idle| idle.min(hard)))
    }
}

/// Waiting work and deliveries that are out.
#[derive(Debug, Default)]
pub struct DispatchQueue {
    queues: FastMap<Name, ListenerQueue>,
    /// Work that is not due yet, with its client.
    later: BTreeMap<(Millis, u64), (Name, ReadyTurn)>,
    /// Work that its carrier could not begin. It keeps its slot until it is due.
    put_off: BTreeMap<(Millis, u64), ReadyTurn>,
    arrivals: u64,
    out: FastMap<LeaseToken, DispatchedTurn>,
    by_call: FastMap<(ThreadId, CallPath), LeaseToken>,
    ends: BTreeSet<(Millis, LeaseToken)>,
    woken: BTreeSet<Name>,
    /// When listeners with work get more by their rate.
    rated: BTreeSet<(Millis, Name)>,
    /// Work that queues behind deliveries that wait themselves, since it was last asked for.
    held_up: Vec<(ReadyTurn, &'static str)>,
}

impl DispatchQueue {
    /// Opens a queue for a listener with that many slots, or changes their number.
    pub fn set_slots(&mut self, listener: &Name, slots: usize) {
        self.queues.entry(listener.clone()).or_default().slots = slots;
        self.woken.insert(listener.clone());
    }

    /// Lets no more go to a listener in a time than its rate.
    pub fn set_rate(&mut self, listener: &Name, rate: Option<Rate>) {
        self.queues.entry(listener.clone()).or_default().rate = rate.map(|rate| (rate, RateGate::default()));
    }

    /// How much work of a client waits in the queue of a listener.
    pub fn count_waiting(&self, listener: &Name, client: &Name) -> usize {
        self.queues.get(listener).map_or(0, |queue| queue.waiting.count_of(client))
    }

    /// Whether a listener has a queue.
    pub fn has_seat(&self, listener: &Name) -> bool {
        self.queues.contains_key(listener)
    }

    /// Takes a slot for work that is out already, even if there is none left.
    pub fn adopt_listener(&mut self, listener: &Name) {
        self.queues.entry(listener.clone()).or_default().out += 1;
    }

    /// Every delivery that has a slot of a listener waits itself, if `waits` says so of each: the work that queues behind
    /// them waits for the same.
    pub fn hold_up(&mut self, listener: &Name, behind: &'static str, waits: impl Fn(&AttemptId) -> bool) {
        if self.explain_wait(listener) == Some(behind) {
            return;
        }
        let out = self.out.values().map(|out| &out.lease).filter(|lease| lease.listener == *listener);
        let put_off = self.put_off.values().filter(|work| work.listener == *listener);
        let ids = out.map(|lease| &lease.id).chain(put_off.map(|work| &work.id));
        let waiting = ids.filter(|id| waits(id)).count();
        let Some(queue) = self.queues.get_mut(listener) else { return };
        if queue.out >= queue.slots && waiting == queue.out {
            queue.behind = Some(behind);
            self.held_up.extend(queue.waiting.iter().map(|work| (work.clone(), behind)));
        }
    }

    /// What the work in the queue of a listener waits for as long as every delivery that has a slot waits too.
    pub fn explain_wait(&self, listener: &Name) -> Option<&'static str> {
        self.queues.get(listener)?.behind
    }

    /// Work that has begun to wait in its queue, and what for. Work leaves its queue only after a slot became free, and
    /// then nothing there waits any more.
    pub fn held_up(&mut self) -> Vec<(ReadyTurn, &'static str)> {
        let mut held_up = std::mem::take(&mut self.held_up);
        held_up.retain(|(work, behind)| self.explain_wait(&work.listener) == Some(behind));
        held_up
    }

    /// Removes work that waits for a slot.
    pub fn withdraw_attempt(&mut self, listener: &Name, id: &AttemptId) {
        if let Some(queue) = self.queues.get_mut(listener) {
            queue.waiting.remove(id);
        }
    }

    fn put(&mut self, client: &Name, work: ReadyTurn) {
        let Some(queue) = self.queues.get_mut(&work.listener) else { return };
        if let Some(behind) = queue.behind {
            self.held_up.push((work.clone(), behind));
        }
        self.woken.insert(work.listener.clone());
        let goes_first = work.id.attempt > 1;
        queue.waiting.put(client, work, goes_first);
    }

    /// Takes work of an earlier life of the pump, which goes before the work that its client has in this one.
    pub fn take_first(&mut self, client: &Name, work: ReadyTurn) {
        self.woken.insert(work.listener.clone());
        self.queues.entry(work.listener.clone()).or_default().waiting.put(client, work, true);
    }

    /// Takes work of a client: into its listener's queue, or aside until it is due. Returns the work if its listener has
    /// no queue.
    pub fn take_turn(
        &mut self,
        (client, work): (&Name, ReadyTurn),
        due: Millis,
        now: Millis,
    ) -> Result<(), ReadyTurn> {
        if !self.has_seat(&work.listener) {
            return Err(work);
        }
        if due > now {
            self.arrivals += 1;
            self.later.insert((due, self.arrivals), (client.clone(), work));
        } else {
            self.put(client, work);
        }
        Ok(())
    }

    /// Work whose listener has a free slot, with what `find_due` found for it; takes that slot. Work for which it finds
    /// nothing is no longer wanted, because its call has closed or moved on, and is dropped.
    pub fn next<T>(
        &mut self,
        now: Millis,
        find_due: impl Fn(&ReadyTurn) -> Option<T>,
    ) -> Option<(ReadyTurn, T)> {
        while let Some(entry) = self.later.first_entry().filter(|e| e.key().0 <= now) {
            let (client, work) = entry.remove();
            self.put(&client, work);
        }
        while self.rated.first().is_some_and(|(at, _)| *at <= now) {
            self.woken.extend(self.rated.pop_first().map(|(_, listener)| listener));
        }
        while let Some(listener) = self.woken.first().cloned() {
            if let Some(queue) = self.queues.get_mut(&listener) {
                while queue.out < queue.slots {
                    let wait_ms = queue.rate.map_or(0, |(rate, gate)| gate.find_wait_ms(rate, now));
                    if wait_ms > 0 && !queue.waiting.is_empty() {
                        self.rated.insert((now.add_ms(wait_ms), listener.clone()));
                        break;
                    }
                    let Some(work) = queue.waiting.take_next() else { break };
                    if let Some(found) = find_due(&work) {
                        queue.out += 1;
                        if let Some((rate, gate)) = &mut queue.rate {
                            gate.pass(*rate, now);
                        }
                        return Some((work, found));
                    }
                }
            }
            self.woken.remove(&listener);
        }
        None
    }

    /// Gives back a slot that `next` took for work that was not sent in the end.
    pub fn free_slot(&mut self, listener: &Name) {
        if let Some(queue) = self.queues.get_mut(listener) {
            (queue.out, queue.behind) = (queue.out.saturating_sub(1), None);
            self.woken.insert(listener.clone());
        }
    }

    /// Notes that a delivery is out until its deadline.
    pub fn note_sent(
        &mut self,
        lease: Arc<Lease>,
        now: Millis,
        (timeout_ms, runs): (u64, TimeRuns),
        idle_ms: Option<u64>,
    ) {
        let idle_until = idle_ms.map(|ms| now.add_ms(ms));
        let (deadline, when_taken_ms) = match runs {
            TimeRuns::Now => (Some(now.add_ms(timeout_ms)), None),
            TimeRuns::WhenTaken => (None, Some(timeout_ms)),
        };
        let (is_elsewhere, asks, next_page, read_to) = (runs == TimeRuns::WhenTaken, 0, None, 0);
        let lease_of = lease.clone();
        let out = DispatchedTurn {
            lease: lease_of,
            is_elsewhere,
            when_taken_ms,
            deadline,
            idle_ms,
            idle_until,
            asks,
            next_page,
            read_to,
            stored: Vec::new(),
        };
        if let Some(end) = out.ends() {
            self.ends.insert((end, lease.token.clone()));
        }
        self.by_call.insert((lease.id.thread.clone(), lease.id.call.clone()), lease.token.clone());
        self.out.insert(lease.token.clone(), out);
    }

    /// A worker on another machine took a delivery so long ago: its time runs. Returns whether that is news.
    pub fn note_taken(&mut self, token: &LeaseToken, age_ms: u64, now: Millis) -> bool {
        let Some(out) = self.out.get_mut(token) else { return false };
        let Some(timeout_ms) = out.when_taken_ms.take() else { return false };
        let left_ms = timeout_ms.saturating_sub(age_ms);
        out.deadline = Some(now.add_ms(left_ms));
        if let Some(queue) = self.queues.get_mut(&out.lease.listener) {
            queue.behind = None;
        }
        if let Some(end) = out.ends() {
            self.ends.insert((end, token.clone()));
        }
        true
    }

    /// A delivery that is out.
    pub fn find_lease(&self, token: &LeaseToken) -> Option<&Arc<Lease>> {
        self.out.get(token).map(|out| &out.lease)
    }

    /// A sign of life renews the idle time, never the deadline.
    pub fn renew_lease(&mut self, token: &LeaseToken, now: Millis) {
        let Some(out) = self.out.get_mut(token) else { return };
        if let Some(end) = out.ends() {
            self.ends.remove(&(end, token.clone()));
        }
        out.idle_until = out.idle_ms.map(|ms| now.add_ms(ms));
        if let Some(end) = out.ends() {
            self.ends.insert((end, token.clone()));
        }
    }

    /// Counts a question, and returns how many questions this delivery has asked by now.
    pub fn count_asks(&mut self, token: &LeaseToken) -> usize {
        let Some(out) = self.out.get_mut(token) else { return 0 };
        out.asks += 1;
        out.asks
    }

    /// Notes documents that a delivery stored.
    pub fn note_stored(&mut self, token: &LeaseToken, documents: Vec<Digest>) {
        if let Some(out) = self.out.get_mut(token) {
            out.stored.extend(documents);
        }
    }

    /// The documents that a delivery stored.
    pub fn list_stored(&self, token: &LeaseToken) -> Vec<Digest> {
        self.out.get(token).map(|out| out.stored.clone()).unwrap_or_default()
    }

    /// Notes where the view of a delivery continues after a page. Asking for an earlier page again does not move
    /// this place.
    pub fn read_on(&mut self, token: &LeaseToken, next: u64) {
        if let Some(out) = self.out.get_mut(token).filter(|out| next > out.read_to) {
            (out.next_page, out.read_to) = (Some(next), next);
        }
    }

    /// Whether a question for the view from that message on asks for the next page. This is true once for each page,
    /// so a delivery gets each message once without a counted question.
    pub fn reads_on(&mut self, token: &LeaseToken, from: u64) -> bool {
        self.out.get_mut(token).is_some_and(|out| out.next_page.take_if(|next| *next == from).is_some())
    }

    /// The carrier says that a delivery is over: its slot is free again.
    pub fn end_lease(&mut self, token: &LeaseToken) -> Option<Arc<Lease>> {
        let out = self.take_in(token)?;
        self.free_slot(&out.lease.listener.clone());
        Some(out.lease)
    }

    /// Removes a delivery from those that are out.
    fn take_in(&mut self, token: &LeaseToken) -> Option<DispatchedTurn> {
        let out = self.out.remove(token)?;
        if let Some(end) = out.ends() {
            self.ends.remove(&(end, token.clone()));
        }
        let call = (out.lease.id.thread.clone(), out.lease.id.call.clone());
        if self.by_call.get(&call) == Some(token) {
            self.by_call.remove(&call);
        }
        Some(out)
    }

    /// A delivery that its carrier could not begin: it is no longer out, keeps its slot, and is due again at that
    /// moment.
    pub fn put_off(&mut self, token: &LeaseToken, due: Millis) {
        let Some(DispatchedTurn { lease, .. }) = self.take_in(token) else { return };
        self.arrivals += 1;
        let work = ReadyTurn {
            listener: lease.listener.clone(),
            id: lease.id.clone(),
            not_before: Millis::default(),
        };
        self.put_off.insert((due, self.arrivals), work);
    }

    /// Work that could not be begun and is due again. It already has its slot.
    pub fn take_retry(&mut self, now: Millis) -> Option<ReadyTurn> {
        let first = self.put_off.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// The delivery that is out for a call. The queue no longer waits for its answer.
    pub fn give_up(&mut self, thread: &ThreadId, call: &CallPath) -> Option<Arc<Lease>> {
        let token = self.by_call.get(&(thread.clone(), call.clone()))?.clone();
        self.forget_deadline(&token)
    }

    /// Deliveries whose attempt is over by now, each once. `true` means that the idle time ran out, not the
    /// deadline.
    pub fn take_overdue(&mut self, now: Millis) -> Vec<(Arc<Lease>, bool)> {
        let mut over = Vec::new();
        while let Some((_, token)) = self.ends.first().filter(|(end, _)| *end <= now).cloned() {
            let idle = self.out.get(&token).is_some_and(|o| o.deadline.is_some_and(|hard| hard > now));
            match self.forget_deadline(&token) {
                Some(lease) => over.push((lease, idle)),
                None => {
                    self.ends.pop_first();
                }
            }
        }
        over
    }

    fn forget_deadline(&mut self, token: &LeaseToken) -> Option<Arc<Lease>> {
        let out = self.out.get_mut(token)?;
        if let Some(end) = out.ends() {
            self.ends.remove(&(end, token.clone()));
        }
        (out.deadline, out.when_taken_ms) = (None, None);
        Some(out.lease.clone())
    }

    /// The next moment at which something is due: a deadline, or work that was set aside.
    pub fn next_moment(&self) -> Option<Millis> {
        let end = self.ends.first().map(|(end, _)| *end);
        let later = self.later.keys().next().into_iter().chain(self.put_off.keys().next());
        let rated = self.rated.first().map(|(at, _)| *at);
        end.into_iter().chain(rated).chain(later.map(|(at, _)| *at)).min()
    }

    /// Like `next_moment`, while nothing may go out: only deadlines count.
    pub fn next_end(&self) -> Option<Millis> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Deliveries that are out.
    pub fn out_count(&self) -> usize {
        self.out.len()
    }

    /// Those of them that are on other machines.
    pub fn elsewhere(&self) -> impl Iterator<Item = &Arc<Lease>> {
        self.out.values().filter(|out| out.is_elsewhere).map(|out| &out.lease)
    }
}
