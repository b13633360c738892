//! What a door of the HTTP server is: the paths that it has, its routes, and how a request enters. `routes` has the table.
//!
//! A route and its handler stand in one file, and state that only one door has is an `Extension` of its routes.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};

use super::http_state::{Caller, HttpState};
use super::request_refusals::{read_bearer, refuse_address, refuse_crowded, without_token};
use systole_core::types::client::ClientDoor;
use systole_doorway::Visitor;
use systole_doorway::percent::is_text;

/// A route: its method, its path, and what serves it.
pub struct DoorRoute {
    /// Its method, in small letters.
    pub method: &'static str,
    /// Its path, as the router writes it.
    pub path: &'static str,
    /// What serves it.
    pub service: MethodRouter<Arc<HttpState>>,
}

impl DoorRoute {
    /// A route that reads.
    pub fn get<T: 'static>(path: &'static str, serve: impl Handler<T, Arc<HttpState>>) -> DoorRoute {
        DoorRoute { method: "get", path, service: get(serve) }
    }

    /// A route that takes a body.
    pub fn post<T: 'static>(path: &'static str, serve: impl Handler<T, Arc<HttpState>>) -> DoorRoute {
        DoorRoute { method: "post", path, service: post(serve) }
    }
}

/// A request at a door.
pub struct DoorVisit {
    /// The state of all doors.
    pub state: Arc<HttpState>,
    /// The connection that it came on.
    pub visitor: Visitor,
    /// What came.
    pub request: Request,
    /// The routes.
    pub next: Next,
}

/// The answer to a request at a door.
pub type VisitAnswer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A door of the HTTP server.
pub struct DoorRow {
    /// The beginnings of its paths. A door without any has the paths that no other door has.
    pub paths: &'static [&'static str],
    /// Its routes, file by file.
    pub routes: &'static [fn() -> Vec<DoorRoute>],
    /// Lets a request of a known client go on to the routes, and answers every other in the words of this door.
    pub enter: fn(DoorVisit) -> VisitAnswer,
    /// Whether `schemas/openapi.json` describes its routes.
    pub is_described: bool,
}

impl DoorRow {
    /// Whether a path begins as its paths do.
    pub fn has_path(&self, path: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.paths.iter().any(|own| path.strip_prefix(own).is_some_and(is_below))
    }

    /// All its routes.
    pub fn list_routes(&self) -> impl Iterator<Item = DoorRoute> {
        self.routes.iter().flat_map(|list| list())
    }
}

/// Lets only requests with the credential of a client pass that counts at that door, and reads nothing of any other request.
pub async fn enter_with_token(visit: DoorVisit, door: ClientDoor) -> Response {
    let DoorVisit { state, visitor, mut request, next } = visit;
    if let Some(client) = read_bearer(request.headers()).and_then(|token| state.find_owner(token, door)) {
        if let Err(crowded) = visitor.let_in(client) {
            return refuse_crowded(crowded);
        }
        request.extensions_mut().insert(Caller(client.clone()));
        if request.uri().query().is_some_and(|query| !is_text(query.as_bytes())) {
            return refuse_address("what follows `?` in the address is not UTF-8");
        }
        return next.run(request).await;
    }
    state.login_failed(visitor.address.ip()).await;
    without_token()
}
