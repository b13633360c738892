//! The door for editors: `systole acp` posts what an editor writes to it, line by line, in the Agent Client Protocol,
//! version 1. A session is a thread, and a prompt is a message with all that follows.
//!
//! It keeps nothing but the requests to the editor that are open, and what it remembers of a session for its comfort.
//! Behind each update with an id the rest can be had, also after a restart: the prompt is posted again under the same key.

mod asking;
mod editor;
mod faults;
mod following;
mod loading;
mod memory;
mod params;
mod places;
mod prompts;
mod sessions;
mod tool_calls;
mod updates;

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};

use crate::limits;
use asking::read_answer;
use editor::{AcpDoor, AcpEditor, SESSION};
use faults::AcpResult;
use params::AcpParams;
use sessions::stop_session;
use systole_core::types::client::ClientDoor;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_doorway::page_origin;
use systole_doorway::rpc::{self, RpcAnswer, RpcFault, RpcIncoming};
use systole_following::wire_events::answer_events;
use systole_hall::door_row::{DoorRoute, DoorRow, enter_with_token};
use systole_hall::http_state::{ApiCall, BodySeats, HttpState};
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::request_refusals::{refuse_plainly, refuse_request};
use systole_hall::runs::form_answers::FormEnd;
use systole_hall::runs::posted_answers::take_posted;
use systole_hall::runs::work::finish_work;

/// The door. Its state are the requests to editors that are open, and what it remembers for their comfort.
pub(super) static DOOR: DoorRow = DoorRow {
    paths: &["/acp"],
    routes: &[list_routes],
    enter: |visit| Box::pin(enter_with_token(visit, ClientDoor::Acp)),
    is_described: false,
};

fn list_routes() -> Vec<DoorRoute> {
    let mut route = DoorRoute::post("/acp", post_message);
    let bounds = AcpDoor {
        seats: BodySeats::new(limits::OWN_CHAT_BODIES, limits::CHAT_BODIES),
        forms: Arc::default(),
        memory: Arc::default(),
    };
    route.service = route.service.layer(Extension(Arc::new(bounds)));
    vec![route]
}

/// Takes one message, and answers it.
async fn post_message(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<AcpDoor>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Some(words) = page_origin::find_refusal(&headers, &state.addresses) {
        return refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
    }
    let read = {
        let _seat = door.seats.wait_for_seat(&client).await;
        inbound::read_up_to(limits::CHAT_BYTES, &headers, body).await
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(UnreadBody::TooLarge(refused)) => return refuse_request(refused.refusal.message),
        Err(UnreadBody::Broken(words)) => return refuse_request(words),
        Err(UnreadBody::TooSlow) => return refuse_request("the body came too slowly"),
    };
    let message = match rpc::read_incoming::<AcpParams>(&bytes) {
        Ok(RpcIncoming::Message(message)) => *message,
        Ok(RpcIncoming::Answer(answer)) => {
            let session = AcpEditor::read_session(&headers);
            let work = async move { Ok(post_answer((&state, &door), (client, session), answer).await) };
            // A decision that has begun is not cut off by an editor that leaves.
            let done: Result<Response, Box<Refusal>> = finish_work(work).await;
            return done.unwrap_or_else(|refusal| refuse_request(refusal.message));
        }
        Err((id, fault)) => return fault.build_response(id.as_ref()),
    };
    let Some(id) = message.id else {
        return take_notification((&state, &client), &message.method, &message.params).await;
    };
    let editor = AcpEditor::new((state, client), &door, &headers, id.clone());
    let answer = async {
        let AcpParams { prompt, mcp_servers, cursor, .. } = &message.params;
        let params = &message.params;
        match message.method.as_str() {
            "initialize" => Ok(editor.answer_initialize(params)),
            "session/new" => editor.begin_session(params, mcp_servers.as_deref().unwrap_or_default()),
            "session/list" => editor.list_sessions(params, cursor.as_deref()).await,
            "session/load" => editor.load_session(params, &headers).await,
            "session/resume" => editor.resume_session(params).await,
            "session/close" => {
                let found = editor.find_session(params).await?;
                stop_session((&editor.state, &editor.client), &found).await?;
                Ok(editor.answer_with(&json!({})))
            }
            "session/prompt" => editor.prompt(params, prompt.as_deref().unwrap_or_default(), &headers).await,
            other => Err(refuse_method(other)),
        }
    };
    answer.await.unwrap_or_else(|fault: RpcFault| fault.build_response(Some(&id)))
}

fn refuse_method(method: &str) -> RpcFault {
    let shown: String = method.chars().take(80).collect();
    RpcFault::refuse_method(format!(
        "there is no method {shown:?} here; there are initialize, session/new, session/list, session/load, \
         session/resume, session/prompt, session/cancel and session/close"
    ))
}

/// Acts on a notification. Only the end of a prompt means anything here.
async fn take_notification(
    (state, client): (&Arc<HttpState>, &Name),
    method: &str,
    params: &AcpParams,
) -> Response {
    if method == "session/cancel" {
        let stop = async {
            let found = sessions::find_session((state, client), params).await?;
            stop_session((state, client), &found).await
        };
        if let Err(fault) = stop.await {
            return refuse_request(format!("session/cancel: {}", fault.words()));
        }
    }
    StatusCode::ACCEPTED.into_response()
}

/// Takes the answer to a request that an editor was sent.
async fn post_answer(
    (state, door): (&HttpState, &AcpDoor),
    editor: (Name, String),
    RpcAnswer { id, result }: RpcAnswer,
) -> Response {
    match take_posted((state, &door.forms), editor, (&id, result.map(read_answer))).await {
        Ok(FormEnd::Taken | FormEnd::Left | FormEnd::NotShown(_)) => StatusCode::ACCEPTED.into_response(),
        Ok(FormEnd::Unknown) => refuse_request("no request of this organism waits for that answer"),
        Err(words) => refuse_request(words),
    }
}

impl AcpEditor {
    /// The answer to a request.
    fn answer_with(&self, result: &Value) -> Response {
        Json(rpc::build_result(&self.id, result)).into_response()
    }

    fn answer_initialize(&self, params: &AcpParams) -> Response {
        let session = self.name_session(params.client_capabilities.as_ref());
        let organism = self.state.front.composition();
        let result = json!({
            "protocolVersion": limits::ACP_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {
                    "image": prompts::takes_pictures(organism),
                    "audio": false,
                    "embeddedContext": true,
                },
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "authMethods": [],
            "agentInfo": {
                "name": organism.organism.as_str(),
                "title": "Systole",
                "version": env!("CARGO_PKG_VERSION"),
            },
        });
        ([(SESSION, session)], self.answer_with(&result)).into_response()
    }

    /// `session/new`. It says once that the servers of the editor are not started.
    fn begin_session(&self, params: &AcpParams, servers: &[Value]) -> AcpResult {
        sessions::check_folder(self.state.front.composition(), params)?;
        let id = sessions::draw_id((&self.state, &self.client))?;
        let answer = rpc::build_result(&self.id, &json!({"sessionId": id}));
        let names = servers.iter().filter_map(|server| server.get("name").and_then(Value::as_str));
        let names: Vec<String> =
            names.take(limits::SHOWN_REQUESTS).map(|name| name.chars().take(80).collect()).collect();
        let told = (!servers.is_empty()).then(|| {
            let words = format!(
                "MCP servers of the editor are not started: {}. The organism has those of its own file.",
                names.join(", ")
            );
            updates::write_update(&id, &self.write_notice(&words))
        });
        let messages = [answer].into_iter().chain(told);
        Ok(answer_events(messages.map(updates::send_alone).collect()))
    }
}
