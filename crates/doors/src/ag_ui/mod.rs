//! The door for AG-UI clients, at `/ag-ui/ENTRY`: a thread is a conversation, and a run is one message with all that follows.
//! Its events have ids, and behind each of them the rest can be had, also after a restart.
//!
//! It keeps nothing that is not in the log, and judges nothing. It is closed unless the organism's file opens it.

mod beginning;
mod caller;
mod capabilities;
mod fault;
mod following;
mod input;
mod interrupts;
mod kept_messages;
mod threads;
mod wire;
mod writer;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json};
use serde_json::json;
use systole_queries::run_events::{CallPlace, RunCursor};

use beginning::{AgUiDoor, begin_run, read_place};
use caller::{PathParts, RunCaller};
use fault::RunFault;
use following::{OpenRun, refuse_place};
use systole_api::types::ApiRefusal;
use systole_core::types::client::ClientDoor;
use systole_core::types::codes::Code;
use systole_core::types::ids::CallPath;
use systole_core::types::ports::Position;
use systole_doorway::named_origins;
use systole_following::run_ids::read_receipt;
use systole_following::wire_events::{WireEvent, answer_events};
use systole_hall::door_row::{DoorRoute, DoorRow, DoorVisit};
use systole_hall::http_state::{ApiCall, Caller};
use systole_hall::request_refusals::{
    describe_unfit_address, read_bearer, refuse_crowded, refuse_plainly, without_token,
};
use systole_hall::runs::said_threads::{SaidThread, read_run_name};
use systole_hall::runs::work::finish_work;
use systole_payloads::entries::find_entry;
use threads::{find_thread, keep_messages, refuse_unknown, write_messages, write_snapshot};
use writer::RunHead;

/// The door.
pub(super) static DOOR: DoorRow = DoorRow {
    paths: &["/ag-ui"],
    routes: &[list_routes],
    enter: |visit| Box::pin(enter_door(visit)),
    is_described: false,
};

fn list_routes() -> Vec<DoorRoute> {
    let bounds = Extension(Arc::new(AgUiDoor::new()));
    let mut entry = DoorRoute::post("/ag-ui/{entry}", run_agent);
    entry.service = entry.service.layer(bounds.clone()).get(capabilities::show_capabilities);
    let mut thread = DoorRoute::get("/ag-ui/{entry}/threads/{thread}", show_thread);
    thread.service = thread.service.layer(bounds);
    let known = [entry, thread, DoorRoute::post("/ag-ui/{entry}/threads/{thread}/stop", stop_thread)];
    let known =
        known.into_iter().map(|route| DoorRoute { service: route.service.fallback(refuse_method), ..route });
    let other = ["/ag-ui", "/ag-ui/", "/ag-ui/{entry}/{*rest}"];
    let other = other.map(|path| DoorRoute { method: "any", path, service: any(refuse_path) });
    known.chain(other).collect()
}

/// Lets a known client in, if the door is open. A page of another origin must be one that the file names.
async fn enter_door(visit: DoorVisit) -> Response {
    let DoorVisit { state, visitor, mut request, next } = visit;
    let settings = state.front.composition().doors.ag_ui.clone();
    let cors = settings.as_ref().map(|ag_ui| ag_ui.cors.as_slice()).unwrap_or_default();
    let origin = named_origins::find_named(cors, request.headers());
    if let Some(origin) =
        origin.clone().filter(|_| named_origins::is_preflight(request.method(), request.headers()))
    {
        return named_origins::answer_preflight(origin);
    }
    let enter = async {
        let owner =
            read_bearer(request.headers()).and_then(|token| state.find_owner(token, ClientDoor::AgUi));
        let Some(client) = owner.cloned() else {
            state.login_failed(visitor.address.ip()).await;
            return without_token();
        };
        if settings.is_none() {
            let words = "this door is closed; `doors: {ag-ui: true}` in the organism's file opens it";
            return refuse_plainly(StatusCode::NOT_FOUND, Code::Unavailable, words);
        }
        if let Some(words) =
            named_origins::find_refusal(request.headers(), origin.is_some(), &state.addresses)
        {
            return refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
        }
        if let Err(crowded) = visitor.let_in(&client) {
            return refuse_crowded(crowded);
        }
        request.extensions_mut().insert(Caller(client));
        next.run(request).await
    };
    let mut response = enter.await;
    origin.into_iter().for_each(|origin| named_origins::admit(&mut response, origin));
    response
}

/// Runs an entry on the newest message, or goes on where the client was.
async fn run_agent(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<AgUiDoor>>,
    entry: PathParts<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let entry = entry.map(|Path(entry)| entry).unwrap_or_default();
    let caller = RunCaller { state, client };
    // What has begun to be sent is kept.
    match finish_work(async move { begin_run(caller, &entry, &door, (&headers, body)).await }).await {
        Ok(run) => run.answer(),
        Err(fault) => fault.into_answer(),
    }
}

/// A thread of the client, at one of its entries.
async fn open_thread(
    call: ApiCall,
    parts: PathParts<(String, String)>,
) -> Result<(RunCaller, String, SaidThread), RunFault> {
    let (entry, thread) = parts.map(|Path(parts)| parts).map_err(|_| refuse_unknown(""))?;
    let ApiCall { state, client } = call;
    let organism = state.front.composition();
    find_entry(organism, &client, &entry).map_err(|fix| RunFault::refuse_entry(&entry, &fix))?;
    let found = find_thread(&state, &client, &thread).await?;
    let is_begun = !found.said.turns.is_empty();
    is_begun.then_some(()).ok_or_else(|| refuse_unknown(&thread))?;
    Ok((RunCaller { state, client }, thread, found))
}

/// What was said in a thread, and then its open run.
async fn show_thread(
    call: ApiCall,
    Extension(door): Extension<Arc<AgUiDoor>>,
    parts: PathParts<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let show = async {
        let known = read_place(&headers)?;
        let (caller, thread, found) = open_thread(call, parts).await?;
        let messages = write_messages(caller.state.front.composition(), &found);
        // One that goes on does so in the run where it was, and has what was said before.
        let open = match known {
            Some(known) => {
                Some(found.find_run_at(&caller.client, known.cursor.position()).ok_or_else(refuse_place)?)
            }
            None => found.list_open(&caller.client).next(),
        };
        let open = open.and_then(|turn| Some((turn, read_receipt(&turn.asked).read_run()?)));
        let snapshot = if known.is_none() { write_snapshot(&thread, &messages) } else { Vec::new() };
        let Some((turn, (id, call))) = open else {
            let end = RunCursor::behind(Position::default()).to_string();
            return Ok(answer_events(WireEvent::write_group(&end, snapshot)));
        };
        let (place, receipt) = (caller.take_place()?, read_receipt(&turn.asked));
        let head = RunHead {
            thread,
            run: read_run_name(turn).to_owned(),
            place: CallPlace { thread: id, call: CallPath::new_top(call) },
            messages: keep_messages((&door.room, &caller.client), &messages)?,
            ignored: Vec::new(),
            is_again: false,
        };
        let run = OpenRun::join(caller, head, (receipt, Position::default()), known, place).await?;
        Ok::<Response, RunFault>(run.behind(snapshot).answer())
    };
    show.await.unwrap_or_else(RunFault::into_answer)
}

/// Stops the open runs of a thread.
async fn stop_thread(call: ApiCall, parts: PathParts<(String, String)>) -> Response {
    let stop = async {
        let (caller, thread, found) = open_thread(call, parts).await?;
        let stopped = caller.stop_all(&found).await?;
        Ok::<Response, RunFault>(Json(json!({"threadId": thread, "stopped": stopped})).into_response())
    };
    stop.await.unwrap_or_else(RunFault::into_answer)
}

async fn refuse_method() -> Response {
    let words = "there is no such method at this address: POST runs an entry, and GET reads";
    refuse_at(StatusCode::METHOD_NOT_ALLOWED, words)
}

async fn refuse_path() -> Response {
    let words = "there are /ag-ui/ENTRY, /ag-ui/ENTRY/threads/ID and /ag-ui/ENTRY/threads/ID/stop";
    refuse_at(StatusCode::NOT_FOUND, words)
}

fn refuse_at(status: StatusCode, words: &'static str) -> Response {
    (status, Json(ApiRefusal::from(&describe_unfit_address(words)))).into_response()
}
