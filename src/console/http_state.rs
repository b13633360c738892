//! What every route of the HTTP door gets: the door's state, the client of the request, and its query.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failed_logins::FailedLogins;
use super::log_view::LogViews;
use super::mcp::open_calls::OpenCalls;
use super::pages::sessions::Sessions;
use crate::edges::clock::WallClock;
use crate::runtime::front::OrganismHandle;
use crate::runtime::keyring::Keyring;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;

/// The state that serves every request.
pub(super) struct HttpState {
    pub(super) front: OrganismHandle,
    pub(super) bodies: Semaphore,
    pub(super) waiting: WaitingPlaces,
    pub(super) keyring: Keyring,
    pub(super) followers: Arc<Semaphore>,
    pub(super) failed_logins: Mutex<FailedLogins>,
    pub(super) open_calls: OpenCalls,
    pub(super) views: LogViews,
    /// The address that the door listens on.
    pub(super) bound: SocketAddr,
    pub(super) sessions: Sessions,
    /// The pages that follow the log.
    pub(super) live: WaitingPlaces,
}

impl HttpState {
    /// Counts a failed login, and records what is due of the count.
    pub(super) async fn login_failed(&self, source: IpAddr) {
        let told = {
            let mut failed = self.failed_logins.lock().unwrap_or_else(PoisonError::into_inner);
            failed.record_failure(source, WallClock.now())
        };
        if let Some((source, count)) = told {
            self.front.knocked(source, count).await;
        }
    }
}

/// The places of senders that wait for their outcomes, for each client.
#[derive(Default)]
pub(super) struct WaitingPlaces(Mutex<BTreeMap<Name, Arc<Semaphore>>>);

impl WaitingPlaces {
    /// Senders of one client that may wait at once: each costs its connection and an inbox.
    pub(super) const MOST: usize = 64;

    /// A place to wait; `None` if this client has none left.
    pub(super) fn place(&self, client: &Name) -> Option<OwnedSemaphorePermit> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places = clients.entry(client.clone()).or_insert_with(|| Arc::new(Semaphore::new(Self::MOST)));
        places.clone().try_acquire_owned().ok()
    }
}

/// The client of a request's credential.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Name);

/// A query, valid or not.
pub(super) type ParsedQuery<T> = Result<Query<T>, QueryRejection>;
