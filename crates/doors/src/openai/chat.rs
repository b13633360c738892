//! `POST /chat/completions`: finds the thread of a chat, sends the last message there, and tells the answer of its run.
//!
//! A client that leaves stops nothing: the log has the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::Value;
use tokio::sync::mpsc;

use super::answers::{describe_failure, write_answer};
use super::chat_hash::{ChatHash, mark_text};
use super::chat_message::write_message;
use super::chat_request::ChatRequest;
use super::chat_threads::{ChatThreads, RestingChat, SentChat, is_resting};
use super::chat_writer::{ChatEnd, ChatPiece, ChatWriter};
use super::chunks::{ChunkEvents, ChunkFrame};
use super::decisions::{RunRequests, TypedDecision};
use super::fault::OpenaiFault;
use super::models::find_entry;
use crate::api_types::ApiReceipt;
use crate::entrance::DoorAddresses;
use crate::http_state::{ApiCall, HttpState};
use crate::inbound::{self, UnreadBody};
use crate::limits;
use crate::outcome::find_earlier_record;
use crate::request_refusals::describe_stopping;
use crate::run_follower::RunFollower;
use crate::shared_places::SharedPlace;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::thread_choice::ThreadName;
use systole_organism::front::{ClientMessage, OrganismHandle};
use systole_organism::runfile::draw_hex;
use systole_organism::waiting::SenderReply;
use systole_queries::run_events::RunEvent;
use systole_system::clock::WallClock;
use systole_system::tasks::{TaskKind, start_task};

/// Answers the last message of a chat.
pub(super) async fn complete_chat(
    ApiCall { state, client }: ApiCall,
    Extension(threads): Extension<Arc<ChatThreads>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match begin_chat(state, client, threads, &headers, body).await {
        Ok((chat, request)) => chat.answer(request).await,
        Err(fault) => fault.into_answer(),
    }
}

/// A chat whose last message is on disk.
struct OpenChat {
    front: OrganismHandle,
    threads: Arc<ChatThreads>,
    client: Name,
    /// The name of the thread, if it has one.
    name: Option<ThreadName>,
    /// The hash up to the message.
    asked: ChatHash,
    receipt: ApiReceipt,
    /// What its run did up to there was told before.
    told: Position,
    /// Where decisions are made.
    link: String,
    _place: SharedPlace,
}

async fn begin_chat(
    state: Arc<HttpState>,
    client: Name,
    threads: Arc<ChatThreads>,
    headers: &HeaderMap,
    body: Body,
) -> Result<(OpenChat, ChatRequest), OpenaiFault> {
    let bytes = read_body(&state, &client, headers, body).await?;
    let request = ChatRequest::parse(&bytes)?;
    let organism = state.front.composition().clone();
    let entry = find_entry(&organism, &client, &request.model)?;
    let place = state.messages.take_place(&client).map_err(refuse_later)?;
    let told = read_chat_headers(&organism, headers);
    let told = told.iter().chain(&request.systems).map(String::as_str);
    let sought = SoughtChat {
        front: &state.front,
        threads: &threads,
        client: &client,
        begun: ChatHash::begin(&client, &request.model, told),
    };
    let history = sought.hash_history(&request.history);
    let asked = history.add("user", &request.last);
    if let Some(typed) = TypedDecision::parse(&request.last) {
        let told = state.front.end();
        let receipt = typed?.decide(&state.front, &client, &request.history).await?;
        let name = read_name(&state.front, &receipt).await;
        let chat = OpenChat::new(&state, (threads, client), (name, asked), (receipt, told), place);
        return Ok((chat, request));
    }
    let own = OwnOfRequest::read(headers, &bytes)?;
    let resting = if request.history.is_empty() { None } else { Some(&history) };
    let chosen = sought.choose(resting, &asked, &own).await?;
    let receipt = match write_message(&organism, entry, &request, chosen.has_history()) {
        Ok(document) => {
            threads.keep_sent(&client, own.text, chosen.sent.clone());
            send_message(&state, &client, (entry, document), &chosen.sent).await
        }
        Err(fault) => Err(fault),
    };
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(fault) => {
            // Its history is still that of its thread.
            chosen.taken.into_iter().for_each(|chat| threads.keep_resting(&client, history.clone(), chat));
            return Err(fault);
        }
    };
    let named = (Some(chosen.sent.name), asked);
    Ok((OpenChat::new(&state, (threads, client), named, (receipt, Position::default()), place), request))
}

/// The name of the thread of a run, if it has one.
async fn read_name(front: &OrganismHandle, receipt: &ApiReceipt) -> Option<ThreadName> {
    let (reader, thread) = (front.reader().clone(), ThreadId::parse(&receipt.thread).ok()?);
    let read = tokio::task::spawn_blocking(move || reader.of_thread(&thread, 1, 1)).await;
    let (_, first) = read.ok()?.ok()?.pop()?;
    ThreadName::from_key(&first.header.key?)
}

async fn send_message(
    state: &HttpState,
    client: &Name,
    (entry, document): (&Listener, Vec<u8>),
    sent: &SentChat,
) -> Result<ApiReceipt, OpenaiFault> {
    let bounds = state.messages.bounds_of(client);
    let held = (bounds.wait_for_room(document.len()).await, bounds.wait_for_turn().await);
    let message = ClientMessage {
        client: client.clone(),
        key: sent.key.clone(),
        document,
        to: Some(entry.name.to_string()),
        thread: Some(sent.name.to_string()),
        subject: None,
    };
    match state.front.ask_holding(message, Some(Box::new(held))).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = state.front.locate_receipt(&receipt, position).await;
            Ok(ApiReceipt::from_receipt(&receipt, position, sent.key.as_str()))
        }
        Some(SenderReply::Refused(refusal)) => Err(OpenaiFault::from_refusal(&refusal)),
        Some(SenderReply::Done) | None => Err(OpenaiFault::from_refusal(&describe_stopping())),
    }
}

async fn read_body(
    state: &HttpState,
    client: &Name,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<u8>, OpenaiFault> {
    let _seat = state.forms.wait_for_seat(client).await;
    inbound::read_up_to(limits::CHAT_BYTES, headers, body).await.map_err(|unread| match unread {
        UnreadBody::TooLarge(refused) => OpenaiFault::from_refusal(&refused.refusal),
        UnreadBody::Broken(words) => {
            OpenaiFault::new(StatusCode::BAD_REQUEST, Code::Malformed.as_str(), words)
        }
        UnreadBody::TooSlow => {
            let words = "the body came too slowly";
            OpenaiFault::new(StatusCode::REQUEST_TIMEOUT, Code::IngressUnavailable.as_str(), words)
        }
    })
}

fn refuse_later(words: String) -> OpenaiFault {
    let refusal = Refusal::new(Code::IngressUnavailable, words);
    OpenaiFault::from_refusal(&refusal.fixed_by("send it again later"))
}

/// The values of the headers that tell chats apart.
fn read_chat_headers(organism: &Composition, headers: &HeaderMap) -> Vec<String> {
    let settings = organism.doors.openai.as_ref();
    let names = settings.into_iter().flat_map(|openai| &openai.chat);
    let value =
        |name: &String| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    names.map(|name| value(name).unwrap_or_default()).collect()
}

/// What a request has of its own, by which its repetition is known.
struct OwnOfRequest {
    text: String,
    /// Whether the client says that it may be a repetition.
    may_repeat: bool,
    /// Its mark in the name of a thread and in a key.
    mark: String,
    /// Whether it has a key that its client chose.
    is_named: bool,
}

impl OwnOfRequest {
    fn read(headers: &HeaderMap, body: &[u8]) -> Result<OwnOfRequest, OpenaiFault> {
        if let Some(key) = headers.get("idempotency-key") {
            let mark = mark_text(key.as_bytes());
            return Ok(OwnOfRequest { text: format!("key {mark}"), may_repeat: true, mark, is_named: true });
        }
        let tries =
            headers.get("x-stainless-retry-count").and_then(|tries| tries.to_str().ok()?.parse::<u32>().ok());
        let drawn = draw_hex().map_err(|error| refuse_later(error.to_string()))?;
        let mark = drawn.get(..16).unwrap_or_default().to_owned();
        let text = format!("bytes {}", mark_text(body));
        Ok(OwnOfRequest { text, may_repeat: tries.is_some_and(|tries| tries > 0), mark, is_named: false })
    }
}

/// The search for the thread of a chat.
struct SoughtChat<'s> {
    front: &'s OrganismHandle,
    threads: &'s ChatThreads,
    client: &'s Name,
    begun: ChatHash,
}

/// Where a message goes.
struct ChosenChat {
    sent: SentChat,
    /// The thread that it goes on with.
    taken: Option<RestingChat>,
}

impl ChosenChat {
    /// Whether the thread has the history: it was not opened with this message.
    fn has_history(&self) -> bool {
        let mark = self.sent.key.as_str().rsplit('.').next().unwrap_or_default();
        !self.sent.name.as_str().ends_with(mark)
    }
}

impl SoughtChat<'_> {
    fn hash_history(&self, history: &[(String, String)]) -> ChatHash {
        history.iter().fold(self.begun.clone(), |hash, (role, text)| hash.add(role, text))
    }

    /// The thread of the same request before, the one whose chat is that history, or a new one.
    async fn choose(
        &self,
        history: Option<&ChatHash>,
        asked: &ChatHash,
        own: &OwnOfRequest,
    ) -> Result<ChosenChat, OpenaiFault> {
        let unread = |fault: LogFault| refuse_later(fault.to_string());
        if history.is_some() || own.is_named {
            self.threads.read_begun(self.front, self.client, &self.begun).await.map_err(unread)?;
        }
        let is_recent =
            |sent: &SentChat| own.is_named || WallClock.ticks().count_since(sent.at) < limits::CHAT_RETRY_MS;
        let before = self.threads.find_sent(self.client, &own.text).filter(|_| own.may_repeat);
        if let Some(sent) = before.filter(is_recent) {
            return Ok(ChosenChat { sent, taken: None });
        }
        let taken = history.and_then(|history| self.threads.take_resting(self.client, history));
        let taken = match taken {
            Some(chat) if is_resting(self.front, &chat).await.map_err(unread)? => Some(chat),
            _ => None,
        };
        let name = match &taken {
            Some(chat) => Ok(chat.name.clone()),
            None => self.begun.name_thread(&own.mark),
        };
        let sent = SentChat {
            name: name.map_err(refuse_later)?,
            key: asked.make_key(&own.mark).map_err(refuse_later)?,
            at: WallClock.ticks(),
        };
        Ok(ChosenChat { sent, taken })
    }
}

impl OpenChat {
    fn new(
        state: &HttpState,
        (threads, client): (Arc<ChatThreads>, Name),
        (name, asked): (Option<ThreadName>, ChatHash),
        (receipt, told): (ApiReceipt, Position),
        place: SharedPlace,
    ) -> OpenChat {
        let DoorAddresses { bound, public } = &state.addresses;
        let door =
            public.as_ref().map_or_else(|| format!("http://{bound}"), |public| public.as_str().to_owned());
        let (front, link) = (state.front.clone(), format!("{door}/approvals"));
        OpenChat { front, threads, client, name, asked, receipt, told, link, _place: place }
    }

    async fn answer(self, request: ChatRequest) -> Response {
        let mut headers = HeaderMap::new();
        let ignored: Vec<&str> =
            request.ignored.iter().map(String::as_str).take(limits::IGNORED_KEYS).collect();
        let shown =
            [("systole-thread", self.receipt.thread.clone()), ("systole-ignored", ignored.join(", "))];
        for (name, value) in shown.iter().filter(|(_, value)| !value.is_empty()) {
            // What a client calls its own keys may be no value of a header.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        let shows = self.front.composition().doors.openai.as_ref().map(|openai| openai.shows);
        let mut writer = ChatWriter::new(shows.unwrap_or_default(), !request.streams);
        let frame = ChunkFrame::new(&self.receipt, request.model);
        if request.streams {
            let (to_client, pieces) = mpsc::channel(limits::TASK_MESSAGES);
            let work = async move {
                if frame.send_begin(&to_client).await.is_some() {
                    let end = self.follow(&mut writer, Some((&frame, &to_client))).await;
                    // A client that has left by now has the answer in the log.
                    let _left = frame.send_end(&to_client, end).await;
                }
            };
            let _nobody_waits = start_task(TaskKind::Chat, work, async |_| ());
            let stream = Sse::new(ChunkEvents(pieces)).keep_alive(KeepAlive::default());
            return (headers, stream).into_response();
        }
        match self.follow(&mut writer, None).await {
            Some(Ok(finish)) => (headers, Json(frame.write_whole(&writer, finish))).into_response(),
            Some(Err(fault)) => (headers, fault.into_answer()).into_response(),
            None => (headers, refuse_later("the client has left".to_owned()).into_answer()).into_response(),
        }
    }

    /// Follows the run to its end. `None` if the client has left.
    async fn follow(
        &self,
        writer: &mut ChatWriter,
        to_client: Option<(&ChunkFrame, &mpsc::Sender<Value>)>,
    ) -> Option<ChatEnd> {
        let send = async |piece: Option<ChatPiece>| match (piece, to_client) {
            (Some(piece), Some((frame, to_client))) => frame.send_piece(to_client, &piece).await,
            _ => Some(()),
        };
        let organism = self.front.composition().clone();
        let cut =
            |why: String| Some(Err(refuse_later(format!("{why}; the same request later gets its answer"))));
        let history = if self.receipt.repeated { self.front.end() } else { Position::default() };
        if self.receipt.repeated {
            match find_earlier_record(&self.front, &self.receipt).await {
                Ok(Some((judgement, record))) => {
                    let Some(answer) = write_answer(&organism, judgement, &record) else {
                        return Some(Err(describe_failure(&record)));
                    };
                    send(writer.write_text(&answer)).await?;
                    return Some(Ok("stop"));
                }
                Ok(None) => {}
                Err(fault) => return cut(format!("the log cannot be read: {fault}")),
            }
        }
        let Some(mut run) = RunFollower::follow_after(&self.front, &self.receipt, true, self.told) else {
            return cut("its receipt names no run".to_owned());
        };
        loop {
            let next = match to_client {
                Some((_, to_client)) => tokio::select! {
                    next = run.next() => next,
                    () = to_client.closed() => return None,
                },
                None => run.next().await,
            };
            match next {
                Ok(Some(RunEvent::Ended { judgement, record: (position, record) })) if position > history => {
                    let (piece, end) = writer.take_end(&organism, judgement, &record);
                    send(piece).await?;
                    if end.is_ok() {
                        self.keep_thread(&writer.text, record.header.seq);
                    }
                    return Some(end);
                }
                Ok(Some(RunEvent::Quiet)) => {
                    let requests = RunRequests::read(&self.front, &self.client, &self.receipt).await;
                    match requests {
                        Ok(requests) if requests.has_decision() => {
                            send(writer.write_text(&requests.write_text(&self.link))).await?;
                            return Some(Ok("stop"));
                        }
                        Ok(requests) => {
                            send(writer.write_beside(&requests.describe_wait(&self.link))).await?
                        }
                        Err(fault) => return Some(Err(fault)),
                    }
                }
                Ok(Some(event)) => send(writer.take_event(event)).await?,
                Ok(None) => return cut("the organism has stopped, and goes on when it runs again".to_owned()),
                Err(fault) => return cut(format!("the log cannot be read: {fault}")),
            }
        }
    }

    /// The next message whose history is this chat goes on with its thread.
    fn keep_thread(&self, answer: &str, seq: u64) {
        let Ok(thread) = ThreadId::parse(&self.receipt.thread) else { return };
        let Some(name) = self.name.clone() else { return };
        let resting = RestingChat { name, thread, seq };
        self.threads.keep_resting(&self.client, self.asked.add("assistant", answer), resting);
    }
}
