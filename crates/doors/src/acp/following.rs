//! A prompt as it is followed: the runs that were open before it, and then its own. It ends with the answer to the
//! request; a stream that ends without one is taken up again behind its last id.

use axum::response::Response;
use serde_json::{Value, json};
use systole_core::types::ids::CallPath;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_queries::run_events::{CallPlace, RunCursor, RunEvent};
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::asking::RunAsking;
use super::editor::AcpEditor;
use super::faults::refuse_with;
use super::memory::OpenPrompt;
use super::places::{FollowedRun, KnownPlace, SaidAnswers, write_place};
use super::updates::{RunEnd, UpdateWriter, send_alone, write_chunk, write_update};
use crate::limits;
use systole_api::rpc_codes::RPC;
use systole_doorway::SharedPlace;
use systole_doorway::rpc::{self, RpcFault};
use systole_following::run_follower::RunFollower;
use systole_following::wire_events::{ClientPlace, WireEvent, stream};
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request};
use systole_hall::runs::work::unread;
use systole_payloads::answers::RunFailure;

/// A prompt of an editor.
pub(super) struct FollowedPrompt {
    pub(super) editor: AcpEditor,
    pub(super) session: String,
    pub(super) runs: Vec<FollowedRun>,
    pub(super) known: Option<KnownPlace>,
    /// Whether its message was not sent, because a question waits that the editor was not shown.
    pub(super) is_unsent: bool,
    pub(super) open: OpenPrompt,
    pub(super) place: SharedPlace,
}

/// Why a run was not followed to its end.
enum FollowEnd {
    /// It ended so.
    Ended(RunEnd),
    /// It asks in words: the next prompt answers.
    Asks,
    /// The editor left, or the organism stops: the prompt is posted again.
    Left,
}

impl FollowedPrompt {
    /// Its updates, and its answer.
    pub(super) fn answer(self) -> Response {
        let (to_editor, events) = mpsc::channel(limits::TASK_MESSAGES);
        let work = async move {
            let answer = match self.follow_all(&to_editor).await {
                Ok(answer) => answer,
                Err(refusal) => Some(refuse_with(&refusal).build_message(Some(&self.editor.id))),
            };
            let FollowedPrompt { open, place: _place, .. } = self;
            // Behind the answer the editor may prompt again.
            drop(open);
            if let Some(answer) = answer {
                // An editor that has left by now comes again.
                let _left = send(&to_editor, send_alone(answer)).await;
            }
        };
        let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
        stream(events)
    }

    /// Says where a run begins that goes on behind a decision: it is no event of the log.
    async fn begin_behind(&self, run: &FollowedRun, to_editor: &mpsc::Sender<WireEvent>) -> bool {
        if run.told == Position::default() || self.known.is_some() {
            return true;
        }
        let id =
            write_place(run.receipt.seq, SaidAnswers::default(), &RunCursor::behind(run.told).to_string());
        send(to_editor, WireEvent { id: Some(id), data: None }).await
    }

    /// Follows all runs. Returns the answer to the request; `None` if there is no one to take it.
    async fn follow_all(&self, to_editor: &mpsc::Sender<WireEvent>) -> Result<Option<Value>, Box<Refusal>> {
        let mut end = FollowEnd::Left;
        if self.is_unsent {
            self.say("(Your message was not sent: a question waits here first.)", to_editor).await;
        }
        for (at, run) in self.runs.iter().enumerate() {
            let known = self.known.as_ref().filter(|known| known.seq == run.receipt.seq);
            if !self.begin_behind(run, to_editor).await {
                return Ok(None);
            }
            end = self.follow(run, known.map(|known| (known.place, known.said)), to_editor).await?;
            match &end {
                // What is wrong with the last one is the answer.
                FollowEnd::Ended(RunEnd::Failed(RunFailure { code, words })) if at + 1 < self.runs.len() => {
                    self.say(&format!("({code}: {words})\n\n"), to_editor).await;
                }
                FollowEnd::Ended(_) => {}
                FollowEnd::Asks => {
                    let place = self.editor.place_of(&self.session);
                    self.editor.memory.note_untold(&place, run.receipt.seq);
                    break;
                }
                FollowEnd::Left => break,
            }
        }
        let thread = self.runs.last().map(|run| run.receipt.thread.as_str());
        let stopped = |reason: &str| {
            let result = json!({"stopReason": reason, "_meta": {"systole/thread": thread}});
            rpc::build_result(&self.editor.id, &result)
        };
        Ok(match end {
            FollowEnd::Left => None,
            FollowEnd::Asks => Some(stopped("end_turn")),
            FollowEnd::Ended(RunEnd::Stopped(reason)) => Some(stopped(reason)),
            FollowEnd::Ended(RunEnd::Failed(RunFailure { code, words })) => {
                let data = json!({"code": code, "thread": thread});
                let fault = RpcFault::with_code(RPC.internal, format!("{code}: {words}"), Some(data));
                Some(fault.build_message(Some(&self.editor.id)))
            }
        })
    }

    async fn follow(
        &self,
        FollowedRun { receipt, told }: &FollowedRun,
        known: Option<(ClientPlace, SaidAnswers)>,
        to_editor: &mpsc::Sender<WireEvent>,
    ) -> Result<FollowEnd, Box<Refusal>> {
        let editor = &self.editor;
        let front = &editor.state.front;
        // The place behind a decision is no event of the log.
        let behind = known.map(|(known, _)| known.cursor).filter(|at| at.step() == 0);
        let told = behind.map_or(*told, |at| at.position());
        let known = known.filter(|_| behind.is_none());
        let cursor = known.map(|(known, _)| known.cursor);
        let followed = RunFollower::follow_after(front, receipt, true, (told, cursor));
        let begun = followed.zip(receipt.read_run());
        let (mut run, (thread, call)) = begun.ok_or_else(|| Box::new(describe_stopping()))?;
        let needs_begin = cursor.is_some() || told > Position::default();
        if needs_begin && !run.read_known().await.map_err(unread)? {
            return Err(Box::new(describe_unfit_request("Last-Event-ID: this run has no such update")));
        }
        let place = CallPlace { thread, call: CallPath::new_top(call) };
        let organism = front.composition().clone();
        let mut writer = UpdateWriter::new(organism, (&self.session, receipt.seq), place, known);
        while let Some(placed) = run.take_known() {
            writer.take_event(editor, placed);
        }
        let mut asking = RunAsking::new(editor, &self.session, receipt);
        loop {
            for event in writer.take_ready() {
                if !send(to_editor, event).await {
                    return Ok(FollowEnd::Left);
                }
            }
            if let Some(end) = writer.end {
                return Ok(FollowEnd::Ended(end));
            }
            let next = tokio::select! {
                next = run.next_placed() => next,
                answer = asking.next_answer() => {
                    asking.note_end(answer);
                    if !self.ask_person(&mut asking, &writer, to_editor).await? {
                        return Ok(FollowEnd::Left);
                    }
                    if run.is_quiet() && self.end_asking(&asking, to_editor).await? {
                        return Ok(FollowEnd::Asks);
                    }
                    continue;
                }
                () = to_editor.closed() => return Ok(FollowEnd::Left),
            };
            let Some(placed) = next.map_err(unread)? else { return Ok(FollowEnd::Left) };
            match placed.event {
                RunEvent::Asked { .. } | RunEvent::Decided { .. } => {
                    if !self.ask_person(&mut asking, &writer, to_editor).await? {
                        return Ok(FollowEnd::Left);
                    }
                }
                RunEvent::Quiet => {
                    if self.end_asking(&asking, to_editor).await? {
                        return Ok(FollowEnd::Asks);
                    }
                }
                _ => writer.take_event(editor, placed),
            }
        }
    }

    /// Says where what waits is decided, if nothing of it is asked in the editor any more. Returns whether the prompt ends
    /// with that.
    async fn end_asking(
        &self,
        asking: &RunAsking<'_>,
        to_editor: &mpsc::Sender<WireEvent>,
    ) -> Result<bool, Box<Refusal>> {
        let Some(words) = asking.end_asking().await? else { return Ok(false) };
        self.say(&words, to_editor).await;
        Ok(true)
    }

    /// Says something in the session. An editor that has left by now reads it when it loads the session.
    async fn say(&self, words: &str, to_editor: &mpsc::Sender<WireEvent>) {
        let update = write_chunk("agent_message_chunk", words, None);
        let _left = send(to_editor, send_alone(write_update(&self.session, &update))).await;
    }

    /// Asks the editor what waits now. Returns whether it is still there.
    async fn ask_person(
        &self,
        asking: &mut RunAsking<'_>,
        writer: &UpdateWriter,
        to_editor: &mpsc::Sender<WireEvent>,
    ) -> Result<bool, Box<Refusal>> {
        for message in asking.ask_person(&writer.calls).await? {
            if !send(to_editor, send_alone(message)).await {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Sends an event. Returns whether the editor is still there.
pub(super) async fn send(to_editor: &mpsc::Sender<WireEvent>, event: WireEvent) -> bool {
    matches!(timeout(limits::STALLED, to_editor.send(event)).await, Ok(Ok(())))
}
