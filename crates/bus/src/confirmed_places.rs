//! What the broker has confirmed about the stream of deliveries: the highest place, the latest places, and whether the
//! stream still has all of that after a break. The broker need not sync its files, so a machine that loses its power
//! may lose deliveries, and use their places again.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits;

/// The places that the broker has confirmed, of all listeners together.
#[derive(Debug, Default)]
pub struct ConfirmedPlaces {
    highest: AtomicU64,
    latest: Mutex<VecDeque<u64>>,
    /// How often the connection had broken when the stream was last compared with this.
    compared: tokio::sync::Mutex<u64>,
    losses: AtomicU64,
}

impl ConfirmedPlaces {
    fn lock_latest(&self) -> MutexGuard<'_, VecDeque<u64>> {
        // Every change of it is complete before anything can panic.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a place that the broker has confirmed.
    pub fn note_place(&self, place: u64) {
        self.highest.fetch_max(place, Ordering::SeqCst);
        let mut latest = self.lock_latest();
        latest.push_back(place);
        if latest.len() > limits::CONFIRMED {
            latest.pop_front();
        }
    }

    /// The highest of them. What is sent from now on gets a higher one.
    pub fn find_highest(&self) -> u64 {
        self.highest.load(Ordering::SeqCst)
    }

    /// The places between these two that were not confirmed; `None` if there are too many to know.
    pub fn list_gaps(&self, after: u64, before: u64) -> Option<Vec<u64>> {
        let between = before.saturating_sub(after.saturating_add(1));
        if usize::try_from(between).map_or(true, |count| count > limits::CONFIRMED) {
            return None;
        }
        let known: HashSet<u64> = self.lock_latest().iter().copied().collect();
        Some((after + 1..before).filter(|place| !known.contains(place)).collect())
    }

    /// How often the stream was found to have lost what it had confirmed. After a break of the connection, the first
    /// caller compares, with the last place that `last` asks the broker for; all others wait for that.
    pub async fn count_losses(
        &self,
        breaks: u64,
        last: impl Future<Output = Result<u64, String>>,
    ) -> Result<u64, String> {
        let mut compared = self.compared.lock().await;
        if *compared != breaks {
            let last = last.await?;
            if last < self.find_highest() {
                self.highest.store(last, Ordering::SeqCst);
                self.lock_latest().clear();
                self.losses.fetch_add(1, Ordering::SeqCst);
            }
            *compared = breaks;
        }
        Ok(self.losses.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_others_have_are_no_gaps() {
        let places = ConfirmedPlaces::default();
        [4, 6, 9].into_iter().for_each(|place| places.note_place(place));
        assert_eq!(places.find_highest(), 9);
        assert_eq!(places.list_gaps(4, 10), Some(vec![5, 7, 8]));
        assert_eq!(places.list_gaps(9, 10), Some(Vec::new()));
        assert_eq!(places.list_gaps(9, 3), Some(Vec::new()));
        assert_eq!(places.list_gaps(0, 1 << 40), None);
    }

    #[tokio::test]
    async fn a_stream_that_lost_places_is_noticed_once_for_each_break() {
        let places = ConfirmedPlaces::default();
        places.note_place(100);
        let at = |last: u64| async move { Ok(last) };
        assert_eq!(places.count_losses(0, at(3)).await, Ok(0), "nothing broke");
        assert_eq!(places.count_losses(1, at(100)).await, Ok(0));
        assert_eq!(
            places.count_losses(2, async { Err("no answer".to_owned()) }).await,
            Err("no answer".to_owned())
        );
        assert_eq!(places.count_losses(2, at(99)).await, Ok(1));
        assert_eq!(places.count_losses(2, at(0)).await, Ok(1), "it was compared already");
        assert_eq!((places.find_highest(), places.count_losses(3, at(99)).await), (99, Ok(1)));
    }
}
