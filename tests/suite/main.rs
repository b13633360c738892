//! The one suite of the root package: a module per topic, one binary to build and to run.
#![cfg(test)]

mod audit_stage;
mod audit_tree;
mod audit_why;
mod config;
mod core_schema;
mod crash_loop;
mod delivery_ends;
mod delivery_inline;
mod delivery_once;
mod delivery_process;
mod disk;
mod first_listeners;
mod judge;
mod kills;
mod log_contract;
mod log_faults;
mod log_file;
mod log_format;
mod log_records;
mod log_writer;
mod organism;
mod pump;
mod reference;
mod schema_agreement;
mod schema_and_judge;
mod script;
mod stage;
mod stalled;
mod tidy;
