//! Routes of the running organism: the growing log as a stream, its status and workers, and orders that end threads.
//!
//! A client and its request come in; a stream, a value or a refusal goes out. Orders are answered once they are on disk.

use axum::Json;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use systole_api::types::{
    ListedFollowers, OrganismStatus, ThreadCancelled, ThreadEnded, WaitingCancelled, Workers,
    refuse_wide_reading,
};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_doorway::PlaceShortage;
use systole_following::events::{ClientEvents, RecordFollower};
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::ApiCall;
use systole_hall::reading::{QueryFields, RawFields};
use systole_hall::request_refusals::{
    check_done, read_thread, refuse_crowded, refuse_message, refuse_request, refuse_stopping,
};
use systole_organism::front::OrganismHandle;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/v1/events", stream_events),
        DoorRoute::get("/v1/status", show_status),
        DoorRoute::get("/v1/workers", count_workers),
        DoorRoute::get("/v1/followers", list_followers),
        DoorRoute::post("/v1/listeners/{listener}/cancel", cancel_waiting),
        DoorRoute::post("/v1/threads/{thread}/cancel", cancel_thread),
        DoorRoute::post("/v1/threads/{thread}/end", end_thread),
    ]
}

/// Every record after a position, as it is written, with progress reports between the records if requested.
async fn stream_events(
    ApiCall { state, client }: ApiCall,
    query: RawFields,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let fields = QueryFields::of(query, &["from", "thread", "voice"])?;
    let (Ok(from), Ok(voice)) = (fields.number("from"), fields.flag("voice")) else {
        let words = "from is a position in the log, a whole number; voice is true or false";
        return Err(refuse_request(words));
    };
    let thread = fields.text("thread").map(ThreadId::parse).transpose();
    let thread = thread.map_err(|malformed| refuse_request(malformed.to_string()))?;
    let last = headers.get("last-event-id").map(|id| id.to_str().ok().and_then(|id| id.parse().ok()));
    let from = match last {
        Some(Some(last)) => Some(last),
        Some(None) => return Err(refuse_request("last-event-id is the id of an event, a whole number")),
        None => from,
    };
    may_read(&state.front, &client, thread.as_ref()).await.map_err(|refusal| refuse_message(&refusal))?;
    let seat = state.followers.take_place(&client).map_err(|shortage| {
        refuse_crowded(match shortage {
            PlaceShortage::Own(most) => {
                format!("{client} follows the log {most} times already, the most for one client")
            }
            PlaceShortage::All(most) => {
                format!("the log is followed {most} times already, the most for all")
            }
        })
    })?;
    // Progress reports have no position in the log, so a returning client may already have heard the stored
    // ones.
    let heard_from = from.filter(|_| last.is_none()).map(Position);
    let hearing = voice.then(|| state.front.listen(heard_from, thread.clone()));
    let from = from.map_or_else(|| state.front.end(), Position);
    let events = ClientEvents::new(RecordFollower::follow_after(&state.front, from, thread), hearing, seat);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(events.into_stream())).into_response())
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

/// Ends a thread with everything that is open in it, or one of its top calls.
async fn cancel_thread(
    ApiCall { state, client }: ApiCall,
    Path(thread): Path<String>,
    query: RawFields,
) -> Result<Json<ThreadCancelled>, Response> {
    let id = read_thread(&thread)?;
    let call = QueryFields::of(query, &["call"])?.number("call");
    let call = call.ok().map(|call| call.map(u32::try_from).transpose()).and_then(Result::ok);
    let call = call.ok_or_else(|| refuse_request("call is the number of a top call, a whole number"))?;
    check_done(match call {
        None => state.front.cancel_thread(client, id).await,
        Some(call) => state.front.stop_run(client, id, call).await,
    })?;
    Ok(Json(ThreadCancelled { cancelled: thread, call }))
}

/// Ends the calls that wait for a listener, as far as the client may.
async fn cancel_waiting(
    call: ApiCall,
    Path(listener): Path<String>,
) -> Result<Json<WaitingCancelled>, Response> {
    let to = Name::parse(&listener).map_err(|malformed| refuse_request(malformed.to_string()))?;
    let cancelled = call.state.front.cancel_waiting(&call.client, &to).await.ok_or_else(refuse_stopping)?;
    let cancelled = cancelled.map_err(|refusal| refuse_message(&refusal))?;
    Ok(Json(WaitingCancelled { to: listener, cancelled }))
}

/// Ends a root at rest.
async fn end_thread(call: ApiCall, Path(thread): Path<String>) -> Result<Json<ThreadEnded>, Response> {
    let id = read_thread(&thread)?;
    check_done(call.state.front.end_thread(call.client, id).await)?;
    Ok(Json(ThreadEnded { ended: thread }))
}

/// The workers over a broker: for clients that may read everything, since it names the listeners.
async fn count_workers(
    ApiCall { state, client }: ApiCall,
    query: RawFields,
) -> Result<Json<Workers>, Response> {
    QueryFields::of(query, &[])?;
    if !state.front.composition().has_role(&client, Role::Read) {
        let words = "the list of workers over NATS is for clients with the role `read`";
        let refusal = Refusal::new(Code::IngressForbidden, words);
        return Err(refuse_message(&refusal.fixed_by("the token of a client with `roles: [read]`")));
    }
    let found = state.front.count_workers().await.map_err(|words| {
        refuse_message(&Refusal::new(Code::IngressUnavailable, words).fixed_by("ask again later"))
    })?;
    let workers = found.into_iter().map(|(name, workers)| (name.to_string(), workers)).collect();
    Ok(Json(Workers { workers }))
}

/// The followers of the log: for clients that may read everything, since it names receivers outside.
async fn list_followers(
    ApiCall { state, client }: ApiCall,
    query: RawFields,
) -> Result<Json<ListedFollowers>, Response> {
    QueryFields::of(query, &[])?;
    if !state.front.composition().has_role(&client, Role::Read) {
        return Err(refuse_message(&refuse_wide_reading("the list of followers is")));
    }
    Ok(Json(ListedFollowers { followers: state.front.followers() }))
}

/// The status of the organism.
async fn show_status(
    ApiCall { state, client }: ApiCall,
    query: RawFields,
) -> Result<Json<OrganismStatus>, Response> {
    QueryFields::of(query, &[])?;
    let mut status = OrganismStatus::read_status(&state.front);
    if !state.front.composition().has_role(&client, Role::Read) {
        // They name paths.
        status.alarms.clear();
    }
    let has = |role: &&Role| state.front.composition().has_role(&client, **role);
    status.roles = Some(Role::ALL.iter().filter(has).map(|role| role.as_str().to_owned()).collect());
    status.client = Some(client.to_string());
    Ok(Json(status))
}
