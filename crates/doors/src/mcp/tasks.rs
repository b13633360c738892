//! Tasks: calls whose answer a client asks for later. A task is the record of its message, so the log keeps it across
//! restarts; its id names that record, whose own id is random. Only the client that sent the message finds its task.

use serde_json::{Value, json};

use super::elicitation;
use super::params::McpParams;
use super::results;
use super::revision::McpRevision;
use crate::limits;
use systole_api::ending::{find_ending, is_reopening};
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, LogReader};
use systole_doorway::rpc::RpcFault;
use systole_following::run_ids::{find_run_id, read_receipt};
use systole_hall::http_state::HttpState;
use systole_hall::runs::form_answers::{FormEnd, take_answer};
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;
use systole_queries::run_events::RunId;
use systole_queries::thread_requests::list_held;

/// What is said of a call that waits for no person.
pub(super) const WORKS: &str = "the organism works on it";

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
    let Some(id) = RunId::parse(id) else { return Ok(None) };
    let Some(asked) = id.find_message(reader, client)? else { return Ok(None) };
    let (receipt, created) = (read_receipt(&asked), asked.1.header.time.to_string());
    let mut state = TaskState { receipt, touched: created.clone(), created, end: None, held: Vec::new() };
    for placed in reader.records_of(&id.thread, id.seq + 1) {
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
    /// The task as its client sees it, with the forms for what waits for its person.
    fn show_task(&self, front: &OrganismHandle, forms: Option<Value>) -> Value {
        let mut task = json!({
            "taskId": find_run_id(&self.receipt).map(|id| id.to_string()),
            "createdAt": self.created,
            "lastUpdatedAt": self.touched,
            // The log keeps it for as long as itself.
            "ttlMs": null,
            "pollIntervalMs": limits::TASK_POLL_MS,
        });
        let own = match &self.end {
            None => {
                let words = describe_holders(&self.held);
                let words = words.as_deref().unwrap_or(WORKS);
                match forms {
                    None => json!({"status": "working", "statusMessage": words}),
                    Some(forms) => {
                        json!({"status": "input_required", "statusMessage": words, "inputRequests": forms})
                    }
                }
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
    let id = find_run_id(receipt).map(|id| id.to_string()).unwrap_or_default();
    let mut task = find_task(front, &client, &id).await?.show_task(front, None);
    if let Some(fields) = task.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("task"));
    }
    Ok(task)
}

/// `tasks/get`.
pub(super) async fn show_state(
    (state, client): (&HttpState, &Name),
    id: &str,
    shows_forms: bool,
) -> Result<Value, RpcFault> {
    let task = find_task(&state.front, client, id).await?;
    let own = match shows_forms && !task.held.is_empty() {
        true => elicitation::list_own(state, client, &task.receipt).await?,
        false => Vec::new(),
    };
    let forms = (!own.is_empty()).then(|| elicitation::write_requests(&own, &[]));
    Ok(McpRevision::Stateless.complete_result(task.show_task(&state.front, forms)))
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

/// `tasks/update`: takes the answers to forms. What came of them is in the task.
pub(super) async fn update_task(
    (state, client): (&HttpState, &Name),
    id: &str,
    params: &McpParams,
) -> Result<Value, RpcFault> {
    let task = find_task(&state.front, client, id).await?;
    let Some(answers) = elicitation::read_responses(params)? else {
        return Err(RpcFault::refuse_params("params.inputResponses is missing"));
    };
    let (mut counted, mut refused) = (Vec::new(), Vec::new());
    for (name, answer) in answers {
        let taken = take_answer((state, client), &task.receipt, (name, answer)).await;
        match taken {
            Ok(FormEnd::Unknown | FormEnd::NotShown(_)) => {}
            Ok(FormEnd::Taken | FormEnd::Left) => counted.push(name.as_str()),
            Err(why) => refused.push(why),
        }
    }
    if !refused.is_empty() {
        let others = match counted.is_empty() {
            true => String::new(),
            false => format!("; these count: {}", counted.join(", ")),
        };
        return Err(RpcFault::refuse_params(format!("{}{others}", refused.join("; "))));
    }
    if counted.is_empty() {
        let words = "none of these answers names a form of this task; tasks/get shows them to a client that may decide";
        return Err(RpcFault::refuse_params(words));
    }
    Ok(McpRevision::Stateless.complete_result(json!({})))
}
