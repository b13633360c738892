//! Routes of the running organism: the growing log as a stream, its status and workers, and orders that end threads.
//!
//! A client and its request come in; a stream, a value or a refusal goes out. Orders are answered once they are on disk.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use super::api_types;
use super::door_row::DoorRoute;
use super::events::{ClientEvents, RecordFollower};
use super::http_state::{Caller, HttpState};
use super::reading::{QueryFields, RawFields};
use super::request_refusals::{refuse_message, refuse_plainly, refuse_request, refuse_stopping};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/v1/events", stream_events),
        DoorRoute::get("/v1/status", show_status),
        DoorRoute::get("/v1/workers", count_workers),
        DoorRoute::post("/v1/listeners/{listener}/cancel", cancel_waiting),
        DoorRoute::post("/v1/threads/{thread}/cancel", cancel_thread),
        DoorRoute::post("/v1/threads/{thread}/end", end_thread),
    ]
}

/// Every record after a position, as it is written, with progress reports between the records if requested.
async fn stream_events(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    query: RawFields,
    headers: HeaderMap,
) -> Response {
    let fields = match QueryFields::of(query, &["from", "thread", "voice"]) {
        Ok(fields) => fields,
        Err(refusal) => return refusal.response(),
    };
    let (Ok(from), Ok(voice)) = (fields.number("from"), fields.flag("voice")) else {
        return refuse_request("from is a position in the log, a whole number; voice is true or false");
    };
    let thread = match fields.text("thread").map(ThreadId::parse).transpose() {
        Ok(thread) => thread,
        Err(malformed) => return refuse_request(malformed.to_string()),
    };
    let last = headers.get("last-event-id").map(|id| id.to_str().ok().and_then(|id| id.parse().ok()));
    let from = match last {
        Some(Some(last)) => Some(last),
        Some(None) => return refuse_request("last-event-id is the id of an event, a whole number"),
        None => from,
    };
    if let Err(refusal) = may_read(&state.front, &client, thread.as_ref()).await {
        return refuse_message(&refusal);
    }
    let seat = match state.followers.take_place(&client) {
        Ok(seat) => seat,
        Err(words) => {
            return refuse_plainly(StatusCode::SERVICE_UNAVAILABLE, Code::IngressUnavailable, words);
        }
    };
    // Progress reports have no position in the log, so a returning client may already have heard the stored
    // ones.
    let heard_from = from.filter(|_| last.is_none()).map(Position);
    let hearing = voice.then(|| state.front.listen(heard_from, thread.clone()));
    let from = from.map_or_else(|| *state.front.tail().borrow(), Position);
    let events = ClientEvents::new(RecordFollower::follow_after(&state.front, from, thread), hearing, seat);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events.into_stream())).into_response()
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

/// Ends a thread with everything that is open in it.
async fn cancel_thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
) -> Response {
    order_end(
        &thread,
        |id| state.front.cancel_thread(client, id),
        |cancelled| Json(api_types::ThreadCancelled { cancelled }),
    )
    .await
}

/// Ends the calls that wait for a listener, as far as the client may.
async fn cancel_waiting(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(listener): Path<String>,
) -> Response {
    let to = match Name::parse(&listener) {
        Ok(to) => to,
        Err(malformed) => return refuse_request(malformed.to_string()),
    };
    match state.front.cancel_waiting(&client, &to).await {
        Some(Ok(cancelled)) => Json(api_types::WaitingCancelled { to: listener, cancelled }).into_response(),
        Some(Err(refusal)) => refuse_message(&refusal),
        None => refuse_stopping(),
    }
}

/// Ends a root at rest.
async fn end_thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
) -> Response {
    order_end(
        &thread,
        |id| state.front.end_thread(client, id),
        |ended| Json(api_types::ThreadEnded { ended }),
    )
    .await
}

/// Ends a thread by an order, and reports the result.
async fn order_end<T: IntoResponse>(
    thread: &str,
    order: impl AsyncFnOnce(ThreadId) -> Option<SenderReply>,
    done: impl FnOnce(String) -> T,
) -> Response {
    let id = match ThreadId::parse(thread) {
        Ok(id) => id,
        Err(malformed) => {
            return refuse_plainly(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::UnknownThread,
                malformed.to_string(),
            );
        }
    };
    match order(id).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => done(thread.to_owned()).into_response(),
        Some(SenderReply::Refused(refusal)) => refuse_message(&refusal),
        None => refuse_stopping(),
    }
}

/// The workers over a broker: for clients that may read everything, since it names the listeners.
async fn count_workers(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    query: RawFields,
) -> Response {
    if let Err(refusal) = QueryFields::of(query, &[]) {
        return refusal.response();
    }
    if !state.front.composition().has_role(&client, Role::Read) {
        let words = "the list of workers over NATS is for clients with the role `read`";
        let refusal = Refusal::new(Code::IngressForbidden, words);
        return refuse_message(&refusal.fixed_by("the token of a client with `roles: [read]`"));
    }
    match state.front.count_workers().await {
        Ok(found) => {
            let workers = found.into_iter().map(|(name, workers)| (name.to_string(), workers)).collect();
            Json(api_types::Workers { workers }).into_response()
        }
        Err(words) => {
            refuse_message(&Refusal::new(Code::IngressUnavailable, words).fixed_by("ask again later"))
        }
    }
}

/// The status of the organism.
async fn show_status(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    query: RawFields,
) -> Response {
    if let Err(refusal) = QueryFields::of(query, &[]) {
        return refusal.response();
    }
    let mut status = api_types::OrganismStatus::read_status(&state.front);
    if !state.front.composition().has_role(&client, Role::Read) {
        // They name paths.
        status.alarms.clear();
    }
    let has = |role: &&Role| state.front.composition().has_role(&client, **role);
    status.roles = Some(Role::ALL.iter().filter(has).map(|role| role.as_str().to_owned()).collect());
    Json(status).into_response()
}
