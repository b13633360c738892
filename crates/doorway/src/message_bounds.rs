//! How much of this process the messages of one client may take: while they are not judged, and while their senders
//! wait for outcomes. Each door has its own bounds. No client takes what belongs to the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::shared_places::{PlaceShortage, SharedPlace, SharedPlaces};
use systole_core::types::ids::Name;

use crate::limits::{self, WAITING};

/// The bounds of all clients of a door.
pub struct MessageBounds {
    /// For senders that wait.
    places: SharedPlaces,
    clients: Mutex<BTreeMap<Name, ClientBounds>>,
}

/// The bounds of one client. A semaphore is never closed, so that every wait for one ends.
#[derive(Clone)]
pub struct ClientBounds {
    turns: Arc<Semaphore>,
    kib: Arc<Semaphore>,
}

impl MessageBounds {
    /// Those of a door at which so many senders may wait.
    pub fn new(most: usize) -> MessageBounds {
        let places = SharedPlaces::new(WAITING, most, limits::OPERATOR_REQUESTS);
        MessageBounds { places, clients: Mutex::default() }
    }

    /// The bounds of one client.
    pub fn bounds_of(&self, client: &Name) -> ClientBounds {
        let new = || ClientBounds {
            turns: Arc::new(Semaphore::new(limits::UNJUDGED)),
            kib: Arc::new(Semaphore::new(limits::UNJUDGED_KIB)),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.entry(client.clone()).or_insert_with(new).clone()
    }

    /// A place for a sender that waits, or why there is none.
    pub fn take_place(&self, client: &Name) -> Result<SharedPlace, String> {
        self.places.take_place(client).map_err(|shortage| match shortage {
            PlaceShortage::Own(most) => {
                format!("{most} senders of {client} wait already, the most for one client")
            }
            PlaceShortage::All(most) => format!("{most} senders wait already, the most for all clients"),
        })
    }
}

impl ClientBounds {
    /// Room for the bytes of a message, as soon as there is some.
    pub async fn wait_for_room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.kib.clone().acquire_many_owned(to_kib(bytes)).await.ok()
    }

    /// The same at once, or why there is none.
    pub fn room_now(&self, bytes: usize) -> Result<OwnedSemaphorePermit, String> {
        let room = self.kib.clone().try_acquire_many_owned(to_kib(bytes));
        room.map_err(|_| {
            format!(
                "{} MiB of your messages are not judged yet, the most allowed",
                limits::UNJUDGED_KIB >> 10
            )
        })
    }

    /// The turn of a message to be judged.
    pub async fn wait_for_turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.clone().acquire_owned().await.ok()
    }
}

fn to_kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use systole_core::types::limits::MESSAGE_BYTES;

    fn is_ready<T>(work: impl Future<Output = T>) -> bool {
        matches!(pin!(work).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
    }

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn unjudged_messages_of_a_client_are_bounded_in_number_and_in_bytes() {
        let bounds = MessageBounds::new(10);
        let alice = bounds.bounds_of(&name("alice"));
        let mut large: Vec<_> = (0..64).map(|_| alice.room_now(MESSAGE_BYTES).unwrap()).collect();
        assert!(alice.room_now(1).unwrap_err().starts_with("64 MiB"));
        assert!(
            !is_ready(alice.wait_for_room(1)) && !is_ready(bounds.bounds_of(&name("alice")).wait_for_room(0))
        );
        assert!(
            is_ready(bounds.bounds_of(&name("bob")).wait_for_room(MESSAGE_BYTES)),
            "they are alice's own"
        );
        large.pop();
        assert!(is_ready(alice.wait_for_room(1)) && alice.room_now(MESSAGE_BYTES).is_ok());

        let turns: Vec<_> =
            (0..limits::UNJUDGED).map(|_| alice.turns.clone().try_acquire_owned().unwrap()).collect();
        assert!(!is_ready(alice.wait_for_turn()) && is_ready(bounds.bounds_of(&name("bob")).wait_for_turn()));
        drop(turns);
        assert!(is_ready(alice.wait_for_turn()));
    }

    #[test]
    fn senders_that_wait_leave_places_for_other_clients_and_for_the_operator() {
        let bounds = MessageBounds::new(WAITING + 1 + limits::OPERATOR_REQUESTS);
        let mut own: Vec<_> = (0..WAITING).map(|_| bounds.take_place(&name("alice")).unwrap()).collect();
        assert!(bounds.take_place(&name("alice")).err().unwrap().starts_with("5000 senders of alice"));
        own.push(bounds.take_place(&name("bob")).unwrap());
        assert!(bounds.take_place(&name("bob")).err().unwrap().starts_with("5001 senders wait"));
        assert!(bounds.take_place(&Name::new_operator()).is_ok());
        own.clear();
        assert!(bounds.take_place(&name("alice")).is_ok());
    }
}
