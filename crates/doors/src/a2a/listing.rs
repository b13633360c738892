//! The tasks of a client, a page at a time, those with the newest status first.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::types::time::Millis;
use systole_log::index::{IndexFile, RootOrder, RootSelection};
use systole_queries::transcript::Transcript;

use super::faults::{A2aFault, A2aResult};
use super::params::A2aParams;
use super::tasks::{OpenTask, name_conversation};
use super::writer::STATES;
use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::PlacedRecord;
use systole_hall::http_state::HttpState;
use systole_hall::runs::decisions::read_log;
use systole_hall::runs::requests::RunRequests;

/// Where a task is in the list: when it came to its status, and the position of its message.
type TaskPlace = (Millis, u64);

fn read_token(token: Option<&str>) -> A2aResult<Option<TaskPlace>> {
    let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(None) };
    let parts = token.split_once('.');
    let place = parts.and_then(|(time, position)| Some((Millis(time.parse().ok()?), position.parse().ok()?)));
    let words = "pageToken is the last nextPageToken";
    place.map(Some).ok_or_else(|| A2aFault::refuse_params(words))
}

/// A message of a client.
struct ListedMessage {
    asked: PlacedRecord,
    context: String,
    /// When its run has ended.
    ended: Option<Millis>,
}

/// The messages of a client, those of the threads with the newest records first.
async fn list_messages(state: &HttpState, client: &Name) -> A2aResult<Vec<ListedMessage>> {
    let owner = client.clone();
    let read = read_log(state, client, move |moment| {
        let wanted = RootSelection {
            client: Some(owner.to_string()),
            order: RootOrder::Since,
            ..RootSelection::default()
        };
        let threads = moment.ask_index(|index: &IndexFile| {
            let mut threads = Vec::new();
            index.visit_roots(&wanted, &mut |row| {
                threads.extend(ThreadId::parse(&row.thread).ok());
                threads.len() < limits::TASK_THREADS
            })?;
            Ok(threads)
        })?;
        let mut messages = Vec::new();
        for thread in threads {
            let said = Transcript::read(&*moment.reader, &thread, 1)?;
            let Some(context) = said.turns.first().map(|turn| name_conversation(&turn.asked.1.header)) else {
                continue;
            };
            let own = said.turns.into_iter().filter(|turn| turn.asked.1.header.from == owner);
            messages.extend(own.map(|turn| ListedMessage {
                asked: turn.asked,
                context: context.clone(),
                ended: turn.end.map(|(_, record)| record.header.time),
            }));
        }
        Ok(messages)
    });
    Ok(read.await?)
}

/// `ListTasks`.
pub(super) async fn list_tasks(
    state: &Arc<HttpState>,
    client: &Name,
    params: &A2aParams,
) -> A2aResult<Value> {
    let (size, after, since) =
        (params.count_tasks()?, read_token(params.page_token.as_deref())?, params.since()?);
    let history = params.count_history()?;
    let wanted = params.status.as_deref().filter(|status| *status != "TASK_STATE_UNSPECIFIED");
    if let Some(status) = wanted.filter(|status| !STATES.contains(status)) {
        let shown: String = status.chars().take(40).collect();
        let words = format!("status {shown:?} is none of {}", STATES.join(", "));
        return Err(A2aFault::refuse_params(words));
    }
    let of_context = params.context_id.as_deref().filter(|context| !context.is_empty());
    let waiting = RunRequests::read_all(state, client).await?;
    let mut found = Vec::new();
    for ListedMessage { asked, context, ended } in list_messages(state, client).await? {
        let thread = asked.1.header.thread.as_str();
        let is_in = |wanted: &str| context == wanted || thread == wanted;
        if of_context.is_some_and(|wanted| !is_in(wanted))
            || ended.zip(since).is_some_and(|(end, since)| end < since)
        {
            continue;
        }
        let position = asked.0.0;
        let task = OpenTask::of_message((state, client), asked, context);
        // What is over has its place without being read.
        let is_read = ended.is_none() || wanted.is_some();
        let writer = if is_read { Some(task.read_listed(&waiting).await?) } else { None };
        let status = writer.as_ref().map(|writer| (writer.state(), writer.since));
        let at = status.map(|(_, at)| at).or(ended).unwrap_or_default();
        if wanted.is_some_and(|wanted| status.is_none_or(|(state, _)| state != wanted))
            || since.is_some_and(|since| at < since)
        {
            continue;
        }
        found.push(((at, position), task, writer));
    }
    let total = found.len();
    found.sort_by_key(|(place, ..)| std::cmp::Reverse(*place));
    found.retain(|(place, ..)| after.is_none_or(|after| *place < after));
    let has_more = found.len() > size;
    found.truncate(size);
    let next = found.last().filter(|_| has_more).map(|((at, position), ..)| format!("{}.{position}", at.0));
    let mut tasks = Vec::with_capacity(found.len());
    for (_, task, writer) in found {
        let mut writer = match writer {
            Some(writer) => writer,
            None => task.read_listed(&waiting).await?,
        };
        tasks.push(writer.write_task(history, params.include_artifacts.unwrap_or(false)));
    }
    Ok(json!({
        "tasks": tasks,
        "nextPageToken": next.unwrap_or_default(),
        "pageSize": size,
        "totalSize": total,
    }))
}
