//! `POST /chat/completions`: finds the thread of a chat, sends the last message there, and tells the answer of its run.
//!
//! A client that leaves stops nothing: the log has the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::Value;
use tokio::sync::mpsc;

use super::answer_headers::write_headers;
use super::chat_hash::ChatHash;
use super::chat_message::write_message;
use super::chat_placing::{OwnOfRequest, SoughtChat};
use super::chat_request::{ChatRequest, WantedAnswer};
use super::chat_threads::ChatDoor;
use super::chat_writer::{ChatEnd, ChatPiece, ChatWriter, count_usage};
use super::chunks::{ChunkEvents, ChunkFrame};
use super::decisions::{announce_frame, decide_in_chat, parse_decision, write_frame};
use super::fault::{OpenaiFault, refuse_later};
use super::models::find_entry;
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::Position;
use systole_doorway::SharedPlace;
use systole_doorway::entrance::DoorAddresses;
use systole_following::run_follower::RunFollower;
use systole_hall::http_state::{ApiCall, HttpState};
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::runs::decisions::DecidedRun;
use systole_hall::runs::requests::{RunRequests, find_approvals_page};
use systole_hall::runs::sending::send_message;
use systole_hall::runs::work::finish_work;
use systole_queries::run_events::RunEvent;
use systole_system::tasks::{TaskKind, start_task};

/// Answers the last message of a chat.
pub(super) async fn complete_chat(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<ChatDoor>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // What has begun to be sent is kept.
    match finish_work(async move { begin_chat(state, client, &door, &headers, body).await }).await {
        Ok((chat, wanted)) => chat.answer(wanted).await,
        Err(fault) => fault.into_answer(),
    }
}

/// A chat whose last message is on disk.
struct OpenChat {
    state: Arc<HttpState>,
    client: Name,
    receipt: ApiReceipt,
    /// What its run did up to there was told before.
    told: Position,
    _place: SharedPlace,
}

async fn begin_chat(
    state: Arc<HttpState>,
    client: Name,
    door: &ChatDoor,
    headers: &HeaderMap,
    body: Body,
) -> Result<(OpenChat, WantedAnswer), OpenaiFault> {
    let _seat = door.seats.wait_for_seat(&client).await;
    let request = ChatRequest::parse(&read_body(headers, body).await?)?;
    let organism = state.front.composition().clone();
    let entry = find_entry(&organism, &client, &request.wanted.model)?;
    let place = state.messages.take_place(&client).map_err(refuse_later)?;
    let told = read_chat_headers(&organism, headers);
    let told = told.iter().chain(&request.systems).map(String::as_str);
    let begun = ChatHash::begin(&client, &request.wanted.model, told);
    let last = request.last.describe();
    let whole = (begun, request.history.as_slice(), last.as_str());
    let sought = SoughtChat::new(&state.front, &door.threads, &client, whole);
    let own = OwnOfRequest::read(headers)?;
    let run = match parse_decision(&request.last.text) {
        Some(_) if !request.last.files.is_empty() => {
            return Err(OpenaiFault::refuse_request("messages", "a decision takes no files: send it alone"));
        }
        Some(typed) => {
            let (typed, chats) = (typed?, sought.find_decided(&request.history).await?);
            decide_in_chat(typed, &state, &client, (chats, &request.history)).await?
        }
        None => {
            let receipt = send_last(&state, &sought, (entry, &request, &last), own).await?;
            DecidedRun { receipt, told: Position::default() }
        }
    };
    let DecidedRun { receipt, told } = run;
    Ok((OpenChat { state: state.clone(), client, receipt, told, _place: place }, request.wanted))
}

/// Sends the last message of a chat to its thread.
async fn send_last(
    state: &HttpState,
    sought: &SoughtChat<'_>,
    (entry, request, last): (&Listener, &ChatRequest, &str),
    own: OwnOfRequest,
) -> Result<ApiReceipt, OpenaiFault> {
    let chosen = sought.place(&request.history, last, own).await?;
    let sent = match write_message((state, sought.client), entry, request, chosen.has_history()) {
        Ok(said) => {
            let document = said.document.clone();
            let (key, thread) = (&chosen.chat.key, chosen.chat.name.to_string());
            send_message(state, sought.client, (entry, document), (key, Some(thread)))
                .await
                .map_err(OpenaiFault::from)
        }
        Err(fault) => Err(fault),
    };
    match sent {
        Ok(receipt) => {
            if let Ok(thread) = ThreadId::parse(&receipt.thread) {
                sought.settle(chosen, (thread, receipt.seq)).await;
            }
            Ok(receipt)
        }
        Err(fault) => {
            sought.give_back(chosen).await;
            Err(fault)
        }
    }
}

/// Reads the body of a request.
pub(super) async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, OpenaiFault> {
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

/// The values of the headers that tell chats apart.
fn read_chat_headers(organism: &Composition, headers: &HeaderMap) -> Vec<String> {
    let settings = organism.doors.openai.as_ref();
    let names = settings.into_iter().flat_map(|openai| &openai.chat);
    let value =
        |name: &String| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    names.map(|name| value(name).unwrap_or_default()).collect()
}

impl OpenChat {
    async fn answer(self, wanted: WantedAnswer) -> Response {
        let headers = write_headers(&self.receipt.thread, &wanted.ignored);
        let shows = self.state.front.composition().doors.openai.as_ref().map(|openai| openai.shows);
        let mut writer = ChatWriter::new(shows.unwrap_or_default());
        let frame = ChunkFrame::new(&self.receipt, wanted.model.clone());
        if wanted.streams {
            let (to_client, pieces) = mpsc::channel(limits::TASK_MESSAGES);
            let work = async move {
                if frame.send_begin(&to_client).await.is_some() {
                    let end = self.follow(&mut writer, Some((&frame, &to_client))).await;
                    // A client that has left by now has the answer in the log.
                    let usage = writer.usage.as_ref().filter(|_| wanted.tells_usage);
                    let _left = frame.send_end(&to_client, (end, usage)).await;
                }
            };
            let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
            let stream = Sse::new(ChunkEvents(pieces)).keep_alive(KeepAlive::default());
            return (headers, stream).into_response();
        }
        match self.follow(&mut writer, None).await {
            Some(Ok(finish)) => (headers, Json(frame.write_whole(&writer, finish))).into_response(),
            Some(Err(fault)) => (headers, fault.into_answer()).into_response(),
            None => (headers, refuse_later("the client has left".to_owned()).into_answer()).into_response(),
        }
    }

    /// Follows the run to its end, or until the client has to decide. `None` if the client has left.
    async fn follow(
        &self,
        writer: &mut ChatWriter,
        to_client: Option<(&ChunkFrame, &mpsc::Sender<Value>)>,
    ) -> Option<ChatEnd> {
        let organism = self.state.front.composition().clone();
        // What is sent whole needs no words that may not count.
        let wants_words = to_client.is_some();
        let Some(mut run) =
            RunFollower::follow_after(&self.state.front, &self.receipt, wants_words, (self.told, None))
        else {
            return Some(cut_off("its receipt names no run".to_owned()));
        };
        loop {
            let next = match to_client {
                Some((_, to_client)) => tokio::select! {
                    next = run.next() => next,
                    () = to_client.closed() => return None,
                },
                None => run.next().await,
            };
            let piece = match next {
                Ok(Some(RunEvent::Ended { judgement, record: (_, record) })) => {
                    let (piece, end) = writer.take_end(&organism, judgement, &record);
                    writer.usage = count_usage(run.sum_used());
                    send_piece(piece, to_client).await?;
                    return Some(end);
                }
                Ok(Some(RunEvent::Quiet)) => {
                    match RunRequests::read(&self.state, &self.client, &self.receipt).await {
                        Ok(requests) => {
                            let Some(own) = requests.own.first() else {
                                let waits = describe_wait(&requests.ids, &self.state.addresses);
                                send_piece(writer.write_beside(&waits), to_client).await?;
                                continue;
                            };
                            // What is decided on stands alone: no words of others are before it.
                            let is_alone = writer.text.is_empty();
                            writer.begin_paragraph();
                            let words = if is_alone { write_frame(own) } else { announce_frame(own) };
                            send_piece(writer.write_text(&words), to_client).await?;
                            return Some(Ok("stop"));
                        }
                        Err(refusal) => return Some(Err(refusal.into())),
                    }
                }
                Ok(Some(event)) => writer.take_event(event),
                Ok(None) => {
                    return Some(cut_off(
                        "the organism has stopped, and goes on when it runs again".to_owned(),
                    ));
                }
                Err(fault) => return Some(cut_off(format!("the log cannot be read: {fault}"))),
            };
            send_piece(piece, to_client).await?;
        }
    }
}

/// That requests wait, for a client that may not decide.
fn describe_wait(ids: &[PersonRequestId], addresses: &DoorAddresses) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let page = find_approvals_page(addresses);
    format!("\nwaits for {}: a person decides at {page}\n", ids.join(", "))
}

/// The end of an answer that cannot be waited for.
fn cut_off(why: String) -> ChatEnd {
    Err(refuse_later(format!("{why}; the run goes on, and the same request gets its answer")))
}

async fn send_piece(
    piece: Option<ChatPiece>,
    to_client: Option<(&ChunkFrame, &mpsc::Sender<Value>)>,
) -> Option<()> {
    match (piece, to_client) {
        (Some(piece), Some((frame, to_client))) => frame.send_piece(to_client, &piece).await,
        _ => Some(()),
    }
}
