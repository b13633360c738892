//! The list of all threads that a client may see, for its route and for the page.

use axum::Json;
use serde_json::{Value, json};

use super::query::QueryFields;
use super::questions::refuse_fault;
use super::refusals::{ReadRefusal, ReadResult};
use crate::limits;
use crate::log_view::LogMoment;
use crate::request_refusals::describe_unfit_address;
use systole_organism::workflow_steps;
use systole_queries::pauses::ThreadPause;
use systole_queries::query::QueryArguments as _;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_list::{self, ListedThread, ThreadFilter, ThreadPart, ThreadSource};
use systole_queries::thread_roll::{self, RollPage, ThreadEntry};

/// The fields that say which threads are listed, and in which order.
pub const FILTERS: [&str; 10] =
    ["state", "failed", "since", "until", "listener", "client", "name", "code", "q", "sort"];

/// All fields of the route.
pub(crate) const FIELDS: [&str; 13] = [
    "state", "failed", "since", "until", "listener", "client", "name", "code", "q", "sort", "limit", "after",
    "children",
];

/// A part of the list of threads, as the fields ask for it.
pub fn find_threads(moment: &LogMoment, fields: &QueryFields, most: usize) -> ReadResult<ThreadPart> {
    let filter = read_filter(moment, fields)?;
    let whole = moment.read_state()?;
    let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
    let found = moment.ask_index(|index| {
        let source = ThreadSource {
            reader: &*moment.reader,
            whole: &whole,
            runs: &runs,
            now: moment.now,
            index,
            sees_all: moment.sees_all,
            own: moment.own_client().map(|name| name.as_str()),
        };
        thread_list::list(&source, &filter, most)
    });
    Ok(found?)
}

fn read_filter(moment: &LogMoment, fields: &QueryFields) -> ReadResult<ThreadFilter> {
    let is_failed = fields.flag("failed")?;
    let typed = |name: &str| match name {
        "failed" => is_failed.then(String::new),
        _ => fields.text(name).map(str::to_owned),
    };
    ThreadFilter::read(&typed, moment).map_err(refuse_fault)
}

/// The newest threads, a page at a time.
pub(crate) fn list_threads(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    let limit = fields.limit(limits::ENTRIES, limits::MOST_ENTRIES)?;
    let (threads, next, end) = match fields.flag("children")? {
        true => {
            let (threads, next) = list_with_children(moment, fields, limit)?;
            (threads, next, Value::Null)
        }
        false => {
            let part = find_threads(moment, fields, limit)?;
            let next = part.next.as_ref().map(ToString::to_string);
            (part.threads.iter().map(ListedThread::as_json).collect(), next, part.end_json())
        }
    };
    let whole = moment.read_state()?;
    let paused = whole.all_paused(&*moment.reader)?;
    Ok(Json(json!({
        "running": whole.running,
        "paused": paused.as_ref().map(ThreadPause::as_json),
        "threads": threads,
        "next": next,
        "index": end,
    })))
}

/// The newest threads with the child threads between them. The index has roots alone, so no filter but the state fits.
fn list_with_children(
    moment: &LogMoment,
    fields: &QueryFields,
    limit: usize,
) -> ReadResult<(Vec<Value>, Option<String>)> {
    if let Some(name) = FILTERS.iter().find(|name| **name != "state" && fields.text(name).is_some()) {
        let refusal = describe_unfit_address(format!("{name}: it does not go with children=true"));
        return Err(ReadRefusal::unfit(refusal.fixed_by("one of the two; state= goes with both")).into());
    }
    let filter = ThreadFilter::read(&|name| fields.text(name).map(str::to_owned), moment);
    let filter = filter.map_err(refuse_fault)?;
    let wanted = RollPage { after: filter.after.as_ref(), children: true, state: filter.state(), limit };
    let whole = moment.read_state()?;
    let (mut entries, next) = thread_roll::page(&*moment.reader, &whole, moment.now, &wanted)?;
    let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
    thread_roll::name_goals(&mut entries, &whole, &runs)?;
    Ok((entries.iter().map(ThreadEntry::as_json).collect(), next.map(|id| id.to_string())))
}
