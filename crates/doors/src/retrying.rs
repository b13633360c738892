//! Retries over HTTP: what a retry of a failed thread would do, and the order. The credential names the client, and the
//! answer to the order comes when it is on disk.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;

use super::api_types;
use super::door_row::DoorRoute;
use super::http_state::{Caller, HttpState, ParsedQuery};
use super::request_refusals::{refuse_message, refuse_plainly, refuse_request, refuse_stopping};
use super::steering::check_note;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, ThreadId};
use systole_organism::order::RetryRequest;
use systole_organism::waiting::SenderReply;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/v1/threads/{thread}/retry", preview_retry),
        DoorRoute::post("/v1/threads/{thread}/retry", retry_thread),
    ]
}

/// The fields of an order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryFields {
    note: Option<String>,
    seen: Option<String>,
    effects: Option<bool>,
}

fn read_thread(text: &str) -> Result<ThreadId, Box<Response>> {
    ThreadId::parse(text).map_err(|malformed| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Box::new(refuse_plainly(status, Code::UnknownThread, malformed.to_string()))
    })
}

/// What a retry would do.
async fn preview_retry(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    Path(thread): Path<String>,
) -> Response {
    let thread = match read_thread(&thread) {
        Ok(thread) => thread,
        Err(refused) => return *refused,
    };
    match state.front.preview_retry(&by, &thread).await {
        Ok(preview) => Json(api_types::RetryShown::from(preview)).into_response(),
        Err(refusal) => refuse_message(&refusal),
    }
}

/// Tries a failed thread again.
async fn retry_thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    Path(thread): Path<String>,
    query: ParsedQuery<RetryFields>,
) -> Response {
    let thread = match read_thread(&thread) {
        Ok(thread) => thread,
        Err(refused) => return *refused,
    };
    let fields = match query {
        Ok(query) => query.0,
        Err(_) => return refuse_request("it takes note, seen and effects (true or false), each once"),
    };
    let note = match check_note(fields.note) {
        Ok(note) => note,
        Err(words) => return refuse_request(words),
    };
    let seen = match fields.seen.as_deref().map(Digest::parse).transpose() {
        Ok(seen) => seen,
        Err(malformed) => return refuse_request(format!("seen: {malformed}")),
    };
    let retried = thread.to_string();
    let request = RetryRequest { by, thread, seen, note, allows_effects: fields.effects == Some(true) };
    match state.front.retry_thread(request).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => {
            Json(api_types::ThreadRetried { retried }).into_response()
        }
        Some(SenderReply::Refused(refusal)) => refuse_message(&refusal),
        None => refuse_stopping(),
    }
}
