//! The broker of a run, and what lies at it: one stream of deliveries with places, the window in which it knows
//! which ids it had, the fences, and a consumer for each listener. It outlives every pump. Pure: the world says what
//! time it is, and dice are thrown elsewhere.
//!
//! It redelivers nothing by itself. It says once that a worker gave no sign of life, and never again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{Delivery, LeaseToken};

/// How long the broker knows the id of a message.
const WINDOW_MS: u64 = 600_000;

/// A delivery in the stream.
pub(crate) struct StoredDelivery {
    pub(crate) delivery: Delivery,
    /// The hash of its bytes.
    pub(crate) bytes: Digest,
    pub(crate) stored_ms: u64,
}

impl StoredDelivery {
    pub(crate) fn token(&self) -> &LeaseToken {
        &self.delivery.lease.token
    }

    fn listener(&self) -> &Name {
        &self.delivery.lease.listener
    }
}

/// The result of publishing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Published {
    Stored(u64),
    /// The broker had it before, at that place.
    Again(u64),
    /// Another fence was put since.
    Fenced,
}

/// What hands the deliveries of a listener to its workers.
#[derive(Default)]
pub(crate) struct Consumer {
    /// The last place that was handed out.
    pub(crate) last: u64,
    /// The places that workers have not acknowledged.
    held: BTreeSet<u64>,
    /// How many workers may have at once.
    pub(crate) room: usize,
}

/// The stream, its window, its fences and its consumers.
#[derive(Default)]
pub(crate) struct Broker {
    messages: BTreeMap<u64, StoredDelivery>,
    last: u64,
    window: HashMap<LeaseToken, (u64, u64)>,
    /// The newest fence before the deliveries of each listener: the life of the pump that put it.
    fences: BTreeMap<Name, u64>,
    pub(crate) consumers: BTreeMap<Name, Consumer>,
    /// How often it has lost everything.
    pub(crate) losses: u64,
}

impl Broker {
    /// Puts a fence. An earlier life never replaces the fence of a later one.
    pub(crate) fn puts_fence(&mut self, listener: &Name, life: u64) {
        let fence = self.fences.entry(listener.clone()).or_default();
        *fence = life.max(*fence);
    }

    /// Stores a delivery behind a fence, unless it had it before.
    pub(crate) fn publish(&mut self, stored: StoredDelivery, fence: u64) -> Published {
        let now_ms = stored.stored_ms;
        if self.fences.get(stored.listener()).is_none_or(|newest| *newest != fence) {
            return Published::Fenced;
        }
        let known = self.window.get(stored.token()).filter(|(_, at)| now_ms - at < WINDOW_MS);
        if let Some((place, _)) = known {
            return Published::Again(*place);
        }
        self.last += 1;
        self.window.insert(stored.token().clone(), (self.last, now_ms));
        self.messages.insert(self.last, stored);
        Published::Stored(self.last)
    }

    /// Whether it knows that it had a delivery.
    pub(crate) fn had(&self, token: &LeaseToken) -> bool {
        self.window.contains_key(token)
    }

    /// It loses everything. Places are never used again.
    pub(crate) fn loses_all(&mut self) {
        *self = Broker { last: self.last, losses: self.losses + 1, ..Broker::default() };
    }

    /// It forgets which ids it had, as a planted fault.
    pub(crate) fn forgets_ids(&mut self) {
        self.window.clear();
    }

    pub(crate) fn at(&self, place: u64) -> Option<&StoredDelivery> {
        self.messages.get(&place)
    }

    /// The place of a delivery that is in the stream.
    pub(crate) fn place_of(&self, token: &LeaseToken) -> Option<u64> {
        self.messages.iter().find(|(_, message)| message.token() == token).map(|(place, _)| *place)
    }

    /// The deliveries of a listener, in order.
    pub(crate) fn of(&self, listener: &Name) -> impl Iterator<Item = (u64, &StoredDelivery)> {
        let own = self.messages.iter().filter(move |(_, message)| message.listener() == listener);
        own.map(|(place, message)| (*place, message))
    }

    /// All deliveries.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &StoredDelivery)> {
        self.messages.iter().map(|(place, message)| (*place, message))
    }

    /// Deletes a message. Its worker is not told.
    pub(crate) fn delete(&mut self, place: u64) {
        if let Some(message) = self.messages.remove(&place)
            && let Some(consumer) = self.consumers.get_mut(message.listener())
        {
            consumer.held.remove(&place);
        }
    }

    /// Whether a worker has that place without having acknowledged it.
    pub(crate) fn is_held(&self, listener: &Name, place: u64) -> bool {
        self.consumers.get(listener).is_some_and(|consumer| consumer.held.contains(&place))
    }

    /// The worker of that place gave no sign of life for too long: the broker forgets that it has it.
    pub(crate) fn expires(&mut self, listener: &Name, place: u64) -> bool {
        self.consumers.get_mut(listener).is_some_and(|consumer| consumer.held.remove(&place))
    }

    /// Whether a delivery was handed out.
    pub(crate) fn is_handed_out(&self, listener: &Name, place: u64) -> bool {
        self.consumers.get(listener).is_some_and(|consumer| place <= consumer.last)
    }

    fn waiting(&self, listener: &Name, last: u64) -> Option<u64> {
        self.of(listener).map(|(place, _)| place).find(|place| *place > last)
    }

    /// Whether no delivery of the listener waits for a worker or is with one.
    pub(crate) fn is_idle(&self, listener: &Name) -> bool {
        let Some(consumer) = self.consumers.get(listener) else { return false };
        consumer.held.is_empty() && self.waiting(listener, consumer.last).is_none()
    }

    /// Hands the next delivery of a listener to a worker, if there is one and room for it.
    pub(crate) fn hands_out(&mut self, listener: &Name) -> Option<(u64, &StoredDelivery)> {
        let consumer = self.consumers.get(listener)?;
        if consumer.held.len() >= consumer.room {
            return None;
        }
        let place = self.waiting(listener, consumer.last)?;
        let consumer = self.consumers.get_mut(listener)?;
        consumer.last = place;
        consumer.held.insert(place);
        Some((place, self.messages.get(&place)?))
    }
}
