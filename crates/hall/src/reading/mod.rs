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

pub(crate) use answers::serve_reading;
pub use answers::thread_of;
pub use listing::{FILTERS, find_threads};
pub use organism::{composition_of, whole_log_only};
pub use query::{QueryFields, RawFields};
pub use questions::{ask, list_question_routes};
pub use refusals::{ReadFault, ReadRefusal, ReadResult};
pub use searching::{asked_for, find_hits, search_in};

use super::door_row::DoorRoute;

/// The routes of this folder, without those of the questions.
pub fn list_routes() -> Vec<DoorRoute> {
    vec![
        serve_reading("/v1/threads", &listing::FIELDS, listing::list_threads),
        serve_reading("/v1/threads/{thread}", &[], thread_views::show_thread),
        serve_reading("/v1/threads/{thread}/records", &["from", "limit"], records::list_records),
        serve_reading("/v1/threads/{thread}/records/{seq}", &[], records::show_record),
        serve_reading("/v1/threads/{thread}/records/{seq}/bytes", &[], records::show_bytes),
        serve_reading("/v1/threads/{thread}/trail", &["seq"], thread_views::show_trail),
        serve_reading("/v1/find", &searching::FIELDS, searching::find_messages),
        serve_reading("/v1/configurations", &[], organism::list_configurations),
        serve_reading("/v1/configurations/{hash}", &[], organism::show_configuration),
        serve_reading("/v1/documents/{hash}", &[], organism::show_document),
        serve_reading("/v1/graph", &[], organism::show_graph),
        serve_reading("/v1/log", &[], raw_log::open_log),
        serve_reading("/v1/log/threads", &["like", "limit"], raw_log::list_ids),
        serve_reading("/v1/log/records", &["thread", "from", "after", "limit"], raw_log::list_records),
        DoorRoute::get("/v1/openapi.json", organism::describe_routes),
    ]
}
