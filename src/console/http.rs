//! The HTTP door: one address, a credential for each client, a few routes. It identifies a client only by the
//! credential, answers only after the log has the message, and rejects strangers before it reads their requests.
//!
//! Requests come in; receipts, refusals and the log's records go out as JSON. It never judges a payload, and
//! closing it is the first step of a stop.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

use super::events::{Events, Follower};
use super::http_state::{Caller, HttpState, ParsedQuery, WaitingPlaces};
use super::inbound;
use super::log_view::LogViews;
use super::mcp::{self, open_calls::OpenCalls};
use super::pages::sessions::Sessions;
use super::pages::{self, signing_in};
use super::request_refusals::{bad_request, bearer, plain, refused, stopping, without_token};
use super::strangers::{Doorway, Visitor};
use super::{api_types, steering, waiting};
use crate::edges::tasks::{self, RunningTask, TaskKind};
use crate::runtime::front::OrganismHandle;
use crate::runtime::keyring::Keyring;
use crate::runtime::waiting::SenderReply;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;

/// Bodies that may be read at once: at a mebibyte each, they take little memory compared with the pump.
const BODIES: usize = 64;
/// Clients that may follow the log at once: each costs a task and a page of records.
const FOLLOWERS: usize = 64;

/// Why the door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpDoorFault {
    /// Another program listens at the address.
    #[error("{0} is in use by another program: stop it, or name another address under `console.listen`")]
    InUse(SocketAddr),
    /// The operating system's error.
    #[error("cannot listen on {0}: {1}; `console.listen` in the organism's file names the address")]
    Machine(SocketAddr, std::io::Error),
}

/// How often to try an address in use, and the pause between tries. A killed process may hold its address for a
/// moment longer.
const TRIES: u32 = 20;
const AGAIN: Duration = Duration::from_millis(100);

/// Binds the address first, so that a taken one is known before anything starts.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, HttpDoorFault> {
    for _ in 0..TRIES {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => tokio::time::sleep(AGAIN).await,
            Err(error) => return Err(HttpDoorFault::Machine(address, error)),
        }
    }
    Err(HttpDoorFault::InUse(address))
}

/// Binds that address, or a free port if another program listens there.
pub async fn bind_or_free(address: SocketAddr) -> Result<TcpListener, HttpDoorFault> {
    match TcpListener::bind(address).await {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bind(SocketAddr::new(address.ip(), 0)).await
        }
        taken => taken.map_err(|error| HttpDoorFault::Machine(address, error)),
    }
}

/// The open door.
pub struct HttpDoor {
    state: Arc<HttpState>,
    close: oneshot::Sender<()>,
    task: RunningTask,
}

impl HttpDoor {
    /// Opens the door on an address that is already bound.
    pub fn open(listener: TcpListener, front: OrganismHandle, keyring: Keyring) -> HttpDoor {
        // A bound listener has an address; without one no page's `Host` would fit, and nothing else needs it.
        let bound = listener.local_addr().unwrap_or_else(|_| ([127, 0, 0, 1], 0).into());
        let state = Arc::new(HttpState {
            front,
            keyring,
            bodies: Semaphore::new(BODIES),
            waiting: WaitingPlaces::default(),
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
            failed_logins: Mutex::default(),
            open_calls: OpenCalls::default(),
            views: LogViews::default(),
            bound,
            sessions: Sessions::default(),
            live: WaitingPlaces::default(),
        });
        let router = Router::new()
            .route("/v1/messages", post(inbound::messages))
            .route("/v1/events", get(events))
            .route("/v1/threads/{thread}/cancel", post(cancel))
            .route("/v1/approvals", get(waiting::approvals))
            .route("/v1/approvals/{id}", post(steering::approvals))
            .route("/v1/threads/{thread}/pause", post(steering::pause))
            .route("/v1/threads/{thread}/resume", post(steering::resume))
            .route("/v1/pause", post(steering::pause_all))
            .route("/v1/resume", post(steering::resume_all))
            .route("/v1/threads/{thread}/end", post(end))
            .route("/v1/status", get(status))
            .route("/v1/workers", get(workers))
            .route("/v1/session-codes", post(signing_in::codes))
            .merge(pages::routes())
            .route("/mcp", post(mcp::post).fallback(mcp::only_post))
            .fallback(pages::nowhere)
            .layer(middleware::from_fn_with_state(state.clone(), guard))
            .with_state(state.clone());
        let service = router.into_make_service_with_connect_info::<Visitor>();
        let (close, closed) = oneshot::channel::<()>();
        let work = async move {
            let closing = async { drop(closed.await) };
            if let Err(error) =
                axum::serve(Doorway::of(listener), service).with_graceful_shutdown(closing).await
            {
                tracing::error!(%error, "the HTTP door stopped by itself");
            }
        };
        let task = tasks::start(TaskKind::Door, work, async |_| ());
        HttpDoor { state, close, task }
    }

    /// Admits no new clients, and records the failed logins that were not reported yet. Connected clients
    /// continue until the pump ends; the returned task ends with the last of them.
    pub async fn close(self) -> RunningTask {
        // If the door has already shut, no task receives this.
        let _shut_before = self.close.send(());
        let rest = self.state.failed_logins.lock().unwrap_or_else(PoisonError::into_inner).rest();
        for (source, count) in rest {
            self.state.front.knocked(source, count).await;
        }
        self.task
    }
}

/// Lets only requests with the credential pass, and reads nothing of any other request.
async fn guard(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    mut request: Request,
    next: Next,
) -> Response {
    if pages::guard::is_page(request.uri().path()) {
        return pages::enter(&state, &visitor, request, next).await;
    }
    if let Some(client) = bearer(request.headers()).and_then(|token| state.keyring.whose(token)) {
        request.extensions_mut().insert(Caller(client.clone()));
        visitor.is_known();
        return next.run(request).await;
    }
    state.login_failed(visitor.address.ip()).await;
    without_token()
}

#[derive(Deserialize)]
struct From {
    from: Option<u64>,
    thread: Option<String>,
    #[serde(default)]
    voice: bool,
}

/// Every record after a position, as it is written, with progress reports between the records if requested.
async fn events(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    query: ParsedQuery<From>,
    headers: HeaderMap,
) -> Response {
    let Ok(Query(From { from, thread, voice })) = query else {
        return bad_request("from is a position in the log, a whole number; voice is true or false");
    };
    let thread = match thread.as_deref().map(ThreadId::parse).transpose() {
        Ok(thread) => thread,
        Err(malformed) => return bad_request(malformed.to_string()),
    };
    let last = headers.get("last-event-id").map(|id| id.to_str().ok().and_then(|id| id.parse().ok()));
    let from = match last {
        Some(Some(last)) => Some(last),
        Some(None) => return bad_request("last-event-id is the id of an event, a whole number"),
        None => from,
    };
    if let Err(refusal) = may_read(&state.front, &client, thread.as_ref()).await {
        return refused(&refusal);
    }
    let Ok(seat) = state.followers.clone().try_acquire_owned() else {
        let words = format!("the log is followed by {FOLLOWERS} clients already");
        return plain(StatusCode::SERVICE_UNAVAILABLE, Code::IngressUnavailable, words);
    };
    // Progress reports have no position in the log, so a returning client may already have heard the stored
    // ones.
    let heard_from = from.filter(|_| last.is_none()).map(Position);
    let hearing = voice.then(|| state.front.hear(heard_from, thread.clone()));
    let from = from.map_or_else(|| *state.front.tail().borrow(), Position);
    let events = Events::of(Follower::after(&state.front, from, thread), hearing, seat);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events.stream())).into_response()
}

/// Without the role `read` a client sees only its own messages and their results. Other clients' threads are
/// reported as not found.
async fn may_read(front: &OrganismHandle, client: &Name, thread: Option<&ThreadId>) -> Result<(), Refusal> {
    if front.composition().has_role(client, Role::Read) {
        return Ok(());
    }
    let Some(thread) = thread.cloned() else {
        let words = "the whole log is for clients with the role `read`";
        return Err(
            Refusal::new(Code::IngressForbidden, words).fixed_by("?thread=ID, a thread that you opened")
        );
    };
    let (reader, client) = (front.reader().clone(), client.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let first = reader.of_thread(&thread.root_of(), 1, 1)?;
        Ok::<bool, LogFault>(first.first().is_some_and(|(_, record)| record.header.from == client))
    });
    match opened.await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(Refusal::new(Code::UnknownThread, "there is no such thread")),
        // An unreadable log or a failed reader must not reveal other clients' threads.
        _ => Err(Refusal::new(Code::IngressUnavailable, "the log cannot be read at the moment")),
    }
}

async fn cancel(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
) -> Response {
    over(
        &thread,
        |id| state.front.cancel(client, id),
        |cancelled| Json(api_types::ThreadCancelled { cancelled }),
    )
    .await
}

async fn end(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
) -> Response {
    over(&thread, |id| state.front.end(client, id), |ended| Json(api_types::ThreadEnded { ended })).await
}

/// Ends a thread by an order, and reports the result.
async fn over<T: IntoResponse>(
    thread: &str,
    order: impl AsyncFnOnce(ThreadId) -> Option<SenderReply>,
    done: impl FnOnce(String) -> T,
) -> Response {
    let id = match ThreadId::parse(thread) {
        Ok(id) => id,
        Err(malformed) => {
            return plain(StatusCode::UNPROCESSABLE_ENTITY, Code::UnknownThread, malformed.to_string());
        }
    };
    match order(id).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => done(thread.to_owned()).into_response(),
        Some(SenderReply::Refused(refusal)) => refused(&refusal),
        None => stopping(),
    }
}

/// The workers over a broker: for clients that may read everything, since it names the listeners.
async fn workers(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
) -> Response {
    if !state.front.composition().has_role(&client, Role::Read) {
        let words = "the list of workers over NATS is for clients with the role `read`";
        let refusal = Refusal::new(Code::IngressForbidden, words);
        return refused(&refusal.fixed_by("the token of a client with `roles: [read]`"));
    }
    match state.front.workers().await {
        Ok(found) => {
            let workers = found.into_iter().map(|(name, workers)| (name.to_string(), workers)).collect();
            Json(api_types::Workers { workers }).into_response()
        }
        Err(words) => refused(&Refusal::new(Code::IngressUnavailable, words).fixed_by("ask again later")),
    }
}

async fn status(State(state): State<Arc<HttpState>>) -> Response {
    Json(api_types::OrganismStatus::of(&state.front)).into_response()
}
