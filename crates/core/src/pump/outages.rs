//! Who is away, and which calls wait for it. Live data, not state: after a start it is filled again from the state. Pure
//! except for what its caller passes in. Every moment here is a tick.
//!
//! A call first waits alone, because one request that is refused does not show that all are. When calls of two roots
//! have failed with no success between, it is away for all: then every call for such a listener waits. One waiting call in
//! turn is tried again, and when one succeeds all go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::event::ReadyTurn;
use crate::types::fast_maps::FastMap;
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

/// The calls that wait for the same.
#[derive(Debug, Default)]
struct Outage {
    waiting: VecDeque<ReadyTurn>,
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
    /// When the next call is tried again.
    next: Option<Millis>,
}

/// All outages that calls wait for without a slot.
#[derive(Debug, Default)]
pub struct Outages {
    all: BTreeMap<AwayParty, Outage>,
    waiting: FastMap<(ThreadId, CallPath), AwayParty>,
    /// Whether nothing is tried again by time, since the log says when it was.
    is_recorded: bool,
}

impl Outages {
    /// Tries nothing again by time.
    pub fn follow_record(&mut self) {
        self.is_recorded = true;
    }

    /// A call waits from now on. `has_failed` says whether it was tried itself.
    pub fn waits(&mut self, party: AwayParty, work: ReadyTurn, has_failed: bool, now: Millis, seed: Seed) {
        let call = (work.id.thread.clone(), work.id.call.clone());
        let root = work.id.thread.root_of();
        let outage = self.all.entry(party.clone()).or_default();
        outage.listeners.insert(work.listener.clone());
        let is_trial = outage.tries.take_if(|one| is_of(one, &call)).is_some();
        if has_failed {
            outage.is_for_all |= outage.failed.as_ref().is_some_and(|failed| *failed != root);
            outage.failed = Some(root);
        }
        if is_trial {
            outage.trials = outage.trials.saturating_add(1);
            outage.in_a_row += 1;
            outage.next = None;
        }
        let keeps_its_turn = is_trial && outage.in_a_row < limits::TRIALS_IN_A_ROW;
        if keeps_its_turn {
            outage.waiting.push_front(work);
        } else {
            if is_trial {
                outage.in_a_row = 0;
            }
            outage.waiting.push_back(work);
        }
        if outage.tries.is_none() {
            outage.next.get_or_insert_with(|| now.plus(pause_ms(outage.trials, seed)));
        }
        self.waiting.insert(call, party);
    }

    /// Who is away for all calls to a listener, except for the one that is tried again.
    pub fn away(&self, work: &ReadyTurn) -> Option<&AwayParty> {
        let call = (work.id.thread.clone(), work.id.call.clone());
        let mut met =
            self.all.iter().filter(|(_, one)| one.is_for_all && one.listeners.contains(&work.listener));
        met.find(|(_, one)| !one.tries.as_ref().is_some_and(|tried| is_of(tried, &call)))
            .map(|(party, _)| party)
    }

    /// Whether anyone is away.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A listener has answered. Returns the calls that go on.
    pub fn reached(&mut self, listener: &Name, call: &(ThreadId, CallPath)) -> Vec<ReadyTurn> {
        let mut goes_on = Vec::new();
        let listeners = |one: &Outage| one.listeners.contains(listener);
        for (_, outage) in self.all.iter_mut().filter(|(_, outage)| listeners(outage)) {
            outage.failed = None;
            let is_trial = outage.tries.as_ref().is_some_and(|tried| is_of(tried, call));
            if is_trial || outage.is_for_all {
                goes_on.extend(outage.waiting.drain(..));
            }
        }
        self.all.retain(|_, outage| !outage.waiting.is_empty());
        for work in &goes_on {
            self.waiting.remove(&(work.id.thread.clone(), work.id.call.clone()));
        }
        goes_on
    }

    /// A call to try again now. `waits` says of a call whether it still waits, `is_due` whether it is still due.
    pub fn trial(
        &mut self,
        now: Millis,
        seed: Seed,
        waits: impl Fn(&ReadyTurn) -> bool,
        is_due: impl Fn(&ReadyTurn) -> bool,
    ) -> Option<ReadyTurn> {
        if self.is_recorded {
            return None;
        }
        let due = |one: &&mut Outage| one.next.is_some_and(|next| next <= now);
        while let Some(outage) = self.all.values_mut().find(due) {
            let pause = now.plus(pause_ms(outage.trials, seed));
            outage.next = Some(pause);
            // The one before may still be at work, or may have ended in another way.
            if outage.tries.as_ref().is_some_and(&is_due) {
                continue;
            }
            outage.tries = None;
            while let Some(work) = outage.waiting.pop_front() {
                self.waiting.remove(&(work.id.thread.clone(), work.id.call.clone()));
                if waits(&work) {
                    outage.tries = Some(work.clone());
                    return Some(work);
                }
            }
            outage.next = None;
            self.all.retain(|_, outage| outage.next.is_some());
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
