//! Limits how many refusals of one sender are reported one by one. Each sender (a client or a
//! listener) has a bucket of twenty refusals that regains one each second. While the bucket is empty,
//! refusals are only counted, and the count is reported every ten seconds. So no sender can fill the
//! log with refused messages.
//!
//! The buckets are live data outside the fold. A decision only looks, and returns what it took. A
//! process that is killed forgets the levels and the counts of the last seconds, and the next one
//! begins with full buckets. The code is pure: every moment is an argument. Levels follow the time of
//! the events, so that the same state and event give the same decision. Counts are reported by ticks,
//! because no one can set the tick clock.

use std::collections::{BTreeMap, HashMap};

use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::time::Millis;

/// The cost of a refusal to its sender's bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusalCost {
    /// The sender.
    pub sender: Name,
    /// The time of the refusal.
    pub at: Millis,
    /// Where the refusal would have been recorded; `None` if it was recorded.
    pub withheld: Option<ThreadId>,
}

/// Refusals that were counted and not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusalCount {
    /// How many.
    pub count: u64,
    /// The first.
    pub first: Millis,
    /// The last.
    pub last: Millis,
}

/// A count that must be reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueReport {
    /// The sender of the refused messages.
    pub sender: Name,
    /// The thread that they concern.
    pub place: ThreadId,
    /// How many, from when to when.
    pub count: RefusalCount,
}

#[derive(Default, Debug)]
struct ReportBucket {
    /// When it will be full again.
    full_at: Millis,
    counts: BTreeMap<ThreadId, RefusalCount>,
    /// The tick at which the counts are reported.
    told_at: Millis,
}

/// The buckets. A sender gets an entry with its first refusal. Names come from credentials and
/// connections, so there are at most as many entries as the organism's file declares names.
#[derive(Default, Debug)]
pub struct ReportBuckets(HashMap<Name, ReportBucket>);

impl ReportBuckets {
    /// Whether one more refusal of that sender is recorded.
    pub fn has_room(&self, sender: &Name, at: Millis) -> bool {
        let full_at = self.0.get(sender).map_or(at, |bucket| bucket.full_at);
        // However far the clock was set back, a bucket lacks no more than it can hold.
        full_at.count_since(at).min(limits::REFUSALS_AT_ONCE * limits::REFUSAL_EVERY_MS)
            <= (limits::REFUSALS_AT_ONCE - 1) * limits::REFUSAL_EVERY_MS
    }

    /// Takes what a refusal costs, or counts the refusal.
    pub fn take_toll(&mut self, toll: RefusalCost, tick: Millis) {
        let RefusalCost { sender, at, withheld } = toll;
        let bucket = self.0.entry(sender).or_default();
        bucket.full_at = at
            .add_ms(bucket.full_at.count_since(at).min(limits::REFUSALS_AT_ONCE * limits::REFUSAL_EVERY_MS));
        let Some(place) = withheld else {
            bucket.full_at = bucket.full_at.add_ms(limits::REFUSAL_EVERY_MS);
            return;
        };
        if bucket.counts.is_empty() {
            bucket.told_at = tick.add_ms(limits::REFUSALS_TOLD_MS);
        }
        let is_full = bucket.counts.len() >= limits::REFUSAL_PLACES && !bucket.counts.contains_key(&place);
        let place = if is_full { ThreadId::new_sys() } else { place };
        let none = RefusalCount { count: 0, first: at, last: at };
        let count = bucket.counts.entry(place).or_insert(none);
        (count.count, count.last) = (count.count.saturating_add(1), at);
    }

    /// The counts that must be reported by now, each once.
    pub fn take_due(&mut self, tick: Millis) -> Vec<DueReport> {
        self.take_reports(|bucket| bucket.told_at <= tick)
    }

    /// Every count that is not reported yet, for the end of the run.
    pub fn take_rest(&mut self) -> Vec<DueReport> {
        self.take_reports(|_| true)
    }

    fn take_reports(&mut self, is_due: impl Fn(&ReportBucket) -> bool) -> Vec<DueReport> {
        let mut told = Vec::new();
        for (sender, bucket) in self.0.iter_mut().filter(|(_, bucket)| is_due(bucket)) {
            let counts = std::mem::take(&mut bucket.counts).into_iter();
            told.extend(counts.map(|(place, count)| DueReport { sender: sender.clone(), place, count }));
        }
        // A map has no order, but the same run must write the same log.
        told.sort_by(|a, b| (&a.sender, &a.place).cmp(&(&b.sender, &b.place)));
        told
    }

    /// The tick at which the next count must be reported.
    pub fn next_moment(&self) -> Option<Millis> {
        self.0.values().filter(|bucket| !bucket.counts.is_empty()).map(|bucket| bucket.told_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mallory() -> Name {
        Name::parse("mallory").unwrap()
    }

    fn toll(at: u64, withheld: Option<&str>) -> RefusalCost {
        let withheld = withheld.map(|id| ThreadId::parse(id).unwrap());
        RefusalCost { sender: mallory(), at: Millis(at), withheld }
    }

    /// Refuses at that moment while there is room, and returns how often.
    fn drain(buckets: &mut ReportBuckets, at: u64) -> usize {
        let room = |buckets: &ReportBuckets| buckets.has_room(&mallory(), Millis(at));
        (0..1_000)
            .take_while(|_| {
                room(buckets) && {
                    buckets.take_toll(toll(at, None), Millis(at));
                    true
                }
            })
            .count()
    }

    #[test]
    fn twenty_at_once_then_one_a_second_and_never_more_than_twenty() {
        let mut buckets = ReportBuckets::default();
        assert_eq!(drain(&mut buckets, 100_000), 20);
        assert_eq!(drain(&mut buckets, 100_999), 0);
        assert_eq!(drain(&mut buckets, 101_000), 1);
        assert_eq!(drain(&mut buckets, 103_500), 2, "and half a one");
        assert_eq!(drain(&mut buckets, 104_000), 1);
        assert_eq!(drain(&mut buckets, 10_000_000), 20, "an hour fills it and no more");
        assert!(buckets.has_room(&Name::parse("alice").unwrap(), Millis(100_000)), "senders are apart");
    }

    #[test]
    fn a_clock_that_is_set_back_costs_nobody_more_than_twenty_seconds() {
        let mut buckets = ReportBuckets::default();
        assert_eq!(drain(&mut buckets, 9_000_000), 20);
        assert_eq!(drain(&mut buckets, 1_000), 0);
        buckets.take_toll(toll(1_000, Some("sys")), Millis(0));
        assert_eq!((drain(&mut buckets, 1_999), drain(&mut buckets, 2_000)), (0, 1));
    }

    #[test]
    fn withheld_refusals_are_reported_every_ten_seconds_with_the_first_and_last() {
        let mut buckets = ReportBuckets::default();
        assert_eq!(buckets.next_moment(), None);
        for n in 0..5_000 {
            buckets.take_toll(toll(70_000 + n, Some("sys")), Millis(n));
        }
        assert_eq!(buckets.next_moment(), Some(Millis(10_000)));
        assert_eq!(buckets.take_due(Millis(9_999)), []);
        let count = RefusalCount { count: 5_000, first: Millis(70_000), last: Millis(74_999) };
        let telling = DueReport { sender: mallory(), place: ThreadId::new_sys(), count };
        assert_eq!(buckets.take_due(Millis(10_000)), [telling]);
        assert_eq!((buckets.take_due(Millis(20_000)), buckets.next_moment()), (Vec::new(), None));
    }

    #[test]
    fn threads_are_counted_apart_up_to_a_bound_and_the_end_tells_the_rest() {
        let mut buckets = ReportBuckets::default();
        for n in 0..100 {
            buckets.take_toll(toll(n, Some(&format!("sess-0123456789ab.c{n}"))), Millis(n));
        }
        let rest = buckets.take_rest();
        assert_eq!(rest.len(), limits::REFUSAL_PLACES + 1);
        assert_eq!(rest.iter().map(|telling| telling.count.count).sum::<u64>(), 100);
        assert_eq!(buckets.take_rest(), []);
    }
}
