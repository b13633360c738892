//! What is told at once the first time, and then by its number: a listener that is refused a thousand times a second can
//! neither fill the log nor go unseen. Pure: the moment is given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use systole_core::types::codes::Code;

/// How long what was told is only counted.
const QUIET: Duration = Duration::from_secs(60);

/// How often it should be looked whether something is to be told.
pub const LOOK: Duration = Duration::from_secs(1);

/// Whoever is told what the broker refused, and that it died. False says that there was no room for it just now.
pub type Tell = Arc<dyn Fn(Code, String) -> bool + Send + Sync>;

/// Something that happened, without what differs from time to time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    /// What sort of thing it is.
    pub code: Code,
    /// Of whom, and what. There are as many as parties and kinds, whatever anybody sends.
    pub what: String,
    /// The last of them, in words that end the sentence.
    pub example: String,
}

impl Event {
    /// Of somebody whom a broker does not know.
    pub const NOT_LET_IN: &str = "the broker let somebody not in who showed no key, or none that it knows";
}

struct Count {
    told: Option<Instant>,
    untold: u64,
    example: String,
}

/// What is known.
#[derive(Default)]
pub struct Tally(BTreeMap<(Code, String), Count>);

impl Tally {
    /// Counts one.
    pub fn count(&mut self, event: Event) {
        let Event { code, what, example } = event;
        let known = self.0.entry((code, what));
        let known = known.or_insert_with(|| Count { told: None, untold: 0, example: String::new() });
        known.untold += 1;
        known.example = example;
    }

    /// Tells what is due; `tell` says whether it was taken, and what was not is told later. `all` tells what is counted
    /// alone as well.
    pub fn tell(&mut self, now: Instant, all: bool, tell: impl Fn(Code, String) -> bool) {
        for ((code, what), count) in &mut self.0 {
            let is_due = all || count.told.is_none_or(|told| now.saturating_duration_since(told) >= QUIET);
            if count.untold == 0 || !is_due {
                continue;
            }
            let times = match (count.untold, count.told) {
                (1, _) => String::new(),
                (many, None) => format!(", {many} times"),
                (many, Some(_)) => format!(", {many} times since this was last told"),
            };
            if tell(*code, [what.as_str(), &times, &count.example].concat()) {
                *count = Count { told: Some(now), untold: 0, example: String::new() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn event(what: &str, example: &str) -> Event {
        Event { code: Code::BusViolation, what: what.to_owned(), example: example.to_owned() }
    }

    #[test]
    fn the_first_is_told_at_once_and_the_others_once_a_minute_by_their_number() {
        let (mut tally, told, begin) = (Tally::default(), RefCell::new(Vec::new()), Instant::now());
        let takes = |_, words| {
            told.borrow_mut().push(words);
            true
        };
        tally.count(event("a may not", ": x"));
        tally.tell(begin, false, takes);
        for n in 0..1000 {
            tally.count(event("a may not", &format!(": {n}")));
            tally.tell(begin + Duration::from_millis(n), false, takes);
        }
        tally.count(event("b may not", ""));
        tally.tell(begin + Duration::from_secs(2), false, takes);
        assert_eq!(*told.borrow(), ["a may not: x", "b may not"]);
        tally.tell(begin + QUIET, false, takes);
        tally.count(event("b may not", ""));
        tally.tell(begin + QUIET, true, takes);
        tally.tell(begin + QUIET, true, takes);
        assert_eq!(told.borrow()[2..], ["a may not, 1000 times since this was last told: 999", "b may not"]);
    }

    #[test]
    fn what_was_not_taken_is_told_later() {
        let (mut tally, begin) = (Tally::default(), Instant::now());
        tally.count(event("a may not", ""));
        tally.tell(begin, false, |_, _| false);
        tally.count(event("a may not", ""));
        let told = RefCell::new(Vec::new());
        tally.tell(begin, false, |_, words| {
            told.borrow_mut().push(words);
            true
        });
        assert_eq!(*told.borrow(), ["a may not, 2 times"]);
    }
}
