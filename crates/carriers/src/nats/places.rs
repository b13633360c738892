//! Where the deliveries of a listener are: at which place in the stream, with a worker or not, or with a worker that
//! took its delivery off the stream too early. It asks no one and reports nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use systole_core::types::ids::Digest;
use systole_core::types::ports::LeaseToken;
use systole_core::types::time::Millis;

use crate::limits;

/// Where a delivery came into the stream from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlaceOrigin {
    /// This life of the pump stored it, at that moment.
    Own(Instant),
    /// An earlier life did, at that time of the broker, and this life has not handed it over yet. The hash is that of
    /// its bytes.
    Found(Option<Millis>, Digest),
    /// The same, handed over.
    TakenUp(Option<Millis>),
}

/// The place of a delivery in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DeliveryPlace {
    sequence: u64,
    origin: PlaceOrigin,
    /// Whether it was seen there for longer than a worker needs to take it.
    has_waited: bool,
    /// Whether it was reported that a worker has it.
    is_taken: bool,
}

/// A worker has a delivery.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TakenDelivery {
    pub(super) token: LeaseToken,
    /// How long ago the broker stored it.
    pub(super) age_ms: u64,
    /// The time of the broker.
    pub(super) now: Millis,
    /// Whether it lay in the stream for a while before.
    pub(super) has_waited: bool,
}

/// The deliveries of one listener that are out.
#[derive(Default)]
pub(super) struct DeliveryPlaces {
    places: HashMap<Arc<str>, DeliveryPlace>,
    /// Deliveries whose workers the broker does not hear, with their last sign of life.
    silent: HashMap<Arc<str>, Instant>,
}

impl DeliveryPlace {
    /// A delivery that was stored now.
    pub(super) fn stored_now(sequence: u64) -> DeliveryPlace {
        DeliveryPlace {
            sequence,
            origin: PlaceOrigin::Own(Instant::now()),
            has_waited: false,
            is_taken: false,
        }
    }

    /// The same delivery, if this life handed it over.
    pub(super) fn handed_over(self) -> DeliveryPlace {
        match self.origin {
            PlaceOrigin::Found(stored, _) => DeliveryPlace { origin: PlaceOrigin::TakenUp(stored), ..self },
            PlaceOrigin::Own(_) | PlaceOrigin::TakenUp(_) => self,
        }
    }

    /// When an earlier life stored it, by the time of the broker.
    pub(super) fn read_time(&self) -> Option<Millis> {
        match self.origin {
            PlaceOrigin::Found(stored, _) | PlaceOrigin::TakenUp(stored) => stored,
            PlaceOrigin::Own(_) => None,
        }
    }

    /// A delivery that lies in the stream since that time of the broker.
    pub(super) fn new_found(sequence: u64, stored: Option<Millis>, bytes: Digest) -> DeliveryPlace {
        DeliveryPlace {
            sequence,
            origin: PlaceOrigin::Found(stored, bytes),
            has_waited: false,
            is_taken: false,
        }
    }
}

impl DeliveryPlaces {
    /// Notes a place. One that is known stays as it is.
    pub(super) fn put(&mut self, token: &Arc<str>, place: DeliveryPlace) {
        self.places.entry(token.clone()).or_insert(place);
    }

    /// Forgets a delivery; returns its place.
    pub(super) fn remove(&mut self, token: &str) -> Option<u64> {
        self.silent.remove(token);
        self.places.remove(token).map(|place| place.sequence)
    }

    /// Whether it is known where that delivery is.
    pub(super) fn has_token(&self, token: &str) -> bool {
        self.places.contains_key(token)
    }

    /// Whether no delivery is out.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.silent.is_empty()
    }

    /// The deliveries of an earlier life that were not handed over again, with their places.
    pub(super) fn list_found(&self) -> HashMap<Arc<str>, u64> {
        let found = self.places.iter().filter(|(_, place)| matches!(place.origin, PlaceOrigin::Found(..)));
        found.map(|(token, place)| (token.clone(), place.sequence)).collect()
    }

    /// Hands over a delivery of an earlier life again. Returns whether it has the same bytes; `None` if it was not
    /// found.
    pub(super) fn take_up(&mut self, token: &str, bytes: &Digest) -> Option<bool> {
        let place = self.places.get_mut(token)?;
        let PlaceOrigin::Found(stored, found) = place.origin else { return None };
        place.origin = PlaceOrigin::TakenUp(stored);
        Some(found == *bytes)
    }

    /// The broker does not hear the delivery's worker, who took it off the stream or could not be heard for a while.
    /// Only what the worker says to the pump shows that it lives.
    pub(super) fn is_silent(&mut self, token: &Arc<str>) {
        self.silent.entry(token.clone()).or_insert_with(Instant::now);
    }

    /// The worker of such a delivery gave a sign of life.
    pub(super) fn is_alive(&mut self, token: &str) {
        if let Some(last) = self.silent.get_mut(token) {
            *last = Instant::now();
        }
    }

    /// Such deliveries whose workers gave no sign of life for so long.
    pub(super) fn silent_for(&self, silence: Duration) -> Vec<Arc<str>> {
        let over = self.silent.iter().filter(|(_, last)| last.elapsed() >= silence);
        over.map(|(token, _)| token.clone()).collect()
    }

    /// The delivery at that place.
    pub(super) fn token_at(&self, sequence: u64) -> Option<Arc<str>> {
        let found = self.places.iter().find(|(_, place)| place.sequence == sequence);
        found.map(|(token, _)| token.clone())
    }

    /// The deliveries that the consumer has handed out; no worker had the others. `last` is the last place that it
    /// handed out, and it hands out in order. Its number of pending messages does not say this: the broker confirms a
    /// message before it counts the message as pending.
    pub(super) fn handed_out(&self, last: u64) -> Vec<(Arc<str>, u64)> {
        let out = self.places.iter().filter(|(_, place)| place.sequence <= last);
        let out = out.filter(|(token, _)| !self.silent.contains_key(*token));
        out.map(|(token, place)| (token.clone(), place.sequence)).collect()
    }

    /// The deliveries that workers have taken since the last look, and those that no worker takes, each once, given the last place that the consumer handed out.
    /// `now` is the time of the broker, and `at` the moment of the look. Those of an earlier life are told once they
    /// are handed over again.
    pub(super) fn list_taken(
        &mut self,
        last: u64,
        now: Option<Millis>,
        at: Instant,
    ) -> (Vec<TakenDelivery>, Vec<LeaseToken>) {
        let (mut taken, mut untaken) = (Vec::new(), Vec::new());
        let now = now.unwrap_or_default();
        for (token, place) in &mut self.places {
            let age = match place.origin {
                PlaceOrigin::Own(stored) => at.saturating_duration_since(stored),
                PlaceOrigin::TakenUp(stored) => {
                    Duration::from_millis(stored.map_or(0, |stored| now.count_since(stored)))
                }
                PlaceOrigin::Found(..) => continue,
            };
            if place.sequence > last {
                if !place.is_taken
                    && age >= limits::TAKEN_AT_ONCE
                    && !std::mem::replace(&mut place.has_waited, true)
                {
                    untaken.push(LeaseToken(token.clone()));
                }
            } else if !std::mem::replace(&mut place.is_taken, true) {
                let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
                let (token, has_waited) = (LeaseToken(token.clone()), place.has_waited);
                taken.push(TakenDelivery { token, age_ms, now, has_waited });
            }
        }
        (taken, untaken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_that_was_never_handed_out_is_with_no_worker_and_not_lost() {
        let mut places = DeliveryPlaces::default();
        places.put(&"with a worker".into(), DeliveryPlace::stored_now(7));
        places.put(&"on its way".into(), DeliveryPlace::stored_now(9));
        let out = |places: &DeliveryPlaces, last| {
            let mut out: Vec<u64> = places.handed_out(last).into_iter().map(|(_, place)| place).collect();
            out.sort_unstable();
            out
        };
        assert_eq!(out(&places, 0), Vec::<u64>::new());
        assert_eq!(out(&places, 8), [7]);
        assert_eq!(out(&places, 9), [7, 9]);
    }

    #[tokio::test]
    async fn the_time_of_a_delivery_runs_since_a_worker_took_it() {
        let mut places = DeliveryPlaces::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        places.put(&a, DeliveryPlace::stored_now(1));
        places.put(&b, DeliveryPlace::stored_now(2));
        let (now, later) = (Some(Millis(9_000)), Instant::now() + Duration::from_secs(5));
        let (told, untaken) = places.list_taken(1, now, later);
        assert_eq!(untaken, [LeaseToken(b.clone())]);
        assert!(matches!(&told[..], [one] if one.token.0 == a && !one.has_waited && one.age_ms >= 4_900));
        assert_eq!(places.list_taken(1, now, later), (Vec::new(), Vec::new()), "it is reported once");
        let (told, _) = places.list_taken(2, now, later);
        assert!(matches!(&told[..], [one] if one.token.0 == b && one.has_waited));
        assert_eq!(places.list_taken(0, None, later), (Vec::new(), Vec::new()), "what was taken stays so");
    }

    #[test]
    fn a_delivery_of_an_earlier_life_is_the_same_only_with_the_same_bytes() {
        let mut places = DeliveryPlaces::default();
        let token: Arc<str> = "a".into();
        places.put(&token, DeliveryPlace::new_found(4, Some(Millis(1_000)), Digest::hash_bytes(b"one")));
        assert_eq!(places.list_found().len(), 1);
        assert_eq!(places.list_taken(4, Some(Millis(3_000)), Instant::now()).0, [], "it is not handed over");
        assert_eq!(places.take_up("a", &Digest::hash_bytes(b"two")), Some(false));
        assert_eq!(places.take_up("a", &Digest::hash_bytes(b"one")), None, "it was");
        let (told, _) = places.list_taken(4, Some(Millis(3_000)), Instant::now());
        assert!(matches!(&told[..], [one] if one.age_ms == 2_000 && !one.has_waited));
    }
}
