//! The reading side: shows the content of a log, whether or not an organism runs on it.
//!
//! Records and folds come in; trees, reasons and lines for people go out. This crate never writes a
//! log, never starts anything, and lets nothing from a payload reach a terminal unescaped. It keeps no
//! second truth: open work comes from the pump's own fold, finished work from the records.

pub mod anew;
pub mod asked_decisions;
pub mod blame;
pub mod causes;
pub mod chains;
mod change_payload;
pub mod change_sets;
mod code_names;
pub mod comparable;
pub mod configurations;
pub mod costs;
pub mod decisions;
pub mod finding;
pub mod first_cause;
pub mod fold_rows;
pub mod full;
pub mod glance;
mod goal;
pub mod graph;
pub mod hashes;
pub mod hidden_characters;
pub mod index;
mod json_text;
pub mod lanes;
pub mod limits;
pub mod loads;
pub mod log_reads;
pub mod log_state;
pub mod metrics;
pub mod narrate;
pub mod orphans;
pub mod outages;
pub mod pauses;
pub mod persons;
pub mod picture;
pub mod posts;
pub mod prompts;
pub mod query;
pub mod questions;
pub mod record_files;
pub mod refusals;
pub mod retries;
pub mod run_events;
pub mod runs;
pub mod search;
pub mod side_by_side;
pub mod slow;
pub mod starts;
pub mod texts;
pub mod thread_end;
pub mod thread_list;
pub mod thread_requests;
pub mod thread_roll;
pub mod trail;
pub mod transcript;
pub mod tree;
pub mod troubles;
pub mod why;
pub mod xml_diff;
