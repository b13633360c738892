//! A response and its run: what the log has of it, and then what comes.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde_json::Value;
use systole_queries::run_events::RunEvent;
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::api_time::count_seconds;
use super::super::fault::{OpenaiFault, refuse_later};
use super::conversations;
use super::decision::write_request;
use super::numbers::EventNumber;
use super::response_id::ResponseId;
use super::writer::{ResponseHead, ResponseWriter};
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::ids::Name;
use systole_core::types::ports::{PlacedRecord, Position};
use systole_doorway::SharedPlace;
use systole_following::run_follower::RunFollower;
use systole_following::run_ids::read_receipt;
use systole_hall::http_state::HttpState;
use systole_hall::runs::requests::RunRequests;
use systole_hall::runs::work::{read_blocking, unread};

/// A response of a client.
pub(super) struct OpenResponse {
    state: Arc<HttpState>,
    client: Name,
    /// The message of its run.
    pub(super) asked: PlacedRecord,
    receipt: ApiReceipt,
    head: ResponseHead,
    /// The number of the newest event that the client has.
    has: Option<u64>,
}

impl OpenResponse {
    /// Finds a response. One of another client is one that never was.
    pub(super) async fn find(
        state: &Arc<HttpState>,
        client: &Name,
        id: ResponseId,
        has: Option<u64>,
    ) -> Result<OpenResponse, OpenaiFault> {
        let (reader, owner, run) = (state.front.reader().clone(), client.clone(), id.run.clone());
        let found = read_blocking(move || run.find_message(&*reader, &owner)).await?;
        let is_after = |asked: &PlacedRecord| {
            id.from == Position::default() || (asked.0..=state.front.end()).contains(&id.from)
        };
        let Some(asked) = found.filter(is_after) else {
            return Err(ResponseId::refuse_unknown());
        };
        let h = &asked.1.header;
        let head = ResponseHead {
            id: id.to_string(),
            created: count_seconds(h.time),
            model: h.to.as_ref().map(ToString::to_string).unwrap_or_default(),
            conversation: conversations::find_id(h.key.as_ref()),
            previous: None,
            background: false,
            begun: asked.0,
            from: id.from,
        };
        if has.is_some_and(|has| EventNumber::read(has, head.begun).place.0 > state.front.end()) {
            let words = "this response never had an event with that number";
            return Err(OpenaiFault::refuse_request("starting_after", words));
        }
        let receipt = read_receipt(&asked);
        Ok(OpenResponse { state: state.clone(), client: client.clone(), asked, receipt, head, has })
    }

    /// The same as an answer to a request for it.
    pub(super) fn answer_request(mut self, background: bool, previous: Option<String>) -> OpenResponse {
        (self.head.background, self.head.previous) = (background, previous);
        self
    }

    /// The receipt of its message.
    pub(super) fn receipt(&self) -> &ApiReceipt {
        &self.receipt
    }

    pub(super) fn thread(&self) -> &str {
        &self.receipt.thread
    }

    fn begin_writer(&self) -> ResponseWriter {
        ResponseWriter::new(self.state.front.composition().clone(), self.head.clone(), self.has)
    }

    fn cut_off(why: &str) -> OpenaiFault {
        refuse_later(format!("{why}; the run goes on, and its response can be asked for by its id"))
    }

    /// The response as the log has it now.
    pub(super) async fn read_now(&self) -> Result<ResponseWriter, OpenaiFault> {
        let run = RunFollower::follow(&self.state.front, &self.receipt, false);
        let mut run = run.ok_or_else(|| OpenResponse::cut_off("its message began no run"))?.until_here();
        let mut writer = self.begin_writer();
        while let Some(placed) = run.next_placed().await.map_err(unread)? {
            writer.take_event(placed, run.sum_used());
            // Its events are not wanted here.
            drop(writer.take_ready());
        }
        if run.is_quiet() {
            self.show_requests(&mut writer).await?;
        }
        Ok(writer)
    }

    /// Refuses a further message while its run waits for a decision of the client, which would have to come first.
    pub(super) async fn refuse_waiting(&self) -> Result<(), OpenaiFault> {
        let requests = RunRequests::read(&self.state, &self.client, &self.receipt).await?;
        let Some(own) = requests.own.first() else { return Ok(()) };
        let words = format!("{} waits for your decision first: {}", own.id, write_request(own));
        Err(OpenaiFault::new(StatusCode::CONFLICT, "response_waits", words).about("input"))
    }

    /// Ends the response with what the client may decide, if all that is open waits for that.
    async fn show_requests(&self, writer: &mut ResponseWriter) -> Result<(), OpenaiFault> {
        let requests = RunRequests::read(&self.state, &self.client, &self.receipt).await?;
        if !requests.own.is_empty() {
            writer.end_with_requests(&requests.own);
        }
        Ok(())
    }

    /// The response once it has ended.
    pub(super) async fn wait(self, _place: SharedPlace) -> Result<Value, OpenaiFault> {
        let mut writer = self.begin_writer();
        self.follow(&mut writer, None).await?;
        Ok(writer.write_response())
    }

    /// The response as a stream.
    pub(super) fn stream(self, place: SharedPlace) -> Response {
        let (to_client, events) = mpsc::channel(limits::TASK_MESSAGES);
        let work = async move {
            let _place = place;
            let mut writer = self.begin_writer();
            let fault = self.follow(&mut writer, Some(&to_client)).await.err();
            for last in fault.map(|fault| writer.write_fault(&fault)).into_iter().chain([Value::Null]) {
                // A client that has left by now can ask again.
                let _left = timeout(limits::STALLED, to_client.send(last)).await;
            }
        };
        let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
        Sse::new(ResponseEvents(events)).keep_alive(KeepAlive::default()).into_response()
    }

    /// Follows the run to its end, until the client has to decide, or until it has left.
    async fn follow(
        &self,
        writer: &mut ResponseWriter,
        to_client: Option<&mpsc::Sender<Value>>,
    ) -> Result<(), OpenaiFault> {
        let run = RunFollower::follow(&self.state.front, &self.receipt, to_client.is_some());
        let mut run = run.ok_or_else(|| OpenResponse::cut_off("its message began no run"))?;
        loop {
            for event in writer.take_ready() {
                let Some(to_client) = to_client else { continue };
                if !matches!(timeout(limits::STALLED, to_client.send(event)).await, Ok(Ok(()))) {
                    return Ok(());
                }
            }
            if writer.has_ended() {
                return Ok(());
            }
            let next = match to_client {
                Some(to_client) => tokio::select! {
                    next = run.next_placed() => next,
                    () = to_client.closed() => return Ok(()),
                },
                None => run.next_placed().await,
            };
            let Some(placed) = next.map_err(unread)? else {
                return Err(OpenResponse::cut_off("the organism has stopped"));
            };
            if matches!(placed.event, RunEvent::Quiet) {
                self.show_requests(writer).await?;
            } else {
                writer.take_event(placed, run.sum_used());
            }
        }
    }
}

/// The events of a response. `null` is the end.
struct ResponseEvents(mpsc::Receiver<Value>);

impl Stream for ResponseEvents {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let write = |value: Value| match value.get("type").and_then(Value::as_str) {
            Some(kind) => Event::default().event(kind).data(value.to_string()),
            None => Event::default().data("[DONE]"),
        };
        self.0.poll_recv(cx).map(|value| value.map(|value| Ok(write(value))))
    }
}
