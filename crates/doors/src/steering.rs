//! Orders over HTTP: decisions on requests for a person, and pauses. The credential names the
//! client, the body is JSON, and the answer comes when the order is on disk.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;

use super::api_types;
use super::door_row::DoorRoute;
use super::http_state::{Caller, HttpState, ParsedQuery};
use super::request_refusals::{refuse_message, refuse_plainly, refuse_request, refuse_stopping};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::limits;
use systole_core::types::person::{PersonDecision, PersonRequestId};
use systole_organism::validators::PersonOrder;
use systole_organism::waiting::SenderReply;
use systole_queries::pauses;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::post("/v1/approvals/{id}", decide_request),
        DoorRoute::post("/v1/pause", pause_all),
        DoorRoute::post("/v1/resume", resume_all),
        DoorRoute::post("/v1/threads/{thread}/pause", pause_thread),
        DoorRoute::post("/v1/threads/{thread}/resume", resume_thread),
    ]
}

/// Decides a request that waits for a person.
async fn decide_request(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Some(request) = PersonRequestId::parse(&id) else {
        return refuse_request("the id of a request is a and a number, as in a1");
    };
    let Ok(body) = body else { return refuse_request("the body is incomplete, or longer than any order") };
    let ruling = match serde_json::from_slice(&body) {
        Ok(ruling) => ruling,
        Err(error) => return refuse_request(format!("the body is not an order: {error}")),
    };
    let order = match read_order(by, request, ruling) {
        Ok(order) => order,
        Err(words) => return refuse_request(words),
    };
    let ruled = api_types::DecisionAccepted::from_decision(request, &order.says);
    match state.front.rule_request(order).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Json(ruled).into_response(),
        Some(SenderReply::Refused(refusal)) => refuse_message(&refusal),
        None => refuse_stopping(),
    }
}

/// The order in a body, or the error in it.
pub(super) fn read_order(
    by: Name,
    request: PersonRequestId,
    ruling: api_types::ApiRuling,
) -> Result<PersonOrder, String> {
    let api_types::ApiRuling { outcome, note, hash, payload, choice } = ruling;
    let hash = hash.as_deref().map(Digest::parse).transpose().map_err(|malformed| malformed.to_string())?;
    let note = check_note(note)?;
    let says = match (outcome, payload) {
        (api_types::DecisionOutcome::Approved, None) => PersonDecision::Approve,
        (api_types::DecisionOutcome::Rejected, None) if note.is_none() => {
            return Err("a rejection needs a note: it tells the caller what to fix".to_owned());
        }
        (api_types::DecisionOutcome::Rejected, None) => PersonDecision::Reject,
        (api_types::DecisionOutcome::Amended, Some(payload)) => PersonDecision::Amend(payload.into_bytes()),
        (api_types::DecisionOutcome::Amended, None) => return Err("an amendment needs a payload".to_owned()),
        (api_types::DecisionOutcome::Chosen, None) => PersonDecision::Choose(choice.clone()),
        (_, Some(_)) => return Err("only the outcome `amended` takes a payload".to_owned()),
    };
    if choice.is_some() && outcome != api_types::DecisionOutcome::Chosen {
        return Err("only the outcome `chosen` takes a choice".to_owned());
    }
    Ok(PersonOrder { by, request, hash, note, says })
}

/// A note with content, within the size limit.
pub(super) fn check_note(note: Option<String>) -> Result<Option<String>, String> {
    match note.filter(|note| !note.trim().is_empty()) {
        Some(note) if note.len() > limits::PERSON_TEXT_BYTES => {
            Err(format!("a note has {} bytes at most", limits::PERSON_TEXT_BYTES))
        }
        note => Ok(note),
    }
}

#[derive(Deserialize)]
pub(super) struct Noted {
    note: Option<String>,
}

/// Pauses a thread.
async fn pause_thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    Path(thread): Path<String>,
    query: ParsedQuery<Noted>,
) -> Response {
    steer_thread(&state, by, Some(&thread), true, query).await
}

/// Resumes a thread.
async fn resume_thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    Path(thread): Path<String>,
    query: ParsedQuery<Noted>,
) -> Response {
    steer_thread(&state, by, Some(&thread), false, query).await
}

/// Pauses everything.
async fn pause_all(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    query: ParsedQuery<Noted>,
) -> Response {
    steer_thread(&state, by, None, true, query).await
}

/// Resumes everything that has no separate pause.
async fn resume_all(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(by)): Extension<Caller>,
    query: ParsedQuery<Noted>,
) -> Response {
    steer_thread(&state, by, None, false, query).await
}

/// The pause that holds a thread in addition to its own. If the log cannot be read, there is no
/// answer.
async fn find_holding_pause(state: &HttpState, thread: ThreadId) -> Option<api_types::HoldingPause> {
    let reader = state.front.reader().clone();
    let looked = tokio::task::spawn_blocking(move || pauses::above(&*reader, &thread)).await;
    looked.ok()?.ok()?.map(api_types::HoldingPause::from)
}

async fn steer_thread(
    state: &HttpState,
    by: Name,
    thread: Option<&str>,
    halts: bool,
    query: ParsedQuery<Noted>,
) -> Response {
    let thread = match thread.map(ThreadId::parse).transpose() {
        Ok(thread) => thread,
        Err(malformed) => {
            return refuse_plainly(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::UnknownThread,
                malformed.to_string(),
            );
        }
    };
    let note = match query.map_err(|_| "note may be given once".to_owned()).and_then(|q| check_note(q.0.note))
    {
        Ok(note) => note,
        Err(words) => return refuse_request(words),
    };
    match state.front.pause_or_continue(by, thread.clone(), halts, note).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => {
            let held = match &thread {
                Some(id) => find_holding_pause(state, id.clone()).await,
                None => None,
            };
            Json(api_types::PauseChanged { thread: thread.map(|id| id.to_string()), paused: halts, held })
                .into_response()
        }
        Some(SenderReply::Refused(refusal)) => refuse_message(&refusal),
        None => refuse_stopping(),
    }
}
