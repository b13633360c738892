//! What every route of the HTTP door gets: the door's state, the client of the request, and its query.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::extract::rejection::{ExtensionRejection, QueryRejection};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::entrance::DoorAddresses;
use super::failed_logins::FailedLoginCounts;
use super::log_view::LogViews;
use super::message_bounds::MessageBounds;
use super::pages::sessions::Sessions;
use super::sign_in_guesses::SignInGuesses;
use crate::limits;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_organism::front::OrganismHandle;
use systole_organism::keyring::Keyring;
use systole_system::clock::WallClock;

/// The state that serves every request.
pub(super) struct HttpState {
    pub(super) front: OrganismHandle,
    /// Seats for messages and orders, and for forms, which are larger.
    pub(super) bodies: BodySeats,
    pub(super) forms: BodySeats,
    pub(super) messages: MessageBounds,
    pub(super) keyring: Keyring,
    pub(super) followers: StreamPlaces,
    pub(super) failed_logins: Mutex<FailedLoginCounts>,
    pub(super) guesses: Mutex<SignInGuesses>,
    pub(super) views: LogViews,
    /// Where the door is.
    pub(super) addresses: DoorAddresses,
    pub(super) sessions: Sessions,
    /// The pages that follow the log.
    pub(super) live: ClientPlaces,
}

impl HttpState {
    /// The owner of a token that was typed to sign in. An error is the time in milliseconds until this address may
    /// try again.
    pub(super) fn find_signing_in(&self, source: IpAddr, shown: &str) -> Result<Option<Name>, u64> {
        let now = WallClock.ticks();
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait_ms) = guesses.find_wait_ms(source, now) {
            return Err(wait_ms);
        }
        let owner = self.keyring.find_owner(shown).cloned();
        if owner.is_none() {
            guesses.record_guess(source, now);
        }
        Ok(owner)
    }

    /// Counts a failed login, and records what is due of the count.
    pub(super) async fn login_failed(&self, source: IpAddr) {
        let told = {
            let mut failed = self.failed_logins.lock().unwrap_or_else(PoisonError::into_inner);
            failed.record_failure(source, WallClock.now())
        };
        if let Some((source, count)) = told {
            self.front.record_attempts(source, count).await;
        }
    }
}

/// Places for each client: no client takes those of the others.
pub(super) struct ClientPlaces {
    each: usize,
    clients: Mutex<BTreeMap<Name, Arc<Semaphore>>>,
}

impl ClientPlaces {
    pub(super) fn new(each: usize) -> ClientPlaces {
        ClientPlaces { each, clients: Mutex::default() }
    }

    /// A place; `None` if this client has none left.
    pub(super) fn take_place(&self, client: &Name) -> Option<OwnedSemaphorePermit> {
        self.places_of(client).try_acquire_owned().ok()
    }

    fn places_of(&self, client: &Name) -> Arc<Semaphore> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.entry(client.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.each))).clone()
    }
}

/// Seats for bodies that are read: few for each client, and few in all, because each takes memory.
pub(super) struct BodySeats {
    own: ClientPlaces,
    all: Arc<Semaphore>,
}

/// A seat that is taken.
pub(super) struct BodySeat {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl BodySeats {
    pub(super) fn new(each: usize, all: usize) -> BodySeats {
        BodySeats { own: ClientPlaces::new(each), all: Arc::new(Semaphore::new(all)) }
    }

    /// A seat, as soon as there is one. It is only `None` if a semaphore is closed, and that never happens.
    pub(super) async fn wait_for_seat(&self, client: &Name) -> Option<BodySeat> {
        let own = self.own.places_of(client).acquire_owned().await.ok()?;
        Some(BodySeat { _own: own, _all: self.all.clone().acquire_owned().await.ok()? })
    }
}

/// Places for streams of records: each costs a task and a page of records. Those of the operator are kept free, so that
/// she can look when everyone else does.
pub(super) struct StreamPlaces {
    own: ClientPlaces,
    all: Arc<Semaphore>,
    operator: Arc<Semaphore>,
}

/// A place that is taken.
pub(super) struct StreamPlace {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl StreamPlaces {
    pub(super) fn new() -> StreamPlaces {
        StreamPlaces {
            own: ClientPlaces::new(limits::OWN_STREAMS),
            all: Arc::new(Semaphore::new(limits::STREAMS - limits::OPERATOR_STREAMS)),
            operator: Arc::new(Semaphore::new(limits::OPERATOR_STREAMS)),
        }
    }

    /// A place, or why there is none.
    pub(super) fn take_place(&self, client: &Name) -> Result<StreamPlace, String> {
        let own = self.own.take_place(client).ok_or_else(|| {
            format!("{client} follows the log {} times already, the most for one client", limits::OWN_STREAMS)
        })?;
        let all = self.all.clone().try_acquire_owned();
        let all = match *client == Name::new_operator() {
            true => all.or_else(|_| self.operator.clone().try_acquire_owned()),
            false => all,
        };
        let full = |_| format!("the log is followed {} times already, the most for all", limits::STREAMS);
        Ok(StreamPlace { _own: own, _all: all.map_err(full)? })
    }
}

/// The client of a request's credential.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Name);

/// How every call of `/v1` begins: the door, and the client of its credential.
pub(super) struct ApiCall {
    pub(super) state: Arc<HttpState>,
    pub(super) client: Name,
}

impl FromRequestParts<Arc<HttpState>> for ApiCall {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<HttpState>,
    ) -> Result<ApiCall, ExtensionRejection> {
        let Extension(Caller(client)) = Extension::from_request_parts(parts, state).await?;
        Ok(ApiCall { state: state.clone(), client })
    }
}

/// A query, valid or not.
pub(super) type ParsedQuery<T> = Result<Query<T>, QueryRejection>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h5_no_client_takes_all_streams_and_the_operator_always_has_some() {
        let places = StreamPlaces::new();
        let name = |number: usize| Name::parse(&format!("client-{number}")).unwrap();
        let mut held = Vec::new();
        for _ in 0..limits::OWN_STREAMS {
            held.push(places.take_place(&name(0)).unwrap());
        }
        let full = places.take_place(&name(0)).err().unwrap();
        assert!(full.contains("client-0 follows the log 64 times"), "{full}");
        held.push(places.take_place(&name(1)).unwrap());
        let mut clients = (1..).map(name);
        while held.len() < limits::STREAMS - limits::OPERATOR_STREAMS {
            let client = clients.next().unwrap();
            held.extend((0..limits::OWN_STREAMS).map_while(|_| places.take_place(&client).ok()));
        }
        assert!(places.take_place(&name(99)).err().unwrap().contains("256 times"));
        for _ in 0..limits::OPERATOR_STREAMS {
            held.push(places.take_place(&Name::new_operator()).unwrap());
        }
        assert!(places.take_place(&Name::new_operator()).is_err());
        held.pop();
        assert!(places.take_place(&name(99)).is_err(), "it is the operator's");
        assert!(places.take_place(&Name::new_operator()).is_ok());
    }
}
