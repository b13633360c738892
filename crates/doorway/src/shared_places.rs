//! Places that clients share: so many for each, so many for all, and some that only the operator may take, so that she can
//! look when everyone else does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use systole_core::types::ids::Name;

/// Places for each client: no client takes those of the others.
pub struct ClientPlaces {
    each: usize,
    clients: Mutex<BTreeMap<Name, Arc<Semaphore>>>,
}

impl ClientPlaces {
    /// So many for each.
    pub fn new(each: usize) -> ClientPlaces {
        ClientPlaces { each, clients: Mutex::default() }
    }

    /// A place; `None` if this client has none left.
    pub fn take_place(&self, client: &Name) -> Option<OwnedSemaphorePermit> {
        self.places_of(client).try_acquire_owned().ok()
    }

    /// The places of a client.
    pub fn places_of(&self, client: &Name) -> Arc<Semaphore> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.entry(client.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.each))).clone()
    }
}

/// Places that are few in all.
pub struct SharedPlaces {
    own: ClientPlaces,
    /// For all, without those that only the operator may take.
    most: usize,
    all: Arc<Semaphore>,
    operator: Arc<Semaphore>,
}

/// A place that is taken.
pub struct SharedPlace {
    _own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

/// Why there is no place: as many as this are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlaceShortage {
    /// By this client.
    Own(usize),
    /// By all.
    All(usize),
}

impl SharedPlaces {
    /// So many for each client and for all, of which the last are only for the operator.
    pub fn new(each: usize, most: usize, operator: usize) -> SharedPlaces {
        let operator = operator.min(most / 4);
        let most = most - operator;
        SharedPlaces {
            own: ClientPlaces::new(each),
            most,
            all: Arc::new(Semaphore::new(most)),
            operator: Arc::new(Semaphore::new(operator)),
        }
    }

    /// A place, or why there is none. What the operator keeps is beside the places of her own.
    pub fn take_place(&self, client: &Name) -> Result<SharedPlace, PlaceShortage> {
        let own = self.own.take_place(client).ok_or(PlaceShortage::Own(self.own.each));
        let all = |_| self.all.clone().try_acquire_owned().map_err(|_| PlaceShortage::All(self.most));
        let shared = own.and_then(|own| Ok(SharedPlace { _all: all(())?, _own: Some(own) }));
        if shared.is_ok() || *client != Name::new_operator() {
            return shared;
        }
        let kept = self.operator.clone().try_acquire_owned();
        kept.map_or(shared, |kept| Ok(SharedPlace { _own: None, _all: kept }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h5_no_client_takes_all_places_and_the_operator_always_has_some() {
        let places = SharedPlaces::new(64, 256, 8);
        let name = |number: usize| Name::parse(&format!("client-{number}")).unwrap();
        let mut held: Vec<_> = (0..64).map(|_| places.take_place(&name(0)).unwrap()).collect();
        assert_eq!(places.take_place(&name(0)).err(), Some(PlaceShortage::Own(64)));
        for number in 1.. {
            let before = held.len();
            held.extend((0..64).map_while(|_| places.take_place(&name(number)).ok()));
            if held.len() == before {
                break;
            }
        }
        assert_eq!(held.len(), 248);
        assert_eq!(places.take_place(&name(99)).err(), Some(PlaceShortage::All(248)));
        held.extend((0..8).map(|_| places.take_place(&Name::new_operator()).unwrap()));
        assert!(places.take_place(&Name::new_operator()).is_err());
        held.pop();
        assert!(places.take_place(&name(99)).is_err(), "it is the operator's");
        assert!(places.take_place(&Name::new_operator()).is_ok());
    }
}
