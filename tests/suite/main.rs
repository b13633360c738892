//! The one suite of the root package: a module per topic, one binary to build and to run.
#![cfg(test)]

mod audit_stage;
mod audit_tree;
mod audit_why;
mod cli_run;
mod cli_send;
mod config;
mod core_schema;
mod delivery_ends;
mod delivery_inline;
mod delivery_once;
mod delivery_process;
mod first_listeners;
mod following;
mod heart;
mod http;
mod judge;
mod log_contract;
mod log_faults;
mod log_file;
mod log_format;
mod log_records;
mod log_writer;
mod organism;
mod program;
mod pump;
mod reference;
mod rules;
mod schema_agreement;
mod schema_and_judge;
mod script;
mod stage;
mod tidy;
