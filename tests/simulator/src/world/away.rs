//! Who is away for a while: a model that two listeners need, a program that cannot be started, a worker that takes
//! nothing. Only in runs whose files let calls wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_core::pump::engine::PumpInput;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Delivery, Lease, LeaseToken};

use super::{Due, Work, World};
use crate::cast;
use crate::listeners::{End, Script, Speech};

/// Who may be away: the model, or the workers or the program of a listener.
const PARTIES: [&str; 6] = [cast::MODEL, cast::MODEL, cast::TOOL, cast::OTHER, cast::CAREFUL, cast::WARDED];

/// Until when each is away.
#[derive(Default)]
pub(super) struct Absent(BTreeMap<&'static str, u64>);

impl World {
    /// How long calls of this run wait.
    pub(super) fn outage_ms(&self) -> u64 {
        self.current.outage_ms
    }

    /// Draws who leaves when.
    pub(super) fn absences(&mut self, storm_ms: u64) {
        if self.outage_ms() == 0 {
            return;
        }
        let dice = &mut self.throws.away;
        for _ in 0..dice.below(8) {
            let (at, for_ms) = (dice.below(storm_ms), dice.delay_ms(15_000));
            if let Some(&who) = dice.one_of(&PARTIES) {
                self.agenda.at(at, Due::Leaves { who, for_ms });
            }
        }
    }

    pub(super) fn leaves_for(&mut self, who: &'static str, for_ms: u64) {
        if !self.weather.is_calm() {
            self.count("times that someone was away");
            self.absent.0.insert(who, self.agenda.now_ms() + for_ms);
        }
    }

    /// Everyone is back.
    pub(super) fn all_are_back(&mut self) {
        self.absent.0.clear();
    }

    /// Until when a party is away, if it is.
    pub(super) fn away_until(&self, who: &str) -> Option<u64> {
        self.absent.0.get(who).copied().filter(|until| self.agenda.now_ms() < *until)
    }

    /// What a listener does with a delivery: if someone is away whom it needs, it says so in the end.
    pub(super) fn script(&mut self, delivery: &Delivery) -> Script {
        let mut script = self.troupe.plays(delivery, &self.weather, &mut self.throws.listeners);
        if self.outage_ms() == 0 {
            return script;
        }
        let (listener, dice) = (&delivery.lease.listener, &mut self.throws.away);
        let says = |outage, retry| End::Speaks(Speech::Away { outage, retry });
        if dice.permille(self.weather.unruly / 8) {
            // The second is a word of the pump's own.
            let outage = dice.one_of(&["disk", "program"]).copied().unwrap_or_default();
            script.end = says(outage, dice.percent(50));
        } else if cast::needs_model(listener) && self.away_until(cast::MODEL).is_some() {
            script.end = says(cast::MODEL, self.throws.away.percent(50));
        }
        script
    }

    /// A program that cannot be started gets no delivery. Returns whether it is one.
    pub(super) fn cannot_start(&mut self, lease: &Arc<Lease>) -> bool {
        if self.away_until(lease.listener.as_str()).is_none() {
            return false;
        }
        self.running.insert(lease.token.clone(), (lease.clone(), true));
        let after_ms = self.throws.away.delay_ms(20);
        self.agenda.after(after_ms, Due::Unstarted { life: self.lives, token: lease.token.clone() });
        true
    }

    pub(super) fn unstarted(&mut self, life: u64, token: LeaseToken) {
        if let Some(lease) = self.over_here(life, &token) {
            self.count("programs that could not be started");
            self.deliveries.failed_openly(&lease);
            self.input(PumpInput::Away { token, words: "as drawn".to_owned() });
        }
    }

    /// Calls that wait are tried again and again in a pause, which ends only when nothing is planned.
    pub(super) fn tries_in_calm(&mut self) {
        let mut calls = self.folds.durable().values().flat_map(|thread| thread.calls.values());
        if self.weather.is_calm() && calls.any(|call| call.waits.is_some()) {
            self.goes_on();
        }
    }

    /// The workers of a listener take its deliveries once they are back. Returns whether they are away.
    pub(super) fn pulls_later(&mut self, listener: &Name) -> bool {
        let Some(until_ms) = self.away_until(listener.as_str()) else { return false };
        self.count("times that no worker took work");
        self.agenda.at(until_ms, Due::Works(Work::Pulls { listener: listener.clone() }));
        true
    }
}
