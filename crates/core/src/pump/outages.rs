//! Who is away, and which calls wait for it. Live data, not state: after a start it is filled again from the state. Pure
//! except for what its caller passes in. Every moment here is a tick.
//!
//! A call first waits alone, because one request that is refused does not show that all are. When calls of two roots
//! have failed with no success between, it is away for all: then every call for such a listener waits. One waiting call in
//! turn is tried again, and when one succeeds all go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::event::ReadyTurn;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::Seed;
use crate::types::time::Millis;

/// Who is away. Agents share their words, because they share their models; any other listener has its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AwayParty {
    /// The listener that says so; `None` for agents.
    pub listener: Option<Name>,
    /// Its word.
    pub word: String,
}

/// Whether a waiting call can be tried again, or is still being tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrialRoom {
    /// It can, or it is.
    Open,
    /// It would have to queue: every slot of its listener waits for a worker or for the broker.
    Queued,
    /// A person has paused its thread, or it waits for someone else by now.
    Blocked,
    /// It is over.
    Gone,
}

/// The calls that wait for the same.
#[derive(Debug, Default)]
struct PartyOutage {
    waiting: VecDeque<ReadyTurn>,
    /// Those that may go on, and have no slot yet.
    going: Vec<ReadyTurn>,
    /// The listeners that found it.
    listeners: BTreeSet<Name>,
    /// The root of the last call that failed, if none has succeeded since.
    failed: Option<ThreadId>,
    /// Whether it is away for all.
    is_for_all: bool,
    /// The call that is tried again.
    tries: Option<ReadyTurn>,
    /// How often that call has failed in a row.
    in_a_row: u32,
    /// How often a trial has failed since it is away.
    trials: u32,
    /// How many go on at the next answer.
    batch: usize,
    /// When the next call is tried again.
    next: Option<Millis>,
}

impl PartyOutage {
    fn is_trial(&self, call: &(ThreadId, CallPath)) -> bool {
        self.tries.as_ref().is_some_and(|tried| is_of(tried, call))
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.going.is_empty() && self.tries.is_none()
    }

    fn is_due(&self, now: Millis) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// The call to try now, unless the one before is still at work.
    fn pick_trial(&mut self, room: impl Fn(&ReadyTurn) -> TrialRoom) -> Option<ReadyTurn> {
        self.going.retain(|one| room(one) != TrialRoom::Gone);
        let tried = self.tries.as_ref().map(&room);
        if tried == Some(TrialRoom::Open) {
            return None;
        }
        self.waiting.retain(|one| room(one) != TrialRoom::Gone);
        let first = |wanted| self.waiting.iter().position(|one| room(one) == wanted);
        let place = first(TrialRoom::Open);
        // One that queues goes out later by itself, so it is replaced only by one that need not queue.
        if place.is_none() && tried == Some(TrialRoom::Queued) {
            return None;
        }
        let place = place.or_else(|| first(TrialRoom::Queued));
        // The one before waits for someone else, or has ended in another way.
        if self.tries.take().is_some() {
            self.in_a_row = 0;
        }
        let work = self.waiting.remove(place?)?;
        self.tries = Some(work.clone());
        self.going.push(work.clone());
        Some(work)
    }
}

/// All outages that calls wait for without a slot.
#[derive(Debug, Default)]
pub struct OutageTable {
    all: BTreeMap<AwayParty, PartyOutage>,
    /// Whether no call goes on by itself, since the log says when it did.
    is_recorded: bool,
}

impl OutageTable {
    /// Lets no call go on by itself.
    pub fn follow_record(&mut self) {
        self.is_recorded = true;
    }

    /// Whether no call goes on by itself.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Whether no one is away.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A call waits from now on. `has_failed` says whether it was just tried itself.
    pub fn add_waiting(
        &mut self,
        party: AwayParty,
        work: ReadyTurn,
        has_failed: bool,
        now: Millis,
        seed: Seed,
    ) {
        let call = (work.id.thread.clone(), work.id.call.clone());
        let root = work.id.thread.root_of();
        let outage = self.all.entry(party).or_default();
        outage.listeners.insert(work.listener.clone());
        outage.going.retain(|one| !is_of(one, &call));
        let is_trial = outage.tries.take_if(|one| is_of(one, &call)).is_some();
        if has_failed {
            outage.is_for_all |= outage.failed.as_ref().is_some_and(|failed| *failed != root);
            (outage.failed, outage.batch) = (Some(root), limits::GO_ON_AT_ONCE);
        }
        if is_trial {
            (outage.trials, outage.in_a_row) = (outage.trials.saturating_add(1), outage.in_a_row + 1);
            outage.next = None;
        }
        if is_trial && outage.in_a_row < limits::TRIALS_IN_A_ROW {
            outage.waiting.push_front(work);
        } else {
            outage.in_a_row = if is_trial { 0 } else { outage.in_a_row };
            outage.waiting.push_back(work);
        }
        outage.next.get_or_insert_with(|| now.add_ms(pause_ms(outage.trials, seed)));
    }

    /// Who is away for all calls to a listener.
    pub fn find_away(&self, listener: &Name) -> Option<&AwayParty> {
        let mut all = self.all.iter();
        all.find(|(_, one)| one.is_for_all && one.listeners.contains(listener)).map(|(party, _)| party)
    }

    /// A call that waits has a slot. Returns whether it may go on.
    pub fn begin_trial(&mut self, call: &(ThreadId, CallPath)) -> bool {
        let mut may_go = false;
        for outage in self.all.values_mut() {
            let before = outage.going.len();
            outage.going.retain(|one| !is_of(one, call));
            may_go |= outage.going.len() < before;
        }
        self.all.retain(|_, outage| !outage.is_over());
        may_go
    }

    /// A listener has answered. Returns calls that go on: a few at first, because there may be room for a few only.
    pub fn let_go_on(
        &mut self,
        listener: &Name,
        call: &(ThreadId, CallPath),
        now: Millis,
        seed: Seed,
    ) -> Vec<ReadyTurn> {
        let mut goes_on = Vec::new();
        for outage in self.all.values_mut().filter(|outage| outage.listeners.contains(listener)) {
            outage.failed = None;
            if !(outage.is_trial(call) || outage.is_for_all) || self.is_recorded {
                continue;
            }
            let few = outage.batch.max(limits::GO_ON_AT_ONCE).min(outage.waiting.len());
            outage.batch = few.saturating_mul(2);
            let these: Vec<ReadyTurn> = outage.waiting.drain(..few).collect();
            outage.going.extend(these.iter().cloned());
            goes_on.extend(these);
            (outage.tries, outage.trials, outage.in_a_row) = (None, 0, 0);
            outage.is_for_all &= !outage.waiting.is_empty();
            outage.next = Some(now.add_ms(pause_ms(0, seed)));
        }
        self.all.retain(|_, outage| !outage.is_over());
        goes_on
    }

    /// A call to try again now. `room` says of a call whether it can be tried for the one who is away.
    pub fn take_trial(
        &mut self,
        now: Millis,
        seed: Seed,
        room: impl Fn(&AwayParty, &ReadyTurn) -> TrialRoom,
    ) -> Option<ReadyTurn> {
        if self.is_recorded {
            return None;
        }
        while let Some((party, outage)) = self.all.iter_mut().find(|(_, one)| one.is_due(now)) {
            outage.next = Some(now.add_ms(pause_ms(outage.trials, seed)));
            if let Some(work) = outage.pick_trial(|work| room(party, work)) {
                return Some(work);
            }
            self.all.retain(|_, outage| !outage.is_over());
        }
        None
    }

    /// The tick at which a call is tried again next.
    pub fn next_moment(&self) -> Option<Millis> {
        self.all.values().filter(|_| !self.is_recorded).filter_map(|outage| outage.next).min()
    }
}

fn is_of(work: &ReadyTurn, call: &(ThreadId, CallPath)) -> bool {
    work.id.thread == call.0 && work.id.call == call.1
}

/// The pause before the next trial: 5 s, doubled by each that failed up to 5 min, a quarter more or less by chance.
fn pause_ms(trials: u32, Seed(seed): Seed) -> u64 {
    let whole = limits::TRIAL_LEAST_MS.saturating_mul(1 << trials.min(16)).min(limits::TRIAL_MOST_MS);
    let [chance, ..] = seed;
    whole / 4 * 3 + whole / 2 * u64::from(chance) / 255
}
