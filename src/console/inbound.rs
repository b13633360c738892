//! Messages over HTTP: the body is read up to the limit and no further, handed in under the client of
//! the credential, and answered when the log has it. What is too large is refused unread, and that is
//! recorded with the little that came.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_core::Stream as _;
use serde::Deserialize;

use super::http::{Asked, Caller, Desk, plain, refused, stopping};
use super::told;
use crate::runtime::front::{Front, Message};
use crate::runtime::runfile::random_hex;
use crate::runtime::waiting::Reply;
use systole_core::types::codes::Code;
use systole_core::types::flow::{self, Refused};
use systole_core::types::ids::{Key, Name};
use systole_core::types::limits;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;

/// How long a client may take to send a body: a mebibyte over a slow line, and no seat held for ever.
const BODY_MS: u64 = 30_000;

#[derive(Deserialize)]
pub(super) struct Beside {
    to: Option<String>,
    thread: Option<String>,
}

/// Takes a message in.
pub(super) async fn messages(
    State(desk): State<Arc<Desk>>,
    Extension(Caller(client)): Extension<Caller>,
    query: Asked<Beside>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Ok(Query(Beside { to, thread })) = query else {
        return plain(StatusCode::BAD_REQUEST, Code::Invalid, "to and thread may be given once each");
    };
    let key = match key(&headers) {
        Ok(key) => key,
        Err(words) => return plain(StatusCode::BAD_REQUEST, Code::Invalid, words),
    };
    let document = match read(&desk, &headers, body).await {
        Ok(document) => document,
        Err(Unread::TooLarge(refused)) => return too_large(&desk.front, client, key, *refused).await,
        Err(Unread::Broken(words)) => return plain(StatusCode::BAD_REQUEST, Code::Malformed, words),
        Err(Unread::TooSlow) => {
            let words = format!("the body did not come within {BODY_MS} ms");
            return plain(StatusCode::REQUEST_TIMEOUT, Code::IngressUnavailable, words);
        }
    };
    let claimed = desk.front.claimed(&client, &document);
    let message = Message { client, key: key.clone(), document, to, thread };
    match desk.front.ask(message).await {
        Some(Reply::Receipt(receipt, position)) => {
            let position = match position {
                Some(position) => position,
                None => earlier(&desk.front, &receipt, &key).await,
            };
            let told = told::Receipt::of(&receipt, position, key.as_str(), claimed);
            (StatusCode::ACCEPTED, Json(told)).into_response()
        }
        Some(Reply::Refused(refusal)) => refused(&refusal),
        Some(Reply::Done) | None => stopping(),
    }
}

/// The key that the client chose, or one drawn for it.
fn key(headers: &HeaderMap) -> Result<Key, String> {
    let chosen = headers.get("idempotency-key").map(|value| value.to_str().map(str::to_owned));
    key_of(chosen.transpose().map_err(|_| "the idempotency key is not ASCII".to_owned())?)
}

/// A key that was chosen, or one drawn.
pub(super) fn key_of(chosen: Option<String>) -> Result<Key, String> {
    let chosen = match chosen {
        Some(chosen) => chosen,
        None => random_hex().map_err(|error| error.to_string())?,
    };
    Key::parse(&chosen).map_err(|malformed| malformed.to_string())
}

enum Unread {
    TooLarge(Box<Refused>),
    Broken(String),
    TooSlow,
}

/// Reads the body, never more of it than the limit.
async fn read(desk: &Desk, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Unread> {
    let limit = desk.front.composition().message_bytes;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if let Some(length) = announced.filter(|length| *length > limit as u64) {
        return Err(Unread::TooLarge(Box::new(larger(limit, Some(length), &[]))));
    }
    // The semaphore is never closed; without a seat the body would just be read unseated.
    let _seat = desk.bodies.acquire().await.ok();
    let mut parts = pin!(body.into_data_stream());
    let reading = async {
        let mut document = Vec::new();
        while let Some(part) = poll_fn(|cx| parts.as_mut().poll_next(cx)).await {
            let part = part.map_err(|error| Unread::Broken(format!("the body broke off: {error}")))?;
            if document.len() + part.len() > limit {
                return Err(Unread::TooLarge(Box::new(larger(limit, None, &document))));
            }
            document.extend_from_slice(&part);
        }
        Ok(document)
    };
    let deadline = Duration::from_millis(BODY_MS);
    tokio::time::timeout(deadline, reading).await.unwrap_or(Err(Unread::TooSlow))
}

pub(super) fn larger(limit: usize, announced: Option<u64>, came: &[u8]) -> Refused {
    let words = format!("the message is larger than {limit} bytes, the most that is taken");
    let mut refusal = Refusal::new(Code::TooLarge, words).mended_by("send less, or in several messages");
    refusal.received = announced.map(|length| format!("{length} bytes announced"));
    let excerpt = came.get(..limits::EXCERPT_BYTES).unwrap_or(came);
    Refused { refusal, kept: (!excerpt.is_empty()).then(|| Arc::from(excerpt)) }
}

/// Refuses what is too large, and closes the connection: the rest of the body is not read.
async fn too_large(front: &Front, client: Name, key: Key, too_large: Refused) -> Response {
    let response = match front.refuse(client, key, too_large).await {
        Some(Reply::Refused(refusal)) => refused(&refusal),
        _ => stopping(),
    };
    ([(header::CONNECTION, "close")], response).into_response()
}

/// Where the first of two equal messages is.
pub(super) async fn earlier(front: &Front, receipt: &flow::Receipt, key: &Key) -> Position {
    let (front, receipt, key) = (front.clone(), receipt.clone(), key.clone());
    let looked = tokio::task::spawn_blocking(move || front.position_of(&receipt, &key)).await;
    match looked {
        Ok(Ok(Some(position))) => position,
        // The receipt holds all the same; from the beginning is a position that misses nothing.
        _ => Position(0),
    }
}
