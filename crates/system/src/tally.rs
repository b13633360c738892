//! Reports an event at once the first time, and later by its count. So a listener that is refused a thousand times a
//! second can neither fill the log nor go unseen. Pure: the moment is an argument.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use systole_core::types::codes::Code;

use crate::limits;

/// Gets the reports of what the broker refused, and of its death. `false` means that there was no room for the report
/// just now.
pub type BrokerReporter = Arc<dyn Fn(Code, String) -> bool + Send + Sync>;

/// An event, without the parts that differ each time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TalliedEvent {
    /// The kind of event.
    pub code: Code,
    /// Whose event, and what happened. There are only as many as parties and kinds, no matter what anyone sends.
    pub what: String,
    /// The last example, in words that end the sentence.
    pub example: String,
}

impl TalliedEvent {
    /// For a client that a broker does not know.
    pub const NOT_LET_IN: &str =
        "the broker refused a login without a key, or with one that it does not know";
}

struct EventCount {
    told: Option<Instant>,
    untold: u64,
    example: String,
}

/// The counts of all events.
#[derive(Default)]
pub struct EventTally(BTreeMap<(Code, String), EventCount>);

impl EventTally {
    /// Counts one.
    pub fn count_event(&mut self, event: TalliedEvent) {
        let TalliedEvent { code, what, example } = event;
        let known = self.0.entry((code, what));
        let known = known.or_insert_with(|| EventCount { told: None, untold: 0, example: String::new() });
        known.untold += 1;
        known.example = example;
    }

    /// Reports what is due. `tell` returns whether the report was taken; if not, it is repeated later. With `all`,
    /// counts that are not due are reported as well.
    pub fn report_events(&mut self, now: Instant, all: bool, tell: impl Fn(Code, String) -> bool) {
        for ((code, what), count) in &mut self.0 {
            let is_due = all
                || count.told.is_none_or(|told| now.saturating_duration_since(told) >= limits::TALLY_QUIET);
            if count.untold == 0 || !is_due {
                continue;
            }
            let times = match (count.untold, count.told) {
                (1, _) => String::new(),
                (many, None) => format!(", {many} times"),
                (many, Some(_)) => format!(", {many} times since this was last reported"),
            };
            if tell(*code, format!("{what}{times}{}", count.example)) {
                *count = EventCount { told: Some(now), untold: 0, example: String::new() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    fn event(what: &str, example: &str) -> TalliedEvent {
        TalliedEvent { code: Code::BusViolation, what: what.to_owned(), example: example.to_owned() }
    }

    #[test]
    fn the_first_event_is_reported_at_once_and_later_ones_once_a_minute_as_a_count() {
        let (mut tally, told, begin) = (EventTally::default(), RefCell::new(Vec::new()), Instant::now());
        let takes = |_, words| {
            told.borrow_mut().push(words);
            true
        };
        tally.count_event(event("a may not", ": x"));
        tally.report_events(begin, false, takes);
        for n in 0..1000 {
            tally.count_event(event("a may not", &format!(": {n}")));
            tally.report_events(begin + Duration::from_millis(n), false, takes);
        }
        tally.count_event(event("b may not", ""));
        tally.report_events(begin + Duration::from_secs(2), false, takes);
        assert_eq!(*told.borrow(), ["a may not: x", "b may not"]);
        tally.report_events(begin + limits::TALLY_QUIET, false, takes);
        tally.count_event(event("b may not", ""));
        tally.report_events(begin + limits::TALLY_QUIET, true, takes);
        tally.report_events(begin + limits::TALLY_QUIET, true, takes);
        assert_eq!(
            told.borrow()[2..],
            ["a may not, 1000 times since this was last reported: 999", "b may not"]
        );
    }

    #[test]
    fn what_was_not_taken_is_told_later() {
        let (mut tally, begin) = (EventTally::default(), Instant::now());
        tally.count_event(event("a may not", ""));
        tally.report_events(begin, false, |_, _| false);
        tally.count_event(event("a may not", ""));
        let told = RefCell::new(Vec::new());
        tally.report_events(begin, false, |_, words| {
            told.borrow_mut().push(words);
            true
        });
        assert_eq!(*told.borrow(), ["a may not, 2 times"]);
    }
}
