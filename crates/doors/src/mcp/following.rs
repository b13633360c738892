//! The wait for the end of a call. It follows the log, says how the call goes on, and ends with the result, with a task
//! in its place, or with nothing if the call was cancelled.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::asking::CallAsking;
use super::open_calls::CallSeat;
use super::revision::McpRevision;
use super::{results, rpc, tasks};
use crate::limits;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::Name;
use systole_following::run_follower::RunFollower;
use systole_organism::front::OrganismHandle;
use systole_queries::run_events::{RunEvent, SpokenWords};
use systole_system::tasks::{TaskKind, start_task};

/// A call that is waited for.
pub(super) struct FollowedCall {
    pub(super) front: OrganismHandle,
    pub(super) client: Name,
    pub(super) revision: McpRevision,
    /// The id of the request.
    pub(super) id: Value,
    pub(super) receipt: ApiReceipt,
    /// With what the client recognises progress, if it wants any.
    pub(super) progress: Option<Value>,
    /// Whether the client takes a task.
    pub(super) takes_tasks: bool,
}

/// How a wait ended.
enum WaitEnd {
    /// With the last message for the client.
    Told(Value),
    /// The client cancelled the call.
    Cancelled,
    /// The client is gone.
    Left,
}

impl FollowedCall {
    /// Waits in a task of its own. The messages for the client come out; the last one is the answer.
    pub(super) fn follow_call(self, mut seat: CallSeat, mut asking: CallAsking) -> mpsc::Receiver<Value> {
        let (to_client, messages) = mpsc::channel(limits::TASK_MESSAGES);
        seat.set_run(&self.receipt);
        let work = async move {
            let cancelled = seat.cancelled.take();
            let is_cancelled = async {
                match cancelled {
                    Some(cancelled) => drop(cancelled.await),
                    None => std::future::pending().await,
                }
            };
            let end = tokio::select! {
                last = self.wait_for_last(&to_client, &mut asking) => WaitEnd::Told(last),
                () = is_cancelled => WaitEnd::Cancelled,
                () = to_client.closed() => WaitEnd::Left,
            };
            let is_last = seat.leave_call();
            match end {
                // A client that went away loses nothing: the log has the answer.
                WaitEnd::Told(last) => drop(to_client.send(last).await),
                WaitEnd::Cancelled => self.stop_run().await,
                // In this revision a closed stream is how a client cancels. Another of its connections may have joined
                // the call.
                WaitEnd::Left if self.revision == McpRevision::Stateless && is_last => self.stop_run().await,
                WaitEnd::Left => {}
            }
        };
        // It ends with the call, its client or the pump.
        let _nobody_waits = start_task(TaskKind::Call, work, async |_| ());
        messages
    }

    /// Ends the call, unless a person decides about it: hosts give up before a person has read. The decision counts, and
    /// the log keeps the answer.
    async fn stop_run(&self) {
        if tasks::describe_wait(&self.front, &self.receipt).await.is_some() {
            return;
        }
        let Some((thread, call)) = self.receipt.read_run() else { return };
        // A call that has ended just now needs no end.
        let _ended = self.front.stop_run(self.client.clone(), thread, call).await;
    }

    /// The last message for the client.
    async fn wait_for_last(&self, to_client: &mpsc::Sender<Value>, asking: &mut CallAsking) -> Value {
        let Some(mut run) = RunFollower::follow(&self.front, &self.receipt, self.progress.is_some()) else {
            return self.build_cut("its receipt names no call");
        };
        let mut steps = 0;
        let late = tokio::time::sleep(limits::TASK_PATIENCE);
        let mut late = std::pin::pin!(late);
        let mut signs = tokio::time::interval(limits::TASK_SIGN);
        signs.reset();
        loop {
            let next = tokio::select! {
                next = run.next() => next,
                _ = signs.tick(), if self.progress.is_some() => {
                    let waits = tasks::describe_wait(&self.front, &self.receipt).await;
                    self.send_progress(to_client, &mut steps, waits.as_deref().unwrap_or(tasks::WORKS));
                    continue;
                }
                answer = asking.next_answer() => {
                    if let Err(fault) = asking.go_on(answer, to_client).await {
                        return fault.build_message(Some(&self.id));
                    }
                    continue;
                }
                () = &mut late, if self.takes_tasks => {
                    match tasks::create_task(&self.front, &self.receipt).await {
                        Ok(task) => return rpc::build_result(&self.id, &task),
                        Err(fault) => return fault.build_message(Some(&self.id)),
                    }
                }
            };
            let event = match next {
                Ok(Some(event)) => event,
                Ok(None) => {
                    return self
                        .build_cut("the organism has stopped, and goes on with the call when it runs again");
                }
                Err(fault) => return self.build_cut(&format!("the log cannot be read: {fault}")),
            };
            match event {
                RunEvent::Ended { judgement, record: (position, record) } => {
                    return self.build_result(judgement, &ApiRecord::from_record(position, &record), asking);
                }
                RunEvent::Asked { .. } | RunEvent::Decided { .. } => {
                    if self.progress.is_some() {
                        let waits = tasks::describe_wait(&self.front, &self.receipt).await;
                        waits.into_iter().for_each(|words| self.send_progress(to_client, &mut steps, &words));
                    }
                    match asking.ask_person(to_client).await {
                        Ok(None) => {}
                        Ok(Some(asks)) => return rpc::build_result(&self.id, &asks),
                        Err(fault) => return fault.build_message(Some(&self.id)),
                    }
                }
                // A model's words come in pieces, and a host shows whole messages.
                RunEvent::Words(SpokenWords { from, words, is_whole: true, .. }) => {
                    self.send_progress(to_client, &mut steps, &format!("{from}: {words}"));
                }
                _ => {}
            }
        }
    }

    fn build_result(&self, ending: CallJudgement, record: &ApiRecord, asking: &CallAsking) -> Value {
        let mut result = results::build_end(self.front.composition(), &self.receipt, ending, record);
        results::add_remarks(&mut result, asking.list_remarks());
        rpc::build_result(&self.id, &self.revision.complete_result(result))
    }

    /// The answer in place of a result that cannot be waited for.
    fn build_cut(&self, why: &str) -> Value {
        let key = &self.receipt.key;
        let words = format!("{why}; call again with _meta[\"{}\"] = \"{key}\" for its answer", results::KEY);
        systole_doorway::rpc::RpcFault::refuse_unavailable(words).build_message(Some(&self.id))
    }

    fn send_progress(&self, to_client: &mpsc::Sender<Value>, steps: &mut u64, words: &str) {
        let Some(token) = &self.progress else { return };
        *steps += 1;
        let words = words.get(..words.floor_char_boundary(limits::PROGRESS_BYTES)).unwrap_or_default();
        let params = json!({"progressToken": token, "progress": steps, "message": words});
        let message = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        // A client that reads slowly gets fewer messages.
        let _full = to_client.try_send(message);
    }
}
