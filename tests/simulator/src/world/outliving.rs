//! Judges what becomes of work on other machines that outlives a pump: during the run, against what is on disk.

use systole_core::types::ids::Name;
use systole_core::types::ports::LeaseToken;
use systole_core::types::record::{Record, RecordCode, RecordKind};

use super::World;
use crate::watch::remote;

/// How long the broker knows what it had, as far as the pump relies on it.
const REMEMBERS_MS: u64 = 9 * 60_000;

impl World {
    /// Whether that attempt is due by the records on disk.
    pub(super) fn is_due_on_disk(&self, token: &LeaseToken) -> bool {
        let Some((thread, call, turn, attempt)) = remote::parts(token) else { return false };
        let call = self.folds.durable().get(thread).and_then(|thread| thread.calls.get(call));
        call.is_some_and(|call| call.is_due(turn, attempt))
    }

    /// The end of a delivery reaches the stream, or its worker.
    pub(super) fn judges_end(&mut self, token: &LeaseToken, what: &str) {
        if self.is_due_on_disk(token) {
            self.find("ended-early", format!("{} is {what}, and it is due on disk", token.0));
        }
    }

    /// A record is on disk. If it counts an attempt as lost, no worker may hold it.
    pub(super) fn judges_loss(&mut self, record: &Record) {
        let h = &record.header;
        let dead = self.dead_letter.take();
        let lost = match (h.kind, h.code) {
            (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => {
                self.dead_letter = remote::dead(record);
                None
            }
            (RecordKind::Outcome, Some(RecordCode::Code(code))) if remote::is_loss(code, &record.body) => {
                dead
            }
            _ => remote::lost(record),
        };
        let Some(token) = lost else { return };
        // If no listener has the name now, only the configuration that its call began with keeps a carrier.
        let pinned = self.compositions.iter().find(|page| page.hash == h.config);
        let is_home = |listener: &Name| {
            let own = self.current.find_listener(listener).or_else(|| pinned?.find_listener(listener));
            own.is_some_and(|own| !own.reach.is_over_broker())
        };
        let now_ms = self.agenda.now_ms();
        let words = match (self.held_by_worker(&token), self.remote.broker.place_of(&token)) {
            (Some((listener, is_acknowledged, since_ms)), _) => {
                let is_old =
                    now_ms - since_ms > REMEMBERS_MS || self.counts.contains_key("the clock was set");
                // The broker no longer hears a worker that has acknowledged.
                let is_silent = now_ms - since_ms >= self.silence_ms(listener);
                // What is not found may have been with a program, if a program is the listener somewhere.
                let mut pages = self.compositions.iter().filter_map(|page| page.find_listener(listener));
                let is_unsure = pages.any(|own| !own.reach.is_over_broker());
                let is_doubtful = self.remote.doubtful.contains(&token);
                let is_excused =
                    is_home(listener) || is_doubtful || is_acknowledged && (is_old || is_silent || is_unsure);
                (!is_excused).then_some("a worker holds it")
            }
            (None, Some(place)) => {
                let message = self.remote.broker.at(place).map(|message| &message.delivery.lease.listener);
                let is_out = |listener: &Name| self.remote.broker.is_handed_out(listener, place);
                let waits = |listener: &&Name| !is_out(listener) && !is_home(listener);
                message.filter(waits).map(|_| "no worker had it yet")
            }
            (None, None) => None,
        };
        self.count("attempts that counted as lost");
        if let Some(words) = words {
            self.find("lost-alive", format!("{} counts as lost, and {words}", token.0));
        }
    }

    /// The log ends with the statement that nothing was out.
    pub(super) fn judges_farewell(&mut self) {
        let Some(out) = self.said_out() else { return };
        if out > 0 {
            return self.count("drains with work out elsewhere");
        }
        let stored = self.remote.broker.all().map(|(_, message)| message.token().clone());
        let held = self.remote.workers.keys().filter(|token| self.held_by_worker(token).is_some()).cloned();
        let out: Vec<LeaseToken> = stored.chain(held).filter(|token| self.is_due_on_disk(token)).collect();
        for token in out {
            self.find("farewell", format!("{} is out, and the log says that nothing is", token.0));
        }
    }
}
