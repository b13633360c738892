//! Long waits, drawn shorter: while nothing but a person is waited for, or nothing at all goes on, a picture would show
//! hours of one colour, and the work around them as a line.
//!
//! Lanes come in; places on the axis go out, and what an axis says at a place.

use super::{SpanKind, ThreadTime};
use crate::limits;

/// A wait that is drawn shorter, in milliseconds after the beginning of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LongWait {
    from: u64,
    to: u64,
}

/// The long waits of a thread, in order, and how long each of them is drawn.
pub(super) struct LongWaits {
    waits: Vec<LongWait>,
    drawn: u64,
}

impl LongWaits {
    /// None, for a picture in which every wait has its true length.
    pub(super) fn none() -> LongWaits {
        LongWaits { waits: Vec::new(), drawn: 0 }
    }

    /// Finds them.
    pub(super) fn of(time: &ThreadTime) -> LongWaits {
        let spans = time.lanes.iter().flat_map(|lane| &lane.spans);
        let mut working: Vec<(u64, u64)> = spans
            .filter(|span| span.kind != SpanKind::Person)
            .map(|span| (span.from.count_since(time.from), span.to.count_since(time.from)))
            .collect();
        working.sort_unstable();
        let (mut waits, mut until, mut worked) = (Vec::new(), 0, 0);
        for (from, to) in working.into_iter().chain([(time.ms(), time.ms())]) {
            if from > until {
                waits.push(LongWait { from: until, to: from });
            }
            worked += to.saturating_sub(from.max(until));
            until = until.max(to);
        }
        let drawn = worked / limits::WAIT_SHARE;
        waits.retain(|wait| drawn > 0 && wait.to - wait.from > drawn);
        LongWaits { waits, drawn }
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Where a time is drawn.
    pub(super) fn place(&self, at: u64) -> u64 {
        let mut cut = 0;
        for wait in self.waits.iter().take_while(|wait| wait.from < at) {
            let length = wait.to - wait.from;
            cut += if at < wait.to {
                let inside = at - wait.from;
                inside - scale_part(inside, self.drawn, length)
            } else {
                length - self.drawn
            };
        }
        at - cut
    }

    /// The time at a place.
    pub(super) fn time(&self, place: u64) -> u64 {
        let mut cut = 0;
        for wait in &self.waits {
            let begins = wait.from - cut;
            if place <= begins {
                break;
            }
            let length = wait.to - wait.from;
            if place < begins + self.drawn {
                return wait.from + scale_part(place - begins, length, self.drawn);
            }
            cut += length - self.drawn;
        }
        place + cut
    }

    /// The places of all of them, each with its true length.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.waits.iter().map(|wait| (self.place(wait.from), self.place(wait.to), wait.to - wait.from))
    }
}

/// `part` of `of`, in units of `whole`.
fn scale_part(part: u64, of: u64, whole: u64) -> u64 {
    let scaled = u128::from(part) * u128::from(of) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{LaneMeasure, TimeLane, TimeSpan, picture};
    use super::*;
    use systole_core::types::ids::{CallPath, Name, ThreadId};
    use systole_core::types::time::Millis;

    fn span(kind: SpanKind, from: u64, to: u64) -> TimeSpan {
        TimeSpan {
            kind,
            from: Millis(from),
            to: Millis(to),
            is_open: false,
            thread: ThreadId::parse("sess-00000000000a").unwrap(),
            call: CallPath::parse("1").unwrap(),
            turn: 0,
            begins: 1,
            ends: None,
            model: None,
            tokens: None,
            money: None,
            is_critical: false,
        }
    }

    #[test]
    fn a_wait_for_a_person_leaves_room_for_the_work() {
        let hours = 3 * 60 * 60 * 1000;
        let spans = |wait: u64| {
            vec![
                span(SpanKind::Work, 1_000, 61_000),
                span(SpanKind::Person, 61_000, 61_000 + wait),
                span(SpanKind::Model, 61_000 + wait, 121_000 + wait),
            ]
        };
        let time = |wait: u64| ThreadTime {
            thread: ThreadId::parse("sess-00000000000a").unwrap(),
            from: Millis(1_000),
            to: Millis(121_000 + wait),
            lanes: vec![TimeLane { listener: Name::parse("a").unwrap(), spans: spans(wait) }],
            is_cut: false,
        };
        let waits = LongWaits::of(&time(hours));
        assert_eq!(waits.places().collect::<Vec<_>>(), [(60_000, 80_000, hours)]);
        let drawn = picture(&time(hours), LaneMeasure::Time);
        let bars: Vec<&str> =
            drawn.split("<rect ").skip(1).filter(|rect| rect.contains("height=\"12\"")).collect();
        let wide =
            |bar: &&str| bar.split("width=\"").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
        assert_eq!(bars.iter().map(wide).collect::<Vec<u64>>(), [42, 14, 42], "{drawn}");
        assert!(
            drawn.contains("3 h without work, drawn shorter") && drawn.contains("person for 3 h"),
            "{drawn}"
        );
        // The axis shows the true time, and a short wait its true length.
        assert!(drawn.contains(">3 h 2 m<"), "{drawn}");
        assert!(LongWaits::of(&time(20_000)).is_empty());
        // Nothing but a wait stays whole.
        let mut alone = time(hours);
        alone.lanes[0].spans = vec![span(SpanKind::Person, 1_000, 121_000 + hours)];
        assert!(LongWaits::of(&alone).is_empty());
    }

    #[test]
    fn places_and_times_belong_to_each_other_around_and_inside_long_waits() {
        let waits = LongWaits {
            waits: vec![LongWait { from: 100, to: 1_100 }, LongWait { from: 1_200, to: 11_200 }],
            drawn: 50,
        };
        for (time, place) in [
            (0, 0),
            (100, 100),
            (600, 125),
            (1_100, 150),
            (1_200, 250),
            (6_200, 275),
            (11_200, 300),
            (11_300, 400),
        ] {
            assert_eq!((waits.place(time), waits.time(place)), (place, time));
        }
        assert_eq!(waits.places().collect::<Vec<_>>(), [(100, 150, 1_000), (250, 300, 10_000)]);
        assert_eq!((LongWaits::none().place(7), LongWaits::none().time(7)), (7, 7));
    }
}
