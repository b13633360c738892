//! The reading routes: threads, records, waits, costs and configurations as JSON, as the commands print them.
//!
//! A path and a query come in; what a function of `systole_queries` found, or a refusal, goes out. Every route takes
//! `at`, sees only what its client may see, and decides nothing.

mod answers;
mod listing;
mod organism;
mod query;
mod questions;
mod records;
mod refusals;
mod searching;
mod stored;
mod thread_views;

pub(super) use answers::{ReadValue, answer, thread_of};
pub(super) use listing::threads;
pub(super) use organism::{composition_of, whole_log_only};
pub(super) use organism::{configuration, configurations, description, document, graph};
pub(super) use query::{QueryFields, RawFields};
pub(super) use questions::{ask, routes};
pub(super) use records::{record, record_bytes, records};
pub(super) use refusals::{ReadFault, ReadRefusal, ReadResult};
pub(super) use searching::{asked_for, find, find_hits, search_in};
pub(super) use stored::{log_opening, log_records, log_threads};
pub(super) use thread_views::{thread, thread_trail};
