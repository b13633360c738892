//! The numbers of the events of a response. They are made of the places of the run's events, so the same log gives the
//! same numbers in any process; gaps are fine for clients.

use crate::limits::{EVENT_PARTS as PARTS, EVENT_STEPS as STEPS};
use systole_core::types::ports::Position;

/// A place among the events of a run: a record, and the number of its event or the bytes of open text after its last one.
pub(super) type RunPlace = (Position, u64);

/// What is said at a place, by the number of its first part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlacePart {
    /// What a person reads of a request that ends a response.
    Asks = 8,
    /// The request itself.
    Decides = 14,
    /// The end of a text that came up to there.
    Closes = 32,
    /// The end of the response.
    Ends = 61,
    /// The beginning of a text that comes behind it.
    Opens = 62,
}

impl PlacePart {
    pub(super) fn first(self) -> u64 {
        self as u64
    }
}

/// The number of an event: the place of what it says, and a part of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EventNumber {
    pub(super) place: RunPlace,
    pub(super) part: u64,
}

impl EventNumber {
    pub(super) fn new(place: RunPlace, part: u64) -> EventNumber {
        EventNumber { place: (place.0, place.1.min(STEPS - 1)), part: part.min(PARTS - 1) }
    }

    /// The number in a run whose message is at that position.
    pub(super) fn write(self, begun: Position) -> u64 {
        let records = self.place.0.0.saturating_sub(begun.0);
        (records.saturating_mul(STEPS) + self.place.1).saturating_mul(PARTS) + self.part
    }

    pub(super) fn read(number: u64, begun: Position) -> EventNumber {
        let steps = number / PARTS;
        let position = Position(begun.0.saturating_add(steps / STEPS));
        EventNumber { place: (position, steps % STEPS), part: number % PARTS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_number_is_read_back_and_keeps_the_order() {
        let begun = Position(1_000);
        let places =
            [(1_000, 0, 1), (1_000, 1, 0), (1_000, 1, 63), (1_000, 4_000_000, 0), (33_555_000, 2, 3)];
        let numbers = places.map(|(position, step, part)| EventNumber::new((Position(position), step), part));
        let written = numbers.map(|number| number.write(begun));
        assert!(written.is_sorted() && *written.last().unwrap() < 1 << 53, "{written:?}");
        assert_eq!(written.map(|number| EventNumber::read(number, begun)), numbers);
    }
}
