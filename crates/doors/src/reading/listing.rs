//! The list of all threads that a client may see.

use axum::Json;
use serde_json::{Value, json};

use super::query::QueryFields;
use super::refusals::{ReadRefusal, ReadResult};
use crate::limits;
use crate::log_view::LogMoment;
use systole_core::types::ids::ThreadId;
use systole_organism::workflow_steps;
use systole_queries::pauses::ThreadPause;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_end::STATES;
use systole_queries::thread_roll::{self, RollPage, ThreadEntry};

/// The newest threads, a page at a time.
pub(super) fn list_threads(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    let after = fields.text("after").map(ThreadId::parse).transpose();
    let after = after.map_err(|_| ReadRefusal::unknown_thread())?;
    if let Some(after) = &after
        && moment.reader.of_thread(after, 1, 1)?.is_empty()
    {
        return Err(ReadRefusal::unknown_thread().into());
    }
    let page = RollPage {
        after: after.as_ref(),
        children: fields.flag("children")?,
        state: fields.choice("state", &STATES)?,
        limit: fields.limit(limits::ENTRIES, limits::MOST_ENTRIES)?,
    };
    let whole = moment.read_state()?;
    let (mut entries, next) = thread_roll::page(&*moment.reader, &whole, moment.now, &page)?;
    let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
    thread_roll::name_goals(&mut entries, &whole, &runs)?;
    let paused = whole.all_paused(&*moment.reader)?;
    let threads: Vec<Value> = entries.iter().map(ThreadEntry::as_json).collect();
    Ok(Json(json!({
        "running": whole.running,
        "paused": paused.as_ref().map(ThreadPause::as_json),
        "threads": threads,
        "next": next.as_ref().map(ThreadId::as_str),
    })))
}
