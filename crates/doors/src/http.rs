//! The HTTP door: one address, a credential for each client, a few routes. It identifies a client only by the
//! credential, answers only after the log has the message, and rejects strangers before it reads their requests.
//!
//! Requests come in; receipts, refusals and the log's records go out as JSON. It never judges a payload, and
//! closing it is the first step of a stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

use super::routes;
use crate::limits;
use systole_api::types::ApiRefusal;
use systole_core::types::ports::Clock as _;
use systole_core::types::public_origin::PublicOrigin;
use systole_doorway::Doorway;
use systole_doorway::MessageBounds;
use systole_doorway::UnreadConnections;
use systole_doorway::Visitor;
use systole_doorway::compression;
use systole_doorway::entrance::DoorAddresses;
use systole_doorway::{ClientPlaces, SharedPlaces};
use systole_hall::door_reloads::DoorReloads;
use systole_hall::door_row::DoorVisit;
use systole_hall::http_state::{BodySeats, HttpState};
use systole_hall::log_view::LogViews;
use systole_hall::request_refusals::{describe_unfit_request, refuse_request};
use systole_hall::sessions::Sessions;
use systole_organism::front::OrganismHandle;
use systole_organism::keyring::Keyring;
use systole_system::clock::WallClock;
use systole_system::descriptors;
use systole_system::tasks::{self, RunningTask, TaskKind};

/// Why the door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpDoorFault {
    /// Another program listens at the address.
    #[error("{0} is in use by another program: stop it, or name another address under `console.listen`")]
    InUse(SocketAddr),
    /// The operating system's error.
    #[error("cannot listen on {0}: {1}; `console.listen` in the organism's file names the address")]
    Machine(SocketAddr, io::Error),
}

/// Binds the address first, so that a taken one is known before anything starts.
pub async fn bind_address(address: SocketAddr) -> Result<TcpListener, HttpDoorFault> {
    for _ in 0..limits::ADDRESS_TRIES {
        match listen_at(address) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tokio::time::sleep(limits::ADDRESS_PAUSE).await
            }
            Err(error) => return Err(HttpDoorFault::Machine(address, error)),
        }
    }
    Err(HttpDoorFault::InUse(address))
}

/// Many clients may come back at once.
fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::BACKLOG)
}

/// Binds that address, or a free port if another program listens there.
pub async fn bind_or_free(address: SocketAddr) -> Result<TcpListener, HttpDoorFault> {
    match listen_at(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bind_address(SocketAddr::new(address.ip(), 0)).await
        }
        taken => taken.map_err(|error| HttpDoorFault::Machine(address, error)),
    }
}

/// What the organism's file says about the pages.
#[derive(Default)]
pub struct ConsoleSettings {
    /// Their address behind a TLS proxy.
    pub public: Option<PublicOrigin>,
    /// The log beside which sessions are kept. Without one they end with the door.
    pub log: Option<PathBuf>,
    /// What it knows of reloads, if the organism can be reloaded.
    pub reloads: Option<DoorReloads>,
    /// What the door before has left.
    pub unread: UnreadConnections,
}

/// The open door.
pub struct HttpDoor {
    state: Arc<HttpState>,
    close: oneshot::Sender<()>,
    task: RunningTask,
    unread: UnreadConnections,
}

impl HttpDoor {
    /// Opens the door on an address that is already bound.
    pub fn open(
        listener: TcpListener,
        front: OrganismHandle,
        keyring: Keyring,
        settings: ConsoleSettings,
    ) -> HttpDoor {
        // A bound listener has an address; without one no page's `Host` would fit, and nothing else needs it.
        let bound = listener.local_addr().unwrap_or_else(|_| ([127, 0, 0, 1], 0).into());
        let sessions = settings.log.map(|log| Sessions::open_file(&log, &keyring, WallClock.now()));
        let state = Arc::new(HttpState {
            front,
            keyring,
            bodies: BodySeats::new(limits::OWN_BODIES, limits::BODIES),
            forms: BodySeats::new(limits::OWN_FORMS, limits::FORMS),
            // The other half is for programs, for streams and for those who only look.
            messages: MessageBounds::new(descriptors::read_limit() / 2),
            followers: SharedPlaces::new(limits::OWN_STREAMS, limits::STREAMS, limits::OPERATOR_STREAMS),
            failed_logins: Mutex::default(),
            guesses: Mutex::default(),
            views: LogViews::default(),
            addresses: DoorAddresses { bound, public: settings.public },
            reloads: settings.reloads,
            sessions: sessions.unwrap_or_default(),
            live: ClientPlaces::new(limits::OWN_STREAMS),
        });
        let router = systole_console::answer_others(routes::build_router())
            .layer(middleware::from_fn_with_state(state.clone(), guard_request))
            .layer(middleware::from_fn(compression::compress))
            .layer(middleware::from_fn(follow_request))
            .with_state(state.clone());
        let service = router.into_make_service_with_connect_info::<Visitor>();
        let (close, closed) = oneshot::channel::<()>();
        let unread = settings.unread;
        let doorway = Doorway::from_listener(listener).after_door(unread.clone());
        let work = async move {
            let closing = async { drop(closed.await) };
            if let Err(error) = axum::serve(doorway, service).with_graceful_shutdown(closing).await {
                tracing::error!(why = %error, fix = "systole stop, then systole run", "the HTTP door stopped by itself");
            }
        };
        let task = tasks::start_task(TaskKind::Door, work, async |_| ());
        HttpDoor { state, close, task, unread }
    }

    /// The address that the door listens on.
    pub fn address(&self) -> SocketAddr {
        self.state.addresses.bound
    }

    /// Leaves the connections from which nothing was read to the next door, once this one is closed.
    pub fn leave_unread(&self) {
        self.unread.keep_all(true);
    }

    /// Admits no new clients, and records the failed logins that were not reported yet. Connected clients
    /// continue until the pump ends; the returned task ends with the last of them.
    pub async fn close(self) -> RunningTask {
        // If the door has already shut, no task receives this.
        let _shut_before = self.close.send(());
        let rest = self.state.failed_logins.lock().unwrap_or_else(PoisonError::into_inner).take_rest();
        for (source, count) in rest {
            self.state.front.record_attempts(source, count).await;
        }
        self.task
    }
}

/// The refusal of a request whose head the door does not serve.
fn refuse_unfit_head(request: &Request) -> Option<Response> {
    let headers = request.headers();
    if let Some(words) = systole_console::guard::given_twice(headers) {
        return Some(refuse_request(words));
    }
    if request.version() == Version::HTTP_11 && !headers.contains_key(header::HOST) {
        return Some(refuse_request("the header Host is missing, which HTTP/1.1 requires"));
    }
    let is_none = |encoding: &[u8]| encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity");
    let encoding = headers.get(header::CONTENT_ENCODING).filter(|encoding| !is_none(encoding.as_bytes()))?;
    let shown = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
    let words =
        format!("Content-Encoding: {shown:?} is not known: send the body as it is, without that header");
    let refusal =
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, Json(ApiRefusal::from(&describe_unfit_request(words))));
    Some(([(header::ACCEPT_ENCODING, "identity")], refusal).into_response())
}

/// Notes when a request begins, and when its answer is complete: a stream is under way until its end.
async fn follow_request(
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    visitor.begin_request();
    let response = next.run(request).await;
    let answer = AnswerUnderWay(visitor);
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let (head, body) = response.into_parts();
    let parts = body.into_data_stream().map(move |part| {
        let _under_way = &answer;
        part
    });
    Response::from_parts(head, Body::from_stream(parts))
}

/// An answer that is not complete.
struct AnswerUnderWay(Visitor);

impl Drop for AnswerUnderWay {
    fn drop(&mut self) {
        self.0.end_answer();
    }
}

/// Refuses what no door takes, and leaves all else to the door of the path.
async fn guard_request(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(refusal) = refuse_unfit_head(&request) {
        return refusal;
    }
    if state.front.at_rest().is_some()
        && systole_console::read_only::changes(request.method(), request.uri().path())
    {
        return systole_console::read_only::refusal();
    }
    let enter = routes::find_door(request.uri().path()).enter;
    enter(DoorVisit { state, visitor, request, next }).await
}
