//! `POST /responses`: sends the message of a response, or decides what waits in one, and answers with what comes of it.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use super::super::answer_headers::write_headers;
use super::super::chat::read_body;
use super::super::chat_hash::ChatHash;
use super::super::chat_message::write_message;
use super::super::chat_placing::OwnOfRequest;
use super::super::chat_request::ChatRequest;
use super::super::chat_threads::ChatDoor;
use super::super::fault::{OpenaiFault, refuse_later};
use super::super::models::find_entry;
use super::decision::NamedDecision;
use super::following::OpenResponse;
use super::request::{ResponseRequest, WantedPlace, WantedWork};
use super::response_id::ResponseId;
use super::sending::{FoundPlace, SoughtResponse};
use systole_core::types::composition::Listener;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_doorway::SharedPlace;
use systole_following::named_threads::find_named;
use systole_following::run_ids::find_run_id;
use systole_hall::http_state::HttpState;
use systole_hall::runs::decisions::{DecidedRun, DecisionPlace};
use systole_hall::runs::requests::{has_seen, name_request};
use systole_hall::runs::sending::send_message;
use systole_hall::runs::work::{finish_work, read_blocking};
use systole_queries::persons::WaitingRequest;
use systole_queries::transcript::Transcript;

/// How a response is to be given.
struct WantedForm {
    streams: bool,
    background: bool,
    ignored: String,
}

/// A response whose message is on disk.
struct BegunResponse {
    open: OpenResponse,
    form: WantedForm,
    place: SharedPlace,
}

/// Begins a response and gives it.
pub(super) async fn create(
    state: Arc<HttpState>,
    client: Name,
    door: Arc<ChatDoor>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // What has begun to be sent is kept.
    match finish_work(async move { begin_response(state, client, &door, &headers, body).await }).await {
        Ok(begun) => begun.answer().await,
        Err(fault) => fault.into_answer(),
    }
}

async fn begin_response(
    state: Arc<HttpState>,
    client: Name,
    door: &ChatDoor,
    headers: &HeaderMap,
    body: Body,
) -> Result<BegunResponse, OpenaiFault> {
    let _seat = door.seats.wait_for_seat(&client).await;
    let body = read_body(headers, body).await?;
    let request = ResponseRequest::parse(&body)?;
    let organism = state.front.composition().clone();
    let entry = find_entry(&organism, &client, &request.model)?;
    let place = state.messages.take_place(&client).map_err(refuse_later)?;
    let own = OwnOfRequest::read(headers)?;
    let ResponseRequest { work, place: wanted, model, streams, background, mut ignored } = request;
    let previous = match &wanted {
        WantedPlace::Behind(id) => Some(id.to_string()),
        WantedPlace::New | WantedPlace::Conversation(_) => None,
    };
    let id = match work {
        WantedWork::Ask(asked) => {
            let (mark, sent) = (own.find_name().map(str::to_owned), String::from_utf8_lossy(&body));
            let hash = ChatHash::begin(&client, &model, [mark.as_deref().unwrap_or(&sent)].into_iter());
            let (front, organism) = (state.front.clone(), organism.clone());
            let sought = SoughtResponse { front, client: client.clone(), organism, hash, own, wanted };
            send(&state, door, (sought, entry), (asked, &mut ignored)).await?
        }
        WantedWork::Decide(decisions) => decide(&state, &client, (decisions, wanted)).await?,
    };
    let open = OpenResponse::find(&state, &client, id, None).await?.answer_request(background, previous);
    Ok(BegunResponse { open, form: WantedForm { streams, background, ignored }, place })
}

/// Sends the message to its thread. The same request again is sent once.
async fn send(
    state: &Arc<HttpState>,
    door: &ChatDoor,
    (sought, entry): (SoughtResponse, &Listener),
    (mut asked, ignored): (ChatRequest, &mut String),
) -> Result<ResponseId, OpenaiFault> {
    let lock = door.sending.find_lock(&sought.hash_place());
    let _held = lock.lock().await;
    let key = sought.hash.make_key(&sought.own.mark).map_err(refuse_later)?;
    let client = sought.client.clone();
    let (thread, is_new, open) = match read_blocking(move || sought.find_place()).await? {
        FoundPlace::Sent(run) => return Ok(ResponseId { run, from: Position::default() }),
        FoundPlace::Thread { thread, is_new, before, open } => {
            asked.history.splice(0..0, before);
            (thread, is_new, open)
        }
        FoundPlace::Unknown => {
            return Err(ResponseId::refuse_unknown().about("previous_response_id"));
        }
    };
    if let Some(run) = open {
        let id = ResponseId { run, from: Position::default() };
        OpenResponse::find(state, &client, id, None).await?.refuse_waiting().await?;
    }
    if !is_new && !asked.systems.is_empty() {
        // They were told with the first message of the thread.
        asked.systems.clear();
        let more = if ignored.is_empty() { "instructions" } else { ", instructions" };
        ignored.push_str(more);
    }
    let said = write_message((state, &client), entry, &asked, false).map_err(|fault| fault.about("input"))?;
    let document = said.document.clone();
    let receipt = send_message(state, &client, (entry, document), (&key, Some(thread))).await?;
    let run = find_run_id(&receipt).ok_or_else(ResponseId::refuse_unknown)?;
    Ok(ResponseId { run, from: Position::default() })
}

/// Decides what waits in a conversation or behind a response. The new response shows what its run does from then on.
async fn decide(
    state: &HttpState,
    client: &Name,
    (decisions, wanted): (Vec<NamedDecision>, WantedPlace),
) -> Result<ResponseId, OpenaiFault> {
    let (front, owner) = (state.front.clone(), client.clone());
    let messages = read_blocking(move || {
        let reader = &**front.reader();
        let thread = match &wanted {
            WantedPlace::New => return Ok(None),
            WantedPlace::Conversation(name) => find_named(&front, &owner, name)?,
            WantedPlace::Behind(id) => {
                id.run.find_message(reader, &owner)?.is_some().then(|| id.run.thread.clone())
            }
        };
        let Some(thread) = thread else { return Ok(Some(Vec::new())) };
        let turns = Transcript::read(reader, &thread, 1)?.turns;
        let own = turns.iter().map(|turn| &turn.asked.1.header).filter(|header| header.from == owner);
        Ok(Some(own.map(|header| (thread.clone(), header.seq)).collect::<Vec<_>>()))
    });
    let Some(messages) = messages.await? else {
        let words = "a decision needs previous_response_id or conversation: where it was asked for";
        return Err(OpenaiFault::refuse_request("input", words));
    };
    let mut decided: Option<DecidedRun> = None;
    // One that does not count leaves all undecided.
    for only_checks in [true, false] {
        for NamedDecision { typed, id } in &decisions {
            let is_shown = |waiting: &WaitingRequest| name_request(waiting) == *id;
            let has_seen = |hash: &str| has_seen(id, hash);
            let place = DecisionPlace {
                messages: messages.clone(),
                is_shown: &is_shown,
                has_seen: &has_seen,
                fix: "read the response again, and decide on what it shows".to_owned(),
                only_checks,
            };
            let run = typed.clone().decide(state, client, place).await?;
            // The response begins with the first of them.
            decided = match decided {
                Some(known) if known.told <= run.told => Some(known),
                _ => Some(run),
            };
        }
    }
    let decided = decided.and_then(|run| Some((find_run_id(&run.receipt)?, run.told)));
    let (run, from) = decided.ok_or_else(ResponseId::refuse_unknown)?;
    Ok(ResponseId { run, from })
}

impl BegunResponse {
    async fn answer(self) -> Response {
        let BegunResponse { open, form, place } = self;
        let headers = write_headers(open.thread(), &form.ignored);
        if form.streams {
            return (headers, open.stream(place)).into_response();
        }
        let response = if form.background {
            open.read_now().await.map(|writer| writer.write_response())
        } else {
            open.wait(place).await
        };
        match response {
            Ok(response) => (headers, Json(response)).into_response(),
            Err(fault) => fault.into_answer(),
        }
    }
}
