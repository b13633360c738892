//! Views of one thread: its state, its waits and causes.

use axum::Json;
use serde_json::{Value, json};

use super::answers::find_thread;
use super::query::QueryFields;
use super::records::of_number;
use super::refusals::{ReadRefusal, ReadResult};
use crate::log_view::LogMoment;
use systole_core::types::ids::ThreadId;
use systole_organism::workflow_steps;
use systole_queries::anew::AnewLinks;
use systole_queries::log_state::LogState;
use systole_queries::posts::DueCalls;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_roll::{self, ThreadEntry};
use systole_queries::trail::{self, Trail};
use systole_queries::why::{self, ThreadWaits};

/// A thread's line of the list, with its waits.
pub(crate) fn show_thread(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    let (id, whole) = (find_thread(moment, fields)?, moment.read_state()?);
    let waits = waits_of(moment, &whole, &id)?;
    let Some(entry) = thread_roll::one(&*moment.reader, &whole, moment.now, &id)? else {
        return Err(ReadRefusal::unknown_thread().into());
    };
    let mut entries = [entry];
    let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
    thread_roll::name_goals(&mut entries, &whole, &runs)?;
    let mut value = entries.first().map(ThreadEntry::as_json).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("records".to_owned(), waits.seq.into());
        fields.insert("why".to_owned(), why::as_json(&waits, whole.running, moment.now));
    }
    Ok(Json(value))
}

fn waits_of(moment: &LogMoment, whole: &LogState, id: &ThreadId) -> ReadResult<ThreadWaits> {
    let reader = &*moment.reader;
    let posts = DueCalls::at(whole, moment.now);
    let Some(thread) = whole.thread(reader, id)? else { return Err(ReadRefusal::unknown_thread().into()) };
    let mut waits = ThreadWaits::of(reader, whole, &posts, &thread)?;
    waits.name_goals(&WorkflowRuns::new(reader, whole, &workflow_steps::describe_step))?;
    waits.links = moment.ask_index(|index| AnewLinks::read(index, reader, id))?;
    Ok(waits)
}

/// The causes of a record, back to the door.
pub(crate) fn show_trail(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    let id = find_thread(moment, fields)?;
    let start = of_number(moment, &id, fields.number("seq")?)?;
    let read = |source: &[u8]| moment.read_configuration(source);
    let (mut links, mut number) = (Vec::<Value>::new(), 0_u64);
    Trail::through(&*moment.reader, &read).follow(start, |link| {
        number += 1;
        if links.len() < crate::limits::MOST_ENTRIES {
            links.push(trail::as_json(link));
        }
    })?;
    Ok(Json(json!({"cut": number > links.len() as u64, "links": links})))
}
