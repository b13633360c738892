//! What every route of the HTTP door gets: the door's state, the client of the request, and its query.

use std::sync::{Arc, Mutex};

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use tokio::sync::Semaphore;

use super::failed_logins::FailedLogins;
use super::mcp::open_calls::OpenCalls;
use crate::runtime::front::OrganismHandle;
use crate::runtime::keyring::Keyring;
use systole_core::types::ids::Name;

/// The state that serves every request.
pub(super) struct HttpState {
    pub(super) front: OrganismHandle,
    pub(super) bodies: Semaphore,
    pub(super) waiters: Semaphore,
    pub(super) keyring: Keyring,
    pub(super) followers: Arc<Semaphore>,
    pub(super) failed_logins: Mutex<FailedLogins>,
    pub(super) open_calls: OpenCalls,
}

/// The client of a request's credential.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Name);

/// A query, valid or not.
pub(super) type ParsedQuery<T> = Result<Query<T>, QueryRejection>;
