//! Retries over HTTP: what a retry of a failed thread would do, and the order. The credential names the client, and the
//! answer to the order comes when it is on disk.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use crate::limits::MOST_ENTRIES;
use systole_api::retry_types::{AnewShown, RetriesGiven, RetryRefused, RetryShown, ThreadRetried};
use systole_api::types::{ApiReceipt, ApiRefusal};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::{ApiCall, HttpState, ParsedQuery};
use systole_hall::log_view::{LogMoment, MomentAsked};
use systole_hall::reading::{QueryFields, ReadFault, find_threads};
use systole_hall::request_refusals::{
    check_done, read_thread, refuse_message, refuse_request, refuse_stopping,
};
use systole_hall::steering::check_note;
use systole_organism::anew::{AnewRequest, AnewSent};
use systole_organism::order::RetryRequest;
use systole_organism::waiting::SenderReply;
use systole_queries::anew::AnewChange;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/v1/threads/{thread}/retry", preview_retry),
        DoorRoute::post("/v1/threads/{thread}/retry", retry_thread),
        DoorRoute::post("/v1/retry", retry_failed),
    ]
}

/// The fields of an order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryFields {
    note: Option<String>,
    seen: Option<String>,
    effects: Option<bool>,
    anew: Option<AnewWord>,
}

/// What is done about a request that is sent anew.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AnewWord {
    /// It is only shown.
    Show,
    Send,
}

/// What a retry would do.
async fn preview_retry(call: ApiCall, Path(typed): Path<String>) -> Result<Json<RetryShown>, Response> {
    let thread = read_thread(&typed)?;
    let preview = call.state.front.preview_retry(&call.client, &thread).await;
    let preview = preview.map_err(|refusal| refuse_message(&refusal))?;
    Ok(Json(RetryShown::from(preview)))
}

/// Tries a failed thread again, or sends its request anew.
async fn retry_thread(
    call: ApiCall,
    Path(typed): Path<String>,
    query: ParsedQuery<RetryFields>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Response> {
    let thread = read_thread(&typed)?;
    let unread =
        |_| refuse_request("it takes note, seen, effects (true or false) and anew (show or send), each once");
    let RetryFields { note, seen, effects, anew } = query.map_err(unread)?.0;
    let note = check_note(note).map_err(refuse_request)?;
    let seen = seen.as_deref().map(Digest::parse).transpose();
    let seen = seen.map_err(|malformed| refuse_request(format!("seen: {malformed}")))?;
    let allows_effects = effects == Some(true);
    if let Some(word) = anew {
        if note.is_some() {
            return Err(refuse_request("anew takes no note: the request is a message of its own"));
        }
        let change = AnewChange::Values(read_values(body)?);
        if word == AnewWord::Show {
            let preview = call.state.front.preview_anew(&call.client, &thread, change).await;
            let preview = preview.map_err(|refusal| refuse_message(&refusal))?;
            return Ok(Json(AnewShown::from(preview)).into_response());
        }
        return send_anew(&call.state, AnewRequest { by: call.client, thread, seen, change, allows_effects })
            .await;
    }
    let retried = thread.to_string();
    let request = RetryRequest { by: call.client, thread, seen, note, allows_effects };
    check_done(call.state.front.retry_thread(request).await)?;
    Ok(Json(ThreadRetried { retried }).into_response())
}

/// The values of a request that is sent anew: a list of `NAME=VALUE`, or nothing.
fn read_values(body: Result<Bytes, BytesRejection>) -> Result<Vec<String>, Response> {
    let body = body.map_err(|_| refuse_request("the body is incomplete, or longer than any order"))?;
    if body.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(&body).map_err(|error| {
        refuse_request(format!("the body is not a list of values, as [\"NAME=VALUE\"]: {error}"))
    })
}

/// Sends the request of a failed thread anew. The answer is the receipt of the message.
async fn send_anew(state: &HttpState, order: AnewRequest) -> Result<Response, Response> {
    match state.front.send_anew(order).await {
        Some(Ok(AnewSent { receipt, position, key })) => {
            Ok(Json(ApiReceipt::from_receipt(&receipt, position, key.as_str())).into_response())
        }
        Some(Err(refusal)) => Err(refuse_message(&refusal)),
        None => Err(refuse_stopping()),
    }
}

/// The fields of a list that say which failed threads are tried again.
const FILTERS: [&str; 8] = ["since", "until", "listener", "client", "name", "code", "q", "after"];

/// An order about all failed threads that a filter fits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterOrder {
    #[serde(default)]
    filter: BTreeMap<String, String>,
    /// The position up to which their list was read.
    at: u64,
    note: Option<String>,
    #[serde(default)]
    effects: bool,
}

/// A failed thread of the list.
struct FailedThread {
    id: ThreadId,
    seq: u64,
    /// The position of its last record.
    last: Position,
}

/// Tries all failed threads again that a filter fits, one after another. One with a record after the list is left as it
/// is.
async fn retry_failed(
    call: ApiCall,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<RetriesGiven>, Response> {
    let body = body.map_err(|_| refuse_request("the body is incomplete, or longer than any order"))?;
    let order: FilterOrder = serde_json::from_slice(&body)
        .map_err(|error| refuse_request(format!("the body is not an order: {error}")))?;
    let FilterOrder { filter, at, note, effects } = order;
    let note = check_note(note).map_err(refuse_request)?;
    let (threads, next) = find_failed(&call, filter).await?;
    let mut given = RetriesGiven { next, ..RetriesGiven::default() };
    for thread in threads {
        let id = thread.id.to_string();
        match retry_listed(&call, thread, (Position(at), note.clone(), effects)).await? {
            Ok(()) => given.retried.push(id),
            Err(refusal) => {
                given.refused.push(RetryRefused { thread: id, refusal: ApiRefusal::from(&*refusal) });
            }
        }
    }
    Ok(Json(given))
}

/// The failed threads that a filter fits, and the one after which their list goes on.
async fn find_failed(
    call: &ApiCall,
    filter: BTreeMap<String, String>,
) -> Result<(Vec<FailedThread>, Option<String>), Response> {
    let unknown = filter.keys().find(|name| !FILTERS.contains(&name.as_str()));
    if let Some(name) = unknown {
        let words = format!("filter: {name}: it takes {}", FILTERS.join(", "));
        return Err(refuse_request(words));
    }
    let known = [&FILTERS[..], &["failed"]].concat();
    let pairs = filter.into_iter().chain([("failed".to_owned(), "true".to_owned())]).collect();
    let fields = QueryFields::of(Ok(Query(pairs)), &known)?;
    let read = move |moment: &LogMoment| {
        let found = find_threads(moment, &fields, MOST_ENTRIES).and_then(|part| {
            let mut threads = Vec::new();
            for listed in &part.threads {
                let (id, seq) = (listed.entry.thread.clone(), listed.records);
                let last = moment.reader.of_thread(&id, seq, 1)?.pop().map(|(position, _)| position);
                threads.extend(last.map(|last| FailedThread { id, seq, last }));
            }
            Ok((threads, part.next.map(|id| id.to_string())))
        });
        ReadFault::split_result(found)
    };
    let state = &call.state;
    let found = state.views.run_reading(&state.front, &call.client, MomentAsked::default(), read).await;
    Ok(found.map_err(|refusal| refuse_message(&refusal))??)
}

/// Tries a thread of the list again, unless it has gone on since.
async fn retry_listed(
    call: &ApiCall,
    FailedThread { id, seq, last }: FailedThread,
    (at, note, allows_effects): (Position, Option<String>, bool),
) -> Result<Result<(), Box<Refusal>>, Response> {
    let preview = match call.state.front.preview_retry(&call.client, &id).await {
        Ok(preview) => preview,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if last > at || preview.seq != seq {
        let words = format!("the thread has gone on since position {}", at.0);
        return Ok(Err(Box::new(Refusal::new(Code::RetryMoved, words).fixed_by(Code::RetryMoved.fix()))));
    }
    let (by, seen) = (call.client.clone(), Some(preview.head));
    let request = RetryRequest { by, thread: id, seen, note, allows_effects };
    match call.state.front.retry_thread(request).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(Ok(())),
        Some(SenderReply::Refused(refusal)) => Ok(Err(refusal)),
        None => Err(refuse_stopping()),
    }
}
