//! The reading routes: threads, records, waits, costs and configurations as JSON, as the commands print them.
//!
//! A path and a query come in; what a function of `systole_queries` found, or a refusal, goes out. Every route takes
//! `at`, sees only what its client may see, and decides nothing.

mod answers;
mod listing;
mod organism;
mod query;
mod questions;
mod raw_log;
mod records;
mod refusals;
mod searching;
mod thread_views;

pub(super) use answers::{ReadValue, answer, thread_of};
pub(super) use organism::{composition_of, whole_log_only};
pub(super) use query::{QueryFields, RawFields};
pub(super) use questions::{ask, list_question_routes};
pub(super) use refusals::{ReadFault, ReadRefusal, ReadResult};
pub(super) use searching::{asked_for, find_hits, search_in};

use super::door_row::DoorRoute;

/// The routes of this folder, without those of the questions.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/v1/threads", listing::threads),
        DoorRoute::get("/v1/threads/{thread}", thread_views::thread),
        DoorRoute::get("/v1/threads/{thread}/records", records::records),
        DoorRoute::get("/v1/threads/{thread}/records/{seq}", records::record),
        DoorRoute::get("/v1/threads/{thread}/records/{seq}/bytes", records::record_bytes),
        DoorRoute::get("/v1/threads/{thread}/trail", thread_views::thread_trail),
        DoorRoute::get("/v1/find", searching::find),
        DoorRoute::get("/v1/configurations", organism::configurations),
        DoorRoute::get("/v1/configurations/{hash}", organism::configuration),
        DoorRoute::get("/v1/documents/{hash}", organism::document),
        DoorRoute::get("/v1/graph", organism::graph),
        DoorRoute::get("/v1/log", raw_log::log_opening),
        DoorRoute::get("/v1/log/threads", raw_log::log_threads),
        DoorRoute::get("/v1/log/records", raw_log::log_records),
        DoorRoute::get("/v1/openapi.json", organism::description),
    ]
}
