//! Views of one thread: its state, its waits, its tree, its todo lists, prompts and causes.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::answers::{ReadValue, answer, thread_of};
use super::query::RawFields;
use super::records::of_number;
use super::refusals::{ReadFault, ReadRefusal, ReadResult};
use crate::http_state::{Caller, HttpState};
use crate::log_view::LogMoment;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_organism::{prompt_view, workflow_steps};
use systole_queries::posts::DueCalls;
use systole_queries::prompts::PromptFault;
use systole_queries::roll::{self, ThreadEntry};
use systole_queries::runs::WorkflowRuns;
use systole_queries::trail::{self, Trail};
use systole_queries::whole::LogState;
use systole_queries::why::{self, ThreadWaits};
use systole_queries::{todo, tree};

/// Links of one trail at most.
const LINKS: usize = 1_000;

/// A thread's line of the list, with its waits.
pub(crate) async fn thread(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &[], move |moment, _| {
        let (id, whole) = (thread_of(moment, &thread)?, moment.read_state()?);
        let waits = waits_of(moment, &whole, &id)?;
        let Some(entry) = roll::one(&*moment.reader, &whole, moment.now, &id)? else {
            return Err(ReadRefusal::unknown_thread().into());
        };
        let mut entries = [entry];
        let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
        roll::name_goals(&mut entries, &whole, &runs)?;
        let mut value = entries.first().map(ThreadEntry::as_json).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("records".to_owned(), waits.seq.into());
            fields.insert("why".to_owned(), why::as_json(&waits, whole.running, moment.now));
        }
        Ok(ReadValue(value))
    })
    .await
}

fn waits_of(moment: &LogMoment, whole: &LogState, id: &ThreadId) -> ReadResult<ThreadWaits> {
    let reader = &*moment.reader;
    let posts = DueCalls::at(whole, moment.now);
    let Some(thread) = whole.thread(reader, id)? else { return Err(ReadRefusal::unknown_thread().into()) };
    let mut waits = ThreadWaits::of(reader, whole, &posts, &thread)?;
    waits.name_goals(&WorkflowRuns::new(reader, whole, &workflow_steps::describe_step))?;
    Ok(waits)
}

/// What a thread waits for, as `systole why THREAD` says.
pub(crate) async fn thread_why(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &[], move |moment, _| {
        let (id, whole) = (thread_of(moment, &thread)?, moment.read_state()?);
        let waits = waits_of(moment, &whole, &id)?;
        Ok(ReadValue(why::as_json(&waits, whole.running, moment.now)))
    })
    .await
}

/// A thread's tree, as `systole tree` draws it.
pub(crate) async fn thread_tree(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &[], move |moment, _| {
        let (id, whole) = (thread_of(moment, &thread)?, moment.read_state()?);
        let found = tree::standing(&*moment.reader, &whole, &id, moment.now)?;
        let Some((tree, standing)) = found else { return Err(ReadRefusal::unknown_thread().into()) };
        let pictured = workflow_steps::draw_picture(&*moment.reader, &whole, &tree, &standing)?;
        let mut drawn = tree::standing_json(&tree, &standing, moment.now);
        tree::with_picture(&mut drawn, pictured.as_json());
        Ok(ReadValue(drawn))
    })
    .await
}

/// A thread's todo lists, now or after a record.
pub(crate) async fn thread_todo(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &["seq"], move |moment, fields| {
        let id = thread_of(moment, &thread)?;
        let seq = of_number(moment, &id, fields.number("seq")?)?.1.header.seq;
        let lists = todo::read(&*moment.reader, &id, seq)?.unwrap_or_default();
        Ok(ReadValue(todo::as_json(&id, seq, &lists)))
    })
    .await
}

/// The prompt of the last call to a model, now or up to a record.
pub(crate) async fn thread_prompt(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &["seq"], move |moment, fields| {
        let id = thread_of(moment, &thread)?;
        let seq = of_number(moment, &id, fields.number("seq")?)?.1.header.seq;
        let read = prompt_view::read_prompt(&*moment.reader, &id, seq).map_err(|why| match why {
            PromptFault::Log(fault) => ReadFault::Log(fault),
            erased @ PromptFault::Erased(_) => ReadRefusal::missing(
                erased.to_string(),
                "another record; what was erased cannot be read again",
            )
            .into(),
            other => {
                let refusal = Refusal::new(Code::DamagedThread, other.to_string());
                ReadRefusal::from(refusal.fixed_by("systole doctor, where the log is")).into()
            }
        })?;
        let Some((called, links)) = read else {
            let words = format!("thread {id} has no call to a model up to record {seq}");
            let fix = "another thread, or a later record; only agents call a model";
            return Err(ReadRefusal::missing(words, fix).into());
        };
        Ok(ReadValue(prompt_view::as_json(&id, &called, &links)))
    })
    .await
}

/// The causes of a record, back to the door.
pub(crate) async fn thread_trail(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    Path(thread): Path<String>,
    query: RawFields,
) -> Response {
    answer(&state, &client, query, &["seq"], move |moment, fields| {
        let id = thread_of(moment, &thread)?;
        let start = of_number(moment, &id, fields.number("seq")?)?;
        let read = |source: &[u8]| moment.read_configuration(source);
        let (mut links, mut number) = (Vec::<Value>::new(), 0_u64);
        Trail::through(&*moment.reader, &read).follow(start, |link| {
            number += 1;
            if links.len() < LINKS {
                links.push(trail::as_json(link));
            }
        })?;
        Ok(ReadValue(json!({"cut": number > links.len() as u64, "links": links})))
    })
    .await
}
