//! The door for other agents, which speak A2A 1.0: over JSON-RPC and over HTTP with JSON, both at `/a2a`. A context is a
//! thread, and a task is one message with all that follows.
//!
//! It judges nothing, and keeps nothing that is not in the log. It is closed unless the organism's file opens it.

mod answered;
mod card;
mod faults;
mod following;
mod listing;
mod messages;
mod params;
mod sending;
mod tasks;
mod writer;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json};
use serde_json::{Value, json};

use crate::limits;
use answered::AnsweredMessages;
use faults::{A2aFault, A2aResult, FaultKind};
use following::WriteUpdate;
use params::{A2aParams, NO_PUSH};
use systole_core::types::client::ClientDoor;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name};
use systole_doorway::SharedPlace;
use systole_doorway::page_origin;
use systole_doorway::rpc::{self, RpcIncoming};
use systole_hall::door_row::{DoorRoute, DoorRow, DoorVisit};
use systole_hall::http_state::{ApiCall, BodySeats, Caller, HttpState};
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::request_refusals::{read_bearer, refuse_crowded, refuse_plainly, without_token};
use systole_hall::runs::work::{finish_work, take_run_place};
use tasks::OpenTask;

/// The door.
pub(super) static DOOR: DoorRow = DoorRow {
    paths: &["/a2a", card::CARD],
    routes: &[list_routes],
    enter: |visit| Box::pin(enter_door(visit)),
    is_described: false,
};

/// What a body may be.
const TAKEN_KINDS: [&str; 2] = ["application/json", "application/a2a+json"];

/// What the door has of its own: bounds, and which messages have answered a question just now.
struct A2aDoor {
    seats: BodySeats,
    answered: AnsweredMessages,
}

fn list_routes() -> Vec<DoorRoute> {
    let seats = BodySeats::new(limits::OWN_CHAT_BODIES, limits::CHAT_BODIES);
    let door = Extension(Arc::new(A2aDoor { seats, answered: AnsweredMessages::default() }));
    let mut rest = DoorRoute { method: "any", path: "/a2a/{*rest}", service: any(serve_http) };
    rest.service = rest.service.layer(door.clone());
    let rpc = ["/a2a", "/a2a/"].map(|path| {
        let route = DoorRoute::post(path, serve_rpc);
        DoorRoute { service: route.service.layer(door.clone()).fallback(refuse_method), ..route }
    });
    [DoorRoute::get(card::CARD, show_card), rest].into_iter().chain(rpc).collect()
}

/// Lets a known client in, if the door is open, and everyone to the public card.
async fn enter_door(visit: DoorVisit) -> Response {
    let DoorVisit { state, visitor, mut request, next } = visit;
    let is_open = state.front.composition().doors.a2a.is_some();
    let closed = || {
        let words = "this door is closed; `doors: {a2a: true}` in the organism's file opens it";
        refuse_plainly(StatusCode::NOT_FOUND, Code::Unavailable, words)
    };
    if request.uri().path() == card::CARD {
        return if is_open { next.run(request).await } else { closed() };
    }
    let owner = read_bearer(request.headers()).and_then(|token| state.find_owner(token, ClientDoor::A2a));
    let Some(client) = owner.cloned() else {
        state.login_failed(visitor.address.ip()).await;
        return without_token();
    };
    if !is_open {
        return closed();
    }
    if let Some(words) = page_origin::find_refusal(request.headers(), &state.addresses) {
        return refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
    }
    if let Err(crowded) = visitor.let_in(&client) {
        return refuse_crowded(crowded);
    }
    request.extensions_mut().insert(Caller(client));
    next.run(request).await
}

/// The public card. It is the same for as long as the organism runs.
async fn show_card(State(state): State<Arc<HttpState>>) -> Response {
    let card = card::write_public(&state).to_string();
    let tag = format!("\"{}\"", Digest::hash_bytes(card.as_bytes()));
    let kept = "max-age=60".to_owned();
    let kind = "application/json".to_owned();
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept), (header::ETAG, tag)], card).into_response()
}

async fn refuse_method() -> Response {
    A2aFault::new(FaultKind::Method, "POST takes a request of JSON-RPC here").answer_http()
}

/// One request, whatever its binding.
struct A2aCall {
    state: Arc<HttpState>,
    client: Name,
    door: Arc<A2aDoor>,
    /// How an update of a stream is written.
    write: WriteUpdate,
}

/// The result of a method, or a stream that has begun.
enum A2aAnswer {
    Value(Value),
    Stream(Response),
}

/// The version that a request is written in. Without one it is an older one.
fn check_version(headers: &HeaderMap, uri: &Uri) -> A2aResult<()> {
    let of_header = headers.get("a2a-version").map(|version| version.to_str().unwrap_or_default().to_owned());
    let query = uri.query().unwrap_or_default();
    let of_query = || {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(name, _)| name == "A2A-Version").map(|(_, version)| version.into_owned())
    };
    let version = of_header.or_else(of_query).unwrap_or_default();
    let is_known = version == card::PROTOCOL
        || version.strip_prefix(card::PROTOCOL).is_some_and(|rest| rest.starts_with('.'));
    if is_known {
        return Ok(());
    }
    let shown: String = version.chars().take(40).collect();
    let words =
        format!("A2A-Version is {shown:?}, and {} is spoken here: send it as a header", card::PROTOCOL);
    Err(A2aFault::new(FaultKind::Version, words))
}

async fn read_body(call: (&A2aDoor, &Name), headers: &HeaderMap, body: Body) -> A2aResult<Vec<u8>> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim).filter(|kind| !kind.is_empty());
    if kind.is_some_and(|kind| !TAKEN_KINDS.iter().any(|taken| kind.eq_ignore_ascii_case(taken))) {
        let words = format!("Content-Type is none of {}", TAKEN_KINDS.join(", "));
        return Err(A2aFault::new(FaultKind::Content, words));
    }
    let _seat = call.0.seats.wait_for_seat(call.1).await;
    inbound::read_up_to(limits::CHAT_BYTES, headers, body).await.map_err(|unread| match unread {
        UnreadBody::TooLarge(refused) => Box::new(refused.refusal).into(),
        UnreadBody::Broken(words) => A2aFault::new(FaultKind::Request, words),
        UnreadBody::TooSlow => A2aFault::new(FaultKind::Request, "the body came too slowly"),
    })
}

/// JSON-RPC.
async fn serve_rpc(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<A2aDoor>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let bytes = match read_body((&door, &client), &headers, body).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault.answer_rpc(None),
    };
    let message = match rpc::read_incoming::<A2aParams>(&bytes) {
        Ok(RpcIncoming::Message(message)) => *message,
        Ok(RpcIncoming::Answer(_)) => {
            return A2aFault::new(FaultKind::Request, "this server sends no requests").answer_rpc(None);
        }
        Err((id, fault)) => return A2aFault::from(fault).answer_rpc(id.as_ref()),
    };
    let Some(id) = message.id else {
        return A2aFault::new(FaultKind::Request, "id is missing: every request here has an answer")
            .answer_rpc(None);
    };
    if let Err(fault) = check_version(&headers, &uri) {
        return fault.answer_rpc(Some(&id));
    }
    let of_request = id.clone();
    let write = Box::new(move |update: Value| rpc::build_result(&of_request, &update));
    let call = A2aCall { state, client, door, write };
    match call.serve(message.method, message.params).await {
        Ok(A2aAnswer::Value(result)) => Json(rpc::build_result(&id, &result)).into_response(),
        Ok(A2aAnswer::Stream(stream)) => stream,
        Err(fault) => fault.answer_rpc(Some(&id)),
    }
}

/// HTTP with JSON: each address is a method.
async fn serve_http(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<A2aDoor>>,
    Path(rest): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let serve = async {
        check_version(&head.headers, &head.uri)?;
        let (method, id) = find_method(&head.method, &rest)?;
        let params = if matches!(method, "SendMessage" | "SendStreamingMessage") {
            let bytes = read_body((&door, &client), &head.headers, body).await?;
            serde_json::from_slice(&bytes).map_err(|error| {
                let kind = if error.is_data() { FaultKind::Params } else { FaultKind::Parse };
                A2aFault::new(kind, format!("the body is no message: {error}"))
            })?
        } else {
            A2aParams::parse_query(&head.uri, id)?
        };
        let call = A2aCall { state, client, door, write: Box::new(|update| update) };
        call.serve(method.to_owned(), params).await
    };
    match serve.await {
        Ok(A2aAnswer::Value(result)) => Json(result).into_response(),
        Ok(A2aAnswer::Stream(stream)) => stream,
        Err(fault) => fault.answer_http(),
    }
}

/// The method that an address is, and the task in it.
fn find_method(method: &Method, rest: &str) -> A2aResult<(&'static str, Option<String>)> {
    let (is_get, is_post) = (method == Method::GET, method == Method::POST);
    let unknown = || {
        let shown: String = rest.chars().take(80).collect();
        let words = format!(
            "there is no {method} of /a2a/{shown}; there are message:send, message:stream, tasks, tasks/ID, \
             tasks/ID:cancel, tasks/ID:subscribe and extendedAgentCard"
        );
        A2aFault::new(FaultKind::Method, words)
    };
    match rest {
        "message:send" if is_post => return Ok(("SendMessage", None)),
        "message:stream" if is_post => return Ok(("SendStreamingMessage", None)),
        "tasks" if is_get => return Ok(("ListTasks", None)),
        "extendedAgentCard" if is_get => return Ok(("GetExtendedAgentCard", None)),
        _ => {}
    }
    let task = rest.strip_prefix("tasks/").ok_or_else(unknown)?;
    if task.contains("/pushNotificationConfigs") {
        return Err(A2aFault::new(FaultKind::Push, NO_PUSH));
    }
    let (id, order) = task.split_once(':').unwrap_or((task, ""));
    let method = match order {
        "" if is_get => "GetTask",
        "cancel" if is_post => "CancelTask",
        "subscribe" if is_get || is_post => "SubscribeToTask",
        _ => return Err(unknown()),
    };
    Ok((method, Some(id.to_owned())))
}

impl A2aCall {
    async fn serve(self, method: String, params: A2aParams) -> A2aResult<A2aAnswer> {
        params.check()?;
        let (state, client) = (&self.state, &self.client);
        let value = |value| Ok(A2aAnswer::Value(value));
        match method.as_str() {
            "SendMessage" => self.send(params, false).await,
            "SendStreamingMessage" => self.send(params, true).await,
            "GetTask" => {
                let history = params.count_history()?;
                let task = OpenTask::find(state, client, params.task()?).await?;
                value(task.read_now().await?.write_task(history, true))
            }
            "ListTasks" => value(listing::list_tasks(state, client, &params).await?),
            "CancelTask" => {
                let task = OpenTask::find(state, client, params.task()?).await?;
                let cancelled = finish_work(async move { task.cancel().await });
                value(cancelled.await?.write_task(usize::MAX, true))
            }
            "SubscribeToTask" => {
                let task = OpenTask::find(state, client, params.task()?).await?;
                let now = task.read_now().await?;
                if now.has_ended() {
                    let words = format!("the task is over, {}: GetTask has its end", now.state());
                    return Err(A2aFault::new(FaultKind::Unsupported, words));
                }
                let place = self.take_place()?;
                Ok(A2aAnswer::Stream(task.stream((usize::MAX, true), self.write, place).await?))
            }
            "GetExtendedAgentCard" => value(card::write_extended(state, client)),
            "CreateTaskPushNotificationConfig"
            | "GetTaskPushNotificationConfig"
            | "ListTaskPushNotificationConfigs"
            | "DeleteTaskPushNotificationConfig" => Err(A2aFault::new(FaultKind::Push, NO_PUSH)),
            other => {
                let shown: String = other.chars().take(80).collect();
                Err(A2aFault::new(FaultKind::Method, format!("there is no method {shown:?}")))
            }
        }
    }

    /// A place among those who follow.
    fn take_place(&self) -> A2aResult<SharedPlace> {
        let place = take_run_place(&self.state, &self.client);
        place.map_err(|words| A2aFault::new(FaultKind::Internal, words))
    }

    /// Takes a message, and answers with the task, or with its stream.
    async fn send(self, mut params: A2aParams, streams: bool) -> A2aResult<A2aAnswer> {
        let history = params.count_history()?;
        let place = if streams || !params.is_immediate() { Some(self.take_place()?) } else { None };
        let message = params.message.take();
        let message = message.ok_or_else(|| A2aFault::refuse_params("message is missing"))?;
        let (state, client, door) = (self.state.clone(), self.client.clone(), self.door.clone());
        // What has begun to be sent is kept.
        let task =
            finish_work(async move { sending::take_message((state, client), &door.answered, message).await });
        let task = task.await?;
        let mut task = match place {
            Some(place) if streams => {
                return Ok(A2aAnswer::Stream(task.stream((history, false), self.write, place).await?));
            }
            Some(_place) => task.wait().await?,
            None => task.read_now().await?,
        };
        Ok(A2aAnswer::Value(json!({"task": task.write_task(history, true)})))
    }
}
