//! The door for hosts of models: `POST /mcp` speaks the Model Context Protocol, in five revisions. The tools are the
//! elements that the client may send, and a call is a message like any other.
//!
//! It keeps nothing but the calls that wait and their forms: who calls is said by the credential, and everything else by
//! the log. What waits for a person is decided here only in a form that the host shows to a client that may decide it.

mod asking;
mod call;
mod elicitation;
mod following;
mod open_calls;
mod params;
mod prompts;
mod resources;
mod results;
mod revision;
mod tasks;
pub(super) mod tools;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use asking::{CallAsking, FormWay};
use call::BegunCall;
use following::FollowedCall;
use open_calls::WaitingMcpCalls;
use params::{McpMessage, McpParams};
use revision::{McpRevision, TASKS};
use systole_core::types::client::ClientDoor;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_doorway::page_origin;
use systole_doorway::rpc::{self, RpcAnswer, RpcFault, RpcIncoming};
use systole_following::run_ids::find_run_id;
use systole_hall::door_row::{DoorRoute, DoorRow, enter_with_token};
use systole_hall::http_state::{ApiCall, HttpState};
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::runs::form_answers::FormEnd;
use systole_hall::runs::open_forms::{CallForms, CallName, OpenForms};
use systole_hall::runs::posted_answers::take_posted;
use systole_hall::runs::work::finish_work;
use systole_organism::runfile::draw_hex;

/// The header with the session of a client. It only tells apart requests with the same id.
const SESSION: &str = "mcp-session-id";

/// The door. Its state are the calls that wait.
pub(super) static DOOR: DoorRow = DoorRow {
    paths: &["/mcp"],
    routes: &[list_routes],
    enter: |visit| Box::pin(enter_with_token(visit, ClientDoor::Mcp)),
    is_described: true,
};

fn list_routes() -> Vec<DoorRoute> {
    let mut route = DoorRoute::post("/mcp", post_message);
    let (calls, forms) = (Arc::<WaitingMcpCalls>::default(), Arc::<OpenForms>::default());
    route.service = route.service.fallback(refuse_other_methods).layer(Extension(calls));
    route.service = route.service.layer(Extension(forms));
    vec![route]
}

/// Refuses every method but POST: this server sends nothing by itself, and has no session to end.
async fn refuse_other_methods() -> Response {
    let words = "send messages to /mcp with POST; there is no stream to GET and no session to DELETE";
    let fault = RpcFault::refuse_request(words).with_status(StatusCode::METHOD_NOT_ALLOWED);
    ([(header::ALLOW, "POST")], fault.build_response(None)).into_response()
}

/// Takes one message, and answers it.
async fn post_message(
    ApiCall { state, client }: ApiCall,
    Extension(calls): Extension<Arc<WaitingMcpCalls>>,
    Extension(forms): Extension<Arc<OpenForms>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Some(words) = page_origin::find_refusal(&headers, &state.addresses) {
        return RpcFault::refuse_request(words).with_status(StatusCode::FORBIDDEN).build_response(None);
    }
    let streams = match check_form(&headers) {
        Ok(streams) => streams,
        Err((status, words)) => {
            return RpcFault::refuse_request(words).with_status(status).build_response(None);
        }
    };
    let bytes = match inbound::read_body(&state, &client, &headers, body).await {
        Ok(bytes) => bytes,
        Err(unread) => return answer_unread(&state, client, unread).await,
    };
    let session = headers.get(SESSION).and_then(|session| session.to_str().ok()).map(str::to_owned);
    let message = match rpc::read_incoming(&bytes) {
        Ok(RpcIncoming::Message(message)) => *message,
        Ok(RpcIncoming::Answer(answer)) => {
            let work = async move { Ok(post_answer((&state, &forms), client, session, answer).await) };
            // A decision that has begun is not cut off by a client that leaves.
            let done: Result<Response, Box<Refusal>> = finish_work(work).await;
            return done.unwrap_or_else(|refusal| {
                RpcFault::refuse_unavailable(refusal.message.to_string()).build_response(None)
            });
        }
        Err((id, fault)) => return fault.build_response(id.as_ref()),
    };
    let revision = match revision::read_revision(&headers, &message) {
        Ok(revision) => revision,
        Err(fault) => return fault.build_response(message.id.as_ref()),
    };
    let Some(id) = message.id.clone() else {
        take_notification(&calls, client, session, &message);
        return StatusCode::ACCEPTED.into_response();
    };
    let request = McpRequest { state, calls, forms, client, revision, session, id, streams };
    let id = request.id.clone();
    request.answer_request(message).await.unwrap_or_else(|fault| fault.build_response(Some(&id)))
}

/// Whether the client takes a stream. It must take JSON, and send it.
fn check_form(headers: &HeaderMap) -> Result<bool, (StatusCode, &'static str)> {
    let has = |name: header::HeaderName, kinds: &[&str]| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let mut kinds_sent =
            values.flat_map(|value| value.split(',')).map(|kind| kind.split(';').next().unwrap_or("").trim());
        kinds_sent.any(|sent| kinds.iter().any(|kind| kind.eq_ignore_ascii_case(sent)))
    };
    if !has(header::CONTENT_TYPE, &["application/json"]) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON, with Content-Type: application/json"));
    }
    if !has(header::ACCEPT, &["application/json", "application/*", "*/*"]) {
        return Err((
            StatusCode::NOT_ACCEPTABLE,
            "send the header Accept: application/json, text/event-stream",
        ));
    }
    Ok(has(header::ACCEPT, &["text/event-stream", "text/*", "*/*"]))
}

async fn answer_unread(state: &HttpState, client: Name, unread: UnreadBody) -> Response {
    match inbound::choose_key(None) {
        Ok(key) => inbound::answer_unread(&state.front, client, key, unread).await,
        Err(words) => RpcFault::refuse_unavailable(words).build_response(None),
    }
}

/// Acts on a notification. Only a cancelled request means anything here.
fn take_notification(calls: &WaitingMcpCalls, client: Name, session: Option<String>, message: &McpMessage) {
    if message.method == "notifications/cancelled"
        && let (Some(session), Some(id)) = (session, &message.params.request_id)
    {
        calls.cancel_call(&CallName { client, session, id: id.to_string() });
    }
}

/// Takes the answer to a form.
async fn post_answer(
    place: (&HttpState, &OpenForms),
    client: Name,
    session: Option<String>,
    RpcAnswer { id, result }: RpcAnswer,
) -> Response {
    let refuse = |words: String| RpcFault::refuse_request(words).build_response(None);
    match take_posted(place, (client, session.unwrap_or_default()), (&id, result)).await {
        Ok(FormEnd::Taken | FormEnd::Left | FormEnd::NotShown(_)) => StatusCode::ACCEPTED.into_response(),
        Ok(FormEnd::Unknown) => refuse("no request of this server waits for that answer".to_owned()),
        Err(words) => refuse(words),
    }
}

/// A request, and who sent it.
struct McpRequest {
    state: Arc<HttpState>,
    calls: Arc<WaitingMcpCalls>,
    forms: Arc<OpenForms>,
    client: Name,
    revision: McpRevision,
    session: Option<String>,
    id: Value,
    streams: bool,
}

impl McpRequest {
    async fn answer_request(self, message: McpMessage) -> Result<Response, RpcFault> {
        let stateless = self.revision == McpRevision::Stateless;
        let result = match message.method.as_str() {
            "initialize" if !stateless => return self.answer_initialize(&message.params),
            "server/discover" if stateless => self.answer_discover(),
            "ping" if !stateless => json!({}),
            "tools/list" => self.list_tools(&message.params).await?,
            "tools/call" => return self.call_tool(message).await,
            "prompts/list" => self.list_prompts(&message.params).await?,
            "prompts/get" => {
                let written = self.read_organism({
                    let params = message.params;
                    move |organism, client| prompts::write_prompt(organism, client, &params)
                });
                self.revision.complete_result(written.await??)
            }
            "resources/list" => {
                let cursor = message.params.cursor.as_deref();
                let listed = resources::list_resources(&self.state, &self.client, cursor).await?;
                self.revision.complete_list(listed)
            }
            "resources/templates/list" => {
                refuse_cursor(&message.params)?;
                self.revision.complete_list(resources::list_templates())
            }
            "resources/read" => {
                let uri = message.params.uri.as_deref();
                let read = resources::read_resource(&self.state, &self.client, uri).await;
                let missing = self.revision.code_missing();
                self.revision.complete_list(read.map_err(|fault| fault.missing_as(missing))?)
            }
            "tasks/get" | "tasks/cancel" | "tasks/update" if stateless => self.act_on_task(&message).await?,
            other => return Err(self.refuse_method(other)),
        };
        Ok(Json(rpc::build_result(&self.id, &result)).into_response())
    }

    async fn act_on_task(&self, message: &McpMessage) -> Result<Value, RpcFault> {
        revision::require_tasks(message)?;
        let Some(task) = &message.params.task_id else {
            return Err(RpcFault::refuse_params("params.taskId is missing"));
        };
        match message.method.as_str() {
            "tasks/get" => {
                let shows_forms = self.revision.shows_forms(message, None);
                tasks::show_state((&self.state, &self.client), task, shows_forms).await
            }
            "tasks/cancel" => tasks::cancel_task(&self.state.front, &self.client, task).await,
            _ => tasks::update_task((&self.state, &self.client), task, &message.params).await,
        }
    }

    fn refuse_method(&self, method: &str) -> RpcFault {
        let shown: String = method.chars().take(80).collect();
        let known = match self.revision {
            McpRevision::Handshake => "initialize, ping",
            McpRevision::Stateless => {
                "server/discover, tasks/get, whose answer has the result, tasks/update, tasks/cancel"
            }
        };
        let fault = RpcFault::refuse_method(format!(
            "there is no method {shown:?} here; there are {known}, tools/list, tools/call, prompts/list, \
             prompts/get, resources/list, resources/templates/list, resources/read"
        ));
        match self.revision {
            McpRevision::Handshake => fault,
            McpRevision::Stateless => fault.with_status(StatusCode::NOT_FOUND),
        }
    }

    fn describe_server(&self) -> Value {
        json!({"name": self.state.front.composition().organism.as_str(), "title": "Systole", "version": env!("CARGO_PKG_VERSION")})
    }

    fn write_instructions() -> &'static str {
        "Each tool sends a message to a listener of this organism. A result with isError says what to fix. \
         A call that waits for a1 waits for a person."
    }

    fn answer_initialize(&self, params: &McpParams) -> Result<Response, RpcFault> {
        let agreed = revision::choose_agreed(params.protocol_version.as_deref());
        let result = json!({
            "protocolVersion": agreed,
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": self.describe_server(),
            "instructions": McpRequest::write_instructions(),
        });
        let session = match &self.session {
            Some(session) => session.clone(),
            None => draw_hex().map_err(|error| RpcFault::refuse_unavailable(error.to_string()))?,
        };
        let session = revision::name_session(&session, (agreed, params.capabilities.as_ref()));
        Ok(([(SESSION, session)], Json(rpc::build_result(&self.id, &result))).into_response())
    }

    fn answer_discover(&self) -> Value {
        self.revision.complete_list(json!({
            "supportedVersions": revision::list_spoken(),
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "extensions": {TASKS: {}}},
            "instructions": McpRequest::write_instructions(),
            "_meta": {"io.modelcontextprotocol/serverInfo": self.describe_server()},
        }))
    }

    /// Reads what the organism has for this client. Many schemas take longer than a task may block.
    async fn read_organism<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Composition, &Name) -> T + Send + 'static,
    ) -> Result<T, RpcFault> {
        let (organism, client) = (self.state.front.composition().clone(), self.client.clone());
        let read = tokio::task::spawn_blocking(move || read(&organism, &client)).await;
        read.map_err(|error| RpcFault::refuse_unavailable(error.to_string()))
    }

    async fn list_tools(&self, params: &McpParams) -> Result<Value, RpcFault> {
        refuse_cursor(params)?;
        let listed = self.read_organism(tools::list_tools).await?;
        Ok(self.revision.complete_list(json!({"tools": listed})))
    }

    async fn list_prompts(&self, params: &McpParams) -> Result<Value, RpcFault> {
        refuse_cursor(params)?;
        let listed = self.read_organism(prompts::list_prompts).await?;
        Ok(self.revision.complete_list(json!({"prompts": listed})))
    }

    async fn call_tool(self, message: McpMessage) -> Result<Response, RpcFault> {
        let shows_forms = self.revision.shows_forms(&message, self.session.as_deref());
        let (progress, takes_tasks) =
            (message.params.meta.get("progressToken").cloned(), self.revision.can_take_tasks(&message));
        let is_stateless = self.revision == McpRevision::Stateless;
        let answers = elicitation::read_responses(&message.params)?.filter(|_| is_stateless);
        let name = self.session.map(|session| CallName {
            client: self.client.clone(),
            session,
            id: self.id.to_string(),
        });
        let seat = self.calls.enter_call(name.clone())?;
        let (front, asked) = (&self.state.front, message.params.request_state.as_deref());
        let begun = match asked.filter(|_| is_stateless) {
            // What was called then is on record, and not read again.
            Some(asked) => {
                BegunCall::Open(call::find_called(front, &self.client, asked, &message.params).await?)
            }
            None if answers.is_some() => {
                let words = "params.requestState is missing: answers go with that of the result that asked";
                return Err(RpcFault::refuse_params(words));
            }
            None => call::begin_call(front, &self.client, &message.params).await?,
        };
        let receipt = match begun {
            BegunCall::Open(receipt) => receipt,
            BegunCall::Refused(result) => {
                let result = self.revision.complete_result(result);
                return Ok(Json(rpc::build_result(&self.id, &result)).into_response());
            }
        };
        let way = match (shows_forms, name) {
            (true, _) if is_stateless => FormWay::InResult,
            (true, Some(name)) if self.streams => {
                FormWay::OnStream(CallForms::new(self.forms, name, find_run_id(&receipt)))
            }
            _ => FormWay::Nowhere,
        };
        let mut asking = CallAsking::new(self.state.clone(), self.client.clone(), receipt.clone(), way);
        if let Some(answers) = answers {
            asking.take_answers(answers).await;
        }
        let call = FollowedCall {
            front: self.state.front.clone(),
            client: self.client,
            revision: self.revision,
            id: self.id,
            receipt,
            progress,
            takes_tasks,
        };
        let mut messages = call.follow_call(seat, asking);
        if self.streams {
            return Ok(Sse::new(RpcEvents(messages)).keep_alive(KeepAlive::default()).into_response());
        }
        let mut last = None;
        while let Some(message) = messages.recv().await {
            last = Some(message);
        }
        // Without a message the client cancelled the call, and expects no answer.
        Ok(last.map_or_else(|| StatusCode::ACCEPTED.into_response(), |last| Json(last).into_response()))
    }
}

/// Refuses another page of a list that has one.
fn refuse_cursor(params: &McpParams) -> Result<(), RpcFault> {
    match params.cursor {
        Some(_) => Err(RpcFault::refuse_params("there is no such page: the first one has everything")),
        None => Ok(()),
    }
}

/// The messages of a call as events.
struct RpcEvents(mpsc::Receiver<Value>);

impl Stream for RpcEvents {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0
            .poll_recv(cx)
            .map(|message| message.map(|message| Ok(Event::default().data(message.to_string()))))
    }
}
