//! Tasks: calls whose answer a client asks for later. A task is the record of its message, so the log keeps it across
//! restarts; its id names that record, whose own id is random. Only the client that sent the message finds its task.

use serde_json::{Value, json};

use super::results;
use super::revision::McpRevision;
use super::rpc::RpcFault;
use crate::api_types::{ApiReceipt, ApiRecord};
use crate::ending::{find_ending, is_reopening};
use crate::limits;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::codes::Code;
use systole_core::types::ids::{MessageId, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, RecordCode};
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;
use systole_queries::thread_requests::list_held;

/// What is said of a call that waits for no person.
pub(super) const WORKS: &str = "the organism works on it";

/// The id of the task of a message.
fn build_id(receipt: &ApiReceipt) -> String {
    format!("{}.{}.{}", receipt.thread, receipt.seq, receipt.id)
}

/// The thread, the number and the id of the record that a task's id names.
fn read_id(id: &str) -> Option<(ThreadId, u64, MessageId)> {
    let mut parts = id.rsplitn(3, '.');
    let record = MessageId::parse(parts.next()?).ok()?;
    let seq = parts.next()?.parse().ok()?;
    Some((ThreadId::parse(parts.next()?).ok()?, seq, record))
}

/// A task as the log has it.
struct TaskState {
    receipt: ApiReceipt,
    created: String,
    touched: String,
    end: Option<(CallJudgement, ApiRecord)>,
    held: Vec<String>,
}

/// Reads a task of a client.
fn read_task(reader: &dyn LogReader, client: &Name, id: &str) -> Result<Option<TaskState>, LogFault> {
    let Some((thread, seq, record)) = read_id(id) else { return Ok(None) };
    let found = reader.of_thread(&thread, seq, 1)?.pop();
    let is_request = |code| code == Some(RecordCode::Role(MessageRole::Request));
    let Some((position, first)) = found.filter(|(_, one)| {
        let h = &one.header;
        h.seq == seq && h.id == record && h.from == *client && is_request(h.code)
    }) else {
        return Ok(None);
    };
    let first = ApiRecord::from_record(position, &first);
    let (call, key) = (first.call.clone().unwrap_or_default(), first.key.clone().unwrap_or_default());
    let receipt = ApiReceipt {
        id: first.id.clone(),
        thread: first.thread.clone(),
        seq,
        position: first.position,
        call,
        sender: first.from.clone(),
        claimed: None,
        key,
        repeated: true,
    };
    let mut state =
        TaskState { receipt, created: first.time.clone(), touched: first.time, end: None, held: Vec::new() };
    for placed in reader.records_of(&thread, seq + 1) {
        let (position, record) = placed?;
        let record = ApiRecord::from_record(position, &record);
        if state.end.is_none() {
            state.touched.clone_from(&record.time);
        }
        // A call that failed may have been tried again: its newest end counts.
        if is_reopening(&state.receipt, &record) {
            state.end = None;
        } else if let Some(end) = find_ending(&state.receipt, &record).filter(|_| state.end.is_none()) {
            state.end = Some((end, record));
        }
    }
    if let Some((thread, call)) = state.receipt.read_run().filter(|_| state.end.is_none()) {
        state.held = list_held(reader, &thread, call)?.iter().map(ToString::to_string).collect();
    }
    Ok(Some(state))
}

/// The same without blocking. A task of another client is one that never was.
async fn find_task(front: &OrganismHandle, client: &Name, id: &str) -> Result<TaskState, RpcFault> {
    let (reader, client, id) = (front.reader().clone(), client.clone(), id.to_owned());
    let looked = tokio::task::spawn_blocking(move || read_task(&*reader, &client, &id)).await;
    match looked {
        Ok(Ok(Some(state))) => Ok(state),
        Ok(Ok(None)) => Err(RpcFault::refuse_params("there is no such task")),
        _ => Err(RpcFault::refuse_unavailable("the log cannot be read at the moment")),
    }
}

fn describe_holders(held: &[String]) -> Option<String> {
    (!held.is_empty()).then(|| format!("waits for {}: a person decides", held.join(", ")))
}

/// What a call waits for, if that is a person. If the log cannot be read here, nothing is said.
pub(super) async fn describe_wait(front: &OrganismHandle, receipt: &ApiReceipt) -> Option<String> {
    let (reader, (thread, call)) = (front.reader().clone(), receipt.read_run()?);
    let looked = tokio::task::spawn_blocking(move || list_held(&*reader, &thread, call)).await;
    let held = looked.ok()?.ok()?;
    describe_holders(&held.iter().map(ToString::to_string).collect::<Vec<_>>())
}

impl TaskState {
    fn show_task(&self, front: &OrganismHandle) -> Value {
        let mut task = json!({
            "taskId": build_id(&self.receipt),
            "createdAt": self.created,
            "lastUpdatedAt": self.touched,
            // The log keeps it for as long as itself.
            "ttlMs": null,
            "pollIntervalMs": limits::TASK_POLL_MS,
        });
        let own = match &self.end {
            None => {
                let words = describe_holders(&self.held);
                json!({"status": "working", "statusMessage": words.as_deref().unwrap_or(WORKS)})
            }
            Some((CallJudgement::Cancelled, _)) => {
                json!({"status": "cancelled", "statusMessage": "it was cancelled"})
            }
            Some((end, record)) => {
                let result = results::build_end(front.composition(), &self.receipt, *end, record);
                json!({"status": "completed", "result": McpRevision::Stateless.complete_result(result)})
            }
        };
        if let (Some(task), Value::Object(own)) = (task.as_object_mut(), own) {
            task.extend(own);
        }
        task
    }
}

/// The answer to a call that becomes a task.
pub(super) async fn create_task(front: &OrganismHandle, receipt: &ApiReceipt) -> Result<Value, RpcFault> {
    let client = Name::parse(&receipt.sender).map_err(|bad| RpcFault::refuse_unavailable(bad.to_string()))?;
    let mut task = find_task(front, &client, &build_id(receipt)).await?.show_task(front);
    if let Some(fields) = task.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("task"));
    }
    Ok(task)
}

/// `tasks/get`.
pub(super) async fn show_state(front: &OrganismHandle, client: &Name, id: &str) -> Result<Value, RpcFault> {
    let task = find_task(front, client, id).await?;
    Ok(McpRevision::Stateless.complete_result(task.show_task(front)))
}

/// `tasks/cancel`. A task that has ended stays as it is.
pub(super) async fn cancel_task(front: &OrganismHandle, client: &Name, id: &str) -> Result<Value, RpcFault> {
    let task = find_task(front, client, id).await?;
    let done = McpRevision::Stateless.complete_result(json!({}));
    let run = task.receipt.read_run().filter(|_| task.end.is_none());
    let Some((thread, call)) = run else { return Ok(done) };
    match front.stop_run(client.clone(), thread, call).await {
        Some(SenderReply::Refused(refusal))
            if !matches!(refusal.code, Code::EndedThread | Code::ClosedCall) =>
        {
            Err(RpcFault::refuse_params(refusal.message.to_string()))
        }
        Some(_) => Ok(done),
        None => Err(RpcFault::refuse_unavailable("the organism is stopping: cancel it when it runs again")),
    }
}

/// `tasks/update`: a task here never asks its client for anything.
pub(super) async fn update_task(front: &OrganismHandle, client: &Name, id: &str) -> Result<Value, RpcFault> {
    find_task(front, client, id).await?;
    Err(RpcFault::refuse_params(
        "this task asks its client for nothing: only a person with the role `approve` decides",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_task_names_one_record_and_nothing_else_is_an_id() {
        let id = "sess-da5910918c72.1.01a1f850-0000-7000-8000-000000000001";
        let (thread, seq, record) = read_id(id).unwrap();
        assert_eq!((thread.as_str(), seq), ("sess-da5910918c72", 1));
        assert_eq!(record.to_string(), "01a1f850-0000-7000-8000-000000000001");
        for wrong in [
            "",
            "a",
            "..",
            "sess-da5910918c72.1",
            &id.replace(".1.", ".x."),
            &id.replace("sess", "s"),
            &id[1..],
        ] {
            assert!(read_id(wrong).is_none(), "{wrong}");
        }
    }
}
