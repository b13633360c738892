//! Attempts of the naive pump at the turn that is due: which is followed by another, what ends a call, and
//! what a person is asked where nobody knows what an attempt did.

use super::{Call, Naive};

/// Attempts at one turn.
pub(crate) const ATTEMPTS: u32 = 3;
/// The same of attempts that died with the pump.
pub(crate) const ATTEMPTS_WITH_PUMP: u32 = 5;

/// What becomes of an attempt whose outcome nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    /// It is made again.
    Repeats,
    /// It ends the call.
    Fails,
    /// A person says whether it is made again.
    AsksAPerson,
}

impl Naive {
    /// An attempt failed, or nobody knows.
    pub(crate) fn fails(&mut self, thread: &str, path: &str, code: &str, known: bool, with_pump: bool) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        // What began a model may have been paid, whatever ended it.
        let is_paid = !call.journal.open().is_empty();
        let (code, known) = if is_paid { ("model.unknown-outcome", false) } else { (code, known) };
        // A listener answers for its own attempts, the pump for those that died with it.
        let own = call.attempt - call.lost_with_pump;
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
            // What a person lets be tried once more counts as the listener's own, even if it died with the pump.
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

    /// In its last turn a call ends as its budget did, whatever else went wrong.
    fn fails_for_good(&mut self, thread: &str, path: &str, code: &str) {
        if self.call(thread, path).is_some_and(Call::is_in_last_turn) {
            self.closes(thread, path, "budget", "final-report".to_owned());
        } else {
            self.closes(thread, path, "failed", code.to_owned());
        }
    }

    /// What cannot be mended by trying again.
    pub(crate) fn is_hopeless(&mut self, thread: &str, path: &str, code: &str) {
        if self.call(thread, path).is_some_and(Call::is_ready) {
            self.fails_for_good(thread, path, code);
        }
    }

    /// A listener says itself that it failed, and whether another attempt may help. It does not say what became
    /// of a model that it called: then there is another only where outcomes may be unknown.
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

    /// An attempt is over with its listener: none can follow, whatever became of a model that it called.
    pub(crate) fn is_gone(&mut self, thread: &str, path: &str, code: &str) {
        let is_paid = !self.open_starts(thread, path).is_empty();
        self.is_hopeless(thread, path, if is_paid { "model.unknown-outcome" } else { code });
    }

    /// A first attempt goes on record.
    pub(crate) fn sending(&mut self, thread: &str, path: &str) {
        if let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready() && c.attempt == 1) {
            call.recorded = true;
        }
    }
}

impl Call {
    /// Whether its due turn goes on record before its first attempt is sent.
    pub(crate) fn has_to_be_recorded(&self) -> bool {
        self.is_ready() && self.attempt == 1 && !self.recorded && self.party.unknown != Unknown::Repeats
    }

    /// Whether a person is asked about an attempt that nobody knows the outcome of.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.asks && self.doubts
    }

    /// A person lets it go: as it never went, or once more, however many attempts there were.
    pub(super) fn is_let_through(&mut self) {
        self.asks = false;
        if std::mem::take(&mut self.doubts) {
            (self.attempt, self.recorded) = (self.attempt + 1, true);
            self.journal.passes();
        }
    }
}
