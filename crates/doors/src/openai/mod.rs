//! The door for clients of the OpenAI API, at `/openai/v1`: each entry is a model, and a chat is a thread. Such clients
//! send their whole history with each request; `chat_threads` finds the thread that it is.
//!
//! It keeps nothing that is not in the log, and judges nothing. It is closed unless the organism's file opens it.

mod answer_headers;
mod api_time;
mod chat;
mod chat_hash;
mod chat_message;
mod chat_placing;
mod chat_request;
mod chat_threads;
mod chat_writer;
mod chunks;
mod decisions;
mod fault;
mod models;
mod responses;
mod sending_requests;

use std::sync::Arc;

use axum::Extension;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::any;

use chat_threads::ChatDoor;
use fault::{OpenaiFault, refuse_later};
use systole_core::types::client::ClientDoor;
use systole_doorway::page_origin;
use systole_hall::door_row::{DoorRoute, DoorRow, DoorVisit};
use systole_hall::http_state::Caller;
use systole_hall::request_refusals::read_bearer;

/// The door. Its state are the threads of chats.
pub(super) static DOOR: DoorRow = DoorRow {
    paths: &["/openai"],
    routes: &[list_routes],
    enter: |visit| Box::pin(enter_door(visit)),
    is_described: false,
};

fn list_routes() -> Vec<DoorRoute> {
    let door = Arc::<ChatDoor>::default();
    let mut chat = DoorRoute::post("/openai/v1/chat/completions", chat::complete_chat);
    chat.service = chat.service.layer(Extension(door.clone()));
    let models = [
        DoorRoute::get("/openai/v1/models", models::list_models),
        DoorRoute::get("/openai/v1/models/{model}", models::show_model),
    ];
    let known = models.into_iter().chain([chat]).chain(responses::list_routes(&door));
    let known = known.map(|route| DoorRoute { service: route.service.fallback(refuse_method), ..route });
    let other = ["/openai", "/openai/", "/openai/{*rest}"];
    let other = other.map(|path| DoorRoute { method: "any", path, service: any(refuse_path) });
    known.chain(other).collect()
}

/// Lets a known client in, if the door is open, and answers every other in the words of this door.
async fn enter_door(visit: DoorVisit) -> Response {
    let DoorVisit { state, visitor, mut request, next } = visit;
    let owner = read_bearer(request.headers()).and_then(|token| state.find_owner(token, ClientDoor::Openai));
    let Some(client) = owner.cloned() else {
        state.login_failed(visitor.address.ip()).await;
        let words =
            "send the header `Authorization: Bearer TOKEN`, as the API key, with the token of a client";
        return OpenaiFault::new(StatusCode::UNAUTHORIZED, "invalid_api_key", words).into_closing();
    };
    if state.front.composition().doors.openai.is_none() {
        let words = "this door is closed; `doors: {openai: true}` in the organism's file opens it";
        return OpenaiFault::new(StatusCode::NOT_FOUND, "door.closed", words).into_answer();
    }
    if let Some(words) = page_origin::find_refusal(request.headers(), &state.addresses) {
        return OpenaiFault::new(StatusCode::FORBIDDEN, "door.origin", words).into_answer();
    }
    if let Err(crowded) = visitor.let_in(&client) {
        return refuse_later(crowded).into_answer();
    }
    request.extensions_mut().insert(Caller(client));
    next.run(request).await
}

async fn refuse_method(method: Method) -> Response {
    let why = match method {
        Method::POST => "GET is taken here",
        Method::GET => "POST is taken here",
        _ => "nothing here is changed or deleted, the log keeps it",
    };
    let words = format!("there is no {method} at this address; {why}");
    OpenaiFault::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", words).into_answer()
}

async fn refuse_path(uri: Uri) -> Response {
    let shown: String = uri.path().chars().take(80).collect();
    let words = format!(
        "there is no {shown} here; there are /openai/v1/models, /openai/v1/chat/completions, /openai/v1/responses and /openai/v1/conversations"
    );
    OpenaiFault::new(StatusCode::NOT_FOUND, "unknown_url", words).into_answer()
}
