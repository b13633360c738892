//! What every route of the HTTP door gets: the door's state, the client of the request, and its query.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::extract::rejection::{ExtensionRejection, QueryRejection};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::door_reloads::DoorReloads;
use super::log_view::LogViews;
use super::sessions::Sessions;
use systole_core::types::client::ClientDoor;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_doorway::FailedLoginCounts;
use systole_doorway::MessageBounds;
use systole_doorway::SignInGuesses;
use systole_doorway::entrance::{DoorAddresses, Entrance};
use systole_doorway::{ClientPlaces, SharedPlaces};
use systole_organism::front::OrganismHandle;
use systole_organism::keyring::Keyring;
use systole_system::clock::WallClock;

/// The state that serves every request.
pub struct HttpState {
    /// The organism.
    pub front: OrganismHandle,
    /// Seats for messages and orders.
    pub bodies: BodySeats,
    /// Seats for forms, which are larger.
    pub forms: BodySeats,
    /// The messages that wait for an answer.
    pub messages: MessageBounds,
    /// The tokens of the clients.
    pub keyring: Keyring,
    /// The streams that follow the log.
    pub followers: SharedPlaces,
    /// The logins that failed, for each address.
    pub failed_logins: Mutex<FailedLoginCounts>,
    /// The tokens that were typed to sign in, and were none.
    pub guesses: Mutex<SignInGuesses>,
    /// The readings of the log.
    pub views: LogViews,
    /// Where the door is.
    pub addresses: DoorAddresses,
    /// What it knows of reloads; `None` if the organism cannot be reloaded.
    pub reloads: Option<DoorReloads>,
    /// The browsers that are signed in.
    pub sessions: Sessions,
    /// The pages that follow the log.
    pub live: ClientPlaces,
}

impl HttpState {
    /// The owner of a token, if it counts at that door.
    pub fn find_owner(&self, shown: &str, door: ClientDoor) -> Option<&Name> {
        let owner = self.keyring.find_owner(shown);
        owner.filter(|owner| self.front.composition().may_enter(owner, door))
    }

    /// The client of a session's cookie, if it may still come in. The session counts as used.
    pub fn find_signed_in(&self, cookie: &str, entrance: Entrance) -> Option<Name> {
        let client = self.sessions.whose(&self.keyring, cookie, entrance, WallClock.now());
        client.filter(|client| self.front.composition().may_enter(client, ClientDoor::Pages))
    }

    /// The owner of a token that was typed to sign in. An error is the time in milliseconds until this address may
    /// try again.
    pub fn find_signing_in(&self, source: IpAddr, shown: &str) -> Result<Option<Name>, u64> {
        let now = WallClock.ticks();
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait_ms) = guesses.find_wait_ms(source, now) {
            return Err(wait_ms);
        }
        let owner = self.find_owner(shown, ClientDoor::Pages).cloned();
        if owner.is_none() {
            guesses.record_guess(source, now);
        }
        Ok(owner)
    }

    /// Counts a failed login, and records what is due of the count.
    pub async fn login_failed(&self, source: IpAddr) {
        let told = {
            let mut failed = self.failed_logins.lock().unwrap_or_else(PoisonError::into_inner);
            failed.record_failure(source, WallClock.now())
        };
        if let Some((source, count)) = told {
            self.front.record_attempts(source, count).await;
        }
    }
}

/// Seats for bodies that are read: few for each client, and few in all, because each takes memory.
pub struct BodySeats {
    own: ClientPlaces,
    all: Arc<Semaphore>,
}

/// A seat that is taken.
pub struct BodySeat {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl BodySeats {
    /// So many for each client, and so many for all.
    pub fn new(each: usize, all: usize) -> BodySeats {
        BodySeats { own: ClientPlaces::new(each), all: Arc::new(Semaphore::new(all)) }
    }

    /// A seat, as soon as there is one. It is only `None` if a semaphore is closed, and that never happens.
    pub async fn wait_for_seat(&self, client: &Name) -> Option<BodySeat> {
        let own = self.own.places_of(client).acquire_owned().await.ok()?;
        Some(BodySeat { _own: own, _all: self.all.clone().acquire_owned().await.ok()? })
    }
}

/// The client of a request's credential.
#[derive(Clone)]
pub struct Caller(pub Name);

/// How every call of `/v1` begins: the door, and the client of its credential.
pub struct ApiCall {
    /// The door.
    pub state: Arc<HttpState>,
    /// Its client.
    pub client: Name,
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
pub type ParsedQuery<T> = Result<Query<T>, QueryRejection>;
