//! Orders over HTTP: decisions on requests for a person, and pauses. The credential names the
//! client, the body is JSON, and the answer comes when the order is on disk.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Deserialize;

use super::door_row::DoorRoute;
use super::http_state::{ApiCall, HttpState, ParsedQuery};
use super::request_refusals::{check_done, read_thread, refuse_request};
use systole_api::types::{ApiRuling, DecisionAccepted, DecisionOutcome, HoldingPause, PauseChanged};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::limits;
use systole_core::types::person::{PersonDecision, PersonRequestId};
use systole_organism::validators::PersonOrder;
use systole_queries::pauses;

/// The routes of this file.
pub fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::post("/v1/approvals/{id}", decide_request),
        serve_steering("/v1/pause", true),
        serve_steering("/v1/resume", false),
        serve_steering("/v1/threads/{thread}/pause", true),
        serve_steering("/v1/threads/{thread}/resume", false),
    ]
}

/// Decides a request that waits for a person.
async fn decide_request(
    call: ApiCall,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<DecisionAccepted>, Response> {
    let request = PersonRequestId::parse(&id)
        .ok_or_else(|| refuse_request("the id of a request is a and a number, as in a1"))?;
    let body = body.map_err(|_| refuse_request("the body is incomplete, or longer than any order"))?;
    let ruling = serde_json::from_slice(&body)
        .map_err(|error| refuse_request(format!("the body is not an order: {error}")))?;
    let order = read_order(call.client, request, ruling).map_err(refuse_request)?;
    let ruled = DecisionAccepted::from_decision(request, &order.says);
    check_done(call.state.front.rule_request(order).await)?;
    Ok(Json(ruled))
}

/// The order in a body, or the error in it.
pub fn read_order(by: Name, request: PersonRequestId, ruling: ApiRuling) -> Result<PersonOrder, String> {
    let ApiRuling { outcome, note, hash, payload, choice } = ruling;
    let hash = hash.as_deref().map(Digest::parse).transpose().map_err(|malformed| malformed.to_string())?;
    let note = check_note(note)?;
    let says = match (outcome, payload) {
        (DecisionOutcome::Approved, None) => PersonDecision::Approve,
        (DecisionOutcome::Rejected, None) if note.is_none() => {
            return Err("a rejection needs a note: it tells the caller what to fix".to_owned());
        }
        (DecisionOutcome::Rejected, None) => PersonDecision::Reject,
        (DecisionOutcome::Amended, Some(payload)) => PersonDecision::Amend(payload.into_bytes()),
        (DecisionOutcome::Amended, None) => return Err("an amendment needs a payload".to_owned()),
        (DecisionOutcome::Chosen, None) => PersonDecision::Choose(choice.clone()),
        (_, Some(_)) => return Err("only the outcome `amended` takes a payload".to_owned()),
    };
    if choice.is_some() && outcome != DecisionOutcome::Chosen {
        return Err("only the outcome `chosen` takes a choice".to_owned());
    }
    Ok(PersonOrder { by, request, hash, note, says })
}

/// A note with content, within the size limit.
pub fn check_note(note: Option<String>) -> Result<Option<String>, String> {
    match note.filter(|note| !note.trim().is_empty()) {
        Some(note) if note.len() > limits::PERSON_TEXT_BYTES => {
            Err(format!("a note has {} bytes at most", limits::PERSON_TEXT_BYTES))
        }
        note => Ok(note),
    }
}

#[derive(Deserialize)]
pub(crate) struct Noted {
    note: Option<String>,
}

/// A route that pauses or resumes the thread of its path, or everything.
fn serve_steering(path: &'static str, halts: bool) -> DoorRoute {
    let serve = move |call: ApiCall, Path(parts): Path<BTreeMap<String, String>>, query| {
        steer_thread(call, parts, halts, query)
    };
    DoorRoute::post(path, serve)
}

/// The pause that holds a thread in addition to its own. If the log cannot be read, there is no
/// answer.
async fn find_holding_pause(state: &HttpState, thread: ThreadId) -> Option<HoldingPause> {
    let reader = state.front.reader().clone();
    let looked = tokio::task::spawn_blocking(move || pauses::above(&*reader, &thread)).await;
    looked.ok()?.ok()?.map(HoldingPause::from)
}

async fn steer_thread(
    ApiCall { state, client }: ApiCall,
    parts: BTreeMap<String, String>,
    halts: bool,
    query: ParsedQuery<Noted>,
) -> Result<Json<PauseChanged>, Response> {
    let thread = parts.get("thread").map(|typed| read_thread(typed)).transpose()?;
    let note = query.map_err(|_| refuse_request("note may be given once"))?.0.note;
    let note = check_note(note).map_err(refuse_request)?;
    check_done(state.front.pause_or_continue(client, thread.clone(), halts, note).await)?;
    let held = match &thread {
        Some(id) => find_holding_pause(&state, id.clone()).await,
        None => None,
    };
    Ok(Json(PauseChanged { thread: thread.map(|id| id.to_string()), paused: halts, held }))
}
