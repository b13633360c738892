//! Messages over HTTP. The body is read up to the limit, handed in under the client of the
//! credential, and answered when the log has it. An oversized message is refused unread; the refusal
//! is recorded with the few bytes that came.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream as _;
use serde::Deserialize;

use super::door_row::DoorRoute;
use super::http_state::{ApiCall, HttpState, ParsedQuery};
use super::request_refusals::{
    describe_stopping, describe_unfit_request, refuse_message, refuse_plainly, refuse_request,
    refuse_stopping,
};
use crate::limits::{self, BODY_MS};
use systole_api::types::{AnsweredReceipt, ApiReceipt, FileStored};
use systole_core::types::codes::Code;
use systole_core::types::flow::Refused;
use systole_core::types::ids::{Key, Name};
use systole_core::types::limits::FILE_BYTES;
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_following::outcome::{read_wait, wait_for_outcome};
use systole_organism::front::{ClientMessage, OrganismHandle};
use systole_organism::runfile::draw_hex;
use systole_organism::sent_files::SentFile;
use systole_organism::waiting::SenderReply;
use systole_payloads::json_payload;

/// The routes of this file.
pub fn list_routes() -> Vec<DoorRoute> {
    vec![DoorRoute::post("/v1/messages", accept_message), DoorRoute::post("/v1/files", accept_file)]
}

/// Accepts a file, to which a later message of the client refers.
async fn accept_file(
    ApiCall { state, client }: ApiCall,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let read = {
        let _seat = state.bodies.wait_for_seat(&client).await;
        read_up_to(FILE_BYTES, &headers, body).await
    };
    let bytes = read.map_err(refuse_unread)?;
    let sent = keep_file(&state.front, &client, bytes).map_err(|refusal| refuse_message(&refusal))?;
    Ok((StatusCode::CREATED, Json(FileStored::from_sent(&sent))).into_response())
}

/// Keeps a file for a message of the client.
pub fn keep_file(front: &OrganismHandle, client: &Name, bytes: Vec<u8>) -> Result<SentFile, Box<Refusal>> {
    front.keep_file(client, bytes).unwrap_or_else(|| Err(Box::new(describe_stopping())))
}

#[derive(Deserialize)]
struct Beside {
    to: Option<String>,
    thread: Option<String>,
    element: Option<String>,
}

/// Accepts a message.
async fn accept_message(
    ApiCall { state, client }: ApiCall,
    query: ParsedQuery<Beside>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let Query(Beside { to, thread, element }) =
        query.map_err(|_| refuse_request("to, thread and element may be given once each"))?;
    if element.is_some() && !is_json(&headers) {
        return Err(refuse_request(
            "element= names the element of a body in JSON, with Content-Type: application/json",
        ));
    }
    let key = read_key(&headers).map_err(refuse_request)?;
    let wait = read_wait_header(&headers).map_err(|refusal| refuse_request(refusal.message))?;
    let subject = headers.get("systole-subject").map(|value| read_subject(value.as_bytes())).transpose();
    let subject = subject.map_err(|refusal| refuse_request(refusal.message))?;
    let bounds = state.messages.bounds_of(&client);
    let limit = state.front.composition().message_bytes;
    let announced = read_announced(&headers).and_then(|length| usize::try_from(length).ok());
    let room = bounds.wait_for_room(announced.map_or(limit, |length| length.min(limit))).await;
    let document = match read_body(&state, &client, &headers, body).await {
        Ok(document) => document,
        Err(unread) => return Err(answer_unread(&state.front, client, key, unread).await),
    };
    let document = match is_json(&headers) {
        true => {
            let asked = (to.as_deref(), element.as_deref());
            let keep = |bytes| keep_file(&state.front, &client, bytes);
            let organism = state.front.composition();
            match json_payload::build_payload(organism, &client, asked, &document, &keep) {
                Ok(document) => document,
                Err(Refused { refusal, kept: None }) => return Err(refuse_message(&refusal)),
                Err(unfit) => return Err(record_refusal(&state.front, client, key, unfit).await),
            }
        }
        false => document,
    };
    // Before the message is taken: a sender that finds no place to wait has sent nothing.
    let place = wait.map(|_| state.messages.take_place(&client)).transpose().map_err(|words| {
        let refusal = Refusal::new(Code::IngressUnavailable, words);
        refuse_message(&refusal.fixed_by("send it again later, or without Systole-Wait"))
    })?;
    let held = (room, bounds.wait_for_turn().await);
    let message = ClientMessage { client, key: key.clone(), document, to, thread, subject };
    match state.front.ask_holding(message, Some(Box::new(held))).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = state.front.locate_receipt(&receipt, position).await;
            let told = ApiReceipt::from_receipt(&receipt, position, key.as_str());
            let Some(wait) = wait else { return Ok((StatusCode::ACCEPTED, Json(told)).into_response()) };
            let result = wait_for_outcome(&state.front, &told, wait).await;
            drop(place);
            let status = if result.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
            Ok((status, Json(AnsweredReceipt { receipt: told, result })).into_response())
        }
        Some(SenderReply::Refused(refusal)) => Err(refuse_message(&refusal)),
        Some(SenderReply::Done) | None => Err(refuse_stopping()),
    }
}

/// The client's key, or a random one.
fn read_key(headers: &HeaderMap) -> Result<Key, String> {
    let chosen = headers.get("idempotency-key").map(|value| value.to_str().map(str::to_owned));
    choose_key(chosen.transpose().map_err(|_| "the idempotency key is not ASCII".to_owned())?)
}

/// How long the client waits for the outcome, if it does.
fn read_wait_header(headers: &HeaderMap) -> Result<Option<Duration>, Box<Refusal>> {
    let asked = headers.get("systole-wait").map(|value| String::from_utf8_lossy(value.as_bytes()));
    asked.map(|text| read_wait(&text)).transpose()
}

/// What a client says that the thread is about.
pub fn read_subject(header: &[u8]) -> Result<Subject, Box<Refusal>> {
    let read = std::str::from_utf8(header).map_err(|_| "it is not UTF-8".to_owned()).and_then(Subject::parse);
    read.map_err(|why| Box::new(describe_unfit_request(format!("Systole-Subject: {why}"))))
}

/// The given key, or a random one.
pub fn choose_key(chosen: Option<String>) -> Result<Key, String> {
    let chosen = match chosen {
        Some(chosen) => chosen,
        None => draw_hex().map_err(|error| error.to_string())?,
    };
    Key::parse(&chosen).map_err(|malformed| malformed.to_string())
}

/// Why a body was not read.
pub enum UnreadBody {
    /// It is larger than the limit.
    TooLarge(Box<Refused>),
    /// It is incomplete.
    Broken(String),
    /// It came too slowly.
    TooSlow,
}

/// The response to a request whose body was not read. If the body is too large, this is recorded under the key.
pub async fn answer_unread(front: &OrganismHandle, client: Name, key: Key, unread: UnreadBody) -> Response {
    match unread {
        UnreadBody::TooLarge(refused) => refuse_too_large(front, client, key, *refused).await,
        unread => refuse_unread(unread),
    }
}

/// The response to a body that is not read, of which no record is made.
fn refuse_unread(unread: UnreadBody) -> Response {
    match unread {
        UnreadBody::TooLarge(refused) => refuse_message(&refused.refusal),
        UnreadBody::Broken(words) => refuse_plainly(StatusCode::BAD_REQUEST, Code::Malformed, words),
        UnreadBody::TooSlow => {
            let words = format!("the body did not come within {BODY_MS} ms");
            refuse_plainly(StatusCode::REQUEST_TIMEOUT, Code::IngressUnavailable, words)
        }
    }
}

/// Reads the body of a client's message, up to the limit of the organism.
pub async fn read_body(
    state: &HttpState,
    client: &Name,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<u8>, UnreadBody> {
    let _seat = state.bodies.wait_for_seat(client).await;
    read_up_to(state.front.composition().message_bytes, headers, body).await
}

/// The length that the head announces for the body.
fn read_announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok())
}

/// Reads a body of that many bytes, or fewer, within the time that it may take.
pub async fn read_up_to(limit: usize, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, UnreadBody> {
    if let Some(length) = read_announced(headers).filter(|length| *length > limit as u64) {
        return Err(UnreadBody::TooLarge(Box::new(refuse_larger(limit, Some(length), &[]))));
    }
    let mut parts = pin!(body.into_data_stream());
    let reading = async {
        let mut document = Vec::new();
        while let Some(part) = poll_fn(|cx| parts.as_mut().poll_next(cx)).await {
            let part =
                part.map_err(|error| UnreadBody::Broken(format!("the body is incomplete: {error}")))?;
            if document.len() + part.len() > limit {
                return Err(UnreadBody::TooLarge(Box::new(refuse_larger(limit, None, &document))));
            }
            document.extend_from_slice(&part);
        }
        Ok(document)
    };
    let deadline = Duration::from_millis(BODY_MS);
    tokio::time::timeout(deadline, reading).await.unwrap_or(Err(UnreadBody::TooSlow))
}

/// The refusal of a message with too many bytes, which keeps what came of it.
pub fn refuse_larger(limit: usize, announced: Option<u64>, came: &[u8]) -> Refused {
    let words = format!("the message is larger than {limit} bytes, the most allowed");
    let mut refusal = Refusal::new(Code::TooLarge, words).fixed_by("send less, or in several messages");
    refusal.received = announced.map(|length| format!("{length} bytes announced"));
    let excerpt = came.get(..limits::EXCERPT_BYTES).unwrap_or(came);
    Refused { refusal, kept: (!excerpt.is_empty()).then(|| Arc::from(excerpt)) }
}

/// Refuses an oversized message and closes the connection: the rest of the body is not read.
async fn refuse_too_large(front: &OrganismHandle, client: Name, key: Key, too_large: Refused) -> Response {
    let response = record_refusal(front, client, key, too_large).await;
    ([(header::CONNECTION, "close")], response).into_response()
}

/// Records a refusal, and answers with it.
async fn record_refusal(front: &OrganismHandle, client: Name, key: Key, refused: Refused) -> Response {
    match front.record_refusal(client, key, refused).await {
        Some(SenderReply::Refused(refusal)) => refuse_message(&refusal),
        _ => refuse_stopping(),
    }
}

/// Whether a body is JSON, by its header.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
