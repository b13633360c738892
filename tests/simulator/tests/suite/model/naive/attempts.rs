//! Attempts of the naive pump at the due turn: which attempt is followed by another, what ends a call, and what
//! a person is asked if the outcome of an attempt is unknown.

use super::{Call, Naive};

/// Attempts at one turn.
pub(crate) const ATTEMPTS: u32 = 3;
/// The same for attempts that died with the pump.
pub(crate) const ATTEMPTS_WITH_PUMP: u32 = 5;

/// What follows an attempt with an unknown outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    /// It is repeated.
    Repeats,
    /// It ends the call.
    Fails,
    /// A person decides whether it is repeated.
    AsksAPerson,
}

impl Naive {
    /// An attempt failed, or its outcome is unknown.
    pub(crate) fn fails(&mut self, thread: &str, path: &str, code: &str, known: bool, with_pump: bool) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        // A started model call may have been paid, for any end of the attempt.
        let is_paid = !call.journal.open().is_empty();
        let (code, known) = if is_paid { ("model.unknown-outcome", false) } else { (code, known) };
        // A listener answers for its own attempts, the pump for those that died with it.
        let own = call.attempt - call.lost_with_pump - call.before;
        let may_more = match with_pump {
            true => !call.recorded || call.counted_deaths + 1 < ATTEMPTS_WITH_PUMP,
            false => own < ATTEMPTS,
        };
        let unknown = if known { Unknown::Repeats } else { call.party.unknown };
        let how = match unknown {
            Unknown::Repeats => "repeats",
            Unknown::Fails => "fails",
            Unknown::AsksAPerson => "asks",
        };
        let of_model = is_paid.then(|| format!("an open start {how}"));
        match unknown {
            // An attempt that a person repeats counts as the listener's own, even if it died with the pump.
            Unknown::AsksAPerson => (call.asks, call.doubts) = (true, true),
            Unknown::Repeats if may_more => {
                call.counted_deaths += u32::from(with_pump && call.recorded);
                call.lost_with_pump += u32::from(with_pump);
                (call.attempt, call.recorded) = (call.attempt + 1, true);
                call.journal.passes();
            }
            Unknown::Repeats | Unknown::Fails => self.fails_for_good(thread, path, code),
        }
        self.met.extend(of_model);
    }

    /// In its last turn a call ends as its budget did, for any further fault.
    fn fails_for_good(&mut self, thread: &str, path: &str, code: &str) {
        if self.call(thread, path).is_some_and(Call::is_in_last_turn) {
            self.closes(thread, path, "budget", "final-report".to_owned());
        } else {
            self.closes(thread, path, "failed", code.to_owned());
        }
    }

    /// A fault that another attempt cannot fix.
    pub(crate) fn is_hopeless(&mut self, thread: &str, path: &str, code: &str) {
        if self.call(thread, path).is_some_and(Call::is_ready) {
            self.fails_for_good(thread, path, code);
        }
    }

    /// A listener itself reports a failure, and whether another attempt may help. It does not say how its model
    /// call ended: then there is another attempt only if outcomes may be unknown.
    pub(crate) fn gives_up(&mut self, thread: &str, path: &str, retry: bool) {
        let Some(call) = self.call(thread, path).filter(|c| c.is_ready()) else { return };
        let is_paid = !call.journal.open().is_empty();
        if retry && (!is_paid || call.party.unknown == Unknown::Repeats) {
            self.fails(thread, path, "listener.failed", true, false);
        } else if retry {
            self.met.insert("an open start of a failure".to_owned());
            self.is_hopeless(thread, path, "model.unknown-outcome");
        } else {
            self.is_hopeless(thread, path, "listener.failed");
        }
    }

    /// An attempt ends with its listener: no further attempt can follow, for any outcome of its model call.
    pub(crate) fn is_gone(&mut self, thread: &str, path: &str, code: &str) {
        let is_paid = !self.open_starts(thread, path).is_empty();
        self.is_hopeless(thread, path, if is_paid { "model.unknown-outcome" } else { code });
    }

    /// Records a first attempt.
    pub(crate) fn sending(&mut self, thread: &str, path: &str) {
        if let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready() && c.attempt == 1) {
            call.recorded = true;
        }
    }
}

impl Call {
    /// Whether its due turn is recorded before its first attempt is sent.
    pub(crate) fn has_to_be_recorded(&self) -> bool {
        self.is_ready() && self.attempt == 1 && !self.recorded && self.party.unknown != Unknown::Repeats
    }

    /// Whether a person is asked about an attempt with an unknown outcome.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.asks && self.doubts
    }

    /// A person lets it go: for the first time, or once more, after any number of attempts.
    pub(super) fn is_let_through(&mut self) {
        self.asks = false;
        if std::mem::take(&mut self.doubts) {
            (self.attempt, self.recorded) = (self.attempt + 1, true);
            self.journal.passes();
        }
    }
}
