//! The planned events, in order of simulated time. Two events at the same moment happen in the order in
//! which they were planned, so nothing depends on the order of a map.

use std::collections::BTreeMap;

/// Plans by moment, and the current moment.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    plans: BTreeMap<(u64, u64), T>,
    planned: u64,
    now_ms: u64,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Agenda<T> {
        Agenda { plans: BTreeMap::new(), planned: 0, now_ms: 0 }
    }

    /// Milliseconds since the run began.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Plans an event this many milliseconds from now.
    pub(crate) fn after(&mut self, ms: u64, what: T) {
        self.at(self.now_ms.saturating_add(ms), what);
    }

    /// Plans an event for a moment; for now if that moment is past.
    pub(crate) fn at(&mut self, ms: u64, what: T) {
        self.planned += 1;
        self.plans.insert((ms.max(self.now_ms), self.planned), what);
    }

    /// The next event. Time passes until then.
    pub(crate) fn next(&mut self) -> Option<T> {
        let ((ms, _), what) = self.plans.pop_first()?;
        self.now_ms = ms;
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_moment_happens_in_the_order_in_which_it_was_planned() {
        let mut agenda = Agenda::new();
        agenda.after(20, "last");
        agenda.after(10, "first");
        agenda.at(10, "second");
        assert_eq!((agenda.next(), agenda.now_ms()), (Some("first"), 10));
        // An event that is planned for the past happens now, after those that already wait for now.
        agenda.at(0, "third");
        assert_eq!([agenda.next(), agenda.next()], [Some("second"), Some("third")]);
        assert_eq!((agenda.next(), agenda.now_ms(), agenda.next()), (Some("last"), 20, None));
    }
}
