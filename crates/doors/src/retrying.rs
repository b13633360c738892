//! Retries over HTTP: what a retry of a failed thread would do, and the order. The credential names the client, and the
//! answer to the order comes when it is on disk.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use serde::Deserialize;

use super::api_types::{RetryShown, ThreadRetried};
use super::door_row::DoorRoute;
use super::http_state::{ApiCall, ParsedQuery};
use super::request_refusals::{check_done, read_thread, refuse_message, refuse_request};
use super::steering::check_note;
use systole_core::types::ids::Digest;
use systole_organism::order::RetryRequest;

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

/// What a retry would do.
async fn preview_retry(call: ApiCall, Path(typed): Path<String>) -> Result<Json<RetryShown>, Response> {
    let thread = read_thread(&typed)?;
    let preview = call.state.front.preview_retry(&call.client, &thread).await;
    let preview = preview.map_err(|refusal| refuse_message(&refusal))?;
    Ok(Json(RetryShown::from(preview)))
}

/// Tries a failed thread again.
async fn retry_thread(
    call: ApiCall,
    Path(typed): Path<String>,
    query: ParsedQuery<RetryFields>,
) -> Result<Json<ThreadRetried>, Response> {
    let thread = read_thread(&typed)?;
    let unread = |_| refuse_request("it takes note, seen and effects (true or false), each once");
    let RetryFields { note, seen, effects } = query.map_err(unread)?.0;
    let note = check_note(note).map_err(refuse_request)?;
    let seen = seen.as_deref().map(Digest::parse).transpose();
    let seen = seen.map_err(|malformed| refuse_request(format!("seen: {malformed}")))?;
    let retried = thread.to_string();
    let allows_effects = effects == Some(true);
    let request = RetryRequest { by: call.client, thread, seen, note, allows_effects };
    check_done(call.state.front.retry_thread(request).await)?;
    Ok(Json(ThreadRetried { retried }))
}
