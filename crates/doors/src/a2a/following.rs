//! A task that is waited for, or followed as a stream.

use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::faults::{A2aFault, A2aResult};
use super::tasks::OpenTask;
use super::writer::TaskWriter;
use crate::limits;
use systole_doorway::SharedPlace;
use systole_following::run_follower::RunFollower;
use systole_following::wire_events::{WireEvent, stream_often};
use systole_hall::runs::work::unread;

/// How the binding of a client writes an update.
pub(super) type WriteUpdate = Box<dyn Fn(Value) -> Value + Send + Sync>;

impl OpenTask {
    /// The task once it is over, waits for a person, or takes too long for one answer.
    pub(super) async fn wait(&self) -> A2aResult<TaskWriter> {
        let (mut run, mut writer) = self.follow(false).await?;
        let end = async {
            while !writer.has_ended() && !writer.waits() {
                let Some(placed) = run.next_placed().await.map_err(unread)? else { break };
                self.take_event(&mut writer, placed).await?;
            }
            Ok::<(), A2aFault>(())
        };
        // A client that waits longer asks again.
        timeout(Duration::from_secs(limits::LONGEST_WAIT), end).await.unwrap_or(Ok(()))?;
        Ok(writer)
    }

    /// The task as it is now, and then its updates until it is over, or waits for its client. One that waits already when
    /// its client comes to follow it is followed all the same: what it waits for may be decided elsewhere.
    pub(super) async fn stream(
        self,
        (history, comes_again): (usize, bool),
        write: WriteUpdate,
        place: SharedPlace,
    ) -> A2aResult<Response> {
        let (run, mut writer) = self.follow(true).await?;
        let stays = comes_again && writer.waits();
        let first = json!({"task": writer.write_task(history, true)});
        let (to_client, events) = mpsc::channel(limits::TASK_MESSAGES);
        let updates = UpdateStream { to_client, write };
        let work = async move {
            let _place = place;
            if updates.send(first).await {
                self.send_updates((run, writer), stays, &updates).await;
            }
        };
        let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
        Ok(stream_often(events))
    }

    /// Sends updates until the task is over, or waits for its client, until that has left, or the pump has stopped: the
    /// client asks again then.
    async fn send_updates(
        &self,
        (mut run, mut writer): (RunFollower, TaskWriter),
        mut stays: bool,
        updates: &UpdateStream,
    ) {
        loop {
            for update in writer.take_ready() {
                if !updates.send(update).await {
                    return;
                }
            }
            stays &= writer.waits();
            if writer.has_ended() || writer.waits() && writer.waits_for_client && !stays {
                return;
            }
            let next = tokio::select! {
                next = run.next_placed() => next,
                () = updates.to_client.closed() => return,
            };
            let Ok(Some(placed)) = next else { return };
            if self.take_event(&mut writer, placed).await.is_err() {
                return;
            }
        }
    }
}

/// The stream to a client.
struct UpdateStream {
    to_client: mpsc::Sender<WireEvent>,
    write: WriteUpdate,
}

impl UpdateStream {
    /// Sends an update. Returns whether the client is still there.
    async fn send(&self, update: Value) -> bool {
        let event = WireEvent { id: None, data: Some((self.write)(update).into()) };
        matches!(timeout(limits::STALLED, self.to_client.send(event)).await, Ok(Ok(())))
    }
}
