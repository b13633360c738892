//! A run as it is followed: what the log has of it, and then what comes.

use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use systole_queries::run_events::{RunCursor, RunEvent};
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::caller::RunCaller;
use super::fault::RunFault;
use super::interrupts::write_interrupt;
use super::writer::{RunHead, RunWriter};
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_doorway::SharedPlace;
use systole_following::run_follower::RunFollower;
use systole_following::wire_events::{ClientPlace, EventText, WireEvent, stream};
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request, describe_with_fix};
use systole_hall::runs::requests::{RunRequests, find_approvals_page};
use systole_hall::runs::work::unread;

/// A run of a client.
pub(super) struct OpenRun {
    caller: RunCaller,
    receipt: ApiReceipt,
    run: RunFollower,
    writer: RunWriter,
    place: SharedPlace,
    /// What counts together with its first event.
    before: Vec<EventText>,
}

impl OpenRun {
    /// Joins a run behind what the client knows.
    pub(super) async fn join(
        caller: RunCaller,
        head: RunHead,
        (receipt, told): (ApiReceipt, Position),
        client: Option<ClientPlace>,
        place: SharedPlace,
    ) -> Result<OpenRun, RunFault> {
        // The begin of a run behind a decision is no event of the log.
        let is_begin = |cursor: &RunCursor| {
            cursor.step() == 0 && cursor.position() > Position::default() && cursor.position() <= told
        };
        let cursor = client.map(|client| client.cursor);
        let known = cursor.filter(|cursor| !is_begin(cursor));
        let end = caller.state.front.end();
        if known.is_some_and(|known| known.position() > end) {
            return Err(refuse_place());
        }
        let followed = RunFollower::follow_after(&caller.state.front, &receipt, true, (told, known));
        let mut run = followed.ok_or_else(|| Box::new(describe_stopping()))?;
        let needs_begin = known.is_some() || told > Position::default();
        if needs_begin && !run.read_known().await.map_err(unread)? {
            return Err(refuse_place());
        }
        let organism = caller.state.front.composition().clone();
        let mut writer = RunWriter::new(organism, head, client);
        while let Some(placed) = run.take_known() {
            writer.take_event(placed, run.sum_used());
        }
        if told > Position::default() {
            writer.begin_behind(told);
        }
        Ok(OpenRun { caller, receipt, run, writer, place, before: Vec::new() })
    }

    /// The same with events before its first one.
    pub(super) fn behind(self, before: Vec<EventText>) -> OpenRun {
        OpenRun { before, ..self }
    }

    /// Its events.
    pub(super) fn answer(self) -> Response {
        let (to_client, events) = mpsc::channel(limits::TASK_MESSAGES);
        let thread = self.receipt.thread.clone();
        let work = async move {
            let OpenRun { caller, receipt, run, mut writer, place: _place, before } = self;
            for data in before {
                if !send(&to_client, WireEvent { id: None, data: Some(data) }).await {
                    return;
                }
            }
            let followed = Following { caller: &caller, receipt: &receipt, to_client: &to_client };
            if let Err(refusal) = followed.follow(run, &mut writer).await {
                writer.break_off(refusal.code.as_str(), &describe_with_fix(&refusal));
            }
            for event in writer.take_ready() {
                // A client that has left by now comes again.
                let _left = send(&to_client, event).await;
            }
        };
        let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
        ([(HeaderName::from_static("systole-thread"), thread)], stream(events)).into_response()
    }
}

/// That a run never had an event with an id.
pub(super) fn refuse_place() -> RunFault {
    let words = "Last-Event-ID: this run never had an event with that id";
    RunFault::Unread(Box::new(describe_unfit_request(words)))
}

async fn send(to_client: &mpsc::Sender<WireEvent>, event: WireEvent) -> bool {
    matches!(timeout(limits::STALLED, to_client.send(event)).await, Ok(Ok(())))
}

struct Following<'f> {
    caller: &'f RunCaller,
    receipt: &'f ApiReceipt,
    to_client: &'f mpsc::Sender<WireEvent>,
}

impl Following<'_> {
    /// Follows the run to its end, until the client has to decide, or until it has left.
    async fn follow(&self, mut run: RunFollower, writer: &mut RunWriter) -> Result<(), Box<Refusal>> {
        loop {
            for event in writer.take_ready() {
                if !send(self.to_client, event).await {
                    return Ok(());
                }
            }
            if writer.has_ended() {
                return Ok(());
            }
            let next = tokio::select! {
                next = run.next_placed() => next,
                () = self.to_client.closed() => return Ok(()),
            };
            let Some(placed) = next.map_err(unread)? else {
                return Err(Box::new(describe_stopping()));
            };
            if matches!(placed.event, RunEvent::Quiet) {
                self.show_requests(writer, &run).await?;
            } else {
                writer.take_event(placed, run.sum_used());
            }
        }
    }

    /// Ends the run with what the client may decide, or shows what waits for others.
    async fn show_requests(&self, writer: &mut RunWriter, run: &RunFollower) -> Result<(), Box<Refusal>> {
        let state = &self.caller.state;
        let requests = RunRequests::read(state, &self.caller.client, self.receipt).await?;
        let organism = state.front.composition();
        if requests.own.is_empty() {
            let ids: Vec<String> = requests.ids.iter().map(ToString::to_string).collect();
            if !ids.is_empty() {
                writer.show_waits(&ids, &find_approvals_page(&state.addresses));
            }
        } else {
            let interrupts: Vec<Value> =
                requests.own.iter().map(|one| write_interrupt(organism, writer.place(), one)).collect();
            writer.end_with_interrupts(&interrupts, run.sum_used());
        }
        Ok(())
    }
}
